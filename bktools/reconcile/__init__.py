"""The chart of accounts against the accounts known here and the categories that point at them."""

from bktools.reconcile.checks import CHECKS
from bktools.reconcile.reconcile import reconcile_accounts
from bktools.reconcile.reconciliation import Reconciliation

__all__ = ["CHECKS", "Reconciliation", "reconcile_accounts"]
