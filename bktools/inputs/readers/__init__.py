"""The readers of a chart of accounts, a list of accounts, entries and a general ledger."""
