"""Files → frames: bytes → raw table of cells → table below its headings → values of fields, or one question.

`raw/` turns bytes into cells; `headings` finds the row of headings, `assignment` the column of each field
(`fields`, `terms`), `titles` the accounts above postings; `rows` tells
entries from all else; `values/` reads days, amounts, currencies, names and approvals; `question` asks all
that is open once, with choices that were tried. `readers/` has a file for each kind of file, `formats/` one
for each format with a grammar of its own.
"""
