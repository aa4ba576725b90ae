"""`bktools config`: which settings are in force and where each came from."""

from __future__ import annotations

from bktools.cli import options, results
from bktools.consoles import listed


@results.table
def config(connection: options.Connects) -> None:
    """Show the settings in force and their sources, secrets masked.

    Example: BKTOOLS_ENVIRONMENT=staging bktools config
    """
    import pandas as pd

    from bktools.journal.journal import identity_of
    from bktools.settings import config_path

    settings, file = connection.settings, config_path()
    used = [
        ("journal in use", identity_of(settings)),
        ("config file", f"{file}{'' if file.exists() else ' (none yet)'}"),
    ]
    rows = [*settings.rows(), *((name, value, "") for name, value in used)]
    frame = pd.DataFrame(rows, columns=["setting", "value", "source"]).replace("", None)
    lines = [
        *((name, "  ".join(filter(None, [value, f"({source})"]))) for name, value, source in settings.rows()),
        *used,
    ]
    results.hand_over(frame, text="\n".join(["Settings", *listed(lines, indent="  ")]))
