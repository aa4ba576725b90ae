"""The readers: a chart of accounts, a list of accounts, entries and a general ledger, each a list of fields."""
