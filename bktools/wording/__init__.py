"""Every sentence about findings, reasons, statuses, outcomes, states, roles and actions, in each language."""

from bktools.wording.system import reason_of
from bktools.wording.words import LANGUAGE_VARIABLE, LANGUAGES, Sentence, Words, reader, words

__all__ = ["LANGUAGES", "LANGUAGE_VARIABLE", "Sentence", "Words", "reader", "reason_of", "words"]
