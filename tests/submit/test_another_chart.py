"""A chart of another company is not written, as accounts cannot be deleted; nor is a line of no account."""

from __future__ import annotations

import uuid

import pandas as pd
import pytest

import bktools
from bktools.errors import InputError
from bktools.frames.incoming import arrow_of

FIRST = [("0400", "Machines"), ("1000", "Cash"), ("1200", "Bank")]
FIRST += [("1400", "Debtors"), ("1600", "Creditors"), ("4930", "Supplies")]
OTHERS = [(f"8{number}", f"Fee {number}") for number in range(10, 20)]


def chart_of(accounts, company, path) -> pd.DataFrame:
    """Write accounts as a chart, and read it; named columns make odd lines unquestioned."""
    columns = {"code": "Konto", "name": "Bezeichnung"}
    lines = [f"{code};{name}\n" for code, name in [("Konto", "Bezeichnung"), *accounts]]
    path.write_text("".join(lines), encoding="utf-8")
    return bktools.read_chart_of_accounts(path, company=company, columns=columns)


@pytest.fixture
def reconciled(service, tmp_path):
    """Return a function that reconciles a chart with known accounts, and categories by external ID."""
    company = service.settings.company

    def reconciled(chart, used=()):
        if not isinstance(chart, pd.DataFrame):
            chart = chart_of(chart, company, tmp_path / "chart.csv")
        known = bktools.load_accounts(service=service)
        ids = known.set_index("external_id")["id"]
        rows = [(f"c{code}", company, code, False, ids[code]) for code in used]
        names = ["id", "company_id", "name", "archived", "account_id"]
        types = {"archived": bool} | dict.fromkeys(names[:3], "str")
        return bktools.reconcile_accounts(chart, known, pd.DataFrame(rows, columns=names).astype(types))

    return reconciled


@pytest.fixture
def known(service):
    """Accounts that were created elsewhere."""
    listed = pd.DataFrame(FIRST, columns=["external_id", "name"]).assign(archived=False)
    ids = [str(uuid.uuid4()) for _ in FIRST]
    bktools.import_accounts(listed.assign(code=listed["external_id"], id=ids), service=service)


DOUBTFUL = {
    "most accounts are missing": (FIRST[:2] + OTHERS, (), "lacks 4 of 6 accounts of company .* known here"),
    "most accounts in use are missing": (
        FIRST[:3] + OTHERS,
        ("1200", "1400", "1600", "4930"),
        "lacks 3 of 4 accounts that categories of company .* use",
    ),
    "most names differ": (
        [(code, f"Other {code}") for code, _ in FIRST[:4]] + FIRST[4:] + OTHERS,
        (),
        "other names for 4 of 6 accounts that company .* has by the same ID, such as 0400 Machines",
    ),
}
FINE = {
    "it grew": (FIRST + OTHERS, ()),
    "half of it was removed": (FIRST[:3] + OTHERS, ()),
    "one account was renamed": ([("0400", "Plant"), *FIRST[1:], *OTHERS], ()),
    "what is in use is still there": (FIRST[:4] + OTHERS, ("0400", "1000", "1200")),
    "names are written another way": ([(code, f" {name.upper()}") for code, name in FIRST] + OTHERS, ()),
}


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("case", DOUBTFUL)
def test_a_chart_of_another_company_is_not_written(sandbox, service, reconciled, case):
    """Nothing is created without the word for a new chart; the message has counts and both ways."""
    chart, used, said = DOUBTFUL[case]
    before = len(sandbox.server.accounts())
    found = reconciled(chart, used)
    planned = bktools.create_accounts(found, service=service)
    assert set(planned["message"]) == {"would be created with new_chart=True only"}
    with pytest.raises(InputError, match=rf"{said}.*Nothing was written.*new_chart=True"):
        bktools.create_accounts(found, apply=True, service=service)
    assert len(sandbox.server.accounts()) == before
    made = bktools.create_accounts(found, apply=True, new_chart=True, service=service)
    assert set(made["outcome"]) == {"CREATED"}


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("case", FINE)
def test_a_chart_that_changed_is_written(service, reconciled, case):
    """A chart that grew, shrank to a half or was corrected is the company's own."""
    found = reconciled(*FINE[case])
    assert found.another_chart == ""
    assert set(bktools.create_accounts(found, service=service)["outcome"]) == {"PLANNED"}


def test_the_first_chart_is_written(service, reconciled):
    """Where no account is known, and with two that prove nothing, no chart is another one."""
    assert reconciled(FIRST).another_chart == ""
    bktools.create_accounts(reconciled(FIRST[:2]), apply=True, service=service)
    assert reconciled(OTHERS).another_chart == ""
    bktools.create_accounts(reconciled(FIRST[:3]), apply=True, service=service)
    assert [doubt.code for doubt in reconciled(OTHERS).doubts] == ["lacks_known_accounts"]


SIE = ("#FLAGGA 0\n#FORMAT PC8\n#SIETYP 1\n#FNAMN {name}\n#ORGNR {number}\n{lines}", '#KONTO {} "{}"\n')
SAFT_HEADER = "<Company><RegistrationNumber>{number}</RegistrationNumber><Name>{name}</Name></Company>"
SAFT_ACCOUNTS = "<GeneralLedgerAccounts>{lines}</GeneralLedgerAccounts>"
SAFT = (
    f"<AuditFile><Header>{SAFT_HEADER}</Header><MasterFiles>{SAFT_ACCOUNTS}</MasterFiles></AuditFile>",
    "<Account><AccountID>{}</AccountID><AccountDescription>{}</AccountDescription></Account>",
)


@pytest.mark.parametrize("written", [SIE, SAFT], ids=["SIE", "SAF-T"])
def test_a_file_of_another_company_is_not_written(service, reconciled, tmp_path, written):
    """The first chart written is remembered with its company; another company's chart asks, once."""

    def read(name, number, accounts):
        lines = "".join(written[1].format(*account) for account in accounts)
        (tmp_path / "chart").write_text(written[0].format(name=name, number=number, lines=lines))
        return bktools.read_chart_of_accounts(tmp_path / "chart", company=service.settings.company)

    mine = read("Ours AB", "556000-0001", FIRST)
    bktools.create_accounts(reconciled(mine), service=service)
    assert reconciled(read("Theirs AB", "556000-0002", FIRST)).another_chart == ""
    bktools.create_accounts(reconciled(mine), apply=True, service=service)
    assert reconciled(read("Ours Renamed AB", "556000-0001", [*FIRST, *OTHERS])).another_chart == ""
    theirs = reconciled(read("Theirs AB", "556000-0002", [*FIRST, *OTHERS]))
    assert theirs.another_chart in repr(theirs)
    with pytest.raises(InputError, match=r"its file names 556000-0002.*was that of 556000-0001"):
        bktools.create_accounts(theirs, apply=True, service=service)
    bktools.create_accounts(theirs, apply=True, new_chart=True, service=service)
    assert reconciled(read("Theirs AB", "556000-0002", [*FIRST, *OTHERS])).another_chart == ""


def test_the_commands_ask_too(run, sandbox, tmp_path, service):
    """`accounts create` and `month-end` write nothing from another chart, unless --new-chart says so."""
    chart_of(OTHERS, None, tmp_path / "other.csv")
    before = len(sandbox.server.accounts())
    company = f"--company {service.settings.company}"
    rows = "".join(f"{uuid.uuid4()},{code},{name}\n" for code, name in FIRST)
    (tmp_path / "known.csv").write_text(f"id,external_id,name\n{rows}", encoding="utf-8")
    assert run(f"accounts import known.csv {company}")[0] == 0
    with pytest.raises(InputError, match=r"lacks 6 of 6 accounts.*say so with --new-chart"):
        run(f"accounts create --chart other.csv --apply {company}")
    (tmp_path / "entries.csv").write_text(
        "id,company_id,date,amount,currency,category_id\n"
        f"{uuid.uuid4()},{service.settings.company},2026-10-05,1.00,EUR,{uuid.uuid4()}\n",
        encoding="utf-8",
    )
    with pytest.raises(InputError, match=r"lacks 6 of 6 accounts.*say so with --new-chart"):
        run(f"month-end --chart other.csv --entries entries.csv --apply --first-export --by Ada {company}")
    assert (len(sandbox.server.accounts()), sandbox.server.export_jobs()) == (before, [])
    code, said = run(f"accounts create --chart other.csv {company}")
    assert (code, "lacks 6 of 6 accounts" in said) == (0, True)
    assert run(f"accounts create --chart other.csv --apply --new-chart {company}")[0] == 0
    assert len(sandbox.server.accounts()) == before + len(OTHERS)


NO_ACCOUNTS = [("Summe", "Summe"), ("Total", "95 accounts")]


def test_what_is_no_account_is_not_created(service, reconciled, tmp_path):
    """Totals are listed with what to do; other accounts are created. A line without a name is asked about."""
    path = tmp_path / "chart.csv"
    chart = chart_of([*FIRST, *NO_ACCOUNTS], service.settings.company, path)
    found = reconciled(chart)
    made = bktools.create_accounts(found, apply=True, service=service)
    assert made["external_id"].tolist() == [code for code, _ in FIRST]
    assert set(made["outcome"]) == {"CREATED"}
    lines = chart.set_index("external_id")["line"]
    listed = [code for code, _ in NO_ACCOUNTS if code in lines]
    assert "Summe" in listed
    assert len(found.not_created) == len(listed)
    for code in listed:
        (message,) = [line for line in found.not_created if line.startswith(f"{code} ")]
        assert f"(line {lines[code]})" in message
        assert message.endswith("Delete its line from the chart's file.")


def test_a_line_that_is_no_account_is_refused_alone(sandbox, service):
    """Each such line made by hand is refused with its reason; the other accounts are created."""
    rows = [("9990", "9990", None), ("Summe", "Summe", "Summe"), ("9991", "9991", "Total")]
    fixed = {"company_id": service.settings.company, "action": "create", "archived": False}
    actions = pd.DataFrame(rows, columns=["external_id", "code", "name"]).assign(
        **fixed, tax_code_external_id=None
    )
    found = bktools.Reconciliation(lambda _: arrow_of(actions))
    made = bktools.create_accounts(found, apply=True, new_chart=True, service=service)
    made = made.set_index("external_id")
    assert made["outcome"].to_dict() == {"9990": "REJECTED", "Summe": "REJECTED", "9991": "CREATED"}
    assert made.loc["9990", "message"].startswith("not sent: it has no name")
    assert bktools.load_accounts(service=service)["external_id"].tolist() == ["9991"]
    assert not {"9990", "Summe"} & {account.external_id for account in sandbox.server.accounts()}


@pytest.fixture
def samples_without_tax_codes(service, samples, tmp_path):
    """The sample chart without its column of tax codes."""
    chart = pd.read_csv(samples[0], sep=";", dtype="str", keep_default_na=False)
    chart.drop(columns="Steuerschlüssel").to_csv(tmp_path / "chart.csv", sep=";", index=False)
    return bktools.read_chart_of_accounts(tmp_path / "chart.csv", company=service.settings.company)


def test_tax_codes_that_a_chart_does_not_tell_are_not_compared(service, samples_without_tax_codes):
    """Without a column for tax codes no account differs by them."""
    categories = bktools.load_categories(service=service)

    def reconciled(chart):
        return bktools.reconcile_accounts(chart, bktools.load_accounts(service=service), categories)

    untold = samples_without_tax_codes
    first = reconciled(untold)
    made = bktools.create_accounts(first, apply=True, service=service)
    assert set(made.loc[made["outcome"] == "EXISTS", "external_id"]) == {"454000", "465000"}
    found = reconciled(untold)
    assert "tax_code_differs" not in set(found.findings["check"])
    assert found.unchecked == ("tax codes, because the chart has no column for them",)
    assert "not compared: tax codes" in repr(found)
    assert "not compared: tax codes" in found._repr_html_()
    assert reconciled(untold.assign(tax_code_external_id="VAT81")).unchecked == (), "a person has added them"


def test_a_close_without_tax_codes_holds_back_no_entry_for_them(closed, samples_without_tax_codes):
    """As many entries are ready as with tax codes, and the close says what was not compared."""
    run = closed(chart=samples_without_tax_codes, month="2026-10").run
    assert len(run.plan.entries) == 262
    assert "tax codes, because the chart has no column for them" in run.unchecked
