"""A program that submits one plan of three batches, to be watched from outside."""

from __future__ import annotations

import sys

from entries_by_hand import COMPANY, entries_of

import bktools

if __name__ == "__main__":
    with bktools.connect(sys.argv[1], token="t", requests_per_minute=0) as running:
        made = bktools.compose_export_jobs(entries_of(COMPANY, 3), max_entries=1)
        bktools.submit_export_jobs(made, apply=True, service=running)
