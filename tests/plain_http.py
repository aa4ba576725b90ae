"""A client for servers on this machine: reading the system's certificates takes longer than most tests."""

from __future__ import annotations

import httpx

HTTP = httpx.Client(verify=False, timeout=30, limits=httpx.Limits(max_keepalive_connections=0))
