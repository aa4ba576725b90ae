"""A service that costs next to nothing: a process of its own that sends pages rendered before.

    python page_server.py ROWS CAP LATENCY

It prints its address, then the pages it sent each time a line comes in, and ends when its input does. The
paths and the envelope are the interface's; the rows are a fixed function of their number.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import uuid
from urllib.parse import parse_qs, urlsplit

COMPANY = str(uuid.UUID(int=1))


def category(number: int) -> dict[str, object]:
    """Return a row."""
    mixed = (number + 1) * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128
    return {
        "id": str(uuid.UUID(int=mixed)),
        "companyId": COMPANY,
        "categoryGroupId": str(uuid.UUID(int=mixed % 40 + 1000)),
        "name": f"Category {number:07d}",
        "archived": number % 11 == 0,
        "accountId": str(uuid.UUID(int=mixed % 900 + 5000)) if number % 7 else None,
        "taxCodeId": str(uuid.UUID(int=mixed % 25 + 9000)) if number % 3 else None,
        "metadata": {"source": "erp", "line": number} if number % 4 == 0 else None,
    }


class Pages:
    """Rows rendered once; a page is a slice of them, and a cursor the number of its row."""

    def __init__(self, rows: int, cap: int) -> None:
        self.rows, self.cap, self.sent = rows, cap, 0
        self._rendered = [json.dumps(category(number)).encode() for number in range(rows)]
        # What a reader by cursors asks for.
        self._answers = {begin: self._render(begin, cap) for begin in range(0, rows, cap)}

    def answer(self, query: dict[str, list[str]]) -> bytes:
        """Return the whole answer to a search."""
        self.sent += 1
        begin = int(query["after"][0]) + 1 if "after" in query else int(query.get("offset", ["0"])[0])
        count = min(int(query.get("limit", [str(self.cap)])[0]), self.cap)
        if count == self.cap and begin in self._answers:
            return self._answers[begin]
        return self._render(begin, count)

    def _render(self, begin: int, count: int) -> bytes:
        end = min(begin + count, self.rows)
        envelope: dict[str, object] = {
            "currentRequestPagination": {"parameters": {}},
            "hasNextPage": end < self.rows,
            "hasPreviousPage": begin > 0,
            "total": self.rows,
        }
        if end > begin:
            envelope |= {"startCursor": str(begin), "endCursor": str(end - 1)}
        data = b",".join(self._rendered[begin:end])
        body = b'{"data":[' + data + b'],"pagination":' + json.dumps(envelope).encode() + b"}"
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body


async def serve(pages: Pages, latency: float) -> None:
    """Answer until the input ends."""

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                lines = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
                lengths = [line.partition(":")[2] for line in lines if line.startswith("content-length:")]
                await reader.readexactly(int(*lengths))
                await asyncio.sleep(latency)
                writer.write(pages.answer(parse_qs(urlsplit(lines[0].split()[1]).query)))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()
        except asyncio.CancelledError:
            return

    server = await asyncio.start_server(converse, "127.0.0.1", 0, backlog=128)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    done = asyncio.Event()
    loop = asyncio.get_running_loop()

    def listen() -> None:
        for _ in sys.stdin:
            print(pages.sent, flush=True)
        loop.call_soon_threadsafe(done.set)

    threading.Thread(target=listen, daemon=True).start()
    await done.wait()
    server.close()


if __name__ == "__main__":
    asyncio.run(serve(Pages(int(sys.argv[1]), int(sys.argv[2])), float(sys.argv[3])))
