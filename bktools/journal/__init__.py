"""The journal: every known account, batch and entry, and every event.

The service cannot list accounts, entries or jobs, so the journal is the only record of them. It is a SQLite
file for each environment in the data folder, or a PostgreSQL database that a team shares. Database
constraints, not code, enforce its rules.

Why nothing is sent twice, in the order of a batch's life:

1. An entry is in one live batch, a company has one open batch, and a job answers for one batch: unique
   indexes (`schema`).
2. The intent is written before the request: PLANNED becomes SENDING in one statement. In the same transaction
   the journal is compared with all that this machine knows to be sent (`attempts.record_intent`,
   `right_journal`).
3. With the connection open and directly before the first byte, the intent must be younger than a minute, and
   its row unchanged (`attempts.still_sending`). Then there is one request, which is never repeated.
4. Only an answer in the service's own form says that nothing was booked. After any other end the batch is
   UNKNOWN (`submit.outcome`). The outcome goes to the sent log, then to the journal
   (`attempts.record_outcome`).
5. An UNKNOWN batch blocks its company until a person resolves it with evidence. It is released on a later
   day at the earliest, when its request has ended (`resolving`).
6. A machine remembers the newest event that it has seen, and which database had it (`memory`). A journal that
   lacks it is an old copy: it is stopped for everybody, until one person restores it (`restores`).
7. After a restore, and on a machine that is new to a journal with exports, only what a ledger of a later day,
   or a person, shows not to be booked is sent (`right_journal.needs_ledger_since`).
8. Before the first export of a company a person says that no other or earlier computer exported its entries
   (`right_journal.first_export_question`).

Assumed: people are honest, and a request under way ends within a day.
"""
