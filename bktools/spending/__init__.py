"""What was spent: sums by any keys, two of them compared, and what comes every month."""

from bktools.spending.differences import versus as versus
from bktools.spending.expected import expected_entries as expected_entries
from bktools.spending.sums import spend as spend
