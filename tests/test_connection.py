"""Connecting: the sandbox that keeps its state, the one for tests, the one that is shared."""

from __future__ import annotations

import asyncio

import pytest

import bktools
from bktools.connection import forget_sandbox, service_or_default
from bktools.errors import ArgumentError, ConfigurationError, UnreachableError
from bktools.settings import load_settings

SOMEBODY = "9b48711b-7e43-4f5c-8a36-341a5037711f"


def test_the_sandbox_keeps_its_state_between_runs():
    """What was created in one run is there in the next, at another port."""
    with bktools.connect("sandbox") as first:
        made = first.create_account(first.settings.company, "0400", "Bank", code="0400")
        address = first.settings.base_url
    with bktools.connect("sandbox") as second:
        again = second.create_account(second.settings.company, "0400", "Bank", code="0400")
        assert (again.id, again.matched, made.matched) == (made.id, True, False)
        assert second.settings.token == first.settings.token
        assert second.settings.base_url != address


def test_a_sandbox_for_tests_leaves_nothing_behind():
    """`Sandbox()` has a folder of its own, gone afterwards, and a server that no longer answers."""
    sandbox = bktools.Sandbox(categories=12)
    with sandbox as service:
        folder = service.settings.data_dir
        assert len(bktools.load_categories(service=service)) == 12
        assert folder.exists()
    assert not folder.exists()
    gone = bktools.connect(service.settings.base_url, token="t", retries=0)
    with pytest.raises(UnreachableError, match="nothing was sent"):
        gone.get_employee(SOMEBODY)


def test_a_sandbox_reads_nothing_of_the_user(tmp_path, monkeypatch):
    """Neither the config file nor the names that a person gave to companies are those of `Sandbox()`."""
    monkeypatch.setattr("bktools.settings.load.platformdirs.user_config_path", lambda _: tmp_path)
    monkeypatch.delenv("BKTOOLS_CONFIG")
    with bktools.Sandbox() as service:
        company, name = service.settings.company, service.settings.company_name
    (tmp_path / "company_names.json").write_text(f'{{"{company}": "Other GmbH"}}')
    (tmp_path / "config.toml").write_text("[sandbox]\ncurrency = 'USD'\n")
    with bktools.connect("sandbox") as service:
        assert (service.settings.company_name, service.settings.currency) == ("Other GmbH", "USD")
    with bktools.Sandbox() as service:
        assert (service.settings.company_name, service.settings.currency) == (name, None)


def test_one_connection_is_shared(monkeypatch: pytest.MonkeyPatch):
    """Without `service=`, the calls of a process share what the configuration describes."""
    monkeypatch.setenv("BKTOOLS_ENVIRONMENT", "sandbox")
    first = service_or_default()
    assert service_or_default() is first
    assert service_or_default(first) is first
    assert bktools.load_categories().attrs["bktools"]["environment"] == "sandbox"
    first.close()


def test_everything_works_inside_a_running_event_loop():
    """A notebook has an event loop; plain functions work inside it."""

    async def notebook() -> int:
        with bktools.Sandbox(categories=12) as service:
            return len(bktools.load_categories(service=service))

    assert asyncio.run(notebook()) == 12


def test_only_the_sandbox_can_be_forgotten():
    """No state of a real service is ever removed."""
    with pytest.raises(ConfigurationError, match="only the sandbox's state can be removed"):
        forget_sandbox(load_settings("https://books.example"))
    settings = load_settings("sandbox")
    forget_sandbox(settings)
    with bktools.connect("sandbox"):
        assert settings.state_dir.exists()
    forget_sandbox(settings)
    assert not settings.state_dir.exists()


def test_a_short_name_is_a_company_everywhere(tmp_path, monkeypatch, service):
    """Each function that takes a company takes its short name, and lists the names for a wrong one."""
    company = service.settings.company
    config = tmp_path / "config.toml"
    config.write_text(
        f'environment = "books"\n[books]\nbase_url = "{service.settings.base_url}"\n'
        f'token = "{service.settings.token.reveal()}"\n[books.companies]\nacme = "{company}"\n'
    )
    monkeypatch.setenv("BKTOOLS_CONFIG", str(config))
    file = tmp_path / "entries.csv"
    file.write_text("date,amount,currency\n2026-10-01,12.50,EUR\n")
    with bktools.connect() as connected:
        bktools.close_period("2026-10", by="Grace", company="acme", service=connected)
        assert bktools.load_periods("acme", service=connected)["company_id"].to_list() == [company]
        for load in (bktools.load_export_jobs, bktools.load_accounts, bktools.load_categories):
            load("acme", service=connected)
        assert bktools.record_of("2026-10", company="acme", service=connected).period == "2026-10"
        entries = bktools.read_entries(file, company="acme")
        assert entries["company_id"].to_list() == [company]
        bktools.compose_export_jobs(entries, company="acme")
        for act in (
            lambda: bktools.load_periods("other", service=connected),
            lambda: bktools.read_entries(file, company="other"),
            lambda: bktools.compose_export_jobs(entries, company="other"),
        ):
            said = r"company must be a UUID or a company of the config file \(acme\)"
            with pytest.raises(ArgumentError, match=said):
                act()
