"""Credentials: text that is never shown, and tokens that a command or a function gives again."""

from __future__ import annotations

import os
import shlex
import subprocess
import threading
from collections.abc import Callable
from typing import Any

from bktools.errors import ConfigurationError
from bktools.wording import reason_of, words

# A command that asks for a password would wait for ever.
LONGEST_COMMAND = 60


class Secret:
    """Text that is shown only by `reveal`: no repr, pickle, copy or `dataclasses.asdict` has it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text."""
        return self._text

    def texts(self) -> tuple[str, ...]:
        """Return all texts that an answer of the service could repeat."""
        return (self._text,)

    @property
    def identity(self) -> str:
        """The text that tells one owner's credential from another's, also after a renewal."""
        return self._text

    def renew(self, refused: str) -> bool:
        """Return whether there is another text than the one that the service refused."""
        return self._text != refused

    def __repr__(self) -> str:
        return "Secret(…)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other.identity == self.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    def __deepcopy__(self, _: object) -> Secret:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        message = "a secret is not to be pickled"
        raise TypeError(message)


class TokenSource(Secret):
    """A token that a command or a function gives: when it is first needed, and after the service refused it.

    Parameters
    ----------
    source : str or callable
        A command, whose first line of output is the token, or a function without arguments that returns it.
    name : str
        The setting and where it stands, for errors.
    """

    __slots__ = ("_lock", "_name", "_source", "_texts")

    def __init__(self, source: str | Callable[[], object], name: str) -> None:
        self._source = source
        self._name = name
        self._lock = threading.Lock()
        # The newest is last. An answer on its way may still repeat the one before.
        self._texts: tuple[str, ...] = ()

    def reveal(self) -> str:
        """Return the token; ask for it the first time."""
        with self._lock:
            if not self._texts:
                self._ask()
            return self._texts[-1]

    def texts(self) -> tuple[str, ...]:
        """Return the newest token and the one before."""
        return self._texts

    @property
    def identity(self) -> str:
        """The command or the function, because its tokens change."""
        return self._source if isinstance(self._source, str) else f"function {id(self._source)}"

    def renew(self, refused: str) -> bool:
        """Ask again unless another thread did; return whether there is another token than the refused one."""
        with self._lock:
            if self._texts[-1:] in {(), (refused,)}:
                self._ask()
            return self._texts[-1] != refused

    def _ask(self) -> None:
        """Keep the next token. Raised from here, because this frame holds none."""
        complaint = self._complaint()
        if complaint:
            raise ConfigurationError(f"{self._name} {complaint}")

    def _complaint(self) -> str:
        """Ask the source and keep its token; return why it has none, "" if it has."""
        text = ""
        if callable(self._source):
            given = self._source()
            if not isinstance(given, str):
                return words()("setting.token_kind", kind=type(given).__name__)
            text = given
        else:
            try:
                done = subprocess.run(  # noqa: S603 - the command is the user's own setting
                    shlex.split(self._source, posix=os.name == "posix"),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    timeout=LONGEST_COMMAND,
                    check=False,
                )
            except (OSError, ValueError) as error:
                return words()("setting.command_fails", why=reason_of(error), command=self._source)
            except subprocess.TimeoutExpired:
                return words()("setting.command_waits", seconds=LONGEST_COMMAND, command=self._source)
            if done.returncode:
                return words()("setting.command_status", status=done.returncode, command=self._source)
            text = done.stdout.decode(errors="replace").partition("\n")[0]
        complaint = complaint_of(text)
        if not complaint:
            self._texts = (*self._texts[-1:], text.strip())
        return complaint


def complaint_of(text: object) -> str:
    """Return why a text is no credential, "" if it may be one. The complaint does not hold the text."""
    if not isinstance(text, str) or not text.strip():
        return words()("setting.credential_blank")
    plain = text.strip()
    if not plain.isascii() or not plain.isprintable() or " " in plain:
        return words()("setting.credential_spaces")
    return ""
