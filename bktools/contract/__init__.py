"""The service's interface, one file per noun: endpoints, fields and rules. Nothing is sent here."""

from bktools.contract.accounts import CREATE_ACCOUNT
from bktools.contract.balance import GET_BALANCE
from bktools.contract.categories import SEARCH_CATEGORIES
from bktools.contract.employees import GET_EMPLOYEE, SEARCH_EMPLOYEES
from bktools.contract.endpoint import Endpoint
from bktools.contract.export_jobs import CREATE_EXPORT_JOB

ENDPOINTS: tuple[Endpoint, ...] = (
    SEARCH_CATEGORIES,
    CREATE_EXPORT_JOB,
    CREATE_ACCOUNT,
    SEARCH_EMPLOYEES,
    GET_EMPLOYEE,
    GET_BALANCE,
)
