"""Compares the ERP's chart of accounts with the accounts and categories of the service."""

from bktools.reconcile.reconcile import reconcile_accounts
from bktools.reconcile.reconciliation import Reconciliation

__all__ = ["Reconciliation", "reconcile_accounts"]
