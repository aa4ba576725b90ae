"""`bktools categories`: all bookkeeping categories, to the terminal or a file."""

from bktools.cli.loading import loader
from bktools.contract.categories import CATEGORIES

categories = loader(
    CATEGORIES,
    ["id", "name", "archived", "account_id", "tax_code_id"],
    """Load all bookkeeping categories. Uses the cache when newer than --max-age; never returns a partial table,
    except with --on-error collect, which exits with 12 and names each company that failed on standard error.

    Example: bktools categories --active --output categories.csv
    """,
)
