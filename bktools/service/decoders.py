"""What each operation's answer is decoded to."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from bktools.contract import accounts, balance, categories, employees, export_jobs
from bktools.contract.paging import Page

Record = TypeVar("Record")


class _Data(msgspec.Struct, Generic[Record], frozen=True):
    """Wrapper of a single resource."""

    data: Record


CATEGORIES = msgspec.json.Decoder(Page[categories.Category])
EMPLOYEES = msgspec.json.Decoder(Page[employees.Employee])
EMPLOYEE = msgspec.json.Decoder(_Data[employees.Employee])
ACCOUNT = msgspec.json.Decoder(_Data[accounts.Account])
EXPORT_JOB = msgspec.json.Decoder(_Data[export_jobs.ExportJob])
BALANCE = msgspec.json.Decoder(balance.Balance)
