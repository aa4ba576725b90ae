"""The readers of a chart of accounts, a list of accounts, entries, a general ledger and rates."""
