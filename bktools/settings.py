"""Settings: addresses, credentials, company, folders, and the source of each value.

Every setting is taken from the first of these that has it: an argument, an environment variable
`BKTOOLS_<NAME>`, the table of the environment in the config file, the top level of the config file, the
system keyring (secrets), a default.

The settings of a connection (address, credentials, company) belong together. The variables apply only to the
environment that `BKTOOLS_ENVIRONMENT` names, or else `BKTOOLS_BASE_URL`, or else the config file. Two
different addresses for one environment are an error. A credential is sent only to the address that stands in
the same place, or in the table of its environment.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import re
import tomllib
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypedDict, Unpack
from urllib.parse import SplitResult, urlsplit

import platformdirs

from bktools import views
from bktools.addresses import is_loopback, normalised, normalised_host
from bktools.consoles import listed, readable
from bktools.errors import ConfigurationError
from bktools.wording import LANGUAGES

SANDBOX = "sandbox"
COMPANIES = "companies"

LONGEST_TIMEOUT = 3600

# From which share of equal letters, of 1, two names are taken for one that is misspelt.
ALIKE = 0.75

# Names of environments that every system takes as names of folders.
_PLAIN_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9_.]+")

HOW_TO_CONFIGURE = (
    "no environment is configured: set BKTOOLS_ENVIRONMENT, or BKTOOLS_BASE_URL and BKTOOLS_TOKEN, or write "
    f"{platformdirs.user_config_path('bktools') / 'config.toml'}; "
    'to try bktools without a service: connect("sandbox"), on the command line --sandbox'
)


class Secret:
    """Text that is shown only by `reveal`: no repr, pickle, copy or `dataclasses.asdict` has it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(…)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, _: object) -> Secret:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        message = "a secret is not to be pickled"
        raise TypeError(message)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        # Not shown in full: a table may hold secrets.
        got = "a table" if isinstance(value, Mapping) else repr(value)
        raise ConfigurationError(f"{name} must be text, got {got}")
    return value.strip()


def _kind(name: str, value: object) -> str:
    """Return the `type` of an answer in capitals; "none" for no answer."""
    text = _text(name, value)
    return text.lower() if text.lower() == "none" else text.upper()


def _language(name: str, value: object) -> str:
    text = _text(name, value).lower()
    if text not in LANGUAGES:
        raise ConfigurationError(f"{name} must be one of {', '.join(LANGUAGES)}, is {text!r}")
    return text


def _currency(name: str, value: object) -> str:
    text = _text(name, value).upper()
    if not re.fullmatch("[A-Z]{3}", text):
        raise ConfigurationError(f"{name} must be a currency code of three letters, such as EUR, is {text!r}")
    return text


def _secret(name: str, value: object) -> Secret:
    if isinstance(value, Secret):
        return value
    if not isinstance(value, str) or not value.strip():
        # Not shown: it may be a secret.
        raise ConfigurationError(f"{name} must be text that is not empty")
    text = value.strip()
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ConfigurationError(
            f"{name} holds white space or characters that no header takes: was it copied whole?"
        )
    return Secret(text)


def _address(text: str) -> SplitResult | None:
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


def _url(name: str, value: object) -> str:
    text = _text(name, value).rstrip("/")
    parts = _address(text)
    if parts is None:
        # Not shown when it may hold a password.
        got = "" if "@" in text else f", got {text!r}"
        raise ConfigurationError(f"{name} must be an address such as https://api.example.com{got}")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigurationError(f"{name} must be an address without user name, query or fragment")
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        raise ConfigurationError(
            f"{name} must begin with https:// (plain http is for loopback only), got {text!r}"
        )
    return f"{parts.scheme}://{parts.netloc.lower()}{parts.path}"


def _proxy(name: str, value: object) -> Secret:
    secret = _secret(name, value)
    if _address(secret.reveal()) is None:
        example = "an HTTP proxy such as http://proxy.example.com:8080, with http:// or https://"
        raise ConfigurationError(f"{name} must be the address of {example}")
    return secret


def _database(name: str, value: object) -> Secret:
    secret = _secret(name, value)
    if not secret.reveal().startswith(("postgresql://", "postgres://")):
        example = "a PostgreSQL database, such as postgresql://user@db.example.com/journal"
        raise ConfigurationError(f"{name} must be the address of {example}")
    return secret


def _path(name: str, value: object) -> Path:
    if not isinstance(value, str | os.PathLike) or not str(value):
        raise ConfigurationError(f"{name} must be a path, got {value!r}")
    try:
        return Path(value).expanduser().absolute()
    except RuntimeError as error:
        raise ConfigurationError(
            f"{name} names the folder of a user that is not known here, got {value!r}"
        ) from error


def _count(zero: str) -> Callable[[str, object], int]:
    """Return the check of a whole number, with the meaning of 0."""

    def read(name: str, value: object) -> int:
        try:
            # Read from the text, so that 1.5, infinity and True are refused.
            number = int(str(value))
        except ValueError:
            number = -1
        if number < 0:
            raise ConfigurationError(f"{name} must be a whole number, 0 for {zero}, got {value!r}")
        return number

    return read


def _seconds(name: str, value: object) -> float:
    try:
        number = value.total_seconds() if isinstance(value, dt.timedelta) else float(str(value))
    except ValueError:
        number = 0.0
    if not 0 < number <= LONGEST_TIMEOUT:
        raise ConfigurationError(
            f"{name} must be seconds, more than 0 and up to {LONGEST_TIMEOUT}, got {value!r}"
        )
    return number


def _setting(read: Callable[[str, object], Any], *, default: Any = None, connection: bool = False) -> Any:
    return field(default=default, metadata={"read": read, "connection": connection})


@dataclass(frozen=True, repr=False)
class Settings:
    """The settings in force, and the source of each value.

    Parameters
    ----------
    environment : str
        "production", "staging", "sandbox", a table of the config file, or a base URL.
    base_url, balance_url : str, optional
        The two hosts (interface, section 5).
    token, api_key, balance_token : Secret, optional
        Credentials: bearer token, API key (HTTP Basic), bearer token of the balance host.
    company : str, optional
        The default company.
    currency : str, optional
        The company's own currency, such as "EUR".
    journal : Secret, optional
        Address of the PostgreSQL database that holds the journal of this environment, which may have a
        password. Default: a file in the data folder.
    cache_dir, data_dir : Path
        The cache folder holds snapshots and may be deleted; keep the data folder, which holds the journal.
    sent_log_dir : Path
        The log of all that was sent, outside of the data folder: it reveals an old copy of the journal.
    requests_per_minute : int
        The client's own limit; 0 for no limit.
    rate_limit_type : str
        The `type` in the body of the service's own answer 429. It did not take up an export that it answered
        so, which is therefore sent again after a wait.
    timeout : float
        Seconds until the service begins an answer, or goes on with one. An export job has 300 at least.
    retries : int
        How often a failed request is sent again at most; 0 for never. An export job never is.
    proxy : Secret, optional
        Address of an HTTP proxy, which may hold a user name and a password.
    ca_bundle : Path, optional
        A file of certificates to trust instead of the usual ones.
    keep_days : int
        Days for which the cache keeps every snapshot; later only the last of each month. 0 for all of them.
    language : str
        Of reports, workbooks and their pictures: "en" or "de".
    companies : tuple of (str, str)
        Short name and UUID of each company in `[production.companies]` of the config file.
    sources : mapping
        Source of each value, by name.
    """

    environment: str
    base_url: str | None = _setting(_url, connection=True)
    token: Secret | None = _setting(_secret, connection=True)
    api_key: Secret | None = _setting(_secret, connection=True)
    balance_url: str | None = _setting(_url, connection=True)
    balance_token: Secret | None = _setting(_secret, connection=True)
    company: str | None = _setting(_text, connection=True)
    currency: str | None = _setting(_currency, connection=True)
    journal: Secret | None = _setting(_database, connection=True)
    requests_per_minute: int = _setting(_count("no limit"), default=500)
    # ASSUMED: the interface shows neither a rate limit nor its answer.
    rate_limit_type: str = _setting(_kind, default="RATE_LIMITED")
    language: str = _setting(_language, default="en")
    timeout: float = _setting(_seconds, default=60.0)
    retries: int = _setting(_count("none"), default=4)
    proxy: Secret | None = _setting(_proxy)
    ca_bundle: Path | None = _setting(_path)
    keep_days: int = _setting(_count("no limit"), default=90)
    cache_dir: Path = _setting(_path, default=platformdirs.user_cache_path("bktools"))
    data_dir: Path = _setting(_path, default=platformdirs.user_data_path("bktools"))
    # A separate name: on some systems state and data share a folder.
    sent_log_dir: Path = _setting(_path, default=platformdirs.user_state_path("bktools-sent-log"))
    companies: tuple[tuple[str, str], ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def company_names(self) -> Mapping[str, str]:
        """The UUID of each company of the config file, by its short name."""
        return dict(self.companies)

    def name_of(self, company_id: str) -> str:
        """Return the short name of a company, its UUID where it has none."""
        return next((name for name, named_id in self.companies if named_id == company_id), company_id)

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
        rows = [
            (name, "  ".join(filter(None, [value, f"({source})"]))) for name, value, source in self.rows()
        ]
        return readable("\n".join(["Settings", *listed(rows, indent="  ")]))

    def _repr_html_(self) -> str:
        rows = self.rows()
        return views.heading("Settings") + views.table(
            ["setting", "value", "from"], rows, total=len(rows), shown=len(rows)
        )


def name_of(environment: str) -> str:
    """Return an environment's name, the same for every spelling of an address."""
    return normalised(environment) if "://" in environment else environment


def folder_name_of(environment: str) -> str:
    """Return the name of an environment's folders: its own name, or what is left of it with a digest."""
    environment = name_of(environment)
    if _PLAIN_NAME.fullmatch(environment):
        return environment
    readable = _NOT_IN_NAMES.sub("-", environment.lower()).strip("-.")[:40]
    return f"{readable}-{hashlib.sha256(environment.encode()).hexdigest()[:8]}"


def _shown(value: object) -> str:
    return "" if value is None else "set, not shown" if isinstance(value, Secret) else str(value)


class Overrides(TypedDict, total=False):
    """The settings as arguments; None is the same as not given."""

    base_url: str | None
    token: str | Secret | None
    api_key: str | Secret | None
    balance_url: str | None
    balance_token: str | Secret | None
    company: str | None
    currency: str | None
    journal: str | Secret | None
    requests_per_minute: int | None
    rate_limit_type: str | None
    language: str | None
    timeout: float | dt.timedelta | None
    retries: int | None
    proxy: str | Secret | None
    ca_bundle: str | os.PathLike[str] | None
    keep_days: int | None
    cache_dir: str | os.PathLike[str] | None
    data_dir: str | os.PathLike[str] | None
    sent_log_dir: str | os.PathLike[str] | None


SETTINGS = {item.name: item for item in fields(Settings) if "read" in item.metadata}
SECRETS = tuple(name for name, item in SETTINGS.items() if item.metadata["read"] is _secret)
CONNECTION = tuple(name for name, item in SETTINGS.items() if item.metadata["connection"])
_CREDENTIALS = {"token", "api_key"}
ADDRESSES = ("base_url", "balance_url")
# The address at which a setting is used; base_url for all others.
ADDRESS_OF = {"balance_url": "balance_url", "balance_token": "balance_url"}

# A value with its source, and all values of one source, by the name of the setting.
Sourced = tuple[Any, str]
Values = dict[str, Sourced]


def load_settings(
    environment: str | None = None,
    *,
    env: Mapping[str, str] | None = None,
    **overrides: Unpack[Overrides],
) -> Settings:
    """Return the settings in force.

    Parameters
    ----------
    environment : str, optional
        "production", "staging", "sandbox", a table of the config file, or a base URL.
    env : mapping, optional
        Environment variables; the process's own by default.
    **overrides
        Any setting by its name; None means not given.

    Raises
    ------
    ConfigurationError
        When no environment is configured or a value is malformed. The message names setting and source.
    """
    env = os.environ if env is None else env
    if unknown := sorted(set(overrides) - set(SETTINGS)):
        raise ConfigurationError(f"no such setting: {', '.join(unknown)} (there are {', '.join(SETTINGS)})")
    _refuse_misspelt(env)
    file, file_name = _read_config(env)
    arguments = _values(overrides, "argument")
    variables = _values({name: env.get(f"BKTOOLS_{name.upper()}") or None for name in SETTINGS})
    # The environment whose settings the variables are, and the one that is asked for.
    owner = _first(
        (env.get("BKTOOLS_ENVIRONMENT"), "BKTOOLS_ENVIRONMENT"),
        (env.get("BKTOOLS_BASE_URL"), "BKTOOLS_BASE_URL"),
        (file.get("environment"), str(file_name)),
    )
    named = _first((environment, "argument"), (overrides.get("base_url"), "argument base_url")) or owner
    if named is None:
        raise ConfigurationError(HOW_TO_CONFIGURE)
    owner = owner and _of_address(owner, file, None, variables)
    named = _of_address(named, file, owner, variables)
    name = named[0]
    own = _values_of(named, file, file_name)
    is_owner = owner is not None and owner[0] == name
    foreign = (
        {}
        if is_owner
        else {setting: variables.pop(setting) for setting in CONNECTION if setting in variables}
    )
    if owner is None and foreign and name != SANDBOX:
        raise ConfigurationError(
            f"{next(iter(foreign.values()))[1]} does not say which environment it is for: "
            "set BKTOOLS_ENVIRONMENT or BKTOOLS_BASE_URL as well"
        )
    # The first of these that has a setting decides.
    layers = (
        arguments,
        variables,
        own,
        _values(
            {setting: file.get(setting) for setting in SETTINGS if setting not in CONNECTION}, str(file_name)
        ),
    )
    addresses = {setting: _one_address(setting, name, layers) for setting in ADDRESSES}
    if name != SANDBOX and addresses["base_url"] is None:
        raise ConfigurationError(
            f"the environment {name!r} has no base_url: write it into [{name}] of {file_name}, or set it as "
            f"BKTOOLS_BASE_URL together with BKTOOLS_ENVIRONMENT={name}"
        )
    if addresses["base_url"] is not None:
        _refuse_second_name(name, addresses["base_url"][0], file, file_name)
    values: dict[str, Any] = {}
    sources = {"environment": named[1]}
    for setting, item in SETTINGS.items():
        layer = next((layer for layer in layers if setting in layer), {})
        needed = ADDRESS_OF.get(setting, "base_url")
        address, sourced = addresses[needed], layer.get(setting)
        is_bound = setting in CONNECTION and layer is not arguments
        if sourced and address and is_bound and needed not in layer | own:
            raise ConfigurationError(
                f"{setting} ({sourced[1]}) does not say that it is for {address[0]} ({address[1]}): "
                f"write {needed} beside {setting}, or give {setting} where {needed} is given"
            )
        if not sourced and address and setting in SECRETS and name != SANDBOX:
            sourced = _keyring_secret(name, setting, address[0], own)
        unlimited = name == SANDBOX and setting == "requests_per_minute"
        value, source = sourced or (0 if unlimited else item.default, "default")
        values[setting] = item.metadata["read"](f"{setting} ({source})", value) if sourced else value
        unused = f"not set; {foreign[setting][1]} is not for {name}" if setting in foreign else "not set"
        sources[setting] = unused if values[setting] is None else source
    companies = _with_company(name, file, file_name, values, sources)
    return Settings(environment=name, companies=tuple(companies.items()), sources=sources, **values)


def config_path(env: Mapping[str, str] | None = None) -> Path:
    """Return the path of the config file, which may be missing: `BKTOOLS_CONFIG`, or the user's folder."""
    named = (os.environ if env is None else env).get("BKTOOLS_CONFIG")
    return (
        _path("BKTOOLS_CONFIG", named) if named else platformdirs.user_config_path("bktools") / "config.toml"
    )


def _values(values: Mapping[str, Any], source: str = "") -> Values:
    """Return values with their source; by default the environment variable of each."""
    return {
        name: (value, source or f"BKTOOLS_{name.upper()}")
        for name, value in values.items()
        if value is not None
    }


def _first(*candidates: Sourced) -> Sourced | None:
    """Return the first environment that is given, an address in the client's form."""
    for value, source in candidates:
        if value:
            name = f"environment ({source})"
            return (_url if "://" in str(value) else _text)(name, value), source
    return None


def _values_of(named: Sourced, file: Mapping[str, Any], file_name: Path) -> Values:
    """Return the settings in an environment's name itself: its table in the file, or its address."""
    if "://" in named[0]:
        return {"base_url": named}
    where = f"[{named[0]}] in {file_name}"
    table = file.get(named[0], {})
    if not isinstance(table, dict):
        raise ConfigurationError(f"{where} must be a table")
    table = {name: value for name, value in table.items() if name != COMPANIES}
    _refuse_unknown(table, where)
    return _values(table, where)


def _with_company(
    environment: str,
    file: Mapping[str, Any],
    file_name: Path,
    values: dict[str, Any],
    sources: dict[str, str],
) -> dict[str, str]:
    """Put in the company's UUID, and its credential instead of the environment's; return named companies."""
    companies, credentials = _companies(environment, file, file_name)
    if companies:
        sources[COMPANIES] = f"[{environment}.{COMPANIES}] in {file_name}"
        values["company"] = companies.get(values["company"], values["company"])
        for setting, (text, source) in credentials.get(values["company"], {}).items():
            values |= dict.fromkeys(_CREDENTIALS) | {setting: _secret(f"{setting} ({source})", text)}
            sources[setting] = source
    return companies


def _companies(
    environment: str, file: Mapping[str, Any], file_name: Path
) -> tuple[dict[str, str], dict[str, Values]]:
    """Return an environment's companies: each UUID by its short name, and each own credential by its UUID."""
    table = file.get(environment, {}).get(COMPANIES, {})
    where = f"[{environment}.{COMPANIES}] in {file_name}"
    if not isinstance(table, dict):
        raise ConfigurationError(f'{where} must be a table, with a line such as acme = "UUID of the company"')
    companies, credentials = dict[str, str](), dict[str, Values]()
    for name, value in table.items():
        if name == "all" or _uuid(name):
            raise ConfigurationError(
                f"{name} ({where}) is a UUID, or means every company: choose another name"
            )
        own = dict(value) if isinstance(value, dict) else {"id": value}
        company_id = _uuid(str(own.pop("id", "")))
        if company_id is None:
            raise ConfigurationError(f"{name} ({where}) must be the UUID of the company, got {value!r}")
        if len(own) > 1 or not own.keys() <= _CREDENTIALS:
            raise ConfigurationError(
                f'{name} ({where}) takes a credential of its own as {{id = "UUID of the company", '
                f'token = "…"}}, or with '
                "api_key in place of token, and nothing else"
            )
        companies[name] = company_id
        credentials[company_id] = _values(own, f"{name} of {where}")
    return companies, credentials


def _uuid(text: str) -> str | None:
    """Return a UUID in lower case, None for another text."""
    try:
        canonical = str(uuid.UUID(text))
    except ValueError:
        return None
    return canonical if canonical == text.lower() else None


def _of_address(named: Sourced, file: Mapping[str, Any], owner: Sourced | None, variables: Values) -> Sourced:
    """Return the environment of a bare address, by the config file or the variables, else the address."""
    if "://" not in named[0]:
        return named
    tables = _tables_at(named[0], file)
    base_url = variables.get("base_url", ("", ""))[0]
    if owner and _address(str(base_url)) and normalised(str(base_url)) == normalised(named[0]):
        tables = [owner[0]]
    return (tables[0], named[1]) if len(tables) == 1 else named


def _refuse_second_name(name: str, address: str, file: Mapping[str, Any], file_name: Path) -> None:
    """Refuse two environments with one address: the journal of the one does not know what the other sends."""
    for other in _tables_at(address, file):
        if name not in {other, SANDBOX}:
            raise ConfigurationError(
                f"the environments {name!r} and {other!r} have one address, {address} ({file_name}): "
                "keep one of them, and give its journal that name where it has the other one: "
                f"bktools journal rename {other} {name} --by NAME. "
                f"A company with a credential of its own is a line of [{other}.{COMPANIES}]: "
                f'acme = {{id = "UUID", token = "…"}}'
            )


def _tables_at(address: str, file: Mapping[str, Any]) -> list[str]:
    """Return the environments of the config file that have an address."""
    return [
        table
        for table, values in file.items()
        if isinstance(values, dict)
        and isinstance(own := values.get("base_url"), str)
        and _address(own.strip())
        and normalised(own) == normalised(address)
    ]


def _one_address(name: str, environment: str, layers: Iterable[Values]) -> Sourced | None:
    """Return the address on which all sources agree, with the first of them."""
    addresses = [
        (_url(f"{name} ({source})", value), source)
        for value, source in (layer[name] for layer in layers if name in layer)
    ]
    for address, source in addresses:
        first, first_source = addresses[0]
        if normalised(address) != normalised(first):
            raise ConfigurationError(
                f"{name} of {environment!r} is {first} ({first_source}) and {address} ({source}): "
                "an environment has one address, so remove one of them, or connect to the address itself, "
                "with its own token"
            )
        if environment == SANDBOX and not is_loopback(urlsplit(address).hostname or ""):
            raise ConfigurationError(
                f"{name} of the sandbox must be on this machine, got {address} ({source})"
            )
    return addresses[0] if addresses else None


def _read_config(env: Mapping[str, str]) -> tuple[dict[str, Any], Path]:
    path = config_path(env)
    try:
        # Some editors, and PowerShell, write a byte order mark.
        tables = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        if env.get("BKTOOLS_CONFIG"):
            raise ConfigurationError(f"there is no config file {path}") from None
        return {}, path
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"the config file {path} cannot be read: {error}") from error
    settings = {name: value for name, value in tables.items() if not isinstance(value, dict)}
    _refuse_unknown(settings, str(path), "environment")
    if any("://" in name for name in tables):
        raise ConfigurationError(
            f"{path}: a table needs a name, such as [production]; write the address as its base_url"
        )
    if misplaced := [name for name in settings if name in CONNECTION]:
        raise ConfigurationError(
            f"{path} has {misplaced[0]!r} above its tables, where it belongs to no environment: "
            "put it into the table of one, such as [production], below its base_url"
        )
    return tables, path


def _refuse_unknown(table: Mapping[str, Any], where: str, *others: str) -> None:
    if unknown := sorted(set(table) - {*SETTINGS, *others}):
        raise ConfigurationError(
            f"{where} has no setting {unknown[0]!r}; there are {', '.join((*others, *SETTINGS))}"
        )


def _refuse_misspelt(env: Mapping[str, str]) -> None:
    """Refuse variables with nearly the name of a setting: a misspelt one may choose another journal.

    Others may belong to another program.
    """
    known = sorted(name.upper() for name in (*SETTINGS, "environment", "config"))
    given = {name.removeprefix("BKTOOLS_") for name in env if name.startswith("BKTOOLS_") and env[name]}
    for name in sorted(given - {*known}):
        # Not at the top: nearly every command starts without such a variable.
        import difflib

        if meant := difflib.get_close_matches(name, known, 1, ALIKE):
            way_out = f"rename it to BKTOOLS_{meant[0]} if that is meant, or unset it"
            raise ConfigurationError(f"BKTOOLS_{name} is no setting: {way_out}")


def _keyring_secret(environment: str, name: str, address: str, own: Values) -> Sourced | None:
    """Return a secret from the keyring: of an environment whose table has the address, or of the address."""
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return None
    is_in_table = "://" not in environment and ADDRESS_OF.get(name, "base_url") in own
    owner = environment if is_in_table else normalised(address)
    try:
        secret = keyring.get_password(f"bktools:{owner}", name)
    except KeyringError:
        # No keyring service runs here (a server, a container): the same as no entry.
        return None
    return None if secret is None else (secret, "system keyring")
