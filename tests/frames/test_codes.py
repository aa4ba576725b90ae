"""The words for reasons and statuses."""

from __future__ import annotations

import pytest

from bktools.close.entries import OF_REASON
from bktools.export.checks import CHECKS
from bktools.frames.codes import WORDS, sentence, short
from bktools.ledger.checks import STATUSES
from bktools.reconcile.tables import STATES

ERRORS = {check.name for check in CHECKS if check.severity == "error"}


@pytest.mark.parametrize(
    "codes", [ERRORS, {*OF_REASON}, {*STATES}, {*STATUSES}], ids=["errors", "reasons", "states", "statuses"]
)
def test_every_code_has_words(codes: set[str]):
    """Each error of an entry, reason of a close, state of a category and status in the ledger has both forms."""
    assert len(codes) > 4
    assert codes <= WORDS.keys()


def test_words_are_of_codes_that_there_are():
    """No words stay behind when a code goes; all are short enough for a picture, and a code without words is readable."""
    assert WORDS.keys() == ERRORS | {*OF_REASON} | {*STATES} | {*STATUSES}
    assert max(len(short(code)) for code in WORDS) <= 25
    assert (short("unknown_account"), sentence("unknown_account")) == (
        "unknown account", "the account is not known to bktools",
    )  # fmt: skip
    assert short("of_my_own") == sentence("of_my_own") == "of my own"
