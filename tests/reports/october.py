"""October as `close_month` closes it, several times on one sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import bktools
from bktools.close.close import Close


@dataclass(frozen=True)
class October:
    """October closed four times, in the folder `october` but for the last.

    Parameters
    ----------
    planned, first, again, fixed : Close
        A dry run; applied by Ada; applied by Ada a second time; applied by Grace and closed by Hedy, when
        every entry was approved.
    steps : list of str
        The steps of the dry run as they were seen.
    jobs_planned : int
        Export jobs that the service had after the dry run.
    accepted : dict
        How often the service accepted each entry of the first two runs.
    """

    planned: Close
    first: Close
    again: Close
    fixed: Close
    steps: list[str]
    jobs_planned: int
    accepted: dict[str, int]


def closes_of_october(samples: tuple[Path, Path], root: Path) -> October:
    """Close October as a company does, from the dry run to the period that is closed."""
    sandbox = bktools.Sandbox(root / "sandbox", job_seconds=0)
    with sandbox as service:
        chart = bktools.read_chart_of_accounts(samples[0], company=service.settings.company)
        entries = bktools.read_entries(samples[1])
        steps: list[str] = []
        options = {"folder": root / "october", "max_entries": 100, "service": service}
        planned = bktools.close_month(chart, entries, seen=lambda step, _: steps.append(step), **options)
        jobs_planned = len(sandbox.server.export_jobs())
        options |= {"month": "2026-10", "apply": True}
        first, again = (bktools.close_month(chart, entries, by="Ada", **options) for _ in range(2))
        accepted = sandbox.server.accepted_entries()
        options |= {"folder": root / "fixed", "by": "Grace", "approved_by": "Hedy"}
        fixed = bktools.close_month(chart, entries.assign(approved=True), **options)
    return October(planned, first, again, fixed, steps, jobs_planned, accepted)
