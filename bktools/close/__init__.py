"""The month as data: its entries and their fates, figures, steps to do, and changes. It prints nothing.

A close is three frames, and what a page shows is a group-by over one of them. Money is added by currency,
exactly, and each entry once (`frames.sums`).

- **Lines of entries** (`entries`): a row a line, with what became of it, its fate, and one reason. `figures`
  groups them by fate and reason, by category and by export job. `months` has the same lines of the months
  before, from the journal, with the month that met each entry first: no two months count it. What was spent
  then, what is new, and what comes every month are selections of them.
- **Cases** (`actions`): each finding, and each outcome that needs somebody, with the step that it asks for
  and the lines that wait for it. Grouped by step they are the actions, by thing what an action concerns, and
  by role who has to act.
- **Two sides** (`spending.differences`): lines of the month, and of the month before or of a budget. Grouped
  by any keys they are changes with the entries that drive them (`changes`, `budget`, `figures`).

`steps` has what happens on the way, in the order of `close_month`; `record` what the journal keeps of a
month; `close` the result; `sentences` its words; `verification` the comparison with the ERP's ledger later.
"""
