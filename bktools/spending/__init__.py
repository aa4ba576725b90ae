"""What was spent: sums by any keys, and two of them compared."""

from bktools.spending.spend import spend as spend
from bktools.spending.versus import versus as versus
