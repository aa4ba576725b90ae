"""`bktools config`: which settings are in force and where each came from."""

from __future__ import annotations

from bktools.cli import options, results


@results.table
def config(connection: options.Connects) -> None:
    """Show the settings in force and their sources, secrets masked.

    Example: BKTOOLS_ENVIRONMENT=staging bktools config
    """
    import pandas as pd

    from bktools.journal.journal import identity_of
    from bktools.settings import load_settings

    settings = load_settings(connection.selected)
    journal = identity_of(settings)
    rows = [*settings.rows(), ("journal in use", journal, "")]
    frame = pd.DataFrame(rows, columns=["setting", "value", "source"]).replace("", None)
    results.hand_over(frame, text=f"{settings}\n  {'journal':<20} {journal}")
