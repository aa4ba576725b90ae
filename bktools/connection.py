"""Opens connections: `connect`, the `Sandbox` of tests and notebooks, and a process's default `Service`."""

from __future__ import annotations

import functools
import shutil
import threading
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bktools import disk
from bktools.contract import rules
from bktools.errors import ConfigurationError, StorageError
from bktools.service import Service
from bktools.settings import SANDBOX, Settings, load_settings
from bktools.settings.load import company_names_path, kept_company_names
from bktools.settings.values import hidden
from bktools.wording import LANGUAGES, Sentence, Words, reader, reason_of, words

# The sandbox imports a web server, so it is imported only where one is started.
if TYPE_CHECKING:
    from bktools.sandbox import Server


def connect(environment: str | None = None, **overrides: Any) -> Service:
    """Connect to the service.

    Parameters
    ----------
    environment : str, optional
        "production", "staging", "sandbox", a table of the config file, or a base URL. Default: as configured.
    **overrides
        Settings by name: `base_url`, `token` (text, or a function that returns it and is called again after
        the service refused the token), `token_command`, `api_key`, `company`, `cache_dir`, `data_dir`,
        `requests_per_minute`, `timeout` (seconds that the service may take to begin an answer or to go on
        with one; default 60), `retries` (how often a failed request is sent again at most; default 4),
        `balance_url`, `balance_token` and the others of `bktools.settings.Settings`. An export job is sent
        once whatever `retries` is, and has 300 seconds at least.

    Returns
    -------
    Service
        The client. Close it, or use it in a `with` statement. "sandbox" starts the embedded service, which
        keeps its state in the data folder between runs.

    Raises
    ------
    ConfigurationError
        When nothing is configured, or a setting is malformed.

    Notes
    -----
    Environments and credentials: interface, section 5.

    Examples
    --------
    >>> import bktools
    >>> with bktools.connect("sandbox") as service:
    ...     employees = bktools.load_employees(service=service)
    >>> len(employees) > 0
    True
    """
    # No traceback that passes through here shows a token.
    arguments = hidden(overrides)
    del overrides
    return open_service(load_settings(environment, **arguments))


def open_service(settings: Settings) -> Service:
    """Connect to the service of the settings, whose language is the reader's; start a sandbox they name."""
    reader.language = settings.language
    if not settings.is_sandbox or settings.base_url is not None:
        return Service(settings)
    from bktools.sandbox import Server

    server = Server(settings.state_dir).start()
    return Service(_at(server, settings, kept_company_names()), on_close=server.stop)


def words_for(language: str | None, settings: Settings) -> Words:
    """Return the sentences of a language, by default of the configured one.

    Raises
    ------
    ArgumentError
        When bktools has no sentences of it.
    """
    return words(settings.language if language is None else rules.one_of("language", language, LANGUAGES))


def company_named(company: object) -> str:
    """Return the UUID of a company, given by its UUID or by its short name in the config file.

    The short names are those of the configured environment, if there is one.

    Raises
    ------
    ArgumentError
        When it is neither.
    """
    names: Mapping[str, str] = {}
    if not (isinstance(company, str) and rules.UUID_PATTERN.match(company)):
        with suppress(ConfigurationError):
            names = load_settings().company_names
    return rules.company_id("company", company, names)


def keep_company_name(settings: Settings, company_id: str, name: str) -> Settings:
    """Keep the full name of a company for this user, and return the settings with it."""
    name = rules.not_blank("company_name", name)
    path = company_names_path()
    names = kept_company_names() | {company_id: name}
    with disk.storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        disk.write_whole(path, lambda file: file.write(msgspec.json.format(msgspec.json.encode(names))))
    return replace(settings, company=company_id, company_name=name)


class Sandbox:
    """Run the embedded service; as a context manager, return a `Service` that is connected to it.

    Parameters
    ----------
    folder : path, optional
        Folder for its state, its journal and its snapshots. Default: a temporary folder, removed at the end.
    **options
        Options of the server: `seed`, `companies`, `categories`, `employees`, `max_limit` (rows a page),
        `job_seconds`, `faults` (as `bktools guide programs` lists them, such as `["error:status=503"]`).

    Attributes
    ----------
    server : bktools.sandbox.Server
        The running server, with its addresses and tokens.

    Examples
    --------
    >>> import bktools
    >>> with bktools.Sandbox() as service:
    ...     categories = bktools.load_categories(service=service)
    >>> bool(categories["id"].is_unique)
    True
    """

    def __init__(self, folder: str | Path | None = None, **options: Any) -> None:
        self._folder = folder
        self._options = options
        self._stack = ExitStack()

    def __enter__(self) -> Service:
        from bktools.sandbox import Server

        with ExitStack() as stack:
            folder = Path(self._folder or stack.enter_context(disk.temporary_folder()))
            # The user's own settings are not read.
            settings = Settings(
                SANDBOX,
                requests_per_minute=0,
                data_dir=folder / "data",
                cache_dir=folder / "cache",
                sent_log_dir=folder / "sent_log",
            )
            self.server = Server(settings.state_dir, **self._options).start()
            stack.callback(self.server.stop)
            service = stack.enter_context(Service(_at(self.server, settings, {})))
            self._stack = stack.pop_all()
        return service

    def __exit__(self, *_: object) -> None:
        self._stack.close()


_shared = functools.cache(open_service)
_shared_lock = threading.Lock()


def service_or_default(service: Service | None = None) -> Service:
    """Return the given service, or the default one of the current settings, which a process opens once."""
    if service is not None:
        return service
    settings = load_settings()
    with _shared_lock:
        return _shared(settings)


def forget_sandbox(settings: Settings) -> None:
    """Remove the sandbox's saved state and its journal; refuse for any other environment."""
    if not settings.is_sandbox:
        raise ConfigurationError(Sentence("error.not_the_sandbox", environment=settings.environment))
    from bktools.sandbox.server import DATABASE
    from bktools.sandbox.store import is_open

    if is_open(settings.state_dir / DATABASE):
        raise StorageError(Sentence("error.sandbox_runs", folder=str(settings.state_dir)))
    try:
        shutil.rmtree(settings.state_dir)
    except FileNotFoundError:
        pass
    except OSError as error:
        facts = {"folder": str(settings.state_dir), "why": reason_of(error)}
        raise StorageError(Sentence("error.sandbox_not_removed", **facts)) from error


def _at(server: Server, settings: Settings, names: Mapping[str, str]) -> Settings:
    """Return the settings with what a running sandbox has; `names` are what a person calls the companies."""
    of_server = hidden(server.access)
    sources = {**settings.sources} | dict.fromkeys(of_server, words()("setting.running_sandbox"))
    company, name = settings.company, settings.company_name
    if company is None:
        company, sources["company"] = server.company_id, words()("setting.first_company")
    name = name or names.get(company) or server.company_names.get(company)
    return replace(settings, sources=sources, company=company, company_name=name, **of_server)
