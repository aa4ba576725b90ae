"""What networks and services do to a client: all rows come, or one clear error, within the deadline."""

# ruff: noqa: ARG005 - scripts have one form

from __future__ import annotations

import datetime as dt
import gzip
import json
import time
from email.utils import format_datetime

import pytest
from scripted_server import Close, Reset, answer, only_page
from small_service import SmallService, row

from bktools.errors import (
    BktoolsError,
    ConnectionLostError,
    DriftError,
    PagingError,
    ServerError,
    ServiceError,
    StatusError,
    UnreadableAnswerError,
)
from bktools.service.retry import RetryPolicy
from bktools.service.transport import Limits
from bktools.snapshots.tables import load_categories

ROWS = [row(number) for number in range(43)]
IDS = [item["id"] for item in ROWS]

# An answer of a server that drips or is silent is given up after 0.3 seconds.
IMPATIENT = Limits(connect=10.0, read=0.3, whole=0.3, body=2**20)


def load(serve, converse, script, **settings):
    """Return the ids of a table that is loaded over a script."""
    return load_categories(service=converse(serve(script), **settings), refresh=True)["id"].tolist()


@pytest.mark.parametrize("cap", [1, 7, 42, 43, 44, 100])
@pytest.mark.parametrize("latency", [0.0, 0.025])
def test_a_silent_page_cap_loses_nothing(serve, converse, cap, latency):
    """The service silently gives fewer rows than asked; one by one or side by side, all come in order."""
    small = SmallService(ROWS, cap=cap, latency=latency if cap > 5 else 0.0)
    assert load(serve, converse, small) == IDS
    least = -(-len(ROWS) // cap)
    assert small.count <= least + 2


def test_long_tables_are_read_side_by_side(serve, converse):
    """With latency, pages of a long table overlap in time, and each asks for the row before it."""
    rows = [row(number) for number in range(400)]
    small = SmallService(rows, cap=20, latency=0.05)
    waiting, most = [], []

    def script(asked):
        waiting.append(asked)
        most.append(len(waiting))
        yield from small(asked)
        waiting.remove(asked)

    server = serve(script)
    frame = load_categories(service=converse(server))
    assert frame["id"].tolist() == [item["id"] for item in rows]
    assert max(most) > 1
    offsets = sorted(int(asked.one("offset")) for asked in server.asked if asked.one("offset"))
    assert offsets == list(range(19, 399, 19))


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_refused_page_size_is_left_to_the_service(serve, converse, status):
    small = SmallService(ROWS)

    def script(asked):
        return answer({"message": "limit"}, status) if asked.one("limit") else small(asked)

    assert load(serve, converse, script) == IDS


@pytest.mark.parametrize("counted", [115, 134])
def test_the_last_page_must_be_the_last(serve, converse, counted):
    """A full count of rows is no whole table when the page that should end it has a next one."""
    rows = [row(number) for number in range(140)]
    # The first page and whole ones of 19 more rows: what follows them shows in `hasNextPage` alone.
    assert counted % 19 == 1

    def spoil(page, _):
        page["pagination"]["total"] = counted

    small = SmallService(rows, cap=20, spoil=spoil, latency=0.025)
    with pytest.raises(DriftError, match=f"140 rows came, but the service counts {counted}"):
        load(serve, converse, small)


def test_a_page_that_ends_before_the_last_is_read_again(serve, converse):
    """A page without a next one, where more were counted, makes the client read the exact way."""
    rows = [row(number) for number in range(140)]
    cursors = []

    def spoil(page, begin):
        # Row 38 begins a page of the first reading alone: pages by cursor begin at 0, 20, 40.
        if begin == 38:
            page["pagination"]["hasNextPage"] = False

    def script(asked):
        cursors.append(asked.one("after"))
        return small(asked)

    small = SmallService(rows, cap=20, spoil=spoil, latency=0.025)
    assert load(serve, converse, script) == [item["id"] for item in rows]
    assert any(cursors)


@pytest.mark.parametrize("cursor", [None, ""])
def test_cursors_that_do_not_lead_on(serve, converse, cursor):
    def spoil(page, begin):
        if begin == 10:
            page["pagination"]["endCursor"] = cursor

    with pytest.raises(PagingError, match="no cursor"):
        load(serve, converse, SmallService(ROWS, spoil=spoil))


def test_a_repeated_cursor_ends_no_loop(serve, converse):
    def spoil(page, begin):
        page["pagination"]["endCursor"] = "=AAAAJ"

    with pytest.raises(PagingError, match="twice"):
        load(serve, converse, SmallService(ROWS, spoil=spoil))


def test_empty_pages_that_claim_a_next_one(serve, converse):
    """A few empty pages whose cursors lead on are followed; without end, they are an error."""

    def empty(page, begin):
        page["data"] = []

    with pytest.raises(PagingError, match="empty pages in a row"):
        load(serve, converse, SmallService(ROWS, cap=1, spoil=empty))

    small = SmallService(ROWS)

    def once(asked):
        page = small.page(asked)
        if asked.one("after") and not asked.one("after").startswith("~"):
            page["data"], page["pagination"]["hasNextPage"] = [], True
            page["pagination"]["endCursor"] = "~" + asked.one("after")
        return answer(page)

    def script(asked):
        after = asked.one("after")
        if after and after.startswith("~"):
            asked.query["after"] = [after[1:]]
            return answer(small.page(asked))
        return once(asked)

    assert load(serve, converse, script) == IDS


def later(date_in):
    return format_datetime(dt.datetime.now(dt.UTC) + dt.timedelta(seconds=date_in), usegmt=True)


@pytest.mark.parametrize("said", ["0", "1", 0, -500, "", "soon", "-3", "1e9999", "٣"])
def test_too_many_requests(serve, converse, said):
    """429 is waited out, whether the service gives seconds, a date, or nonsense."""
    retry_after = later(said) if isinstance(said, int) else said
    small = SmallService(ROWS)
    small.fault = lambda number: answer(b"", 429, retry_after=retry_after) if number == 2 else None
    begin = time.monotonic()
    assert load(serve, converse, small) == IDS
    if retry_after == "1":
        assert time.monotonic() - begin >= 1


@pytest.mark.parametrize("status", [500, 502, 503, 504, 408])
def test_bursts_of_failures(serve, converse, status):
    """Three failures in a row pass; a service that stays down is given up after four attempts."""
    oops = answer(b"oops", status)
    small = SmallService(ROWS, fault=lambda number: oops if number % 6 in {2, 3, 4} else None)
    assert load(serve, converse, small) == IDS
    dead = SmallService(ROWS, fault=lambda number: oops)
    with pytest.raises(StatusError) as caught:
        load(serve, converse, dead)
    assert isinstance(caught.value, ServerError) == (status >= 500)
    assert dead.count == 4


def zipped(page, content):
    """Return an answer with a gzip body that something was done to."""
    return answer(content(gzip.compress(page)), content_encoding="gzip")


def corrupt(body):
    return body[: len(body) // 2] + bytes([body[len(body) // 2] ^ 0x55]) + body[len(body) // 2 + 1 :]


def in_drops(drop):
    return [step for _ in range(600) for step in (drop, 0.05)]


OK = b"HTTP/1.1 200 OK\r\n"
# Answers with the JSON of a page.
BROKEN = {
    "reset at once": lambda page: [Reset()],
    "closed at once": lambda page: [Close()],
    "reset in the headers": lambda page: [OK + b"Content-", Reset()],
    "reset in the body": lambda page: [answer(page)[0][:-40], Reset()],
    "closed in the body": lambda page: [answer(page)[0][:-40], Close()],
    "chunks without an end": lambda page: [OK + b'Transfer-Encoding: chunked\r\n\r\n5\r\n{"dat\r\n', Close()],
    "no length and closed": lambda page: [OK + b"\r\n" + page[:-60], Close()],
    "cut gzip": lambda page: zipped(page, lambda body: body[: len(body) // 2]),
    "cut gzip checksum": lambda page: zipped(page, lambda body: body[:-3]),
    "corrupt gzip": lambda page: zipped(page, corrupt),
    "wrong gzip checksum": lambda page: zipped(page, lambda body: body[:-8] + bytes(4) + body[-4:]),
    "no gzip at all": lambda page: answer(b"{}", content_encoding="gzip"),
    "truncated JSON": lambda page: answer(page[:-9]),
    "no body": lambda page: answer(b""),
    "bad UTF-8": lambda page: answer(page.replace(b"Category ", b"Cat\xff\xfe ")),
    "HTML": lambda page: answer(b"<html>Please sign in</html>", content_type="text/html"),
    "no HTTP": lambda page: [b"SSH-2.0-OpenSSH_9.6\r\n", Close()],
    "ten thousand headers": lambda page: [OK + b"".join(b"X-%d: 1\r\n" % n for n in range(10_000)), Close()],
    "a header of a megabyte": lambda page: [OK + b"X: " + b"x" * 2**20, Close()],
    "endless interim answers": lambda page: in_drops(b"HTTP/1.1 103 Soon\r\n\r\n"),
    "HTTP/1.0 cut short": lambda page: [b"HTTP/1.0 200 OK\r\n\r\n" + page[:-2], Close()],
    "204": lambda page: [b"HTTP/1.1 204 No Content\r\n\r\n"],
    "205": lambda page: [b"HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n"],
    "two lengths": lambda page: [OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ", Close()],
    "slow headers": lambda page: [OK, 30.0],
    "headers in drops": lambda page: [OK, *in_drops(b"X-A: 1\r\n")],
    "body in drops": lambda page: [answer(page)[0].partition(b"{")[0], *in_drops(b" ")],
}
SLOW = {"endless interim answers", "slow headers", "headers in drops", "body in drops"}


def breaking(kind, *requests):
    """Return a service that breaks these answers in a way, and settings that do not wait for it."""
    small = SmallService(ROWS)

    def script(asked):
        page = json.dumps(small.page(asked)).encode()
        small.count += 1
        return BROKEN[kind](page) if small.count in requests else answer(page)

    return script, {"limits": IMPATIENT} if kind in SLOW else {}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_answer_is_asked_for_again(serve, converse, kind):
    """No half body counts: the page is asked for again, and all rows come."""
    script, limits = breaking(kind, 3)
    assert load(serve, converse, script, **limits) == IDS


@pytest.mark.parametrize("kind", BROKEN)
def test_answers_that_stay_broken_are_one_clear_error(serve, converse, kind, tmp_path):
    """Nothing of the table is handed out, nothing is kept."""
    script, limits = breaking(kind, *range(3, 100))
    policy = RetryPolicy(attempts=2, shortest_pause=0.002, longest_pause=0.01)
    with pytest.raises(ServiceError) as caught:
        load(serve, converse, script, retry=policy, **limits)
    assert isinstance(caught.value, ConnectionLostError | UnreadableAnswerError)
    assert "\n" not in str(caught.value)
    assert not list((tmp_path / "cache").rglob("*.parquet"))


def test_a_gzip_bomb_is_not_unpacked(serve, converse):
    """A small body that unpacks to 64 times the limit is refused at the limit."""
    body = gzip.compress(bytes(2**26), compresslevel=1)
    server_says = answer(body, content_encoding="gzip")
    with pytest.raises(UnreadableAnswerError, match="larger than 1 MiB"):
        load(serve, converse, lambda asked: server_says)


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "GZIP", "identity, gzip", "gzip,"])
def test_whole_gzip_counts(serve, converse, encoding):
    """A compressed body is read whole, also one of two parts, by any name of the encoding."""
    small = SmallService(ROWS)

    def script(asked):
        body = json.dumps(small.page(asked)).encode()
        return answer(gzip.compress(body[:40]) + gzip.compress(body[40:]), content_encoding=encoding)

    assert load(serve, converse, script) == IDS


def test_an_answer_that_nobody_asked_for_answers_nothing(serve, converse):
    """A second answer on a kept connection is not taken for the answer to the next request."""
    small = SmallService(ROWS)
    wrong = only_page()

    def script(asked):
        return [answer(small.page(asked))[0] + wrong[0]]

    assert load(serve, converse, script) == IDS


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_no_credential_follows_a_redirect(serve, converse, status):
    """A redirect is an error; the other host is not even asked."""
    elsewhere = serve(SmallService(ROWS))
    with pytest.raises(StatusError, match="redirects are not followed"):
        load(serve, converse, lambda asked: answer(b"", status, location=elsewhere.url + asked.path))
    assert elsewhere.asked == []


@pytest.mark.parametrize(
    "spoiled",
    [
        *({"id": "7"}, {"id": None}, {"name": 7}, {"archived": "yes"}, {"companyId": "x"}),
        *({"accountId": "0400"}, {"accountId": f"{IDS[0]}\n"}, {"taxCodeId": ""}),
    ],
)
def test_other_types_than_promised(serve, converse, spoiled):
    def spoil(page, begin):
        page["data"] = [item | spoiled for item in page["data"][:1]] + page["data"][1:]

    with pytest.raises(UnreadableAnswerError):
        load(serve, converse, SmallService(ROWS, spoil=spoil))


def test_unknown_fields_pass_and_ids_are_lower_case(serve, converse):
    def spoil(page, begin):
        page["data"] = [item | {"id": item["id"].upper(), "new": [1]} for item in page["data"]]

    assert load(serve, converse, SmallService(ROWS, spoil=spoil)) == IDS


def with_metadata(sent):
    (whole,) = only_page([ROWS[0] | {"metadata": "HERE"}])
    return answer(whole.partition(b"\r\n\r\n")[2].replace(b'"HERE"', sent))


def test_metadata_stays_the_text_that_was_sent(serve, converse):
    """Numbers, spaces and escapes are as they came; what is not UTF-8 is an error."""
    sent = b'{"b": 1.50, "a": [null, "\\u00e9\xc3\xa9"]}'
    server = serve(lambda asked: with_metadata(sent))
    assert load_categories(service=converse(server))["metadata"].tolist() == [sent.decode()]
    with pytest.raises(UnreadableAnswerError, match="UTF-8"):
        load(serve, converse, lambda asked: with_metadata(b'"\xff"'))


def test_the_whole_time_is_bounded(serve, converse):
    """Neither each read nor each attempt is too long, and yet the call ends."""
    limits = Limits(connect=10.0, read=10.0, whole=0.3, body=2**20)
    policy = RetryPolicy(attempts=2, shortest_pause=0.002, longest_pause=0.01)
    begin = time.monotonic()
    with pytest.raises(ConnectionLostError, match=r"longer than 0\.\d+ s"):
        load(serve, converse, lambda asked: BROKEN["headers in drops"](None), limits=limits, retry=policy)
    assert time.monotonic() - begin < 15


@pytest.mark.parametrize("status", [401, 403, 404, 409, 501])
def test_refusals_are_shown_at_once(serve, converse, status):
    small = SmallService(ROWS, fault=lambda number: answer({"message": "no\nway"}, status))
    with pytest.raises(BktoolsError) as caught:
        load(serve, converse, small)
    assert small.count == 1
    assert "no way" in str(caught.value)
