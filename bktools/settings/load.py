"""Which value of a setting is in force, and where it comes from.

Every setting has the value of the first of these that has one: an argument, an environment variable
`BKTOOLS_<NAME>`, the table of the environment in the config file, the top level of the config file, the
system keyring (credentials), a default.

The settings of a connection (address, credentials, company) belong together. The variables apply only to the
environment that `BKTOOLS_ENVIRONMENT` names, or else `BKTOOLS_BASE_URL`, or else the config file. Two
different addresses of one environment are an error. A credential is sent only to the address that stands in
the same source, or in the table of its environment.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
import platformdirs

from bktools.addresses import is_loopback, normalised
from bktools.errors import ConfigurationError
from bktools.settings.credentials import TokenSource
from bktools.settings.values import (
    COMPANIES,
    CONNECTION,
    KEYRING,
    SANDBOX,
    SETTINGS,
    Settings,
    address_parts,
    read_path,
    read_setting,
)
from bktools.wording import LANGUAGE_VARIABLE, Sentence, reason_of, words

# The share of equal letters, of 1, from which an unknown variable is a misspelt setting.
MISSPELT = 0.75

# Names of environments are read as this setting is.
PLAIN_TEXT = SETTINGS["company"]
ADDRESSES = ("base_url", "balance_url")
# A company of the config file may have one of these of its own.
OWN_CREDENTIALS = {"token", "token_command", "api_key"}
# The settings that stand above the tables of the config file.
TOP = tuple(name for name in SETTINGS if name not in CONNECTION)

_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

# A value with its source, and all values of one source, by the name of the setting.
Sourced = tuple[Any, str]
Values = dict[str, Sourced]


class ConfigFile(NamedTuple):
    """The config file: its tables and its settings above them, and its path."""

    content: Mapping[str, Any]
    path: Path

    def where(self, *names: str) -> str:
        """Return a table and its file, for messages."""
        return f"[{'.'.join(names)}] in {self.path}"

    def table(self, environment: str) -> Values:
        """Return the settings in the table of an environment."""
        where, table = self.where(environment), self.content.get(environment, {})
        if not isinstance(table, dict):
            raise ConfigurationError(Sentence("setting.no_table", where=where))
        _refuse_unknown(table.keys() - {COMPANIES}, where, *SETTINGS)
        return _layer({name: value for name, value in table.items() if name != COMPANIES}, where)

    def top(self) -> Values:
        """Return the settings above the tables, which are of no connection."""
        return _layer({name: self.content.get(name) for name in TOP}, str(self.path))

    def addresses(self) -> dict[str, str]:
        """Return the address of each environment that has a usable one, in its normal form."""
        tables = {name: table for name, table in self.content.items() if isinstance(table, dict)}
        own = {name: str(table.get("base_url", "")).strip() for name, table in tables.items()}
        return {name: normalised(address) for name, address in own.items() if address_parts(address)}

    def companies(self, environment: str) -> tuple[dict[str, str], dict[str, Values]]:
        """Return an environment's companies: the UUID of each short name, and own credentials by UUID."""
        table, where = (
            self.content.get(environment, {}).get(COMPANIES, {}),
            self.where(environment, COMPANIES),
        )
        if not isinstance(table, dict):
            raise ConfigurationError(Sentence("setting.no_companies", where=where))
        companies, credentials = dict[str, str](), dict[str, Values]()
        for name, value in table.items():
            if name == "all" or _UUID.fullmatch(name):
                raise ConfigurationError(Sentence("setting.company_name", name=name, where=where))
            own = dict(value) if isinstance(value, dict) else {"id": value}
            company_id = str(own.pop("id", "")).lower()
            if not _UUID.fullmatch(company_id):
                facts = {"name": name, "where": where, "value": company_id}
                raise ConfigurationError(Sentence("setting.company_id", **facts))
            if len(own) > 1 or not own.keys() <= OWN_CREDENTIALS:
                raise ConfigurationError(Sentence("setting.company_credential", name=name, where=where))
            companies[name] = company_id
            if own:
                # No other credential of the environment is the company's.
                others = dict.fromkeys(OWN_CREDENTIALS, (None, where))
                credentials[company_id] = others | _layer(own, f"{name} of {where}")
        return companies, credentials


def load_settings(
    environment: str | None = None,
    *,
    env: Mapping[str, str] | None = None,
    **overrides: Any,
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
    try:
        return _resolved(environment, os.environ if env is None else env, overrides)
    except ConfigurationError as error:
        refused = error.with_traceback(None)
    # The frames below hold credentials, and so does this one: no traceback shows them.
    del env, overrides
    refused.__cause__ = refused.__context__ = None
    raise refused


def _resolved(environment: str | None, env: Mapping[str, str], overrides: Mapping[str, Any]) -> Settings:
    _refuse_unknown(overrides, "bktools", *SETTINGS)
    _refuse_misspelt(env)
    file = _read_config(env)
    arguments = _layer(overrides, "argument")
    variables = _layer({name: env.get(f"BKTOOLS_{name.upper()}") or None for name in SETTINGS})
    # The environment; variables of a connection may be another one's.
    (name, named_by), is_of_variables = _environment(environment, arguments, env, variables, file)
    others = [] if is_of_variables else [setting for setting in CONNECTION if setting in variables]
    foreign = {setting: variables.pop(setting) for setting in others}
    # What each source has of it; a table may have its address as its name.
    table, (companies, credentials) = file.table(name), file.companies(name)
    address_of_name = _layer({"base_url": name if "://" in name else None}, named_by)
    layers = [arguments, variables, table, address_of_name, file.top()]
    addresses = _addresses(name, layers, file)
    # A credential of the company stands in place of the environment's.
    named = next((layer["company"][0] for layer in layers if "company" in layer), "")
    company = companies.get(named, named)
    layers = [credentials.get(company, {}), *layers]
    chosen = _chosen(layers, table.keys() | address_of_name.keys(), addresses)
    if name != SANDBOX:
        chosen |= _from_keyring(name, table, addresses, chosen)
    known = {setting: sourced for setting, sourced in chosen.items() if sourced[0] is not None}
    in_force = _defaults(name, foreign) | _kept_name(company, env) | known
    sources = {"environment": named_by} | {setting: source for setting, (_, source) in in_force.items()}
    sources |= {COMPANIES: file.where(name, COMPANIES)} if companies else {}
    values = {setting: value for setting, (value, _) in in_force.items()} | {"company": company or None}
    return Settings(environment=name, companies=tuple(companies.items()), sources=sources, **values)


def _defaults(environment: str, foreign: Values) -> Values:
    """Return the default of each setting; one without is not set, also where a `foreign` variable has it."""
    defaults: Values = {setting: (item.default, "default") for setting, item in SETTINGS.items()}
    for setting in [setting for setting, (value, _) in defaults.items() if value is None]:
        variable = foreign[setting][1] if setting in foreign else None
        defaults[setting] = None, words()("setting.not_set", variable=variable, name=environment)
    return defaults | ({"requests_per_minute": (0, "default")} if environment == SANDBOX else {})


def _kept_name(company: str, env: Mapping[str, str]) -> Values:
    """Return the full name of a company that a person gave earlier."""
    name = kept_company_names(env).get(company)
    return {"company_name": (name, str(company_names_path(env)))} if name else {}


def configured_language() -> str | None:
    """Return the language that the variable, or the top of the config file, has; no environment is needed."""
    variable = {"language": os.environ.get(LANGUAGE_VARIABLE) or None}
    language: str | None = (_read_config(os.environ).top() | _layer(variable)).get("language", (None,))[0]
    return language


def config_path(env: Mapping[str, str] | None = None) -> Path:
    """Return the path of the config file, which may be missing: `BKTOOLS_CONFIG`, or the user's folder."""
    named = (os.environ if env is None else env).get("BKTOOLS_CONFIG")
    if not named:
        return platformdirs.user_config_path("bktools") / "config.toml"
    try:
        path: Path = read_path(named)
    except ValueError as error:
        raise ConfigurationError(f"BKTOOLS_CONFIG {error}, got {named!r}") from error
    return path


def company_names_path(env: Mapping[str, str] | None = None) -> Path:
    """Return the path of the names that a person gave to companies, beside the config file."""
    return config_path(env).with_name("company_names.json")


def kept_company_names(env: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the full name of each company that a person gave, by its UUID."""
    path = company_names_path(env)
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, str])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError) as error:
        raise ConfigurationError(
            Sentence("setting.names_unreadable", file=str(path), why=reason_of(error))
        ) from error


def _layer(values: Mapping[str, Any], source: str = "") -> Values:
    """Return the values of one source as they are used; by default the source is the variable of each.

    A token and the command that gives it stand for each other: a layer has both, or none.
    """
    layer = {
        name: (read_setting(name, where, value), where)
        for name, value in values.items()
        if value is not None and (where := source or f"BKTOOLS_{name.upper()}")
    }
    if {"token", "token_command"} <= layer.keys():
        raise ConfigurationError(Sentence("setting.token_twice", source=layer["token_command"][1]))
    if "token_command" in layer:
        command, where = layer["token_command"]
        layer["token"] = TokenSource(command, f"token_command ({where})"), where
    elif "token" in layer:
        layer["token_command"] = None, layer["token"][1]
    return layer


def _environment(
    asked: str | None, arguments: Values, env: Mapping[str, str], variables: Values, file: ConfigFile
) -> tuple[Sourced, bool]:
    """Return the environment that is asked for, and whether it is the one that the variables are of."""
    addresses = file.addresses()
    owner = _first(
        addresses,
        (env.get("BKTOOLS_ENVIRONMENT"), "BKTOOLS_ENVIRONMENT"),
        variables.get("base_url"),
        (file.content.get("environment"), str(file.path)),
    )
    if owner and "base_url" in variables:
        addresses[owner[0]] = normalised(variables["base_url"][0])
    named = _first(addresses, (asked, "argument"), arguments.get("base_url"), owner)
    if named is None:
        raise ConfigurationError(Sentence("error.no_environment", file=str(file.path)))
    return named, owner is not None and owner[0] == named[0]


def _first(addresses: Mapping[str, str], *candidates: Sourced | None) -> Sourced | None:
    """Return the first environment that is given; an address stands for the environment that has it."""
    value, source = next((each for each in candidates if each and each[0]), (None, ""))
    if value is None:
        return None
    is_address = "://" in str(value)
    name = read_setting("environment", source, value, SETTINGS["base_url"] if is_address else PLAIN_TEXT)
    owners = [owner for owner, address in addresses.items() if is_address and address == normalised(name)]
    return owners[0] if len(owners) == 1 else name, source


def _addresses(name: str, layers: Iterable[Values], file: ConfigFile) -> dict[str, Sourced | None]:
    """Return the addresses of an environment; refuse one without, and two environments with one address."""
    layers = [*layers]
    addresses = {setting: _one_address(setting, name, layers) for setting in ADDRESSES}
    base_url = addresses["base_url"]
    if name != SANDBOX and base_url is None:
        raise ConfigurationError(Sentence("setting.no_address", name=name, file=str(file.path)))
    for other, address in file.addresses().items():
        # The journal of the one would not know what the other sends.
        if base_url and address == normalised(base_url[0]) and name not in {other, SANDBOX}:
            facts = {"address": base_url[0], "file": str(file.path)}
            raise ConfigurationError(Sentence("setting.one_address", name=name, other=other, **facts))
    return addresses


def _one_address(setting: str, environment: str, layers: Iterable[Values]) -> Sourced | None:
    """Return the address on which all sources agree, with the first of them."""
    addresses = [layer[setting] for layer in layers if setting in layer]
    for address, source in addresses:
        first, first_source = addresses[0]
        facts = {"setting": setting, "name": environment, "address": address, "source": source}
        if normalised(address) != normalised(first):
            facts |= {"first": first, "first_source": first_source}
            raise ConfigurationError(Sentence("setting.two_addresses", **facts))
        if environment == SANDBOX and not is_loopback(urlsplit(address).hostname or ""):
            raise ConfigurationError(Sentence("setting.sandbox_elsewhere", **facts))
    return addresses[0] if addresses else None


def _chosen(
    layers: Iterable[Values], owned: Collection[str], addresses: Mapping[str, Sourced | None]
) -> Values:
    """Return the value of each setting that a source has; an address owns its credentials.

    `owned` are the settings that stand in the table of the environment.
    """
    chosen: Values = {}
    for layer in layers:
        for setting in [name for name in layer if name not in chosen]:
            value, source = chosen[setting] = layer[setting]
            needed = CONNECTION.get(setting)
            is_beside = source == "argument" or needed in layer or needed in owned
            if needed and value and not is_beside and (address := addresses[needed]):
                facts = {"setting": setting, "source": source, "needed": needed}
                facts |= {"address": address[0], "owner": address[1]}
                raise ConfigurationError(Sentence("setting.of_no_address", **facts))
    return chosen


def _read_config(env: Mapping[str, str]) -> ConfigFile:
    path = config_path(env)
    try:
        # Some editors, and PowerShell, write a byte order mark.
        tables = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        if env.get("BKTOOLS_CONFIG"):
            raise ConfigurationError(Sentence("setting.no_config", file=str(path))) from None
        return ConfigFile({}, path)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(
            Sentence("setting.config_unreadable", file=str(path), why=reason_of(error))
        ) from error
    above = {name for name, value in tables.items() if not isinstance(value, dict)}
    _refuse_unknown(above, Sentence("setting.above_tables", file=str(path)), "environment", *TOP)
    return ConfigFile(tables, path)


def _refuse_unknown(names: Iterable[str], where: str, *known: str) -> None:
    for name in sorted({*names} - {*known}):
        code = "of_a_table" if name in CONNECTION else "unknown"
        facts = {"where": where, "name": name, "names": ", ".join(known)}
        raise ConfigurationError(Sentence(f"setting.{code}", **facts))


def _refuse_misspelt(env: Mapping[str, str]) -> None:
    """Refuse variables with nearly the name of a setting: a misspelt one may choose another journal.

    Others may belong to another program.
    """
    known = sorted(name.upper() for name in (*SETTINGS, "environment", "config"))
    given = {name.removeprefix("BKTOOLS_") for name in env if name.startswith("BKTOOLS_") and env[name]}
    for name in sorted(given - {*known}):
        # Not at the top: nearly every command starts without such a variable.
        import difflib

        if meant := difflib.get_close_matches(name, known, 1, MISSPELT):
            raise ConfigurationError(Sentence("setting.misspelt", name=name, meant=meant[0]))


def _from_keyring(
    environment: str, table: Values, addresses: Mapping[str, Sourced | None], chosen: Values
) -> Values:
    """Return the secrets that only the system's keyring has.

    They are those of an environment whose table has the address, or else of the address.
    """
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return {}
    secrets: Values = {}
    for name in KEYRING:
        needed = CONNECTION[name]
        if name not in chosen and (address := addresses[needed]):
            is_in_table = "://" not in environment and needed in table
            owner = environment if is_in_table else normalised(address[0])
            # No keyring service may run here (a server, a container): the same as no entry.
            with suppress(KeyringError):
                secret = keyring.get_password(f"bktools:{owner}", name)
                secrets |= _layer({name: secret}, words()("setting.keyring"))
    return secrets
