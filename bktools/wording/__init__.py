"""Every sentence about findings, reasons, statuses, outcomes, states, roles and actions, in each language."""

from bktools.wording.words import LANGUAGES, Words, words

__all__ = ["LANGUAGES", "Words", "words"]
