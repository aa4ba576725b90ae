"""Every error bktools raises on purpose, in one tree.

::

    BktoolsError
    ├── ConfigurationError (ValueError)       a setting is missing or contradicts another
    ├── ArgumentError (ValueError)            an argument breaks a rule of the contract; nothing was sent
    ├── InputError (ValueError)               a file or frame cannot be read
    │   ├── QuestionError                     something about the file is open; its choices
    │   └── SheetNotFoundError (LookupError)  the workbook has no sheet of this name
    ├── StorageError (OSError)                a file of bktools cannot be written or read back
    │   └── NotRecordedError                  an answer of the service is not in the journal
    ├── SnapshotNotFoundError (LookupError)   no snapshot matches the query
    ├── PlanError (ValueError)                a plan was changed after it was composed
    ├── JournalError (RuntimeError)           the journal refuses
    │   └── JournalBusyError                  another process sends for this company
    └── ServiceError                          a request to the service failed
        ├── NotSentError (ConnectionError)         it failed before any byte of the request was sent
        │   ├── UnreachableError                       no connection: offline, or the service is down
        │   ├── CertificateError                       a certificate is not trusted, or TLS failed
        │   └── ProxyError                             the proxy refuses
        ├── ConnectionLostError (ConnectionError)  the connection broke: the request may have arrived
        ├── UnreadableAnswerError                  the answer is incomplete or breaks the contract
        │   └── PagingError                        cursors that repeat, are missing or never end
        ├── DriftError                             the table changed each time it was read
        └── StatusError                            the answer has a status other than 2xx
            ├── AuthenticationError (PermissionError)  401
            ├── ScopeError (PermissionError)           403
            ├── NotFoundError (LookupError)            404
            ├── RateLimitedError                       429
            ├── ServerError                            5xx
            ├── DuplicateAccountError                  the account exists already
            └── ExportRefusedError                     one of the three documented refusals
                ├── MissingContraAccountsError
                ├── ExportAlreadyInProgressError
                └── AccountingIntegrationNotFoundError

A message is one line in the reader's language: what happened, what was kept, what to do next; that of a
question about a file has all that is open, a line each, and the command that answers it. Programs read the
fields of an error instead: the code and the facts of its sentence, and those of its class.

There are four warnings: `StaleSnapshotWarning`, `UnverifiedTableWarning`, `IncompleteTableWarning` and
`FileNoteWarning`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from bktools.caller import argument_name
from bktools.visible import one_line, visible_line
from bktools.wording import Sentence, words

# Characters of a wrong value that a message shows: one line of a terminal.
LONGEST_VALUE = 80


class BktoolsError(Exception):
    """The root of the tree: catch it to catch every error that bktools raises on purpose.

    Parameters
    ----------
    message : str
        One line; a `Sentence` of `bktools.wording` gives the error its code and facts.

    Attributes
    ----------
    code : str
        The code of the sentence, such as "no_rate"; "" for a message that is only text.
    facts : mapping
        The facts of the sentence.
    """

    code: str = ""
    facts: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, message: str = "") -> None:
        super().__init__(str(message))
        self._keep_facts(message)

    def _keep_facts(self, sentence: str) -> None:
        if isinstance(sentence, Sentence):
            self.code, self.facts = sentence.code, sentence.facts

    def __str__(self) -> str:
        # A message may hold text from files or the service, and is printed to terminals.
        return visible_line(super().__str__())

    def __reduce__(self) -> tuple[Any, ...]:
        # `__init__` takes other arguments than `args` holds, so that unpickling sets message and fields
        # directly.
        return _bare, (type(self), self.args), self.__dict__


def _bare(kind: type[BktoolsError], args: tuple[Any, ...]) -> BktoolsError:
    error = kind.__new__(kind, *args)
    error.args = args
    return error


class StaleSnapshotWarning(UserWarning):
    """The service could not be reached, so an older snapshot was used."""


class UnverifiedTableWarning(UserWarning):
    """A table failed a check and was loaded all the same, as `verify="warn"` asks."""


class IncompleteTableWarning(UserWarning):
    """Some companies could not be read; `on_error="collect"` returned the rows of the other companies."""


class FileNoteWarning(UserWarning):
    """A file was read, and its reader has notes: rows left out, columns not taken, signs of amounts."""


class ConfigurationError(BktoolsError, ValueError):
    """A setting is missing, malformed or contradicts another one."""


class ArgumentError(BktoolsError, ValueError):
    """An argument breaks a rule of the contract; nothing was sent.

    Parameters
    ----------
    argument : str
        Name of the argument.
    rule : str
        The rule it breaks, as a phrase that follows the name: "must be a UUID".
    value : object, optional
        The given value; the message shows it shortened.
    """

    def __init__(self, argument: str, rule: str, value: object = None) -> None:
        value_text = "" if value is None else one_line(repr(value), LONGEST_VALUE)
        shown = words()("error.got", value=value_text) if value_text else ""
        super().__init__(f"{argument_name(argument)} {rule}{shown}")
        self._keep_facts(rule)
        self.argument = argument
        self.rule = str(rule)
        self.value = value


class InputError(BktoolsError, ValueError):
    """A given file or frame cannot be used; nothing was changed.

    Parameters
    ----------
    message : str
        One line: the thing, the rule, the way out.
    source : str
        The file or frame.
    line : int, optional
        Line of the file; the heading is line 1.

    Attributes
    ----------
    why : str
        The problem without the file and its line.
    """

    why: str = ""

    def __init__(self, message: str, *, source: str = "", line: int | None = None) -> None:
        where = words()("error.line_of", source=source, line=line) if source and line else source
        super().__init__(f"{where}: {message}" if where else str(message))
        self._keep_facts(message)
        self.source = source
        self.line = line
        self.why = str(message)


class QuestionError(InputError):
    """Something about a file is open, so that nothing was read; the message asks all of it at once.

    Attributes
    ----------
    kind : str
        How the file was read: "chart", "accounts", "entries" or "ledger".
    problems : tuple
        What is open, each with its choices, which were tried on the file; none where it is to be corrected.
    options : mapping
        The options that were given, with those that the message settles.
    columns : tuple of str
        The file's columns with some of their cells, a line each.
    """

    kind: str = ""
    problems: tuple[Any, ...] = ()
    options: Mapping[str, Any] = MappingProxyType({})
    columns: tuple[str, ...] = ()

    def __str__(self) -> str:
        # A line of the message may hold text of the file.
        return "\n".join(map(visible_line, str(self.args[0]).split("\n")))


class SheetNotFoundError(InputError, LookupError):
    """A workbook has no sheet of the name or number that was asked for."""


class StorageError(BktoolsError, OSError):
    """A file of bktools cannot be written, cannot be read, or is damaged."""


class NotRecordedError(StorageError):
    """An outcome could not be written to the journal; the message says where it is kept."""


class SnapshotNotFoundError(BktoolsError, LookupError):
    """No snapshot matches the query."""


class PlanError(BktoolsError, ValueError):
    """A plan is not sent as it is, such as one that was changed after it was composed; nothing was sent."""


class JournalError(BktoolsError, RuntimeError):
    """The journal refuses a change that would break one of its rules.

    Its code is such as those of the conditions in `bktools.journal.right_journal`.
    """


class JournalBusyError(JournalError):
    """Another process is sending, or holds a record that is needed; nothing was sent by this one."""


class ServiceError(BktoolsError):
    """A request to the service failed.

    Attributes
    ----------
    headers : mapping of str to str
        Headers of the answer, with names in lower case and without credentials; empty without an answer.
    request_id : str
        The service's identifier of the request, from one of these headers, for its support; "" without one.
    """

    headers: Mapping[str, str] = MappingProxyType({})
    request_id: str = ""


class NotSentError(ServiceError, ConnectionError):
    """The request failed before any byte of it was sent."""


class UnreachableError(NotSentError):
    """No connection: this machine is offline, or the service is down. A cached copy may be used instead."""


class CertificateError(NotSentError):
    """The certificate of the service or of the proxy is not trusted, or the TLS handshake failed."""


class ProxyError(NotSentError):
    """The proxy refuses to connect to the service, or is not an HTTP proxy."""


class ConnectionLostError(ServiceError, ConnectionError):
    """The connection broke after sending began: the request may have arrived."""


class UnreadableAnswerError(ServiceError):
    """The answer is incomplete or breaks the contract.

    Parameters
    ----------
    message : str
        One line.
    status : int, optional
        HTTP status of the answer.
    repeatable : bool
        True when a repeat may bring a complete answer (the body was cut short), False when it would not.
    """

    def __init__(self, message: str, *, status: int | None = None, repeatable: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.repeatable = repeatable


class PagingError(UnreadableAnswerError):
    """The service's cursors repeat, are missing or never end: reading on would loop or lose rows."""


class DriftError(ServiceError):
    """The table changed during every attempt to read it."""


class StatusError(ServiceError):
    """The service answered with a status other than 2xx.

    Parameters
    ----------
    message : str
        One line.
    status : int
        HTTP status.
    body : bytes
        The answer's body, cut to 4 KiB.
    type : str
        The `type` of the body in capitals, "" without one.
    detail : str
        The `message` of the body, or the whole body where it is a plain JSON string.
    retry_after : float, optional
        Seconds the service asked to wait.
    is_service : bool
        Whether the body has the service's own form (interface, section 7): a `type` of capitals and
        underscores with a `message`, or for 401 and 403 `statusCode`, `error` and `message`.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int,
        body: bytes = b"",
        type: str = "",
        detail: str = "",
        retry_after: float | None = None,
        is_service: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body = body[:4096]
        self.type = type
        self.detail = detail
        self.retry_after = retry_after
        self.is_service = is_service


class AuthenticationError(StatusError, PermissionError):
    """401: the credential is missing, wrong or expired."""


class ScopeError(StatusError, PermissionError):
    """403: the credential may not do this."""


class NotFoundError(StatusError, LookupError):
    """404: not found."""


class RateLimitedError(StatusError):
    """429: too many requests."""


class ServerError(StatusError):
    """5xx, or the plain-text server failure of the balance endpoint."""


class DuplicateAccountError(StatusError):
    """An account with this external ID exists in the company already; the answer does not hold its id."""


class ExportRefusedError(StatusError):
    """The service refused to create the export job, for a documented reason."""


class MissingContraAccountsError(ExportRefusedError):
    """Contra accounts are not fully configured for the company."""


class ExportAlreadyInProgressError(ExportRefusedError):
    """Another export job of the company is in progress."""


class AccountingIntegrationNotFoundError(ExportRefusedError):
    """The company has no active accounting integration."""
