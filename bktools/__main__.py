"""`python -m bktools`."""

from bktools.cli import main

main()
