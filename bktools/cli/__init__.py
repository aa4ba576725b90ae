"""The command line: one file per command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run a command; an error is one line on standard error and an exit code of `bktools.cli.exits`."""
    from bktools.cli.app import app
    from bktools.cli.exits import Exit, exit_of
    from bktools.cli.output import guard_output
    from bktools.errors import BktoolsError

    guard_output()
    # --verbose may stand anywhere: people add it at the end, after they have seen an error.
    arguments = [argument for argument in sys.argv[1:] if argument != "--verbose"]
    try:
        # Keeps escape sequences in the text until `visible` shows them: Typer would drop them outside of a terminal.
        app(arguments, color=True)
    except BktoolsError as error:
        if len(arguments) < len(sys.argv) - 1:
            raise
        print(f"bktools: {error}", file=sys.stderr)
        sys.exit(exit_of(error))
    except SystemExit as end:
        # Typer exits with this code after Ctrl-C and prints nothing.
        if end.code == Exit.INTERRUPTED:
            print("bktools: interrupted; completed steps are in the journal, run again to resume", file=sys.stderr)
        raise
