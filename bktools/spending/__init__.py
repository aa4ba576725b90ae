"""What was spent: sums by any keys, two of them compared, and what comes every month.

Entries, sums and budgets become lines with the columns of their keys as text (`sums.lines_of`). `spend` adds
up the lines of one side, `versus` those of two in one frame, in which groups are the same where their IDs or
names are. Rates convert lines (`rates`), and `budgets` gives a budget the IDs of what it names.
"""

from bktools.spending.differences import versus as versus
from bktools.spending.expected import expected_entries as expected_entries
from bktools.spending.sums import spend as spend
