"""A service repeats what it was sent: no error of it shows a credential, in any spelling."""

from __future__ import annotations

import base64
import json
import pickle
import traceback
from urllib.parse import quote, quote_plus

import pytest
from scripted_server import Close, answer
from small_service import COMPANY

from bktools.errors import BktoolsError, StatusError
from bktools.service.auth import without_secrets
from bktools.service.retry import RetryPolicy
from bktools.settings import load_settings

# With what encoders escape: a slash, a plus, an equals sign.
TOKEN = "tok/en+of==the/books"
API_KEY = "key/with+every==sign"
PASSWORD = "pass/word+of=proxy"
ENTRY = "123e4567-e89b-42d3-a456-426614174000"

WAYS = {
    "plain": str,
    "header": lambda text: f"Authorization: Bearer {text}",
    "address": lambda text: quote(text, safe=""),
    "form": quote_plus,
    "small letters": lambda text: quote(text, safe="").lower(),
    "slashes": lambda text: text.replace("/", "\\/"),
    "unicode": lambda text: "".join(char if char.isalnum() else f"\\u{ord(char):04X}" for char in text),
    "HTML": lambda text: "".join(char if char.isalnum() else f"&#x{ord(char):x};" for char in text),
    "Basic": lambda text: "Basic " + base64.b64encode(f"{text}:".encode()).decode(),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "Basic in JSON": lambda text: base64.b64encode(f"{text}:".encode()).decode().replace("=", "\\u003d"),
}


def leaks(text, *secrets):
    """Return what of a credential is in a text: itself, or the most of its base64."""
    forms = [form for secret in secrets for form in (secret, base64.b64encode(secret.encode()).decode()[:-4])]
    return [form for form in forms if form in text or form in text.replace("\\/", "/")]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("secret", [TOKEN, API_KEY, f"jane:{PASSWORD}"], ids=["token", "key", "password"])
def test_every_way_of_writing_a_credential(way, secret):
    """The text around it stays as it was."""
    proxy = f"http://jane:{quote(PASSWORD, safe='')}@proxy.example:8080"
    settings = load_settings("https://books.example", env={}, token=TOKEN, api_key=API_KEY, proxy=proxy)
    cleaned = without_secrets(f'{{"message":"before {WAYS[way](secret)} after"}}'.encode(), settings).decode()
    assert "[credential]" in cleaned
    message = json.loads(cleaned)["message"]
    assert (message[:7], message[-6:]) == ("before ", " after")
    assert len(message) < len("before Authorization: Bearer [credential] after") + 2


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("no: Bearer total", "no: [credential]"),
        ("no: Basic dG90YWw6", "no: [credential]"),
        ("no: Basic dG90YWw=", "no: [credential]="),
        ("the total of Basic plans", "the total of Basic plans"),
    ],
)
def test_a_credential_too_short_to_be_told_from_words(said, left):
    """It is found behind its scheme alone; ordinary text keeps its letters."""
    settings = load_settings("https://books.example", env={}, token="total")
    assert without_secrets(said.encode(), settings).decode() == left


ECHOES = {
    "message": lambda said: answer(f'{{"type": "X", "message": "no: {said}"}}'.encode(), 400),
    "type": lambda said: answer(f'{{"type": "{said}"}}'.encode(), 400),
    "text": lambda said: answer(f"<html>{said}</html>".encode(), 500),
    "plain string": lambda said: answer(f'"{said}"'.encode(), 403),
    "not JSON": lambda said: answer(f"<html>{said}</html>".encode(), content_type=f"text/html; t={said}"),
    "wrong type": lambda said: answer(f'{{"data": [{{"id": "{said}"}}], "pagination": 1}}'.encode(), 200),
    "encoding": lambda said: answer(b"{}", content_encoding=said),
    "no HTTP": lambda said: [f"{said}\r\n\r\n".encode(), Close()],
    "bad header": lambda said: [f"HTTP/1.1 200 OK\r\n{said} x\r\n\r\n".encode(), Close()],
}


@pytest.mark.parametrize("echo", ECHOES)
@pytest.mark.parametrize("credential", ["token", "api_key"])
def test_an_error_repeats_no_credential(serve, converse, echo, credential):
    """Message, fields, body, repr, pickle and the printed traceback are free of what the service repeats."""
    secret = {"token": TOKEN, "api_key": API_KEY}[credential]
    server = serve(lambda asked: ECHOES[echo](asked.headers["authorization"]))
    service = converse(server, **({"token": None} | {credential: secret}), retry=RetryPolicy(attempts=1))
    with pytest.raises(BktoolsError) as caught:
        service.search_categories(COMPANY)
    error = caught.value
    shown = [str(error), repr(error), repr(vars(error)), "".join(traceback.format_exception(error))]
    shown.append(pickle.dumps(error).decode("latin-1"))
    assert leaks("\n".join(shown), secret) == []
    if isinstance(error, StatusError):
        assert b"[credential]" in error.body
