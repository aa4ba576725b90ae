"""The least that can be done: sockets, the same decoding, columns and Parquet file, and not one check."""

from __future__ import annotations

import json
import socket
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import local

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from bktools.contract.categories import Category
from bktools.contract.paging import Page
from bktools.frames.records import rows_of
from bktools.frames.schema import CATEGORIES

PATH = "/v1/bookkeeping-categories:search"

Ask = Callable[[str], Page[Category]]


def read(url: str, folder: Path, company: str, threads: int) -> int:
    """Read all categories into a file and a DataFrame; return how many."""
    host, _, port = url.removeprefix("http://").partition(":")
    ask = _asker((host, int(port)), json.dumps({"companyId": company}).encode())
    pages = _one_by_one(ask) if threads == 1 else _side_by_side(ask, threads)
    repeating = [name for name in CATEGORIES.names if name.endswith("_id")]
    kept = []
    with (
        pq.ParquetWriter(
            folder / "raw.parquet", CATEGORIES, compression="zstd", use_dictionary=repeating
        ) as writer,
        ThreadPoolExecutor(1) as pool,
    ):
        writing = []
        for table in _tables(pages):
            kept.append(table)
            writing.append(pool.submit(writer.write_table, table))
        for item in writing:
            item.result()
    return len(pa.concat_tables(kept).to_pandas())


def _tables(pages: Iterator[Page[Category]]) -> Iterator[pa.Table]:
    records: list[Category] = []
    slices: list[pa.Table] = []
    for page in pages:
        records += page.data
        if len(records) >= 1000:
            slices.append(rows_of(records, CATEGORIES))
            records = []
        if len(slices) >= 50:
            yield pa.concat_tables(slices).combine_chunks()
            slices = []
    if records:
        slices.append(rows_of(records, CATEGORIES))
    if slices:
        yield pa.concat_tables(slices).combine_chunks()


def _one_by_one(ask: Ask) -> Iterator[Page[Category]]:
    page = ask(f"{PATH}?limit=1000")
    yield page
    while page.pagination.has_next_page:
        page = ask(f"{PATH}?limit=1000&after={page.pagination.end_cursor}")
        yield page


def _side_by_side(ask: Ask, threads: int) -> Iterator[Page[Category]]:
    page = ask(f"{PATH}?limit=1000")
    yield page
    size, total = len(page.data), page.pagination.total or 0
    with ThreadPoolExecutor(threads) as pool:
        ahead: deque[Future[Page[Category]]] = deque()
        for offset in range(size, total, size):
            ahead.append(pool.submit(ask, f"{PATH}?limit={size}&offset={offset}"))
            if len(ahead) >= 2 * threads:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def _asker(address: tuple[str, int], body: bytes) -> Ask:
    decoder = msgspec.json.Decoder(Page[Category])
    here = local()

    def ask(target: str) -> Page[Category]:
        if not hasattr(here, "connection"):
            here.connection = socket.create_connection(address)
            here.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return decoder.decode(_exchange(here.connection, target, body))

    return ask


def _exchange(connection: socket.socket, target: str, body: bytes) -> bytes:
    head = (
        f"POST {target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    connection.sendall(head.encode() + body)
    buffer = bytearray()
    while (end := buffer.find(b"\r\n\r\n")) < 0:
        buffer += connection.recv(2**16)
    length = int(buffer[buffer.index(b"Content-Length: ") + 16 : end])
    content = bytearray(length)
    have = len(buffer) - end - 4
    content[:have] = buffer[end + 4 :]
    view = memoryview(content)
    while have < length:
        have += connection.recv_into(view[have:])
    return bytes(content)
