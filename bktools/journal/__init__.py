"""The durable memory: accounts known here, batches, their entries, every event.

The service has no way to list accounts, entries or jobs, so what is not written here is not known. One SQLite file per
environment in the data folder; constraints, not code, hold its promises.
"""
