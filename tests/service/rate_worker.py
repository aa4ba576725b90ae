"""A process of its own that asks a server so many times: address, cache folder, requests, rate, seconds of the window."""

from __future__ import annotations

import sys
from pathlib import Path

from bktools.service import Service, rate
from bktools.service.retry import RetryPolicy
from bktools.settings import load_settings

COMPANY = "00000000-0000-4000-8000-000000000001"

if __name__ == "__main__":
    address, cache_dir, requests, per_window, window = sys.argv[1:]
    rate.WINDOW = float(window)
    settings = load_settings(
        address, env={}, token="the-token", cache_dir=Path(cache_dir), requests_per_minute=int(per_window)
    )
    with Service(settings, retry=RetryPolicy(shortest_pause=0.01, longest_pause=0.05)) as service:
        for _ in range(int(requests)):
            service.search_categories(COMPANY)
