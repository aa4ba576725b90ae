"""The command line: one file per command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run a command; an error is one line on standard error and an exit code of `bktools.cli.exits`."""
    from typer import Abort
    from typer.main import get_command

    from bktools.caller import command
    from bktools.cli.app import app
    from bktools.cli.exits import Exit
    from bktools.cli.output import guard_output
    from bktools.cli.unattended import common_first, fail, unattended

    guard_output()
    arguments = common_first(sys.argv[1:])
    with unattended(arguments), command({}):
        try:
            # Keeps escape sequences in the text until `visible` shows them: Typer would drop them outside of
            # a terminal. The parser's own errors are raised, to be data where the output is JSON.
            sys.exit(get_command(app)(arguments, color=True, standalone_mode=False) or Exit.DONE)
        except SystemExit as end:
            # Typer exits with this code after Ctrl-C and prints nothing.
            if end.code == Exit.INTERRUPTED:
                print(
                    "bktools: interrupted; completed steps are in the journal, run again to resume",
                    file=sys.stderr,
                )
            raise
        except Abort:
            sys.exit(Exit.FAILED)
        except Exception as error:  # noqa: BLE001 - every other error is raised again
            fail(error, arguments)
