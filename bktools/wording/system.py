"""The reasons of the operating system and of connections, in the reader's language."""

from __future__ import annotations

from errno import errorcode

from bktools.wording.words import words


def reason_of(error: BaseException) -> str:
    """Return why something failed: the words for the first cause that has some, else the error's own text.

    The section `system` of the wording has them, by the name of an error number or of an exception.

    Examples
    --------
    >>> reason_of(ConnectionResetError(104, "Connection reset by peer"))
    'the connection was reset'
    """
    causes = [error]
    while causes[-1].__cause__ is not None:
        causes.append(causes[-1].__cause__)
    for cause in reversed(causes):
        code = errorcode.get(getattr(cause, "errno", None) or 0)
        for name in (code, *(kind.__name__ for kind in type(cause).__mro__)):
            if words().has(key := f"system.{name}"):
                return words()(key)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
