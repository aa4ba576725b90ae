"""The one question: complete, tried, and pasted as it is printed, in Python and in a command."""

from __future__ import annotations

import shlex
import warnings

import msgspec
import pytest

import bktools
from bktools import caller
from bktools.errors import ArgumentError, InputError, QuestionError
from bktools.inputs.mappings import arguments, made_from, mapping_for, path_of, read_mapping, write_mapping
from bktools.inputs.notes import note_sentence
from bktools.inputs.options import OF_KIND, as_command, checked, plus
from bktools.wording import LANGUAGES

OPEN = "Wann;Was;Wieviel\n03/04/2026;Essen;12,50\n04/04/2026;Bahn;7,00\n"


def asked(path, **options):
    with pytest.raises(QuestionError) as caught:
        bktools.read_entries(path, **options)
    return caught.value


def test_all_that_is_open_is_asked_at_once(write):
    """What comes up under every choice joins the question, so that one answer reads the file."""
    error = asked(write(OPEN))
    assert [problem.code for problem in error.problems] == [
        *("headings", "no_column", "no_column", "date_format", "currency_nowhere"),
    ]
    # The headings, the date and the amount have one choice each, which stand in the command.
    assert error.options == {"columns": {"date": "Wann", "amount": "Wieviel"}, "headings": 1}
    answer = {**error.options, "date_format": "%d/%m/%Y", "currency": "EUR"}
    assert bktools.read_entries(write(OPEN), **answer)["amount"].tolist() == [12.5, 7.0]


def test_the_printed_call_is_pasted(write, tmp_path):
    """In Python each line is a call; its placeholder is refused with one line that says what to put there."""
    path = write(OPEN)
    calls = [line.strip() for line in str(asked(path)).splitlines() if line.startswith("  read_entries(")]
    assert len(calls) == 2
    with pytest.raises(ArgumentError, match="currency must be the code of a currency"):
        eval(calls[0], {"read_entries": bktools.read_entries})
    frame = eval(calls[0].replace("CODE", "EUR"), {"read_entries": bktools.read_entries})
    assert frame["date"].dt.strftime("%Y-%m-%d").tolist() == ["2026-04-03", "2026-04-04"]


def test_the_printed_command_names_its_options(write):
    """In a command each line has flags, and each is an option of this kind of file."""
    flags = {name: option.flag for name, option in OF_KIND["entries"].items()}
    with caller.command(flags):
        lines = str(asked(write(OPEN), skip_rows="99")).splitlines()
    commands = [shlex.split(line) for line in lines if line.startswith("  bktools entries ")]
    assert commands
    for command in commands:
        given = {word for word in command if word.startswith("--")}
        assert given <= {*flags.values(), "--save-mapping"}
        assert {"--column", "--headings", "--date-format", "--currency", "--skip-rows"} <= given


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"columns": {"amount": "Betrag  EUR"}}, "--column 'amount=Betrag EUR'"),
        ({"sides": {"/": "skip"}, "negate": True}, "--side /=skip --negate"),
        ({"delimiter": "\t", "year": 2026}, "--delimiter '\t' --year 2026"),
        ({"headings": 0, "skip_rows": "SALDO|Total"}, "--headings 0 --skip-rows 'SALDO|Total'"),
    ],
)
def test_options_as_they_are_typed(options, text, monkeypatch):
    """Options on the command line: singular where they repeat, flags without a value."""
    monkeypatch.setattr(caller, "ON_WINDOWS", False)
    assert as_command(options) == text


def test_a_choice_is_added_to_the_options():
    """Columns and words add up, and so do rows that are left out and fields that are filled down."""
    options = checked({"columns": {"date": "Wann"}, "skip_rows": "2", "fill_down": "date", "headings": 0})
    more = {"columns": {"amount": "Wieviel"}, "skip_rows": "Total", "fill_down": "voucher_id"}
    assert plus(options, more) == {
        "columns": {"date": "Wann", "amount": "Wieviel"},
        "skip_rows": "2;Total",
        "fill_down": "date,voucher_id",
        "headings": 0,
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"decimal": ";"},
        {"currency": "CODE"},
        {"year": 26},
        {"delimiter": ",,"},
        {"sides": {"x": "left"}},
        {"skip_rows": "("},
        {"sheet": True},
        {"columns": ["date"]},
    ],
)
def test_options_that_cannot_be(wrong):
    """A value that an option cannot have is one line with its name."""
    with pytest.raises(ArgumentError, match=next(iter(wrong))):
        checked(wrong)


def test_no_heading_is_named_that_is_not_there(write):
    """An option that names no column is part of the question, which lists the headings."""
    error = asked(write("Date;Amount\n2026-10-01;1,00\n"), columns={"amount": "HEADING"}, currency="EUR")
    assert error.problems[0].code == "no_such_heading"
    assert "There are: Date, Amount" in str(error)
    assert "Read it with" not in str(error)


def test_questions_and_notes_speak_each_language(write, monkeypatch):
    """Problems and notes are facts, whose sentences are made in each language, by default the reader's."""
    error = asked(write(OPEN))
    frame = bktools.read_entries(write("x\nDate;Amount\n2026-10-01;1,00\n"), currency="EUR")
    for language in LANGUAGES:
        assert all(problem.sentence(language) for problem in error.problems)
        assert all(note_sentence(note, language) for note in frame.attrs["bktools"]["note_facts"])
    codes = {note["code"] for note in frame.attrs["bktools"]["note_facts"]}
    assert {"rows_above", "currency_stated", "no_entry_ids"} <= codes
    monkeypatch.setenv("BKTOOLS_LANGUAGE", "de")
    german = asked(write(OPEN))
    assert all(problem.sentence("de") in str(german) for problem in german.problems)


def test_the_note_about_ids_prints_the_call_that_names_them(write):
    """The column that looks like IDs of entries is named with a call, and the call reads them."""
    ids = [f"123e4567-e89b-42d3-a456-42661417400{number}" for number in range(2)]
    path = write("Date;Amount;Beleg-ID\n" + "".join(f"2026-10-01;1,00;{each}\n" for each in ids))
    frame = bktools.read_entries(path, currency="EUR")
    [note] = [note for note in frame.attrs["bktools"]["note_facts"] if note["code"] == "no_entry_ids"]
    assert note["call"] in note_sentence(note, "en")
    again = eval(note["call"], {"read_entries": bktools.read_entries})
    assert list(again["id"]) == ids


def test_a_mapping_is_found_by_headings_or_named(write, tmp_path):
    """Options that read a file read the next one with these headings in any order; given ones go first."""
    answer = {
        "columns": {"date": "Wann", "amount": "Wieviel"},
        "headings": 1,
        "currency": "EUR",
        "year": None,
    }
    frame = bktools.read_entries(write(OPEN), date_format="%d/%m/%Y", **answer)
    mapping = made_from(frame, "card", "entries")
    write_mapping(mapping)
    next_month = write(OPEN.replace("/04/", "/05/"), "may.csv")
    found = mapping_for(next_month, "entries")
    assert found == mapping == read_mapping(path_of("card"))
    read = bktools.read_entries(next_month, **arguments(found, {"currency": "CHF", "columns": None}))
    assert (read["currency"][0], read["date"][0].month) == ("CHF", 5)
    assert mapping_for(write("A;B\n1;2\n", "other.csv"), "entries") is None
    assert mapping_for(next_month, "chart") is None
    # A team keeps the file beside its scripts.
    beside = write_mapping(mapping, tmp_path / "team.toml")
    assert mapping_for(next_month, "entries", named=[str(beside)]).options == mapping.options
    # Of several that are named, each file takes the one with its headings.
    other = msgspec.structs.replace(mapping, headings=("Day", "Value"))
    named = [str(write_mapping(other, tmp_path / "other.toml")), str(beside)]
    assert mapping_for(next_month, "entries", named=named).name == "team"
    assert mapping_for(write("A;B\n1;2\n", "none.csv"), "entries", named=named) is None


def test_a_mapping_without_headings_is_found_by_its_name_alone(write):
    """Nothing would tell the next file of its kind."""
    columns = {"date": "column 1", "amount": "column 2"}
    path = write("2026-10-01;1,00\n")
    frame = bktools.read_entries(path, headings=0, columns=columns, currency="EUR")
    write_mapping(made_from(frame, "bare", "entries"))
    assert mapping_for(path, "entries") is None
    assert mapping_for(path, "entries", named=["bare"]).options["headings"] == 0


def test_a_title_above_does_not_stop_a_mapping(write):
    """The line of the headings is that of the row which holds them, in next month's file, too."""
    settled = {"columns": {"date": "Wann", "amount": "Wieviel"}, "currency": "EUR", "headings": 1}
    frame = bktools.read_entries(write(OPEN), date_format="%d/%m/%Y", **settled)
    write_mapping(made_from(frame, "card", "entries"))
    titled = write(f"My bank\n\n{OPEN}", "may.csv")
    for mapping in (mapping_for(titled, "entries"), mapping_for(titled, "entries", named=["card"])):
        assert mapping.options["headings"] == 3
        assert len(bktools.read_entries(titled, **arguments(mapping, {}))) == 2


def test_a_script_names_a_saved_mapping(write):
    """A reader takes the options of a mapping by its name; the given ones go first."""
    path = write("A;B\n0400;Machines\n")
    frame = bktools.read_chart_of_accounts(path, columns={"code": "A", "name": "B"})
    file = write_mapping(made_from(frame, "konten", "chart"))
    for name in ("konten", file):
        assert bktools.read_chart_of_accounts(path, mapping=name)["code"].tolist() == ["0400"]
    turned = bktools.read_chart_of_accounts(path, mapping="konten", columns={"code": "B", "name": "A"})
    assert turned["code"].tolist() == ["Machines"]
    with pytest.raises(InputError, match="is a mapping of chart, not of entries"):
        bktools.read_entries(path, mapping="konten")
    with pytest.raises(InputError, match="no such mapping"):
        bktools.read_general_ledger(path, mapping="kontan")


def test_lines_of_a_mapping_are_of_one_file(write):
    """Lines and the year of a mapping are of the file that it was made for; a pattern is of any."""
    text = "Date;Amount;Text\n2026-10-01;1,00;a\n2026-10-02;2,00;Saldo\n2026-10-03;3,00;c\n"
    path, later = write(text), write(text.replace("-10-", "-11-"), "later.csv")
    options = {"skip_rows": "4;Saldo", "currency": "EUR", "year": 2026}
    write_mapping(made_from(bktools.read_entries(path, **options), "card", "entries"))
    for file, amounts in ((path, [1.0]), (later, [1.0, 3.0])):
        assert bktools.read_entries(file, mapping="card")["amount"].tolist() == amounts
    assert mapping_for(path, "entries").options == options
    assert mapping_for(later, "entries").options == {"skip_rows": "Saldo", "currency": "EUR"}


def test_one_mapping_is_kept_for_the_same_headings(write):
    """A mapping that is saved under another name takes the place of the one for the same headings."""
    frame = bktools.read_entries(write("Date;Amount\n2026-10-01;1,00\n"), currency="EUR")
    for name in ("october", "november"):
        write_mapping(made_from(frame, name, "entries"))
    assert mapping_for(write("Date;Amount\n2026-11-01;2,00\n", "next.csv"), "entries").name == "november"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (
            "Date,Account,Amount\n2026-01-05,4000 Travel,5.00\n2026-01-07,1200 Bank,-5.00\n",
            {"columns": {"account_code": "Account"}},
        ),
        ("Date,Debit account,Credit account,Amount\n2026-01-05,4000,1200,5.00\n", {"currency": "EUR"}),
    ],
)
def test_a_mapping_is_found_where_columns_are_made_of_others(write, text, options):
    """A column that is split, or made for a second posting, is none of the file's headings."""
    frame = bktools.read_general_ledger(write(text), **options)
    write_mapping(made_from(frame, "ledger", "ledger"))
    assert mapping_for(write(text, "next.csv"), "ledger").options == options


def test_a_warning_names_the_line_of_its_caller(write):
    """Notes and failed checks warn at the line that reads the file, whatever function reads it."""
    text = "x\nDate;Account;Amount\n2026-10-01;5800;1,00\n2026-10-02;5801;2,00\n"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bktools.read_entries(write(text), currency="EUR")
        bktools.read_general_ledger(write(text), verify="warn")
    assert {warning.category.__name__ for warning in caught} == {"FileNoteWarning", "UnverifiedTableWarning"}
    assert {warning.filename for warning in caught} == {__file__}


def test_a_mapping_has_the_names_of_arguments(tmp_path):
    """What is wrong with a mapping is told by its own names, also where a command reads it."""
    path = tmp_path / "card.toml"
    path.write_text('kind = "entries"\nheadings = ["A"]\n[options.columns]\nprice = "A"\n', encoding="utf-8")
    flags = {name: option.flag for name, option in OF_KIND["entries"].items()}
    with caller.command(flags), pytest.raises(InputError, match=r"\(columns must name one of "):
        read_mapping(path)
