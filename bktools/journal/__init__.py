"""The journal: every known account, batch and entry, and every event.

The service cannot list accounts, entries or jobs, so the journal is the only record of them. It is a SQLite
file for each environment in the data folder, or a PostgreSQL database that a team shares. Database
constraints, not code, enforce its rules.
"""
