"""The service's interface, one file per noun: endpoints, fields and rules. Nothing is sent here."""

from typing import Any

from bktools.contract.accounts import CREATE_ACCOUNT
from bktools.contract.balance import GET_BALANCE
from bktools.contract.categories import CATEGORIES
from bktools.contract.employees import EMPLOYEES, GET_EMPLOYEE
from bktools.contract.endpoint import Endpoint
from bktools.contract.export_jobs import CREATE_EXPORT_JOB
from bktools.contract.noun import Noun

# The nouns that the service lists, for the client, the command line and the tests.
NOUNS: tuple[Noun[Any], ...] = (CATEGORIES, EMPLOYEES)

ENDPOINTS: tuple[Endpoint, ...] = (
    *(noun.search for noun in NOUNS),
    CREATE_EXPORT_JOB,
    CREATE_ACCOUNT,
    GET_EMPLOYEE,
    GET_BALANCE,
)
