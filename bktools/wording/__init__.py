"""Every sentence about findings, reasons, statuses, outcomes, states, roles and actions, in each language."""

from bktools.wording.words import LANGUAGE_VARIABLE, LANGUAGES, Words, reader, words

__all__ = ["LANGUAGES", "LANGUAGE_VARIABLE", "Words", "reader", "words"]
