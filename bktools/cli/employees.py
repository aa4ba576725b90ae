"""`bktools employees`: all employees, to the terminal or a file."""

from bktools.cli.loading import loader
from bktools.contract.employees import EMPLOYEES

employees = loader(
    EMPLOYEES,
    ["id", "code", "first_name", "last_name", "email", "role"],
    """Load all employees. Uses the cache when newer than --max-age; never returns a partial table,
    except with --on-error collect, which exits with 12 and names each company that failed on standard error.

    Example: bktools employees --company all --output employees.parquet
    """,
)
