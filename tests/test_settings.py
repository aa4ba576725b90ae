"""Settings: where each comes from, and that a credential never goes where it does not belong."""

from __future__ import annotations

import pickle

import pytest

import bktools
from bktools.conversation import conversation
from bktools.errors import ArgumentError, ConfigurationError
from bktools.service.transport import Request
from bktools.settings import SETTINGS, Overrides, Secret, load_settings

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
    with pytest.raises(ConfigurationError, match=r"no environment is configured.*BKTOOLS_ENVIRONMENT.*--sandbox"):
        bktools.load_categories()
    with pytest.raises(ConfigurationError, match="no environment is configured"):
        conversation()


def test_argument_before_variable_before_file(config):
    """Each setting comes from the first place that has it, and says which."""
    env = {"BKTOOLS_REQUESTS_PER_MINUTE": "200"}
    settings = load_settings(config_file=config, env=env)
    assert (settings.environment, settings.base_url) == ("staging", "https://staging.books.example")
    assert (settings.requests_per_minute, settings.sources["requests_per_minute"]) == (
        200,
        "BKTOOLS_REQUESTS_PER_MINUTE",
    )
    assert load_settings(config_file=config, env={}).requests_per_minute == 100
    assert load_settings(config_file=config, env=env, requests_per_minute=300).requests_per_minute == 300
    assert load_settings("production", config_file=config, env={}).token == Secret("production-token")


def test_variables_alone_are_enough(tmp_path):
    """Address and token from the environment make a whole configuration."""
    env = {"BKTOOLS_BASE_URL": f"{URL}/", "BKTOOLS_TOKEN": "secret"}
    settings = load_settings(env=env, config_file=None)
    assert (settings.base_url, settings.token, settings.identity) == (URL, Secret("secret"), URL)


@pytest.mark.parametrize(
    ("asked", "env"),
    [
        ("sandbox", {"BKTOOLS_TOKEN": "real", "BKTOOLS_BASE_URL": URL}),
        ("production", {"BKTOOLS_TOKEN": "real", "BKTOOLS_ENVIRONMENT": "staging"}),
        ("https://elsewhere.example", {"BKTOOLS_TOKEN": "real", "BKTOOLS_BASE_URL": URL}),
    ],
)
def test_a_token_stays_with_its_environment(asked, env, config):
    """A token of one environment is not taken when another one is asked for."""
    settings = load_settings(asked, env=env, config_file=config)
    assert settings.token != Secret("real")
    assert settings.base_url != URL


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base_url": "http://books.example"}, "must begin with https://"),
        ({"base_url": "books.example"}, "must be an address"),
        ({"base_url": "https://user:pass@books.example"}, "without user name"),
        ({"requests_per_minute": "many"}, "must be a whole number"),
        ({"requests_per_minute": -1}, "must be a whole number"),
        ({"requests_per_minute": 2.7}, "must be a whole number"),
        ({"requests_per_minute": float("inf")}, "must be a whole number"),
        ({"requests_per_minute": True}, "must be a whole number"),
        ({"base_url": "https://[::1"}, "must be an address"),
        ({"base_url": "https://[::1]8080"}, "must be an address"),
        ({"base_url": "https://books.example:abc"}, "must be an address"),
        ({"base_url": "https://books.example:99999"}, "must be an address"),
        ({"base_url": "https://books..example"}, "must be an address"),
        ({"base_url": "https://127.0.0.18080"}, "must be an address"),
        ({"base_url": "https://books.exa mple"}, "must be an address"),
        ({"base_url": "https://user:pass@books.example:abc"}, "must be an address"),
        ({"proxy": "user:pass@proxy:8080"}, r"proxy \(argument\) must be the address of an HTTP proxy such as http://"),
        ({"proxy": "proxy:8080"}, "must be the address of an HTTP proxy"),
        ({"proxy": "socks5://proxy:1080"}, "must be the address of an HTTP proxy"),
        ({"proxy": "http://proxy:port"}, "must be the address of an HTTP proxy"),
        ({"cache_dir": "~nobody-of-that-name/cache"}, "names the folder of a user that is not known here"),
        ({"api_key_everywhere": "maybe"}, "must be true or false"),
        ({"token": "two words"}, "white space"),
        ({"token": "line\nbreak"}, "white space"),
        ({"colour": "blue"}, "no such setting: colour"),
    ],
)
def test_bad_setting(settings, message):
    """A malformed setting is named with its rule, and a secret is not shown."""
    with pytest.raises(ConfigurationError, match=message) as caught:
        load_settings(**{"environment": URL} | settings)
    assert "two words" not in str(caught.value)
    assert "pass@" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["https://books.example.:8443/api", "https://xn--bcher-kva.example", "http://[::1]:80", "https://10.0.0.1"]
)
def test_addresses_that_are_taken(url):
    """What the settings take as an address, the client can be made with."""
    with bktools.connect(url, token="t", proxy=url) as service:
        assert service.settings.base_url == url
        assert service._transport._open().http


def test_arguments_are_the_settings():
    """What an editor offers for `connect` are the settings, each of them."""
    assert Overrides.__annotations__.keys() == SETTINGS.keys()


def test_plain_http_is_for_loopback():
    """An unencrypted address is taken on loopback alone."""
    assert load_settings("http://127.0.0.1:8080").base_url == "http://127.0.0.1:8080"


def test_unknown_names_in_the_file(tmp_path):
    """A misspelt name in the config file is an error, not ignored."""
    path = tmp_path / "wrong.toml"
    path.write_text('[production]\nbase_uri = "https://books.example"\n')
    with pytest.raises(ConfigurationError, match="no setting 'base_uri'"):
        load_settings("production", config_file=path, env={})
    path.write_text('environment = "sandbox"\n', encoding="utf-8-sig")
    assert load_settings(config_file=path, env={}).is_sandbox, "a mark at the beginning is none of the content"
    path.write_text("environment = ")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_settings(config_file=path, env={})


def test_secrets_do_not_show():
    """A secret is in no repr, no text, no view of a notebook, no pickle; a proxy's password is one."""
    settings = load_settings(
        URL, token="very-secret", api_key="also-secret", proxy="http://user:hunter2@proxy.example:8080"
    )
    service = bktools.connect(URL, token="very-secret")
    request = Request("GET", URL, "Bearer very-secret")
    texts = (repr(settings), str(settings), settings._repr_html_(), repr(service), f"{settings.token}", repr(request))
    for shown in (*texts, repr(vars(service))):
        for secret in ("very-secret", "also-secret", "hunter2"):
            assert secret not in shown
    assert settings.proxy.reveal() == "http://user:hunter2@proxy.example:8080"
    with pytest.raises(TypeError):
        pickle.dumps(settings)


def test_the_environment_s_identity_is_its_address():
    """The journal hangs on the address, so two names of one service share it."""
    named = load_settings("production", env={"BKTOOLS_BASE_URL": URL}, config_file=None)
    assert (named.identity, named.folder_name) == (load_settings(URL).identity, load_settings(URL).folder_name)


def test_company_must_be_a_uuid():
    """A configured company that is no UUID is named before anything is sent."""
    service = bktools.connect(URL, token="t", company="acme")
    with pytest.raises(ArgumentError, match=r"company \(configured\) must be a UUID"):
        bktools.load_categories(service=service)
