"""Files that ERPs write: charts of accounts, accounting entries, and the service's own list of accounts."""
