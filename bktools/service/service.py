"""`Service`: one method for each of the six operations of the interface."""

from __future__ import annotations

import copy
import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Literal, Self, SupportsIndex, TypeVar

import msgspec

from bktools import views
from bktools.contract import NOUNS, accounts, balance, categories, employees, export_jobs, rules
from bktools.contract.endpoint import Data, Endpoint
from bktools.contract.noun import Noun
from bktools.contract.paging import Page, page_query
from bktools.errors import ArgumentError, AuthenticationError, StatusError
from bktools.service.answers import read_answer
from bktools.service.auth import renewed
from bktools.service.companies import ALL, Company, companies_among, company_ids
from bktools.service.pages import LARGE_PAGE, Search, verified_pages
from bktools.service.rate import Rate
from bktools.service.retry import Budget, RetryPolicy, repeated
from bktools.service.transport import Limits, Transport, request_of
from bktools.service.workers import interruptible
from bktools.settings import Settings, require_writable
from bktools.wording import Sentence, words

Record = TypeVar("Record")

# Seconds for an export at least: it may take long, and an early timeout would leave its outcome unknown.
LONG = 300.0

# With one of these statuses, Retry-After applies to all requests.
BUSY = (429, 503)


def policy_of(settings: Settings) -> RetryPolicy:
    """Return the policy of the settings `retries` and `timeout`."""
    usual = RetryPolicy()
    return replace(usual, attempts=settings.retries + 1, deadline=max(usual.deadline, settings.timeout))


def limits_of(settings: Settings, *, shortest: float = 0.0) -> Limits:
    """Return the limits of the setting `timeout`; `shortest` is the least time for an answer, in seconds."""
    usual, read = Limits(), max(settings.timeout, shortest)
    return replace(
        usual,
        connect=min(usual.connect, settings.timeout),
        read=read,
        whole=max(usual.whole, 2 * shortest, read),
    )


Query = Sequence[tuple[str, str]]

TABLES = {noun.name: noun for noun in NOUNS}


class Service:
    """A client of the service, created by `bktools.connect`.

    Threads may share it. Close it, or use it in a `with` statement.

    Parameters
    ----------
    settings : Settings
        Address and credentials.
    retry : RetryPolicy
        Limits for repeating a repeatable request.
    limits : Limits
        Limits of time and size for one request.
    on_close : callable, optional
        Called once by `close`; stops the sandbox, for example.

    Examples
    --------
    >>> import bktools
    >>> with bktools.Sandbox() as service:
    ...     page = service.search_categories(service.settings.company, limit=2)
    >>> len(page.data)
    2
    """

    def __init__(
        self,
        settings: Settings,
        *,
        retry: RetryPolicy | None = None,
        limits: Limits | None = None,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        self.settings = settings
        self._retry = retry or policy_of(settings)
        self._limits = limits or limits_of(settings)
        self._on_close = on_close
        self._transport = Transport(settings)
        self._rate = Rate(settings.requests_per_minute)
        self._budget = Budget()

    def search_categories(
        self,
        company_id: str,
        *,
        ids: Iterable[str] | None = None,
        account_ids: Iterable[str] | None = None,
        category_group_ids: Iterable[str] | None = None,
        archived: bool | None = None,
        name: str | None = None,
        before: str | None = None,
        after: str | None = None,
        offset: SupportsIndex | None = None,
        limit: SupportsIndex | None = None,
        sorting_keys: Sequence[str] = (),
        sorting_order: Sequence[str] = (),
    ) -> Page[categories.Category]:
        """Return one page of a company's bookkeeping categories (interface, section 4.1).

        Parameters
        ----------
        company_id : str
            UUID of the company.
        ids, account_ids, category_group_ids : iterable of str, optional
            Only categories with one of these UUIDs. An empty list is no filter.
        archived : bool, optional
            Only archived or only active categories.
        name : str, optional
            Search by name; the service defines the match.
        before, after, offset, limit, sorting_keys, sorting_order
            The page, see `bktools.contract.paging.page_query`.

        Returns
        -------
        Page of Category
            `data`, a list of records, and `pagination`, the envelope.

        Raises
        ------
        ArgumentError
            When an argument breaks a rule of the interface; nothing was sent.
        ServiceError
            When the service cannot be reached or its answer is an error, after repeats.

        Examples
        --------
        >>> import bktools
        >>> with bktools.Sandbox() as service:
        ...     page = service.search_categories(service.settings.company, name="Hotel", limit=1)
        >>> page.data[0].name
        'Hotel'
        """
        lists = {"ids": ids, "account_ids": account_ids, "category_group_ids": category_group_ids}
        filters = {"company_id": company_id, "archived": archived, "name": name} | lists
        page = page_query(before, after, offset, limit, sorting_keys, sorting_order)
        noun = categories.CATEGORIES
        return self._page(noun, noun.request(noun.checked(filters)), page)

    def create_account(
        self,
        company_id: str,
        external_id: str,
        name: str,
        *,
        archived: bool = False,
        code: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        tax_code_external_id: str | None = None,
    ) -> accounts.Account:
        """Create an account of the chart of accounts (interface, section 4.3).

        Parameters
        ----------
        company_id : str
            UUID of the company.
        external_id : str
            Identifier in the accounting system, 1 to 255 characters, unique in the company.
        name : str
            At most 255 characters.
        archived : bool
            Whether to create it archived.
        code : str, optional
            Number in the external chart of accounts, at most 255 characters.
        metadata : mapping, optional
            Free-form JSON object.
        tax_code_external_id : str, optional
            Identifier of the tax code in the accounting system; not a percentage and not the service's UUID.

        Returns
        -------
        Account
            `matched` is True when the account existed already (ASSUMED: status 200).

        Raises
        ------
        DuplicateAccountError
            When an account with this external ID exists and the answer does not hold its id.
        ArgumentError, ServiceError
            As in `search_categories`; the request is sent once.

        Examples
        --------
        >>> import bktools
        >>> with bktools.Sandbox() as service:
        ...     account = service.create_account(service.settings.company, "9999", "Clearing", code="9999")
        >>> account.code, account.matched
        ('9999', False)
        """
        known = {"company_id": company_id, "external_id": external_id, "name": name, "archived": archived}
        body = accounts.create_body(
            **known, code=code, metadata=metadata, tax_code_external_id=tax_code_external_id
        )
        account, status = self._answered(
            accounts.CREATE_ACCOUNT, Data[accounts.Account], body=msgspec.json.encode(body)
        )
        return msgspec.structs.replace(account.data, matched=status == accounts.MATCHED_STATUS)

    def create_export_job(
        self,
        accounting_entry_ids: Iterable[str],
        company_id: str,
        *,
        employee_id: str | None = None,
        is_interactive: bool = True,
        vendor_based_bookkeeping: bool = False,
    ) -> export_jobs.ExportJob:
        """Create a job that transfers accounting entries to the accounting system (interface, section 4.2).

        An export books money, cannot be undone and has no idempotency key. Therefore this method sends one
        request, on a new connection, and never repeats it. It neither asks the journal nor writes to it, so
        nothing keeps these entries from being sent again: use `bktools.submit_export_jobs`.

        Parameters
        ----------
        accounting_entry_ids : iterable of str
            UUIDs of the entries, at least one, each once.
        company_id : str
            UUID of the company.
        employee_id : str, optional
            UUID of the employee who initiated the job.
        is_interactive : bool
            False for a background job that needs no user.
        vendor_based_bookkeeping : bool
            The interface's option of that name.

        Returns
        -------
        ExportJob
            The created job; a new one has the status `pending`.

        Raises
        ------
        ExportRefusedError
            For one of the three documented reasons; nothing was created.
        NotSentError
            When the connection fails, a certificate is not trusted or the proxy refuses; nothing was sent.
        ArgumentError, ServiceError
            After a `ServiceError` other than these two, the outcome is unknown.

        Examples
        --------
        >>> import bktools
        >>> with bktools.Sandbox() as service:
        ...     entries = bktools.read_entries("data/accounting_entries.csv")
        ...     job = service.create_export_job(entries["id"].head(2), service.settings.company)
        >>> job.number_of_items, job.status
        (2, 'pending')
        """
        body = export_jobs.create_body(
            accounting_entry_ids,
            company_id,
            employee_id=employee_id,
            is_interactive=is_interactive,
            vendor_based_bookkeeping=vendor_based_bookkeeping,
        )
        job, _ = self._answered(export_jobs.CREATE_EXPORT_JOB, Data[export_jobs.ExportJob], body=body)
        return job.data

    def search_employees(
        self,
        company_id: str | None = None,
        *,
        email: str | None = None,
        external_id: str | None = None,
        before: str | None = None,
        after: str | None = None,
        offset: SupportsIndex | None = None,
        limit: SupportsIndex | None = None,
        sorting_keys: Sequence[str] = (),
        sorting_order: Sequence[str] = (),
    ) -> Page[employees.Employee]:
        """Return one page of employees (interface, section 4.4).

        Parameters
        ----------
        company_id : str, optional
            UUID of the company. Default: all companies that the credential can see.
        email : str, optional
            Exact e-mail.
        external_id : str, optional
            External ID of the employee.
        before, after, offset, limit, sorting_keys, sorting_order
            The page, see `bktools.contract.paging.page_query`.

        Returns
        -------
        Page of Employee
            `data`, a list of records, and `pagination`, the envelope.

        Raises
        ------
        ArgumentError, ServiceError
            As in `search_categories`.

        Examples
        --------
        >>> import bktools
        >>> with bktools.Sandbox() as service:
        ...     page = service.search_employees(service.settings.company, limit=2)
        >>> len(page.data), page.pagination.has_next_page
        (2, True)
        """
        filters = {"company_id": company_id, "email": email, "external_id": external_id}
        page = page_query(before, after, offset, limit, sorting_keys, sorting_order)
        noun = employees.EMPLOYEES
        return self._page(noun, noun.request(noun.checked(filters)), page)

    def get_employee(self, employee_id: str) -> employees.Employee:
        """Return an employee (interface, section 4.5).

        Parameters
        ----------
        employee_id : str
            UUID of the employee.

        Returns
        -------
        Employee
            The record of the employee.

        Raises
        ------
        NotFoundError
            When the employee is not found.
        ArgumentError, ServiceError
            As in `search_categories`.

        Examples
        --------
        >>> import bktools
        >>> with bktools.Sandbox() as service:
        ...     first = service.search_employees(service.settings.company, limit=1).data[0]
        ...     same = service.get_employee(first.id) == first
        >>> same
        True
        """
        path = {"employeeId": rules.uuid_text("employee_id", employee_id)}
        employee, _ = self._answered(employees.GET_EMPLOYEE, Data[employees.Employee], path)
        return employee.data

    def get_balance(self) -> balance.Balance:
        """Return the company's balance. The interface (section 4.6) deprecates it and names no replacement.

        Returns
        -------
        Balance
            `current` and `available` are exact decimals; the interface does not define unit and scale.

        Raises
        ------
        AuthenticationError, ScopeError, NotFoundError, ServerError
            For the bodies of section 7.2.

        Examples
        --------
        >>> import bktools
        >>> import warnings
        >>> warnings.simplefilter("ignore", DeprecationWarning)
        >>> with bktools.Sandbox() as service:
        ...     balance = service.get_balance()
        >>> balance.currency
        'EUR'
        """
        warnings.warn("the service has deprecated the balance read", DeprecationWarning, stacklevel=2)
        return self._answered(balance.GET_BALANCE, balance.Balance)[0]

    def pages(
        self,
        table: Literal["categories", "employees"],
        company: Company = None,
        *,
        limit: SupportsIndex = LARGE_PAGE,
        verify: Literal["strict", "warn"] = "strict",
        **filters: Any,
    ) -> Iterator[list[Any]]:
        """Iterate over a table page by page, in bounded memory; nothing is cached.

        A page is requested when the loop asks for it, so a loop that ends early asks for no more.

        Parameters
        ----------
        table : str
            "categories" or "employees".
        company : str, UUID or iterable of them, optional
            As in `bktools.load_categories`; several companies follow one another.
        limit : int
            Rows to ask for at once, 1 or more; the service may return fewer. Default: 1000.
        verify : str
            As in `bktools.load_categories`.
        **filters
            `ids`, `account_ids`, `category_group_ids`, `archived` and `name` of `bktools.load_categories`;
            `email` and `external_id` of `bktools.load_employees`.

        Returns
        -------
        iterator of lists
            The records of each page, `Category` or `Employee`: at least one, and all match the filters. The
            end of the loop without an error means that the table is complete: no id came twice, the number of
            rows is the service's count, and pages join where there is no count. After an error, or without
            reaching the end, the pages are not a table.

        Raises
        ------
        ArgumentError
            At once, when an argument breaks a rule of the interface; nothing was sent.
        UnreadableAnswerError
            Instead of a page whose rows do not match the filters.
        DriftError
            After the last page, when the table changed while it was read. `bktools.load_categories` reads
            such a table again; this cannot, because its pages have been handed out.
        ServiceError
            When the service does not return a page, after repeats.

        Notes
        -----
        Paging: interface, sections 2.3, 4.1 and 4.4. Memory: two pages, and the ID of each row read.

        Examples
        --------
        >>> import bktools
        >>> with bktools.Sandbox() as service:
        ...     sum(len(page) for page in service.pages("categories", archived=False))
        232
        """
        noun = TABLES[rules.one_of("table", table, TABLES)]
        known = [item.argument for item in noun.filters if item.argument != "company_id"]
        unknown = next((name for name in filters if name not in known), None)
        if unknown is not None:
            raise ArgumentError(unknown, Sentence("rule.no_filter", table=table, choices=", ".join(known)))
        rules.one_of("verify", verify, ("strict", "warn"))
        rows = rules.whole_number("limit", limit, smallest=1, largest=rules.INT32_MAX)
        companies = company_ids(company, self.settings)
        checked = noun.checked(filters, but="company_id")
        return self._pages(noun, checked, companies, rows, strict=verify == "strict")

    def close(self) -> None:
        """Close the client. Later operations raise `ArgumentError` and send nothing."""
        self._transport.close()
        on_close, self._on_close = self._on_close, None
        if on_close is not None:
            on_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Service({self.settings.environment!r}, base_url={self.settings.base_url!r})"

    def _repr_html_(self) -> str:
        name = words()("report.sandbox") if self.settings.is_sandbox else self.settings.environment
        rows = [
            row[:2]
            for row in self.settings.rows()
            if row[0] in {"base_url", "company", "cache_dir", "data_dir"}
        ]
        parts = (
            views.heading(f"Service: {name}"),
            views.table(["", ""], rows, total=4),
        )
        return "".join(parts) + views.next_steps(["load_categories(service=service)"])

    def _pages(
        self,
        noun: Noun[Any],
        filters: Mapping[str, Any],
        companies: Sequence[str | None],
        limit: int,
        *,
        strict: bool,
    ) -> Iterator[list[Any]]:
        if not companies and noun.needs_company:
            people = self.pages("employees", ALL)
            companies = companies_among(person.company_id for page in people for person in page)
        for company_id in companies or [None]:
            own = filters if company_id is None else {**filters, "company_id": company_id}
            yield from verified_pages(noun, own, search_of(self, noun, own), limit, strict=strict)

    def _page(self, noun: Noun[Record], request: tuple[Query, bytes | None], page: Query) -> Page[Record]:
        """Return one page of a noun by the query parameters and the body of its search."""
        query, body = request
        return self._answered(noun.search, noun.page, query=[*query, *page], body=body)[0]

    def _answered(
        self,
        endpoint: Endpoint,
        kind: type[Record],
        path: Mapping[str, str] | None = None,
        *,
        query: Query = (),
        body: bytes | None = None,
        before_first_byte: Callable[[], None] | None = None,
    ) -> tuple[Record, int]:
        """Return the record that answers an operation, and its status; repeat the request if it may be."""
        if not endpoint.repeatable:
            require_writable(self.settings)
        limits = limits_of(self.settings, shortest=LONG) if endpoint.books_money else self._limits
        request = request_of(endpoint, self.settings, path, query=query, body=body)
        may_renew = True
        end = math.inf if endpoint.books_money else time.monotonic() + self._retry.deadline

        def once() -> tuple[Record, int]:
            nonlocal end, may_renew, request
            # The client's own wait does not shorten the call.
            end += self._rate.wait(end, is_export=endpoint.books_money)
            answer = interruptible(
                lambda: self._transport.send(
                    request, limits, end, fresh=endpoint.books_money, before_first_byte=before_first_byte
                )
            )
            try:
                return read_answer(answer, kind, endpoint), answer[0]
            except AuthenticationError:
                # What writes is not sent again, but the next request has the new token.
                asked_at = time.monotonic()
                has_new_token = may_renew and renewed(
                    endpoint, self.settings, request.headers["Authorization"]
                )
                end += time.monotonic() - asked_at
                may_renew = False
                if not (has_new_token and endpoint.repeatable):
                    raise
                request = request_of(endpoint, self.settings, path, query=query, body=body)
            except StatusError as error:
                if error.status in BUSY and error.retry_after is not None:
                    self._rate.hold(error.retry_after)
                raise
            return once()

        return repeated(once, self._retry, self._budget, lambda: end) if endpoint.repeatable else once()


def search_of(
    service: Service, noun: Noun[Record], filters: Mapping[str, Any], *, first_attempts: int | None = None
) -> Search[Record]:
    """Return a noun's search with checked filters; it has `first_attempts` at most until it finds a page."""
    client, request = copy.copy(service), noun.request(filters)
    if first_attempts is not None:
        usual = client._retry  # noqa: SLF001 - one room
        client._retry = replace(usual, attempts=min(usual.attempts, first_attempts))  # noqa: SLF001

    def search(
        *, after: str | None = None, offset: int | None = None, limit: int | None = None
    ) -> Page[Record]:
        nonlocal client
        page = client._page(noun, request, page_query(after=after, offset=offset, limit=limit))  # noqa: SLF001
        client = service
        return page

    return search


def for_many(service: Service) -> Service:
    """Return a client for tables that must not fail together: failing ones do not use up all repeats."""
    service = copy.copy(service)
    service._budget = Budget(answers=1)  # noqa: SLF001 - one room
    return service


def send_export_job(
    service: Service, body: bytes, before_first_byte: Callable[[], None]
) -> export_jobs.ExportJob:
    """Send a prepared body as `create_export_job` does: one request, on a new connection, never repeated.

    `before_first_byte` is called when the connection stands; what it raises is raised, and nothing is sent.
    """
    job, _ = service._answered(  # noqa: SLF001 - one room
        export_jobs.CREATE_EXPORT_JOB,
        Data[export_jobs.ExportJob],
        body=body,
        before_first_byte=before_first_byte,
    )
    return job.data


def hold(service: Service, seconds: float) -> None:
    """Make every request of a client wait some seconds."""
    service._rate.hold(seconds)  # noqa: SLF001 - one room


def reserve(service: Service, sleep: Callable[[float], None]) -> None:
    """Wait until an export may be sent; the next request of this thread is then sent without waiting."""
    service._rate.reserve(sleep)  # noqa: SLF001 - one room
