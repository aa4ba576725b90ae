"""The service as a real server on this machine: six operations over HTTP, with state in one SQLite file."""

from bktools.sandbox.faults import Fault, parse_fault
from bktools.sandbox.sample import (
    write_account_list,
    write_sample_data,
    write_sample_ledger,
    write_sample_months,
)
from bktools.sandbox.server import Server

__all__ = [
    "Fault",
    "Server",
    "parse_fault",
    "write_account_list",
    "write_sample_data",
    "write_sample_ledger",
    "write_sample_months",
]
