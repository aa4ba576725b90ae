"""GnuCash: its XML as it is saved, gzipped or plain."""

from __future__ import annotations

import gzip

import pytest

import bktools
from bktools.errors import InputError

ROOT, ASSETS, BANK, TRAVEL, SHARES = (f"{number:032x}" for number in range(1, 6))


def account(guid, name, kind, parent=None, code=""):
    coded = f"<act:code>{code}</act:code>" if code else ""
    above = f'<act:parent type="guid">{parent}</act:parent>' if parent else ""
    return f"""<gnc:account version="2.0.0"><act:name>{name}</act:name><act:id type="guid">{guid}</act:id>
<act:type>{kind}</act:type>
<act:commodity><cmdty:space>CURRENCY</cmdty:space><cmdty:id>EUR</cmdty:id></act:commodity><act:commodity-scu>100</act:commodity-scu>
{coded}<act:slots><slot><slot:key>placeholder</slot:key><slot:value type="string">true</slot:value></slot>
</act:slots>{above}</gnc:account>"""


def transaction(guid, text, *splits, number="", date="2026-10-05 10:59:00 +0000"):
    rows = "".join(
        f"""<trn:split><split:id type="guid">{guid}</split:id><split:memo>{memo}</split:memo>
<split:reconciled-state>n</split:reconciled-state>
<split:value>{value}</split:value><split:quantity>{quantity}</split:quantity>
<split:account type="guid">{of}</split:account></trn:split>"""
        for of, value, quantity, memo in splits
    )
    return f"""<gnc:transaction version="2.0.0"><trn:id type="guid">{guid}</trn:id><trn:currency>
<cmdty:space>CURRENCY</cmdty:space>
<cmdty:id>EUR</cmdty:id></trn:currency><trn:num>{number}</trn:num><trn:date-posted><ts:date>{date}</ts:date></trn:date-posted>
<trn:date-entered><ts:date>2026-11-01 08:00:00 +0000</ts:date></trn:date-entered>
<trn:description>{text}</trn:description>
<trn:slots><slot><slot:key>date-posted</slot:key></slot></trn:slots><trn:splits>{rows}</trn:splits></gnc:transaction>"""


ACCOUNTS = "".join(
    (
        account(ROOT, "Root Account", "ROOT"),
        account(ASSETS, "Assets", "ASSET", ROOT),
        account(BANK, "Current account", "BANK", ASSETS),
        account(TRAVEL, "Travel", "EXPENSE", ROOT, "5800"),
        account(SHARES, "Shares", "STOCK", ASSETS),
    )
)
TRANSACTIONS = transaction(
    "a" * 32,
    "Train",
    (TRAVEL, "12050/100", "12050/100", ""),
    (BANK, "-12050/100", "-12050/100", "card"),
    number="7",
) + transaction(
    "b" * 32, "Buy", (SHARES, "1000/1", "3333333/1000000", ""), (BANK, "-100000/100", "-100000/100", "")
)
BOOK = f"""<?xml version="1.0" encoding="utf-8" ?>
<gnc-v2 xmlns:gnc="http://www.gnucash.org/XML/gnc" xmlns:act="http://www.gnucash.org/XML/act">
<gnc:count-data cd:type="book" xmlns:cd="x">1</gnc:count-data>
<gnc:book version="2.0.0"><book:id xmlns:book="x" type="guid">{"f" * 32}</book:id>
<gnc:count-data cd:type="commodity">2</gnc:count-data><gnc:count-data cd:type="account">5</gnc:count-data>
<gnc:count-data cd:type="transaction">2</gnc:count-data><gnc:count-data cd:type="price">1</gnc:count-data>
<gnc:pricedb version="1"><price><price:value>314/100</price:value></price></gnc:pricedb>
{ACCOUNTS}{TRANSACTIONS}
<gnc:template-transactions>{account("e" * 32, "Template Root", "ROOT")}
{transaction("d" * 32, "Rent", (BANK, "0/100", "0/100", ""))}
</gnc:template-transactions>
<gnc:budget version="2.0.0"><bgt:name>2026</bgt:name></gnc:budget>
</gnc:book></gnc-v2>"""


@pytest.mark.parametrize("packed", [False, True])
def test_splits_are_postings(write, packed):
    """Exact values, full names where there is no code, and nothing of templates, prices and quantities."""
    data = BOOK.encode()
    path = write(gzip.compress(data) if packed else data, "book.gnucash")
    found = bktools.read_general_ledger(path)
    assert found[["account_code", "account_name", "amount", "text"]].values.tolist() == [
        ["5800", "Travel", 120.5, "Train"],
        ["Assets:Current account", "Current account", -120.5, "card"],
        ["Assets:Shares", "Shares", 1000.0, "Buy"],
        ["Assets:Current account", "Current account", -1000.0, "Buy"],
    ]
    assert found["document_number"].fillna("").tolist() == ["7", "7", "", ""]
    assert set(found["date"].dt.strftime("%Y-%m-%d")) == {"2026-10-05"}
    assert set(found["currency"]) == {"EUR"}
    chart = bktools.read_chart_of_accounts(path)
    assert chart[["code", "name", "external_id", "type"]].values.tolist() == [
        ["Assets", "Assets", ASSETS, "ASSET"],
        ["Assets:Current account", "Current account", BANK, "BANK"],
        ["5800", "Travel", TRAVEL, "EXPENSE"],
        ["Assets:Shares", "Shares", SHARES, "STOCK"],
    ]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"transaction">2<', '"transaction">3<', "gnc:count-data transaction is 3 in the file, but 2"),
        ("-12050/100<", "-12049/100<", "the voucher 'aaaa.* does not balance: debit 120.50, credit 120.49"),
        ("1000/1<", "1000/3<", r"line \d+: split:value is '1000/3', must be a fraction"),
        ("1000/1<", "1000/0<", "split:value is '1000/0'"),
        (
            f'<split:account type="guid">{SHARES}',
            f'<split:account type="guid">{"9" * 32}',
            "the account '9999.* is not in the file",
        ),
        (
            f'<act:parent type="guid">{ROOT}',
            f'<act:parent type="guid">{BANK}',
            "the account .* is not in the file",
        ),
        (
            "<act:type>ROOT<",
            f'<act:parent type="guid">{ROOT}</act:parent><act:type>ROOT<',
            "is not in the file",
        ),
    ],
)
def test_a_damaged_book(write, old, new, why):
    """A count, a voucher, a fraction or an account that is wrong is one line."""
    assert old in BOOK
    with pytest.raises(InputError, match=why) as caught:
        bktools.read_general_ledger(write(BOOK.replace(old, new), "book.gnucash"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "headings",
    [
        (
            '"Date","Transaction ID","Number","Description","Notes","Commodity/Currency","Full Account '
            'Name","Account Name"'
        ),
        (
            "Date;Transaction ID;Transaction Number;Description;Commodity/Currency;Memo;Full Account "
            "Name;Account Name"
        ),
        (
            "Type,Full Account Name,Account Name,Account Code,Description,Account "
            "Color,Notes,Symbol,Namespace,Hidden"
        ),
        "type,full_name,name,code,description,color,notes,commoditym,commodityn,hidden,tax,placeholder",
    ],
)
def test_csv_exports_are_named(write, headings):
    """Transactions with rows that lack values from above, and account trees, are not read as tables."""
    path = write(f"{headings}\nBANK,Assets:Bank,Bank,1930,,,,EUR\n", "export.csv")
    for read in (bktools.read_chart_of_accounts, bktools.read_general_ledger, bktools.read_entries):
        with pytest.raises(
            InputError, match="is a CSV export of GnuCash, which is not read here: in GnuCash, "
        ):
            read(path)
