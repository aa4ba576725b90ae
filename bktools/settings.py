"""Where the service is, who asks, and where files are kept.

Every setting is taken from the first of these that has it: an argument, an environment variable `BKTOOLS_<NAME>`, the
table of the environment in the config file, the top level of the config file, the system keyring (secrets), a default.

The variables that say where a service is and who asks belong to one environment, the one `BKTOOLS_ENVIRONMENT` or
`BKTOOLS_BASE_URL` names: a token never goes to another one because somebody asked for another one.
"""

from __future__ import annotations

import hashlib
import ipaddress
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypedDict, Unpack
from urllib.parse import SplitResult, urlsplit

import platformdirs

from bktools import views
from bktools.addresses import normalised
from bktools.errors import ConfigurationError

SANDBOX = "sandbox"

_NAME = re.compile(r"[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?")

HOW_TO_CONFIGURE = (
    "no environment is configured: set BKTOOLS_ENVIRONMENT, or BKTOOLS_BASE_URL and BKTOOLS_TOKEN, or write "
    f"{platformdirs.user_config_path('bktools') / 'config.toml'} (bktools config shows what is in force); "
    'to try bktools without a service: connect("sandbox"), on the command line --sandbox'
)


class Secret:
    """Text that shows itself only when asked to."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(…)"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> tuple[Any, ...]:
        message = "a secret is not to be pickled"
        raise TypeError(message)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ConfigurationError(f"{name} must be text, got {value!r}")
    return value.strip()


def _secret(name: str, value: object) -> Secret:
    if isinstance(value, Secret):
        return value
    if not isinstance(value, str) or not value.strip():
        # The value is not shown: it may be a secret all the same.
        raise ConfigurationError(f"{name} must be text that is not empty")
    text = value.strip()
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ConfigurationError(f"{name} holds white space or characters that no header takes: was it copied whole?")
    return Secret(text)


def _address(text: str) -> SplitResult | None:
    """Return the parts of an HTTP address; None when no client could use it."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
        if not _NAME.fullmatch(host) or host.replace(".", "").isdigit():
            host = f"[{host}]" if ipaddress.ip_address(host).version == 6 else host  # noqa: PLR2004 - IPv6
    except ValueError:
        return None
    is_whole = parts.netloc.lower().rpartition("@")[2] in {host, f"{host}:{port}"}
    is_plain = text.isprintable() and " " not in text
    return parts if is_whole and is_plain and parts.scheme in {"http", "https"} else None


def _url(name: str, value: object) -> str:
    text = _text(name, value).rstrip("/")
    parts = _address(text)
    if parts is None:
        # What may hold a password is not shown.
        got = "" if "@" in text else f", got {text!r}"
        raise ConfigurationError(f"{name} must be an address such as https://api.example.com{got}")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigurationError(f"{name} must be an address without user name, query or fragment")
    if parts.scheme == "http" and parts.hostname not in {"localhost", "127.0.0.1", "::1"}:
        raise ConfigurationError(f"{name} must begin with https:// (plain http is for loopback only), got {text!r}")
    return f"{parts.scheme}://{parts.netloc.lower()}{parts.path}"


def _proxy(name: str, value: object) -> Secret:
    secret = _secret(name, value)
    if _address(secret.reveal()) is None:
        raise ConfigurationError(
            f"{name} must be the address of an HTTP proxy such as http://proxy.example.com:8080, with http:// or https://"
        )
    return secret


def _path(name: str, value: object) -> Path:
    if not isinstance(value, str | os.PathLike) or not str(value):
        raise ConfigurationError(f"{name} must be a path, got {value!r}")
    try:
        return Path(value).expanduser().absolute()
    except RuntimeError as error:
        raise ConfigurationError(f"{name} names the folder of a user that is not known here, got {value!r}") from error


def _rate(name: str, value: object) -> int:
    try:
        # By its text: a fraction, infinity and True have whole parts, and are none.
        number = int(str(value))
    except ValueError:
        number = -1
    if number < 0:
        raise ConfigurationError(f"{name} must be a whole number, 0 for no limit, got {value!r}")
    return number


def _flag(name: str, value: object) -> bool:
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    found = words.get(str(value).strip().lower())
    if found is None:
        raise ConfigurationError(f"{name} must be true or false, got {value!r}")
    return found


def _setting(read: Callable[[str, object], Any], *, default: Any = None, connection: bool = False) -> Any:
    return field(default=default, metadata={"read": read, "connection": connection})


@dataclass(frozen=True, repr=False)
class Settings:
    """What is in force, and where each value came from.

    Parameters
    ----------
    environment : str
        "production", "staging", "sandbox", a table of the config file, or a base URL.
    base_url, balance_url : str, optional
        The two hosts (interface, section 5).
    token, api_key, balance_token : Secret, optional
        Credentials: bearer token, API key (HTTP Basic), bearer token of the balance's host.
    api_key_everywhere : bool
        True for a service that takes the API key on every operation, not only on the two the interface names.
    credential_name : str, optional
        Whose credential it is; snapshots then stay readable when its token is renewed.
    company : str, optional
        The company meant when none is named.
    cache_dir, data_dir : Path
        Snapshots may be deleted; the data folder holds the journal and may not.
    marks_dir : Path
        Outside of the data folder: marks of what was sent, by which an old copy of the journal is noticed.
    requests_per_minute : int
        What the client keeps itself under; 0 for no limit.
    proxy : Secret, optional
        Address of an HTTP proxy, which may hold a user name and a password.
    ca_bundle : Path, optional
        A file of certificates to trust instead of the usual ones.
    sources : mapping
        Where each value came from, by name.
    """

    environment: str
    base_url: str | None = _setting(_url, connection=True)
    token: Secret | None = _setting(_secret, connection=True)
    api_key: Secret | None = _setting(_secret, connection=True)
    api_key_everywhere: bool = _setting(_flag, default=False, connection=True)
    credential_name: str | None = _setting(_text, connection=True)
    balance_url: str | None = _setting(_url, connection=True)
    balance_token: Secret | None = _setting(_secret, connection=True)
    company: str | None = _setting(_text, connection=True)
    requests_per_minute: int = _setting(_rate, default=500)
    proxy: Secret | None = _setting(_proxy)
    ca_bundle: Path | None = _setting(_path)
    cache_dir: Path = _setting(_path, default=Path())
    data_dir: Path = _setting(_path, default=Path())
    marks_dir: Path = _setting(_path, default=Path())
    sources: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def is_sandbox(self) -> bool:
        """Whether the environment is the embedded sandbox."""
        return self.environment == SANDBOX

    @property
    def identity(self) -> str:
        """The service that journal and snapshots belong to: its normalised address, whatever its name or spelling."""
        # The sandbox listens on another port at each start, and is the same service.
        return SANDBOX if self.is_sandbox else normalised(str(self.base_url))

    @property
    def folder_name(self) -> str:
        """Name of this environment's folder below the data folder; a digest, never text from outside."""
        return SANDBOX if self.is_sandbox else hashlib.sha256(self.identity.encode()).hexdigest()[:32]

    @property
    def state_dir(self) -> Path:
        """Folder of this environment's durable state."""
        return self.data_dir / self.folder_name

    def rows(self) -> list[tuple[str, str, str]]:
        """Return name, value and source of each setting; secrets stay hidden."""
        named = [("environment", self.environment), *((name, getattr(self, name)) for name in SETTINGS)]
        return [(name, _shown(value), self.sources.get(name, "")) for name, value in named]

    def __repr__(self) -> str:
        return "\n".join(["Settings", *(f"  {name:<20} {value}  ({source})" for name, value, source in self.rows())])

    def _repr_html_(self) -> str:
        rows = self.rows()
        return views.heading("Settings") + views.table(["setting", "value", "from"], rows, total=len(rows))


def _shown(value: object) -> str:
    return "" if value is None else "set, not shown" if isinstance(value, Secret) else str(value)


class Overrides(TypedDict, total=False):
    """The settings as arguments; None is the same as not given."""

    base_url: str | None
    token: str | Secret | None
    api_key: str | Secret | None
    api_key_everywhere: bool | None
    credential_name: str | None
    balance_url: str | None
    balance_token: str | Secret | None
    company: str | None
    requests_per_minute: int | None
    proxy: str | Secret | None
    ca_bundle: str | os.PathLike[str] | None
    cache_dir: str | os.PathLike[str] | None
    data_dir: str | os.PathLike[str] | None
    marks_dir: str | os.PathLike[str] | None


SETTINGS = {item.name: item for item in fields(Settings) if "read" in item.metadata}
SECRETS = tuple(name for name, item in SETTINGS.items() if item.metadata["read"] is _secret)


def load_settings(
    environment: str | None = None,
    *,
    env: Mapping[str, str] | None = None,
    config_file: Path | None = None,
    **overrides: Unpack[Overrides],
) -> Settings:
    """Return the settings in force.

    Parameters
    ----------
    environment : str, optional
        "production", "staging", "sandbox", a table of the config file, or a base URL.
    env : mapping, optional
        Environment variables; the process's own by default.
    config_file : Path, optional
        The config file; `BKTOOLS_CONFIG` or the user's config folder by default.
    **overrides
        Any setting by its name; None means not given.

    Raises
    ------
    ConfigurationError
        When no environment is configured or a value is malformed. The message names the setting and where it stands.
    """
    env = os.environ if env is None else env
    unknown = sorted(set(overrides) - set(SETTINGS))
    if unknown:
        raise ConfigurationError(f"no such setting: {', '.join(unknown)} (there are {', '.join(SETTINGS)})")
    file, file_name = _read_config(config_file, env)
    given = {name: value for name, value in overrides.items() if value is not None}
    environment, environment_source = _which_environment(environment, env, file, file_name, given)
    if "://" in environment:
        environment = _url("environment", environment)
        given.setdefault("base_url", environment)
    table = file.get(environment, {})
    if not isinstance(table, dict):
        raise ConfigurationError(f"[{environment}] in {file_name} must be a table")
    _refuse_unknown(table, f"[{environment}] in {file_name}")
    variables_apply = _variables_apply(environment, env)

    values: dict[str, Any] = {}
    sources = {"environment": environment_source}
    for name, item in SETTINGS.items():
        variable = f"BKTOOLS_{name.upper()}"
        of_connection = item.metadata["connection"]
        places = [(given.get(name), "argument")]
        if variables_apply or not of_connection:
            places.append((env.get(variable) or None, variable))
        places.append((table.get(name), f"[{environment}] in {file_name}"))
        if not of_connection:
            places.append((file.get(name), str(file_name)))
        if name in SECRETS and environment != SANDBOX:
            places.append((_keyring_secret(environment, name, places), "system keyring"))
        value, source = next(
            (place for place in places if place[0] is not None), (_default(name, environment), "default")
        )
        values[name] = value if source == "default" else item.metadata["read"](f"{name} ({source})", value)
        sources[name] = source if values[name] is not None else "not set"
    if values["base_url"] is None and environment != SANDBOX:
        raise ConfigurationError(
            f"the environment {environment!r} has no base_url: set BKTOOLS_BASE_URL or base_url in [{environment}] of "
            f"{file_name}"
        )
    return Settings(environment=environment, sources=sources, **values)


def _which_environment(
    asked: str | None, env: Mapping[str, str], file: Mapping[str, Any], file_name: Path, given: Mapping[str, Any]
) -> tuple[str, str]:
    places = [
        (asked, "argument"),
        (given.get("base_url"), "argument base_url"),
        (env.get("BKTOOLS_ENVIRONMENT"), "BKTOOLS_ENVIRONMENT"),
        (env.get("BKTOOLS_BASE_URL"), "BKTOOLS_BASE_URL"),
        (file.get("environment"), str(file_name)),
    ]
    for value, source in places:
        if value:
            return _text(f"environment ({source})", value), source
    raise ConfigurationError(HOW_TO_CONFIGURE)


def _variables_apply(environment: str, env: Mapping[str, str]) -> bool:
    named = env.get("BKTOOLS_ENVIRONMENT")
    if named:
        return named == environment
    if environment == SANDBOX:
        return False
    address = env.get("BKTOOLS_BASE_URL")
    if "://" in environment and address:
        return _url("BKTOOLS_BASE_URL", address) == environment
    return True


def _default(name: str, environment: str) -> Any:
    if name == "cache_dir":
        return platformdirs.user_cache_path("bktools")
    if name == "data_dir":
        return platformdirs.user_data_path("bktools")
    if name == "marks_dir":
        # A name of its own: on some systems state and data share a folder.
        return platformdirs.user_state_path("bktools-marks")
    if name == "requests_per_minute" and environment == SANDBOX:
        return 0
    return SETTINGS[name].default


def _read_config(config_file: Path | None, env: Mapping[str, str]) -> tuple[dict[str, Any], Path]:
    named = config_file or env.get("BKTOOLS_CONFIG")
    path = _path("BKTOOLS_CONFIG", named) if named else platformdirs.user_config_path("bktools") / "config.toml"
    try:
        # Some editors, and PowerShell, begin UTF-8 with a mark.
        found = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        if named:
            raise ConfigurationError(f"there is no config file {path}") from None
        return {}, path
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"the config file {path} cannot be read: {error}") from error
    _refuse_unknown({name: value for name, value in found.items() if not isinstance(value, dict)}, str(path))
    return found, path


def _refuse_unknown(table: Mapping[str, Any], where: str) -> None:
    unknown = sorted(set(table) - set(SETTINGS) - {"environment"})
    if unknown:
        raise ConfigurationError(f"{where} has no setting {unknown[0]!r}; there are {', '.join(SETTINGS)}")


def _keyring_secret(environment: str, name: str, places: list[tuple[Any, str]]) -> str | None:
    if any(value is not None for value, _ in places):
        return None
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return None
    try:
        found: str | None = keyring.get_password(f"bktools:{environment}", name)
    except KeyringError:
        # No keyring service runs here (a server, a container): the same as no entry.
        return None
    return found
