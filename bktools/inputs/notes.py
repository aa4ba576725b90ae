"""Notes and errors of a reading: facts as codes, whose sentences are in the wording."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from bktools.errors import InputError
from bktools.wording import Sentence, words

# Notes that nobody needs to act on: they stand with the others, and warn of nothing.
_QUIET = {"approved", "not_approved", "format", "verified", "exported_at", "headings_again"}
_QUIET |= {"journal_by_voucher", "ledger_by_account", "day_of_several"}


class Note(NamedTuple):
    """A fact about a reading: its code, and what its sentence names."""

    code: str
    facts: Mapping[str, Any]

    @property
    def is_quiet(self) -> bool:
        """Whether it warns of nothing."""
        return self.code in _QUIET

    def sentence(self, language: str | None = None) -> str:
        """Return the note in a language."""
        return words(language)(f"file.note.{self.code}", **self.facts)


def note(code: str, **facts: Any) -> Note:
    """Return a note."""
    return Note(code, facts)


def damaged(source: str, code: str, line: int | None = None, /, **facts: Any) -> InputError:
    """Return the error of a file that cannot be read, which names the file and a line of it."""
    return InputError(Sentence(f"file.error.{code}", **facts), source=source, line=line)


def note_sentence(stated: Mapping[str, Any], language: str | None = None) -> str:
    """Return the sentence of a note as `frame.attrs["bktools"]["note_facts"]` has it."""
    facts = dict(stated)
    file = facts.pop("file", None)
    sentence = Note(facts.pop("code"), facts).sentence(language)
    return f"{file}: {sentence}" if file else sentence


def note_sentences(about: Mapping[str, Any]) -> list[str]:
    """Return the notes of `frame.attrs["bktools"]` in the reader's language."""
    return [note_sentence(stated) for stated in about["note_facts"]]
