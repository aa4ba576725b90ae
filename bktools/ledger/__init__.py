"""Did it arrive? Holds exported entries against the postings of the accounting system's general ledger."""

from bktools.ledger.ledger_match import LedgerMatch
from bktools.ledger.match import match_ledger

__all__ = ["LedgerMatch", "match_ledger"]
