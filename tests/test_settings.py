"""Settings: where each comes from, and that a credential never goes where it does not belong."""

from __future__ import annotations

import copy
import dataclasses
import datetime as dt
import pickle
import sys
import traceback
import types

import pytest
from world_files import lines_of, pairs

import bktools
from bktools.connection import keep_company_name, service_or_default
from bktools.contract.categories import CATEGORIES
from bktools.errors import ConfigurationError
from bktools.service.transport import request_of
from bktools.settings import Secret, TokenSource, load_settings

URL = "https://books.example/api"


@pytest.fixture
def config(tmp_path):
    """A config file with two environments."""
    path = tmp_path / "given.toml"
    path.write_text(
        'environment = "staging"\nrequests_per_minute = 100\n'
        '[production]\nbase_url = "https://books.example"\ntoken = "production-token"\n'
        '[staging]\nbase_url = "https://staging.books.example"\ntoken = "staging-token"\n'
    )
    return path


def test_nothing_configured():
    """With nothing configured, the error says how to configure and how to try the sandbox."""
    said = r"no environment is configured.*BKTOOLS_ENVIRONMENT.*--sandbox"
    with pytest.raises(ConfigurationError, match=said):
        bktools.load_categories()
    with pytest.raises(ConfigurationError, match="no environment is configured"):
        service_or_default()


def test_argument_before_variable_before_file(config):
    """Each setting comes from the first place that has it, and says which."""
    file, name = {"BKTOOLS_CONFIG": str(config)}, "BKTOOLS_REQUESTS_PER_MINUTE"
    settings = load_settings(env=file | {name: "200"})
    assert (settings.environment, settings.base_url) == ("staging", "https://staging.books.example")
    assert (settings.requests_per_minute, settings.sources["requests_per_minute"]) == (200, name)
    assert load_settings(env=file).requests_per_minute == 100
    assert load_settings(env=file | {name: "200"}, requests_per_minute=300).requests_per_minute == 300
    assert load_settings("production", env=file).token == Secret("production-token")


PRODUCTION = "https://books.example"


def variables_of(case: dict[str, str]) -> dict[str, str]:
    """Return the variables of a line of worlds, by their whole names."""
    return {f"BKTOOLS_{name}": value for name, value in pairs(case["variables"]).items()}


@pytest.mark.parametrize("case", lines_of("settings/variables.csv"), ids=lambda case: case["promise"])
def test_variables_stay_with_their_environment(case, config):
    """They are for one environment, in whatever spelling; another one gets neither token nor company."""
    lone = {"BKTOOLS_TOKEN": "real", "BKTOOLS_COMPANY": "real-company", "BKTOOLS_CREDENTIAL_NAME": "name"}
    env = lone | variables_of(case) | {"BKTOOLS_CONFIG": str(config)}
    settings = load_settings(case["asked"] or None, env=env)
    assert settings.identity == (case["base_url"] or "sandbox")
    if case["apply"]:
        assert (settings.token, settings.company) == (Secret("real"), "real-company")
        assert settings.sources["token"] == "BKTOOLS_TOKEN"
    else:
        assert (settings.token != Secret("real"), settings.company) == (True, None)
        assert settings.sources["company"] == f"not set; BKTOOLS_COMPANY is not for {case['asked']}"


@pytest.mark.parametrize("case", lines_of("settings/addresses.csv"), ids=lambda case: case["promise"])
def test_two_addresses_of_one_environment_are_refused(case, config):
    """An environment with two addresses is an error that names both and where they stand."""
    balance = 'balance_url = "https://balance.example"\n[staging]'
    config.write_text(config.read_text().replace("[staging]", balance))
    env = variables_of(case) | {"BKTOOLS_CONFIG": str(config)}
    message = f"{case['first']}.*{case['second']}.*one address"
    with pytest.raises(ConfigurationError, match=message) as caught:
        load_settings(case["asked"] or None, env=env, **pairs(case["given"]))
    assert URL in str(caught.value)
    assert "-token" not in str(caught.value)


@pytest.mark.parametrize("case", lines_of("settings/owners.csv"), ids=lambda case: case["promise"])
def test_a_credential_goes_where_its_own_source_says(case, tmp_path):
    """A token or company whose own source names no address is not used at the address of another source."""
    path = tmp_path / "live.toml"
    path.write_text(f"[live]\n{case['table']}\n")
    env = variables_of(case) | {"BKTOOLS_CONFIG": str(path)}
    with pytest.raises(ConfigurationError, match=case["message"]):
        load_settings(case["asked"] or None, env=env, **pairs(case["given"]))


def test_arguments_are_for_their_call(config):
    """What a call gives is used in this call, at the address that is configured for its environment."""
    env = {"BKTOOLS_BASE_URL": URL, "BKTOOLS_CONFIG": str(config)}
    assert load_settings(env=env, token="own").token == Secret("own")
    settings = load_settings("production", env=env, token="own", base_url=f"{PRODUCTION}:443/")
    assert (settings.token, settings.identity) == (Secret("own"), PRODUCTION)


def test_a_keyring_s_secret_stays_at_its_address(config, monkeypatch):
    """A secret under a name goes to the address of its table; elsewhere the address is its name."""
    asked, env = [], {"BKTOOLS_CONFIG": str(config)}

    def password(service, name):
        asked.append((service, name))
        return "kept" if "live" in service else None

    monkeypatch.setitem(sys.modules, "keyring", types.SimpleNamespace(get_password=password))
    monkeypatch.setitem(sys.modules, "keyring.errors", types.SimpleNamespace(KeyringError=RuntimeError))
    assert load_settings("live", env=env, base_url="https://H.example:443/").token is None
    assert asked == [("bktools:https://h.example", "token"), ("bktools:https://h.example", "api_key")]
    config.write_text('[live]\nbase_url = "https://live.example"\n')
    kept = load_settings("live", env=env, balance_url="https://other.example")
    assert (kept.token, kept.sources["token"]) == (Secret("kept"), "system keyring")
    assert kept.balance_token is None
    assert asked[-1] == ("bktools:https://other.example", "balance_token")


def test_the_sandbox_is_on_this_machine():
    """A real service is not reached under the name of the sandbox."""
    env = {"BKTOOLS_ENVIRONMENT": "sandbox", "BKTOOLS_BASE_URL": URL, "BKTOOLS_TOKEN": "real"}
    said = r"must be on this machine, got https://books.example/api \(BKTOOLS_BASE"
    with pytest.raises(ConfigurationError, match=said):
        load_settings(env=env)
    local = load_settings(env=env | {"BKTOOLS_BASE_URL": "http://127.0.0.1:8765"})
    assert (local.base_url, local.token) == ("http://127.0.0.1:8765", Secret("real"))


@pytest.mark.parametrize(
    "case", lines_of("settings/refused.csv"), ids=lambda case: f"{case['setting']} {case['value']}"
)
def test_bad_setting(case):
    """A malformed setting is named with its rule, and a secret is not shown."""
    with pytest.raises(ConfigurationError, match=case["message"]) as caught:
        load_settings(**{"environment": URL} | {case["setting"]: case["value"]})
    assert not [secret for secret in ("two words", "pass@", "\n") if secret in str(caught.value)]


def test_a_token_has_one_source():
    """A token and a command for it in one source contradict each other; a flag is no number."""
    with pytest.raises(ConfigurationError, match="are both given: keep one"):
        load_settings(URL, token="t", token_command="give")
    with pytest.raises(ConfigurationError, match="must be a whole number"):
        load_settings(URL, requests_per_minute=True)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        *(("JOURNL", "JOURNAL"), ("JOURNALS", "JOURNAL"), ("COMPANY_ID", "COMPANY")),
        *(("SENT_LOG", "SENT_LOG_DIR"), ("ENVIRONEMENT", "ENVIRONMENT")),
    ],
)
def test_a_misspelt_variable_is_refused(name, meant):
    """An unknown variable would be passed over, with a team's journal; empty and foreign ones are."""
    connection = {"BKTOOLS_BASE_URL": URL, "BKTOOLS_TOKEN": "t"}
    said = f"^BKTOOLS_{name} is no setting: rename it to BKTOOLS_{meant} if"
    with pytest.raises(ConfigurationError, match=said):
        load_settings(env=connection | {f"BKTOOLS_{name}": "postgresql://db/journal"})
    others = {f"BKTOOLS_{name}": "", "BKTOOLS_VERSION": "1", "BKTOOLS_TEST_RUNS": "5"}
    others["_BKTOOLS_COMPLETE"] = "x"
    assert load_settings(env=connection | others).journal is None


def test_a_timeout_is_seconds():
    """As a number, a text or a span of time."""
    for value in (90, "90", dt.timedelta(minutes=1.5)):
        assert load_settings(URL, token="t", timeout=value).timeout == 90.0


@pytest.mark.parametrize("case", lines_of("settings/files.csv"), ids=lambda case: case["promise"])
def test_unknown_names_in_the_file(case, tmp_path):
    """A misspelt name in the config file is an error, not ignored; a byte order mark is no content."""
    path = tmp_path / "wrong.toml"
    path.write_text(case["text"])
    with pytest.raises(ConfigurationError, match=case["message"]):
        load_settings(case["asked"] or None, env={"BKTOOLS_CONFIG": str(path)})
    path.write_text('environment = "sandbox"\n', encoding="utf-8-sig")
    assert load_settings(env={"BKTOOLS_CONFIG": str(path)}).is_sandbox


def test_secrets_do_not_show():
    """A secret is in no repr, no text, no view of a notebook, no pickle; a proxy's password is one."""
    proxy = "http://user:hunter2@proxy.example:8080"
    settings = load_settings(URL, token="very-secret", api_key="also-secret", proxy=proxy)
    service = bktools.connect(URL, token="very-secret")
    texts = [str(settings), f"{settings.token}"]
    copies = (dataclasses.asdict(settings), copy.deepcopy(settings), vars(settings))
    request = request_of(CATEGORIES.search, settings)
    texts += map(repr, (settings, service, vars(service), request, *copies))
    for shown in texts:
        assert not [secret for secret in ("very-secret", "also-secret", "hunter2") if secret in shown]
    assert settings.proxy.reveal() == proxy
    assert settings.token == Secret("very-secret") != Secret("another")
    assert len({Secret("a"), Secret("a")}) == 1
    with pytest.raises(TypeError):
        pickle.dumps(settings)


def test_a_bare_address_is_the_environment_that_has_it(config):
    """A bare address is its environment's, in any spelling; one that none has is its own."""
    variables = {"BKTOOLS_ENVIRONMENT": "live", "BKTOOLS_BASE_URL": URL, "BKTOOLS_TOKEN": "t"}
    found = load_settings(f"{URL}/", env=variables)
    assert (found.environment, found.token) == ("live", Secret("t"))
    from_file = load_settings(PRODUCTION.replace("books", "BOOKS"), env={"BKTOOLS_CONFIG": str(config)})
    assert from_file.environment == "production"
    spellings = ("https://a.example", "HTTPS://A.example:443/")
    alone = [load_settings(spelling).state_dir for spelling in spellings]
    assert alone[0] == alone[1] != load_settings("https://a.example/b").state_dir
    assert load_settings("production", base_url=URL).state_dir.name == "production"


def test_two_environments_with_one_address_are_refused(tmp_path):
    """Each would have a journal that does not know what the other one sends: both are named, and the way."""
    path = tmp_path / "config.toml"
    second = '[b]\nbase_url = "https://X.example/"\ntoken = "hidden"\n'
    path.write_text(f'[a]\nbase_url = "https://x.example"\n{second}')
    for name in ("a", "b", "https://x.example"):
        with pytest.raises(ConfigurationError, match="keep the one that has exported") as caught:
            load_settings(name, env={"BKTOOLS_CONFIG": str(path)})
        assert "hidden" not in str(caught.value)


def test_an_environment_may_have_its_address_as_its_name(tmp_path):
    """Whoever began with a bare address keeps its journal with a table of that name."""
    path = tmp_path / "config.toml"
    url = "https://x.example"
    path.write_text(f'["{url}"]\nbase_url = "{url}/"\ntoken = "t"\n')
    env = {"BKTOOLS_CONFIG": str(path)}
    named = load_settings(url, env=env)
    assert (named.environment, named.base_url, named.token.reveal()) == (url, url, "t")
    assert named.state_dir == load_settings(url, env={}).state_dir
    path.write_text(f'["{url}"]\nbase_url = "https://y.example"\n')
    with pytest.raises(ConfigurationError, match="base_url"):
        load_settings(url, env=env)


CONNECTION = [*("base_url", "token", "api_key"), *("balance_url", "balance_token", "company")]


@pytest.mark.parametrize("name", CONNECTION)
def test_every_setting_of_a_connection_stands_in_a_table(name, tmp_path):
    """Above the tables it would be of no environment, or of each: the file and the setting are named."""
    path = tmp_path / "config.toml"
    path.write_text(
        f'{name} = "https://secret-t.example"\n[production]\nbase_url = "https://books.example"\n'
    )
    said = rf"above its tables, has no setting '{name}', which belongs in the table of an env.*\[production\]"
    with pytest.raises(ConfigurationError, match=said) as caught:
        load_settings("production", env={"BKTOOLS_CONFIG": str(path)})
    assert str(path) in str(caught.value)
    assert "secret-t" not in str(caught.value)


def test_what_is_not_configured_has_a_default():
    """Three folders are the user's, and apart; the rate is limited, but not in the sandbox."""
    settings = load_settings(URL, env={})
    folders = {settings.cache_dir, settings.data_dir, settings.sent_log_dir}
    assert len(folders) == 3
    assert all(folder.is_absolute() and "bktools" in folder.name for folder in folders)
    assert not settings.sent_log_dir.is_relative_to(settings.data_dir)
    assert (settings.requests_per_minute, load_settings("sandbox", env={}).requests_per_minute) == (500, 0)
    for name in ("cache_dir", "data_dir", "sent_log_dir", "requests_per_minute"):
        assert settings.sources[name] == "default"
    assert (settings.sources["token"], settings.sources["environment"]) == ("not set", "argument")


@pytest.mark.parametrize(
    ("variables", "text", "given"),
    [
        ({"BKTOOLS_TOKEN": "hidden 1"}, "", {}),
        ({}, "", {"token": "hidden 1"}),
        ({}, 'token = "hidden 1"', {}),
        ({}, "retries = -1\ntoken = 'hidden-1'", {}),
        ({}, "", {"token": "hidden-1", "timeout": -1}),
        ({}, "", {"proxy": "http://u:hidden-1@"}),
        ({}, "", {"journal": "postgres:hidden-1"}),
        ({"BKTOOLS_TOKEN": "hidden-1"}, 'token = "hidden-1"\ntoken_command = "x"', {}),
    ],
)
def test_no_traceback_shows_a_secret(variables, text, given, tmp_path):
    """A refused setting is raised from frames without credentials, its own and all others."""
    path = tmp_path / "config.toml"
    path.write_text(f'environment = "live"\n[live]\nbase_url = "{URL}"\n{text}\n')
    env = {"BKTOOLS_CONFIG": str(path)} | variables
    for call in (lambda: load_settings(env=env, **given), lambda: connect_with(env, given)):
        with pytest.raises(ConfigurationError) as caught:
            call()
        assert caught.value.__context__ is None
        shown = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
        own = [frame.locals for frame in shown.stack if "/bktools/" in frame.filename]
        assert own
        assert "hidden" not in f"{own}{caught.value}"


def connect_with(env, given):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in env.items():
            patch.setenv(name, value)
        return bktools.connect(**given)


@pytest.mark.parametrize(
    ("variables", "text", "given", "token"),
    [
        ({}, 'token_command = "give file"', {}, "token_command"),
        ({"BKTOOLS_TOKEN": "t"}, 'token_command = "give file"', {}, "t"),
        ({"BKTOOLS_TOKEN_COMMAND": "give variable"}, 'token = "t"', {}, "token_command"),
        ({"BKTOOLS_TOKEN_COMMAND": "give variable"}, "", {"token": "t"}, "t"),
        ({"BKTOOLS_TOKEN": "t"}, "", {"token_command": "give argument"}, "token_command"),
    ],
)
def test_a_token_and_its_command_stand_for_each_other(variables, text, given, token, tmp_path):
    """The first source that has a token or a command for it decides."""
    path = tmp_path / "config.toml"
    path.write_text(f'environment = "live"\n[live]\nbase_url = "{URL}"\n{text}\n')
    settings = load_settings(env={"BKTOOLS_CONFIG": str(path)} | variables, **given)
    if token == "t":
        assert (settings.token, settings.token_command) == (Secret("t"), None)
    else:
        assert isinstance(settings.token, TokenSource)
        assert settings.token.identity == settings.token_command
        assert settings.sources["token"] == settings.sources["token_command"]


def test_a_company_s_name_is_given_once(config, monkeypatch):
    """It is kept beside the config file, by the company, for every environment; a damaged file is named."""
    monkeypatch.setenv("BKTOOLS_CONFIG", str(config))
    settings = load_settings(company=COMPANY)
    assert keep_company_name(settings, COMPANY, "Müller GmbH").title_of(COMPANY) == "Müller GmbH"
    for company, title in ((COMPANY, "Müller GmbH"), (OTHER, OTHER)):
        assert load_settings("production", company=company).title_of(company) == title
    config.with_name("company_names.json").write_text("{")
    with pytest.raises(ConfigurationError, match=r"company_names.json cannot be read .*or delete it"):
        load_settings(company=COMPANY)


COMPANY, OTHER = "123e4567-e89b-42d3-a456-426614174000", "9b2f9a3e-3f0c-4d62-8f0e-0d6f3a1c2b4d"


def with_companies(tmp_path, text, *, base='base_url = "https://a.example.com"\ntoken = "shared-token"\n'):
    """Return the settings of an environment with these companies."""
    path = tmp_path / "config.toml"
    path.write_text(f"[production]\n{base}{text}", encoding="utf-8")
    return load_settings("production", env={"BKTOOLS_CONFIG": str(path)})


def test_companies_have_names(tmp_path):
    """The default company may be a name; other settings are as they were."""
    companies = f'[production.companies]\nacme = "{COMPANY.upper()}"\nother = "{OTHER}"\n'
    found = with_companies(tmp_path, f'company = "acme"\n{companies}')
    assert (found.company, found.company_names) == (COMPANY, {"acme": COMPANY, "other": OTHER})
    assert (found.short_name(COMPANY), found.short_name("x")) == ("acme", "x")
    assert ("companies.other", OTHER) in [row[:2] for row in found.rows()]
    assert hash(found) != hash(with_companies(tmp_path, f'company = "{COMPANY}"'))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('companies = "acme"', 'must be a table, with a line such as acme = "UUID of the company"'),
        ("[production.companies]\nacme = 1", r"acme \(.*\) must be the UUID of the company, got '1'"),
        (
            '[production.companies]\nacme = "1"',
            r"acme \(.*production.companies.*must be the UUID.*'1'",
        ),
        (f'[production.companies]\nall = "{COMPANY}"', r"all \(.*means every company: choose another name"),
        (
            f'[production.companies]\n{OTHER} = "{COMPANY}"',
            "is a UUID, or means every company: choose",
        ),
    ],
)
def test_companies_that_contradict_themselves(tmp_path, text, said):
    with pytest.raises(ConfigurationError, match=said):
        with_companies(tmp_path, text)


def test_a_company_may_have_a_token_of_its_own(tmp_path):
    """It replaces the environment's token for the company in the settings, and is never shown."""
    table = f'[production.companies]\nacme = {{id = "{COMPANY}", token = "own-token"}}\n'
    assert with_companies(tmp_path, table).token == Secret("shared-token")
    found = load_settings("production", company="acme", env={"BKTOOLS_CONFIG": str(tmp_path / "config.toml")})
    assert (found.token, found.company) == (Secret("own-token"), COMPANY)
    assert "own-token" not in repr(found)
    other = f'[production.companies]\nacme = {{id = "{COMPANY}", api_key = "own-key"}}\n'
    with_companies(tmp_path, other)
    found = load_settings("production", company="acme", env={"BKTOOLS_CONFIG": str(tmp_path / "config.toml")})
    assert (found.token, found.api_key) == (None, Secret("own-key"))
    for wrong, said in (
        (f'id = "{COMPANY}", base_url = "https://own-token.example"', "takes a credential of its own as"),
        ('id = "1", token = "own-token"', "must be the UUID of the company, got '1'"),
    ):
        with pytest.raises(ConfigurationError, match=said) as raised:
            with_companies(tmp_path, f"[production.companies]\nacme = {{{wrong}}}\n")
        assert "own-token" not in str(raised.value)
