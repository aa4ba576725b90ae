"""What Windows refuses, on another system. As a program: close two months under all of it.

Windows cannot rename, replace or remove a file that a program holds open, cannot open a folder, flushes no
file that was opened for reading, has no modules and calls of POSIX, and no database of time zones.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import shutil
import sys
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

MODULES = ("fcntl", "grp", "pwd", "resource", "termios")
CALLS = (
    *("O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "chown", "fchmod", "fchown", "fork", "getegid", "geteuid"),
    *("getgid", "getloadavg", "getpgid", "getuid", "killpg", "link", "mkfifo", "pread", "pwrite"),
    *("register_at_fork", "sched_getaffinity", "setsid", "statvfs", "sysconf", "uname"),
)

ACCESS_DENIED, HELD, EXISTS, BAD_NAME = 5, 32, 183, 123


LIBRARIES = ("apsw.sqlite_extra", "polars", "filelock", "matplotlib.pyplot", "python_calamine", "tqdm")
LIBRARIES += ("truststore", "uvicorn.protocols.http.h11_impl", "uvicorn.server", "xlsxwriter")
LIBRARIES += ("mcp.server.stdio",)


def refuse(patch: Any) -> None:
    """Make this process refuse what Windows refuses, until the patch is undone.

    Parameters
    ----------
    patch : pytest.MonkeyPatch
        Undoes it.
    """
    import bktools
    from bktools import disk
    from bktools.service import workers

    patch.setattr(disk, "ON_WINDOWS", True)
    patch.setattr(workers, "ON_WINDOWS", True)
    patch.setattr(disk, "PATIENCE", 0.2)
    # Otherwise it opens folders.
    patch.setattr(shutil, "_use_fd_functions", False)
    for name, guard in {"replace": _rename, "rename": _rename, "unlink": _remove, "remove": _remove}.items():
        patch.setattr(os, name, _guarded(getattr(os, name), guard, name))
    patch.setattr(os, "open", _guarded(os.open, _open, "open"))
    patch.setattr(os, "mkdir", _guarded(os.mkdir, _make, "mkdir"))
    patch.setattr(os, "fsync", _guarded(os.fsync, _flush, "fsync"))
    # Libraries keep their calls: on Windows they take other ways.
    reduced = types.ModuleType("os")
    vars(reduced).update({name: value for name, value in vars(os).items() if name not in CALLS})
    names = [item.name for item in pkgutil.walk_packages(bktools.__path__, "bktools.")]
    for name in [name for name in names if "__main__" not in name]:
        module = importlib.import_module(name)
        if hasattr(module, "os"):
            patch.setattr(module, "os", reduced)


def _guarded(real: Callable[..., Any], guard: Callable[..., None], name: str) -> Callable[..., Any]:
    def guarded(*arguments: Any, **options: Any) -> Any:
        guard(name, *arguments)
        return real(*arguments, **options)

    return guarded


def _rename(name: str, source: Any, target: Any) -> None:
    source, target = Path(os.path.realpath(source)), Path(os.path.realpath(target))
    _require_name(target)
    if _is_held(source):
        _raise(PermissionError, HELD, source)
    if source != target and target.exists():
        if name == "rename":
            _raise(FileExistsError, EXISTS, target)
        if target.is_dir() or _is_held(target):
            _raise(PermissionError, ACCESS_DENIED, target)


def _remove(_name: str, path: Any) -> None:
    if _is_held(Path(os.path.realpath(path))):
        _raise(PermissionError, HELD, path)


def _open(_name: str, path: Any, *_: Any) -> None:
    _require_name(Path(path))
    if Path(path).is_dir():
        _raise(PermissionError, None, path)


def _make(_name: str, path: Any, *_: Any) -> None:
    _require_name(Path(path))


def _flush(_name: str, handle: int) -> None:
    about = Path(f"/proc/self/fdinfo/{handle}").read_text(encoding="ascii")
    flags = int(about.split("flags:")[1].split()[0], 8)
    if flags & os.O_ACCMODE == os.O_RDONLY:
        raise OSError(9, "Bad file descriptor")


def _require_name(path: Path) -> None:
    if set(path.name) & set('<>:"|?*\\') or path.name != path.name.rstrip(". "):
        _raise(OSError, BAD_NAME, path)


def _is_held(path: Path) -> bool:
    """Return whether this process holds a file open or mapped, or one in a folder."""
    found = [entry.path for entry in os.scandir("/proc/self/fd")]
    held = {os.path.realpath(item) for item in found}
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:  # noqa: PTH123 - not a file of a test
        held |= {line.split(maxsplit=5)[5].rstrip("\n") for line in maps if "/" in line}
    return any(item == str(path) or item.startswith(f"{path}/") for item in held)


def _raise(kind: type[OSError], number: int | None, path: Any) -> None:
    error = kind(13, "The process cannot access the file", str(path))
    if number is not None:
        error.winerror = number  # type: ignore[attr-defined, unused-ignore]
    raise error


def main(folder: Path) -> None:
    """Close two months on a sandbox, print what Python prints of them, and load, compare and write tables."""
    # On Windows, libraries take other ways than those that are refused here.
    for name in LIBRARIES:
        importlib.import_module(name)
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    # A file that is opened without an encoding has the console's code page.
    warnings.filterwarnings("error", category=EncodingWarning, module=r"bktools\b")

    import pandas as pd
    import pytest

    import bktools
    from bktools.sandbox.sample import write_sample_data, write_sample_ledger

    with (
        pytest.MonkeyPatch.context() as patch,
        bktools.Sandbox(folder / "sandbox", job_seconds=0.05) as service,
    ):
        refuse(patch)
        chart_file, entries_file = write_sample_data(folder)
        chart = bktools.read_chart_of_accounts(chart_file, company=service.settings.company)
        entries = bktools.read_entries(entries_file)
        entries["date"] = entries["date"].mask(entries.index < len(entries) // 2, pd.Timestamp("2026-09-30"))
        for month in ("2026-09", "2026-10"):
            close = bktools.close_month(
                chart, entries, month=month, folder=folder / month, apply=True, by="Jo", service=service
            )
            print(close, close.after, close.run.plan, close.record, bktools.show(close.entries), sep="\n")
        bktools.load_categories(cache=False, service=service)
        exported = bktools.load_export_jobs(entries=True, service=service)
        ledger = bktools.read_general_ledger(write_sample_ledger(exported, folder))
        print(bktools.match_ledger(exported, ledger))
        print(bktools.spend(close.entries, by="month"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
