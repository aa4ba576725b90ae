"""The settings, each declared once: type, how it is read, default, and whether it is of a connection."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import SplitResult, urlsplit

import msgspec
import platformdirs

from bktools.addresses import is_loopback, normalised, normalised_host
from bktools.consoles import listed, readable
from bktools.errors import ConfigurationError
from bktools.settings.credentials import Secret, TokenSource, complaint_of
from bktools.wording import LANGUAGES, Sentence, words

SANDBOX = "sandbox"
COMPANIES = "companies"

LONGEST_TIMEOUT = 3600

# Names of environments that every system takes as names of folders.
_PLAIN_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9_.]+")


def read_setting(name: str, source: str, value: object, like: Field[Any] | None = None) -> Any:
    """Return the value of a setting; raise from here, where a secret stands in no frame."""
    declared = (like or SETTINGS[name]).metadata
    if declared["secret"]:
        value = Secret(value) if isinstance(value, str) else value
    try:
        return declared["read"](value)
    except ValueError as error:
        complaint = str(error)
    # A table may hold secrets, and an address a password.
    code = "error.got_a_table" if isinstance(value, Mapping) else "error.got"
    got = "" if declared["secret"] or "@" in str(value) else words()(code, value=repr(value))
    del value
    facts = {"name": name, "source": source, "complaint": complaint, "got": got}
    raise ConfigurationError(Sentence("error.wrong_setting", **facts))


def _of_type(kind: Any, rule: str, **facts: Any) -> Callable[[object], Any]:
    """Return a reader of a number or a flag, also from text."""

    def read(value: object) -> Any:
        plain = value.total_seconds() if isinstance(value, dt.timedelta) else value
        try:
            return msgspec.convert(plain, kind, strict=False)
        except msgspec.ValidationError:
            raise ValueError(words()(f"setting.{rule}", **facts)) from None

    return read


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(words()("rule.text"))
    return value.strip()


def _secret(value: object) -> Secret:
    if callable(value):
        return TokenSource(value, "token (a function)")
    if isinstance(value, TokenSource):
        return value
    text = value.reveal() if isinstance(value, Secret) else value
    complaint = complaint_of(text)
    if complaint:
        raise ValueError(complaint)
    return Secret(str(text).strip())


def address_parts(text: str) -> SplitResult | None:
    """Return the parts of an HTTP address, None when no client can use it."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
        normalised_host(host)
    except ValueError:
        return None
    host = f"[{host}]" if ":" in host else host
    is_whole = parts.netloc.lower().rpartition("@")[2] in {host, f"{host}:{port}"}
    is_plain = text.isprintable() and " " not in text
    return parts if is_whole and is_plain and parts.scheme in {"http", "https"} else None


def _address(value: object) -> str:
    text = _text(value).rstrip("/")
    parts = address_parts(text)
    if parts is None:
        raise ValueError(words()("rule.address"))
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError(words()("setting.address_alone"))
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        raise ValueError(words()("setting.not_https"))
    return f"{parts.scheme}://{parts.netloc.lower()}{parts.path}"


def read_path(value: object) -> Path:
    """Return a path; `~` is the user's folder."""
    if not isinstance(value, str | os.PathLike) or not str(value):
        raise ValueError(words()("rule.path"))
    try:
        return Path(value).expanduser().absolute()
    except RuntimeError:
        raise ValueError(words()("setting.unknown_user")) from None


def _that(read: Callable[[Any], Any], fits: Callable[[str], object], rule: str, **facts: Any) -> Any:
    """Return a reader of text that keeps a rule, too."""

    def read_and_check(value: object) -> Any:
        checked = read(value)
        if not fits(checked.reveal() if isinstance(checked, Secret) else checked):
            raise ValueError(words()(rule, **facts))
        return checked

    return read_and_check


_language = _that(
    lambda value: _text(value).lower(), LANGUAGES.__contains__, "rule.one_of", choices=", ".join(LANGUAGES)
)
_currency = _that(lambda value: _text(value).upper(), re.compile("[A-Z]{3}").fullmatch, "rule.currency")
_proxy = _that(_secret, address_parts, "setting.proxy")
_database = _that(_secret, re.compile("postgres(ql)?://").match, "setting.database")
_timeout = Annotated[float, msgspec.Meta(gt=0, le=LONGEST_TIMEOUT)]
_count = Annotated[int, msgspec.Meta(ge=0)]


def _setting(
    read: Callable[[Any], Any], *, default: Any = None, at: str | None = None, secret: bool = False
) -> Any:
    """Declare a setting. One of a connection belongs to the environment whose address it stands beside.

    `read` raises `ValueError` with the rule that a value breaks; `at` is the address that a setting of a
    connection is used at.
    """
    return field(default=default, metadata={"read": read, "at": at, "secret": secret})


@dataclass(frozen=True, repr=False)
class Settings:
    """The settings in force, and the source of each value. Each is described where it is declared."""

    environment: str
    """production, staging, sandbox, a table of the config file, or a base URL."""

    base_url: str | None = _setting(_address, at="base_url")
    """The address of the service (interface, section 5)."""

    token: Secret | None = _setting(_secret, at="base_url", secret=True)
    """Bearer token; as an argument also a function that returns it; it is called again after a 401."""

    token_command: str | None = _setting(_text, at="base_url")
    """In place of a token: a command whose first line is the token; it is run again after a 401."""

    api_key: Secret | None = _setting(_secret, at="base_url", secret=True)
    """API key (HTTP Basic), for the two operations that take one."""

    balance_url: str | None = _setting(_address, at="balance_url")
    """The host of the balance read."""

    balance_token: Secret | None = _setting(_secret, at="balance_url", secret=True)
    """Bearer token of the balance host."""

    company: str | None = _setting(_text, at="base_url")
    """The default company: its UUID, or its short name in the config file."""

    company_name: str | None = _setting(_text, at="base_url")
    """The company's full name, for the titles of reports and workbooks."""

    currency: str | None = _setting(_currency, at="base_url")
    """The company's own currency, such as EUR."""

    journal: Secret | None = _setting(_database, at="base_url", secret=True)
    """Address of the PostgreSQL database that holds the journal; default: a file in the data folder."""

    read_only: bool = _setting(_of_type(bool, "flag"), default=False)
    """Whether everything that writes to the service or exports is refused."""

    requests_per_minute: int = _setting(_of_type(_count, "or_no_limit"), default=500)
    """The client's own limit; 0 for no limit."""

    language: str = _setting(_language, default="en")
    """Language of sentences, reports and workbooks."""

    timeout: float = _setting(_of_type(_timeout, "timeout", most=LONGEST_TIMEOUT), default=60.0)
    """Seconds until the service begins an answer, or goes on with one. An export job has 300 at least."""

    retries: int = _setting(_of_type(_count, "or_none"), default=4)
    """How often a failed request is sent again at most; 0 for never. An export job never is."""

    proxy: Secret | None = _setting(_proxy, secret=True)
    """Address of an HTTP proxy, which may hold a user name and a password."""

    cache_dir: Path = _setting(read_path, default=platformdirs.user_cache_path("bktools"))
    """Folder of snapshots, which may be deleted."""

    data_dir: Path = _setting(read_path, default=platformdirs.user_data_path("bktools"))
    """Folder of the journal, which must be kept."""

    # A separate name: on some systems state and data share a folder.
    sent_log_dir: Path = _setting(read_path, default=platformdirs.user_state_path("bktools-sent-log"))
    """The log of all that was sent, outside of the data folder: it reveals an old copy of the journal."""

    companies: tuple[tuple[str, str], ...] = ()
    """Short name and UUID of each company of the environment in the config file."""

    sources: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Source of each value, by name."""

    @property
    def company_names(self) -> Mapping[str, str]:
        """The UUID of each company of the config file, by its short name."""
        return dict(self.companies)

    def short_name(self, company_id: str) -> str:
        """Return the short name of a company, its UUID where it has none."""
        return next((name for name, named_id in self.companies if named_id == company_id), company_id)

    def title_of(self, company_id: str) -> str:
        """Return the name of a company for titles: `company_name`, else its short name, else its UUID."""
        is_own = self.company_name and self.company in {None, company_id}
        return str(self.company_name) if is_own else self.short_name(company_id)

    @property
    def is_sandbox(self) -> bool:
        """Whether the environment is the embedded sandbox."""
        return self.environment == SANDBOX

    @property
    def identity(self) -> str:
        """The normalised address of the service."""
        # The sandbox has another port after each start, and stays the same service.
        return SANDBOX if self.is_sandbox else normalised(str(self.base_url))

    @property
    def state_dir(self) -> Path:
        """Folder of this environment's durable state."""
        return self.data_dir / folder_name_of(self.environment)

    def rows(self) -> list[tuple[str, str, str]]:
        """Return name, value and source of each setting; secrets stay hidden."""
        named = [("environment", self.environment), *((name, getattr(self, name)) for name in SETTINGS)]
        rows = [(name, _shown(value), self.sources.get(name, "")) for name, value in named]
        source = self.sources.get(COMPANIES, "")
        return [*rows, *((f"companies.{name}", company_id, source) for name, company_id in self.companies)]

    def __repr__(self) -> str:
        return readable("\n".join(["Settings", *listed_settings(self.rows())]))


SETTINGS = {item.name: item for item in fields(Settings) if "read" in item.metadata}
SECRETS = tuple(name for name, item in SETTINGS.items() if item.metadata["secret"])
# The settings of a connection, each with the address that it is used at.
CONNECTION = {name: item.metadata["at"] for name, item in SETTINGS.items() if item.metadata["at"]}
# Secrets that the system's keyring may hold.
KEYRING = tuple(name for name, item in SETTINGS.items() if item.metadata["read"] is _secret)


def hidden(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments with each credential as a `Secret`, for frames that a traceback may show."""
    return {
        name: Secret(value) if isinstance(value, str) and name in SECRETS else value
        for name, value in arguments.items()
    }


def listed_settings(rows: Iterable[tuple[str, str, str]]) -> list[str]:
    """Return rows of name, value and source as lines for people."""
    lines = []
    for name, value, source in rows:
        shown = source_in_words(source)
        lines.append((name, f"{value}  ({shown})" if value and shown else value or f"({shown})"))
    return listed(lines, indent="  ")


def source_in_words(source: str) -> str:
    """Return the source of a value for people."""
    texts, key = words(), f"setting.source.{source}"
    return texts(key) if texts.has(key) else source


def require_writable(settings: Settings) -> None:
    """Refuse to write with the setting `read_only`; everything that changes the service asks here first."""
    if settings.read_only:
        source = settings.sources.get("read_only", "argument")
        raise ConfigurationError(Sentence("setting.read_only", source=source))


def environment_name(environment: str) -> str:
    """Return an environment's name, the same for every spelling of an address."""
    return normalised(environment) if "://" in environment else environment


def folder_name_of(environment: str) -> str:
    """Return the name of an environment's folders: its own name, or the plain part of it and a digest."""
    environment = environment_name(environment)
    if _PLAIN_NAME.fullmatch(environment):
        return environment
    plain = _NOT_IN_NAMES.sub("-", environment.lower()).strip("-.")[:40]
    return f"{plain}-{hashlib.sha256(environment.encode()).hexdigest()[:8]}"


def _shown(value: object) -> str:
    if isinstance(value, Secret):
        return words()("setting.secret")
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
