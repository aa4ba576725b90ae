"""The command line: one file per command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run a command; an error is one line on standard error and an exit code of `bktools.cli.exits`."""
    from typer import Abort
    from typer.main import get_command

    from bktools.caller import command
    from bktools.cli.app import app
    from bktools.cli.exits import Exit, fail
    from bktools.cli.output import guard_output, tell
    from bktools.wording import words

    guard_output()
    arguments = sys.argv[1:]
    with command({}):
        try:
            # Keeps escape sequences in the text until `visible` shows them: Typer would drop them outside of
            # a terminal. The parser's own errors are raised, to be data where the output is JSON.
            code = get_command(app)(arguments, "bktools", color=True, standalone_mode=False)
        except Abort:
            code = Exit.FAILED
        except Exception as error:  # noqa: BLE001 - it is printed, an unexpected one with its traceback
            fail(error, arguments)
        # Typer returns this code after Ctrl-C and prints nothing.
        if code == Exit.INTERRUPTED:
            tell(words()("done.interrupted"))
    sys.exit(code or Exit.DONE)
