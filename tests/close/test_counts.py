"""What a close costs: how often the journal is opened and read, and frames are converted."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import pandas as pd
import pyarrow as pa

import bktools
from bktools.frames import schema
from bktools.journal.journal import Journal
from bktools.journal.records import Records


def test_an_applied_close_opens_one_journal_and_converts_few_frames(service, samples, tmp_path, monkeypatch):
    """With its folder: one opening of the journal, at most 60 reads of it, at most 20 frames converted to or from Arrow."""
    chart = bktools.read_chart_of_accounts(samples[0], company=service.settings.company)
    entries = bktools.read_entries(samples[1])
    counts: Counter[str] = Counter()

    def counted(name: str, function: Any, is_counted: Any = lambda *_: True) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            counts[name] += is_counted(*args)
            return function(*args, **options)

        return call

    monkeypatch.setattr(Journal, "__init__", counted("journals", Journal.__init__))
    for name in ("rows", "pieces"):
        monkeypatch.setattr(Records, name, counted("reads", getattr(Records, name)))
    conversions = {
        "to_pandas": (schema.to_pandas, lambda frame, *_: isinstance(frame, pa.Table)),
        "to_arrow": (schema.to_arrow, lambda frame, *_: isinstance(frame, pd.DataFrame)),
    }
    for name, (function, is_counted) in conversions.items():
        for module in [one for one in list(sys.modules.values()) if getattr(one, name, None) is function]:
            monkeypatch.setattr(module, name, counted("conversions", function, is_counted))
    close = bktools.close_month(chart, entries, apply=True, folder=tmp_path / "october", service=service)
    assert close.run.outcomes("jobs") == {"ACCEPTED": 1}
    assert (counts["journals"], counts["reads"] <= 60, 0 < counts["conversions"] <= 20) == (1, True, True), counts
