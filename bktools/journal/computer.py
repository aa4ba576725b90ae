"""The identity of this computer, which a copy of its files on another one does not have."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from functools import cache
from pathlib import Path

# The identity that Linux gives a system at its installation.
MACHINE_ID = Path("/etc/machine-id")


@cache
def this_computer() -> str:
    """Return a digest of the system's identity, "" where the system has none, as in most containers."""
    try:
        identity = _identity()
    except (OSError, subprocess.SubprocessError):
        return ""
    return hashlib.sha256(f"bktools {identity}".encode()).hexdigest()[:16] if identity else ""


def _identity() -> str:
    if sys.platform == "win32":
        import winreg

        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, r"SOFTWARE\Microsoft\Cryptography") as key:
            return str(winreg.QueryValueEx(key, "MachineGuid")[0])
    if sys.platform == "darwin":
        command = ["/usr/sbin/ioreg", "-rd1", "-c", "IOPlatformExpertDevice"]
        answer = subprocess.run(  # noqa: S603 - the command has no input
            command, capture_output=True, text=True, timeout=10, check=True
        ).stdout
        return answer.partition('"IOPlatformUUID" = "')[2].partition('"')[0]
    return MACHINE_ID.read_text(encoding="ascii", errors="replace").strip()
