"""Writes to the service: record the intent in the journal, send once, record the outcome."""

from bktools.submit.accounts import create_accounts
from bktools.submit.export_jobs import submit_export_jobs

__all__ = ["create_accounts", "submit_export_jobs"]
