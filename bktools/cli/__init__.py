"""The command line: one file per command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run a command; what went wrong is one line on standard error and an exit code of `bktools.cli.exits`."""
    from bktools.cli.app import app
    from bktools.cli.exits import Exit, exit_of
    from bktools.cli.output import guard_output
    from bktools.errors import BktoolsError

    guard_output()
    # Taken anywhere on the line, as the error that makes somebody want it is met at its end.
    arguments = [argument for argument in sys.argv[1:] if argument != "--verbose"]
    try:
        # Text keeps its escape sequences until they are shown: Typer would take them out where no terminal is.
        app(arguments, color=True)
    except BktoolsError as error:
        if len(arguments) < len(sys.argv) - 1:
            raise
        print(f"bktools: {error}", file=sys.stderr)
        sys.exit(exit_of(error))
    except SystemExit as end:
        # Typer ends a command that Ctrl-C interrupts by this code, and says nothing.
        if end.code == Exit.INTERRUPTED:
            print("bktools: interrupted; what was done is in the journal, run again to go on", file=sys.stderr)
        raise
