"""The steps of a match as data: which columns must agree, exact ones first, then sums of whole groups."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Step:
    """Entries and postings that agree in some columns are matched, if both are still open.

    Parameters
    ----------
    by : str
        The columns that agree, for the evidence.
    keys : tuple of str
        These columns, the same for both sides; also "month" of the date, and "size" and "is_credit" of the amount.
    of : str
        "open_postings"; "vouchers", the sums of vouchers, such as net and tax; "sides", all postings of one side of a
        voucher, on any account; or "uncommon", postings on other accounts than the usual contra accounts.
    nearby : bool
        Whether the date of the posting may be some days off; the nearest first.
    text : str
        "orders": texts decide which of several equal ones are matched. "agrees": texts must also be similar where both
        sides have one. "decides": they must be similar, or be missing where no other pair is possible.
    is_named : bool
        Whether postings that name an entry by its ID take part: they are matched with no other entry.
    is_double : bool
        Whether a posting is matched as a double of another one, which has an entry.
    group : tuple of str
        For a sum: all entries with the same values of these columns are matched together, with their total.
    differs : bool
        Whether the total may differ, for a group of which other totals are booked.
    """

    by: str
    keys: tuple[str, ...]
    of: str = "open_postings"
    nearby: bool = False
    text: str = "orders"
    is_named: bool = False
    is_double: bool = False
    group: tuple[str, ...] = ()
    differs: bool = False

    @property
    def left(self) -> str:
        """The table that is matched with `of`: open entries, sums of their groups, or the postings."""
        if self.group:
            return f"sums_by_{'_'.join(self.group)}"
        return "postings" if self.is_double else "open_entries"


EXACT = ("account", "amount", "currency")
EXACTLY = "account, amount and date"

OF_DOCUMENT = Step("sum of the document", ("document", *EXACT), group=("document", "account", "currency"))
OF_DAY = Step("sum of account and day", (*EXACT, "date"), group=("account", "currency", "date"))
OF_BATCH = Step("sum of batch and account", EXACT, group=("batch", "account", "currency"))
OF_MONTH = Step("sum of account and month", (*EXACT, "month"), group=("account", "currency", "month"))
OF_WHOLE_BATCH = Step("sum of the batch", ("amount", "currency"), of="sides", group=("batch", "currency"))
OF_WHOLE_DOCUMENT = Step(
    "sum of the document", ("document", "amount", "currency"), of="sides", group=("document", "currency")
)
BY_DAY = OF_DAY.by


def _also_of_vouchers(*steps: Step) -> tuple[Step, ...]:
    return tuple(replace(step, of=of) for step in steps for of in ("open_postings", "vouchers"))


def _with_another_total(step: Step) -> Step:
    return replace(step, keys=tuple(key for key in step.keys if key != "amount"), differs=True)


STEPS = (
    Step("entry ID", ("id", *EXACT), is_named=True),
    Step("entry ID", ("id", *EXACT), of="vouchers", is_named=True),
    # Whatever else differs. The side of the amount, because the other side of the voucher has the same number.
    Step("entry ID", ("id", "is_credit"), is_named=True),
    Step("document number", ("document", *EXACT)),
    *_also_of_vouchers(OF_DOCUMENT),
    Step(EXACTLY, (*EXACT, "date")),
    Step("document number", ("document", *EXACT), of="vouchers"),
    Step(EXACTLY, (*EXACT, "date"), of="vouchers"),
    *_also_of_vouchers(OF_DAY, OF_BATCH, OF_MONTH),
    OF_WHOLE_BATCH,
    OF_WHOLE_DOCUMENT,
    Step("account and amount", (*EXACT, "date"), nearby=True, text="agrees"),
    Step("account and amount", (*EXACT, "date"), of="vouchers", nearby=True, text="agrees"),
    *_also_of_vouchers(replace(OF_DAY, nearby=True)),
    *map(_with_another_total, _also_of_vouchers(OF_DOCUMENT, OF_DAY, OF_MONTH)),
    Step("document number and account", ("document", "account", "currency", "date"), nearby=True),
    Step("document number and amount", ("document", "amount", "currency", "date"), nearby=True),
    # A refund booked as a cost, or a cost as a refund.
    Step("account and date", ("account", "size", "currency", "date"), text="agrees"),
    # Another posting like one that is matched is a double of it.
    Step("entry ID", ("id", *EXACT), is_named=True, is_double=True),
    Step("document number", ("document", *EXACT, "date"), nearby=True, is_double=True),
    Step(EXACTLY, (*EXACT, "date"), text="agrees", is_double=True),
    # What is left is found by texts, so that doubles come before.
    Step("amount and date", ("amount", "currency", "date"), of="uncommon", text="decides"),
    Step("account and date", ("account", "currency", "date"), text="decides"),
)

# The columns that agree, in words; `Matches.by` has their numbers.
BY = tuple(dict.fromkeys(step.by for step in STEPS))

# The sides of vouchers with the amount in several postings: net and tax, or several cost centres. Only one account of
# the side is one that entries have.
VOUCHERS = """
CREATE OR REPLACE TABLE vouchers AS
SELECT
    min(no) FILTER (is_expected) AS no, min(id) AS id, min(document) AS document,
    min(account) FILTER (is_expected) AS account, sum(amount) AS amount, currency, date, list(no ORDER BY no) AS members,
    [min(account) FILTER (is_expected)] AS accounts, voucher, amount < 0 AS is_credit
FROM (SELECT *, account IN (FROM entry_accounts) AS is_expected FROM open_postings)
WHERE voucher IN (SELECT voucher FROM open_postings WHERE account IN (SELECT account FROM open_entries))
GROUP BY voucher, currency, date, is_credit
HAVING count(*) > 1 AND count(DISTINCT account) FILTER (is_expected) = 1
"""

# A posting without a voucher is a side of its own.
SIDES = """
CREATE OR REPLACE TABLE sides AS
SELECT
    min(no) AS no, min(id) AS id, min(document) AS document, sum(amount) AS amount, currency, date,
    list(no ORDER BY no) AS members, list(DISTINCT account) AS accounts, any_value(voucher) AS voucher,
    amount < 0 AS is_credit
FROM open_postings
GROUP BY coalesce(voucher, no::VARCHAR), voucher IS NULL, currency, date, is_credit
"""

# Those of some sides of which no posting is matched already.
WHOLE_SIDES = """
SELECT no FROM {table} SEMI JOIN wanted USING (no) WHERE voucher IS NULL
UNION ALL
SELECT sides.no FROM (FROM {table} SEMI JOIN wanted USING (no)) AS sides
JOIN postings ON postings.voucher = sides.voucher AND postings.currency = sides.currency AND postings.date = sides.date
    AND (postings.amount < 0) = is_credit
GROUP BY sides.no HAVING count(*) = any_value(len(members))
"""

# Without the other accounts of the vouchers that are matched, such as creditors, bank and tax: the payment of an entry
# has its amount, too, and is no booking of it.
UNCOMMON = """
CREATE OR REPLACE TABLE on_other_accounts AS
SELECT account, voucher FROM postings
WHERE account IN (SELECT account FROM open_postings)
    AND account NOT IN (FROM entry_accounts);
CREATE OR REPLACE TABLE matched_vouchers AS
SELECT voucher FROM postings SEMI JOIN matched_postings USING (no) WHERE voucher IN (SELECT voucher FROM on_other_accounts);
CREATE OR REPLACE TABLE uncommon AS
FROM open_postings WHERE account NOT IN (SELECT account FROM on_other_accounts WHERE voucher IN (FROM matched_vouchers))
"""

# Tables with rows of several postings.
SEVERAL = ("vouchers", "sides")

# The totals of the groups of entries, each under the number of its first entry. A group with an unknown amount, or with
# a total of zero, cannot be told from none.
SUMS = """
CREATE OR REPLACE TABLE {name} AS
SELECT
    min(no) AS no, min(document) AS document, min(account) AS account, min(currency) AS currency, min(date) AS date,
    min(batch) AS batch, date_trunc('month', min(date)) AS month, sum(amount) AS amount, list(no ORDER BY no) AS members,
    list(DISTINCT account) AS accounts
FROM (SELECT *, date_trunc('month', date) AS month FROM open_entries)
WHERE {filled}
GROUP BY {group}
HAVING count(*) > 1 AND count(amount) = count(*) AND sum(amount) <> 0
"""

# Those of some groups to which no other entry belongs.
WHOLE_SUMS = """
SELECT sums.no, any_value(members) FROM (FROM {table} SEMI JOIN wanted USING (no)) AS sums
JOIN (SELECT *, date_trunc('month', date) AS month FROM entries) AS every_entry USING ({group})
GROUP BY sums.no HAVING count(*) = any_value(len(members))
"""

# The tables that are made of open entries and postings, by name.
TABLES = {"vouchers": VOUCHERS, "uncommon": UNCOMMON, "sides": SIDES} | {
    step.left: SUMS.format(
        name=step.left,
        group=", ".join(step.group),
        filled=" AND ".join(f"{column} IS NOT NULL" for column in step.group),
    )
    for step in STEPS
    if step.group
}
