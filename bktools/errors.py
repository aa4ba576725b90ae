"""Every error bktools raises on purpose, in one tree.

::

    BktoolsError
    ├── ConfigurationError (ValueError)       a setting is missing or contradicts another
    ├── ArgumentError (ValueError)            an argument breaks a rule of the contract; nothing was sent
    ├── InputError (ValueError)               a file or frame cannot be read as it is
    ├── StorageError (OSError)                the disk does not take or give back what it should
    ├── OutOfMemoryError (RuntimeError)       the tables are larger than the memory of this machine
    ├── SnapshotNotFoundError (LookupError)   no snapshot answers the question
    ├── PlanError (ValueError)                a plan is not what it was when it was made
    ├── JournalError (RuntimeError)           the durable memory refuses
    │   ├── JournalBusyError                  another process sends for this company
    │   └── InDoubtError                      an export whose outcome is unknown blocks the company
    └── ServiceError                          the conversation with the service failed
        ├── NotSentError (ConnectionError)         it ended before anything of the request was sent
        │   ├── UnreachableError                       no connection stood: offline, or the service is down
        │   ├── CertificateError                       a certificate is not trusted, or TLS failed
        │   └── ProxyError                             the proxy refuses
        ├── ConnectionLostError (ConnectionError)  it broke after it stood: the request may have arrived
        ├── UnreadableAnswerError                  the answer is not whole, or not what the contract promises
        │   └── PagingError                        pages that do not lead through the table
        ├── DriftError                             the table changed faster than it could be read
        └── StatusError                            an answer with another status than 2xx
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

A message is one line: what happened, what was kept, what to do next. What a program needs of it is in fields.

Beside the tree stand four warnings: `StaleSnapshotWarning`, for an answer that is older than wanted,
`UnverifiedTableWarning`, `DamagedStoreWarning` and `GuessedEncodingWarning`.
"""

from __future__ import annotations

from typing import Any

from bktools.visible import visible_line


class BktoolsError(Exception):
    """The root: catch this to catch everything that bktools raises on purpose."""

    def __str__(self) -> str:
        # Names and answers from outside are in messages, and messages go to terminals.
        return visible_line(super().__str__())

    def __reduce__(self) -> tuple[Any, ...]:
        # The arguments of `__init__` are not kept, what it made of them is: message and fields go to the other process.
        return _bare, (type(self), self.args), self.__dict__


def _bare(kind: type[BktoolsError], args: tuple[Any, ...]) -> BktoolsError:
    error = kind.__new__(kind, *args)
    error.args = args
    return error


class StaleSnapshotWarning(UserWarning):
    """The service could not be reached, so an older snapshot was used."""


class UnverifiedTableWarning(UserWarning):
    """A table was loaded although a check spoke against it, as `verify="warn"` asks."""


class DamagedStoreWarning(UserWarning):
    """The list of snapshots is damaged on disk; what could be read of it is used."""


class GuessedEncodingWarning(UserWarning):
    """The encoding of a file was found by clear evidence that is not certain; `encoding=` sets it."""


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
        What was given; shown shortened.
    """

    def __init__(self, argument: str, rule: str, value: object = None) -> None:
        shown = "" if value is None else f", got {_shortened(value)}"
        super().__init__(f"{argument} {rule}{shown}")
        self.argument = argument
        self.rule = rule
        self.value = value


class InputError(BktoolsError, ValueError):
    """A file or frame that was handed in cannot be taken as it is; nothing was changed.

    Parameters
    ----------
    message : str
        One line: the thing, the rule, the way out.
    source : str
        The file or frame.
    line : int, optional
        Line of the file, counted from 1 with its heading.

    Attributes
    ----------
    field : str
        The field that has no column, several, or values that cannot be read; "" where it is none.
    settings : tuple of (str, value)
        Arguments of the reader that settle it.
    """

    field: str = ""
    settings: tuple[tuple[str, Any], ...] = ()

    def __init__(self, message: str, *, source: str = "", line: int | None = None) -> None:
        where = f"{source}, line {line}: " if source and line else f"{source}: " if source else ""
        super().__init__(f"{where}{message}")
        self.source = source
        self.line = line


class StorageError(BktoolsError, OSError):
    """A file of bktools' own could not be written, or does not hold what was written."""


class OutOfMemoryError(BktoolsError, RuntimeError):
    """The tables are larger than the memory of this machine; nothing was changed."""


class SnapshotNotFoundError(BktoolsError, LookupError):
    """No snapshot answers the question."""


class PlanError(BktoolsError, ValueError):
    """A plan is not what it was when it was made; nothing was sent."""


class JournalError(BktoolsError, RuntimeError):
    """The durable memory refuses a change that would break one of its promises."""


class JournalBusyError(JournalError):
    """Another process sends for this company right now; nothing was sent from here."""


class InDoubtError(JournalError):
    """An export job whose outcome is unknown blocks its company until a person settles it.

    Parameters
    ----------
    message : str
        One line with batch, company, time and the command that settles it.
    batch_id : str
        The batch in doubt.
    company_id : str
        The company it blocks.
    """

    def __init__(self, message: str, *, batch_id: str, company_id: str) -> None:
        super().__init__(message)
        self.batch_id = batch_id
        self.company_id = company_id


class ServiceError(BktoolsError):
    """The conversation with the service failed."""


class NotSentError(ServiceError, ConnectionError):
    """The conversation ended before anything of the request was sent."""


class UnreachableError(NotSentError):
    """No connection stood: this machine is offline, or the service is down. A cached copy may be used instead."""


class CertificateError(NotSentError):
    """The certificate of the service or of the proxy is not trusted, or no TLS connection could be agreed on."""


class ProxyError(NotSentError):
    """The proxy refuses to connect to the service, or is not an HTTP proxy."""


class ConnectionLostError(ServiceError, ConnectionError):
    """The connection broke after it stood: the request may have arrived."""


class UnreadableAnswerError(ServiceError):
    """The answer is not whole, or is not what the contract promises.

    Parameters
    ----------
    message : str
        One line.
    status : int, optional
        HTTP status of the answer.
    repeatable : bool
        True when a repeat may bring a whole answer (a body that was cut), False when it would be the same again.
    """

    def __init__(self, message: str, *, status: int | None = None, repeatable: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.repeatable = repeatable


class PagingError(UnreadableAnswerError):
    """The pages do not lead through the table: going on would loop or lose rows."""


class DriftError(ServiceError):
    """The table changed while it was read, more often than it was read again."""


class StatusError(ServiceError):
    """The service answered with another status than 2xx.

    Parameters
    ----------
    message : str
        One line.
    status : int
        HTTP status.
    body : bytes
        The answer's body as it came, shortened to 4 KiB.
    type : str
        The `type` of the body where it has one, in capitals.
    detail : str
        The `message` of the body, or the body's own text where it is a plain JSON string.
    retry_after : float, optional
        Seconds the service asked to wait.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int,
        body: bytes = b"",
        type: str = "",  # noqa: A002 - the interface's own name
        detail: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body = body[:4096]
        self.type = type
        self.detail = detail
        self.retry_after = retry_after


class AuthenticationError(StatusError, PermissionError):
    """401: the credential is missing, wrong or expired."""


class ScopeError(StatusError, PermissionError):
    """403: the credential may not do this."""


class NotFoundError(StatusError, LookupError):
    """404: the service has no such thing."""


class RateLimitedError(StatusError):
    """429: too many requests."""


class ServerError(StatusError):
    """5xx, or the balance's plain text for a failure of the server."""


class DuplicateAccountError(StatusError):
    """An account with this external ID exists in the company already; its id is not told."""


class ExportRefusedError(StatusError):
    """The service refused to create the export job, for a documented reason."""


class MissingContraAccountsError(ExportRefusedError):
    """Contra accounts are not fully configured for the company."""


class ExportAlreadyInProgressError(ExportRefusedError):
    """An export job of the company is in progress."""


class AccountingIntegrationNotFoundError(ExportRefusedError):
    """The company has no active accounting integration."""


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"  # noqa: PLR2004 - one line of a terminal
