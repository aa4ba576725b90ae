"""A token that ends in the middle of a load, and settings that forbid to write."""

from __future__ import annotations

import json
import shlex
import sys
import traceback

import pytest
from scripted_server import Asked, Step, answer
from small_service import COMPANY, SmallService, row

import bktools
from bktools.errors import AuthenticationError, ConfigurationError

PAGES = 40
REFUSED = {"statusCode": 401, "error": "Unauthorized", "message": "token expired"}


class EndingToken:
    """The small service whose first token ends after half of the pages."""

    def __init__(self) -> None:
        self.table = SmallService([row(number) for number in range(PAGES * 10)])
        self.old = 0

    def __call__(self, asked: Asked) -> list[Step]:
        """Answer a request, if its token is good."""
        token = asked.headers["authorization"].removeprefix("Bearer ")
        if token == "token-1":
            self.old += 1
        if token not in {"token-1", "token-2"} or (token == "token-1" and self.old > PAGES // 2):
            return answer(REFUSED, 401)
        return self.table(asked)


def shown_by(error: BaseException) -> str:
    """Return a traceback of the package's frames with their locals, as a crash reporter shows it."""
    shown = traceback.TracebackException.from_exception(error, capture_locals=True)
    return "".join(
        f"{frame.filename} {frame.locals}" for frame in shown.stack if "/bktools/" in frame.filename
    )


@pytest.fixture
def command(tmp_path):
    """A command that prints another token each time, and a second line; and the file that counts its runs."""
    runs = tmp_path / "runs"
    script = tmp_path / "token.py"
    script.write_text(
        "from pathlib import Path\n"
        f"runs = Path({json.dumps(str(runs))})\n"
        "text = (runs.read_text() if runs.exists() else '') + 'x'\n"
        "runs.write_text(text)\n"
        "print(f'token-{len(text)}\\nvalid for an hour')\n"
    )
    return shlex.join([sys.executable, str(script)]), runs


def test_a_load_is_whole_after_its_token_ended(serve, converse, command):
    """The command is asked once more for all threads, and every page is there."""
    text, runs = command
    service = converse(serve(EndingToken()), token=None, token_command=text)
    assert len(bktools.load_categories(COMPANY, service=service)) == PAGES * 10
    assert len(runs.read_text()) == 2


def test_a_function_gives_tokens_too(serve, converse):
    """A function is called when the token is first needed, and after the service refused it."""
    calls = []

    def token() -> str:
        calls.append(1)
        return f"token-{len(calls)}"

    service = converse(serve(EndingToken()), token=token)
    assert len(bktools.load_categories(COMPANY, service=service)) == PAGES * 10
    assert len(calls) == 2


@pytest.mark.parametrize("settings", [{"token": "token-1"}, {"token": lambda: "token-1"}])
def test_without_another_token_the_load_is_one_error(serve, converse, settings):
    """A fixed token, or a function that gives the old one, ends the load in a line with the way out."""
    service = converse(serve(EndingToken()), **settings)
    with pytest.raises(AuthenticationError, match=r"expired: renew it .*; token_command gives a new one"):
        bktools.load_categories(COMPANY, service=service)


def test_what_writes_is_not_sent_again_with_a_new_token(serve, converse):
    """An account that was refused is not sent twice; the next one has the new token."""
    tokens = iter(["token-0", "token-1", "token-2"])
    server = serve(EndingToken())
    service = converse(server, token=lambda: next(tokens))
    with pytest.raises(AuthenticationError):
        service.create_account(COMPANY, "0400-y", "Tools")
    assert len(server.asked) == 1
    assert service.search_categories(COMPANY, limit=1).data
    assert server.asked[-1].headers["authorization"] == "Bearer token-1"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("no-such-command-of-anybody", r"token_command \(argument\) cannot be run .*no-such-command"),
        (f"{sys.executable} -c 'raise SystemExit(3)'", "ended with status 3, so run it by hand"),
        (f"{sys.executable} -c ''", "must be text that is not empty"),
        (f"{sys.executable} -c 'print(*\"qxz\")'", "holds white space"),
        (lambda: 5, r"token \(a function\) must return the token as text, returned a int"),
    ],
)
def test_a_source_without_a_token(serve, converse, source, message):
    """A command or a function that gives no token is named with what it did, and nothing is sent."""
    server = serve(EndingToken())
    given = {"token": source} if callable(source) else {"token": None, "token_command": source}
    with pytest.raises(ConfigurationError, match=message) as caught:
        converse(server, **given).search_categories(COMPANY)
    assert server.asked == []
    assert "q x z" not in shown_by(caught.value)


@pytest.mark.parametrize("operation", ["create_account", "create_export_job"])
def test_nothing_is_written_with_read_only(serve, converse, operation):
    """With `read_only` the client sends nothing that changes the service, and says which setting it is."""
    server = serve(EndingToken())
    service = converse(server, read_only=True)
    arguments = (COMPANY, "0400-y", "Tools") if operation == "create_account" else ([COMPANY], COMPANY)
    with pytest.raises(ConfigurationError, match=r"read_only \(argument\) is set: nothing was written"):
        getattr(service, operation)(*arguments)
    assert server.asked == []
