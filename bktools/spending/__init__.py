"""What was spent: sums by any keys, and two of them compared."""

from bktools.spending.differences import versus as versus
from bktools.spending.sums import spend as spend
