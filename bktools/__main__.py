"""`python -m bktools`."""

from bktools.cli import main

# A process of a server that is started so imports this file, too.
if __name__ == "__main__":
    main()
