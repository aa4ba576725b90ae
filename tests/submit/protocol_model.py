"""A model of "an export job is never sent twice": every interleaving of a small world, breadth first.

One company has one set of entries; each attempt to export the set has a number. `RULES` are the protocol, and
`walk` returns the shortest way to a state that breaks a promise:

    twice    the entries are booked twice
    unaware  they are booked, and a machine may send them again with nothing that stops it
    stuck    there is no honest way on: each machine opens, one restore command, a day, one look at the ledger

Worlds: "shared", two machines and one database; "process", two processes of one machine and one file;
"computers", two computers with a file each. People are honest, and do not see a request that is under way.
A request under way ends within a day. Where the age of an intent is asked, a day stands for 60 seconds.

    python tests/submit/protocol_model.py shared --faults 2 --without age,reread
"""

from __future__ import annotations

import argparse
import sys
from collections import deque
from collections.abc import Collection, Iterator
from functools import cache
from typing import NamedTuple

RULES = {
    "compare_and_set": "begin changes PLANNED to SENDING in one statement of the database",
    "age": "an intent older than 60 s sends nothing",
    "reread": "directly before the first byte, the row must still be SENDING",
    "one_connection": "the connection is opened before the age is asked, and never again; an idle one dies",
    "service_form": "an answer without the service's own form is a doubt",
    "in_progress": "the answer that a job is in progress is a doubt",
    "release_later": "released, and the ledger after a restore, are of a later day than the intent",
    "memory": "a machine remembers the newest event, and notices a database that lacks it",
    "identity": "a machine remembers which database it was, by a token that no dump carries",
    "stop": "a gap stops everybody until one person's restore command",
    "closed": "after the restore command the company is closed",
    "ledger": "a ledger of a later day opens the company",
    "begin_compares": "the comparison with the memory is in begin's own transaction, too",
    "newcomer": "a machine without memory sends nothing into a journal with events, before such a ledger",
    "first_export": "a machine that sent nothing asks a person before the first export",
    "other_computers": "that question is about other and earlier computers, not about the accounting system",
}
WORLDS = ("shared", "process", "computers")
PROMISES = ("twice", "unaware", "stuck")

# The states of an attempt in which the entries may be booked.
LIVE = ("SENDING", "UNKNOWN", "ACCEPTED")

Event = tuple[str | int, ...]
Database = tuple[Event, ...]

# The company was exported from here before.
EXPORTED_BEFORE: Event = ("exported before",)


class Machine(NamedTuple):
    """A machine: its number, the events that it has seen, and the database that had them."""

    number: int
    seen: Database
    database: int | None


class Process(NamedTuple):
    """A process of a machine: the step that it has done, its attempt, and the outcome in its hands."""

    at: str = "idle"
    attempt: int = -1
    outcome: str = ""


class State(NamedTuple):
    """A state of the world.

    `requests` has for each attempt "" (none), "on its way" or the answer on its way; `is_old` whether a day
    has passed since its intent. `database` counts the databases that were in the place of the shared one.
    """

    databases: tuple[Database, ...]
    database: int
    machines: tuple[Machine, ...]
    processes: tuple[Process, ...] = (Process(), Process())
    requests: tuple[str, ...] = ()
    is_old: tuple[bool, ...] = ()
    booked: int = 0
    day_after_restore: bool = False
    faults: int = 0
    copies: int = 0

    def put(self, name: str, index: int, value: object) -> State:
        """Return a state with another value at an index of a field."""
        values = getattr(self, name)
        return self._replace(**{name: (*values[:index], value, *values[index + 1 :])})

    def events(self, place: int, *events: Event) -> State:
        """Return a state with further events in a database."""
        return self.put("databases", place, (*self.databases[place], *events))

    def process(self, number: int, process: Process) -> State:
        """Return a state with another step of a process; nobody reads the answer that it waited for."""
        left = self.processes[number]
        if left.at == "sent" and self.requests[left.attempt] != "on its way":
            self = self.put("requests", left.attempt, "")  # noqa: PLW0642 - a state without the answer
        return self.put("processes", number, process)


Step = tuple[str, State]


class Journal(NamedTuple):
    """The journal as the events of a database tell it."""

    attempts: dict[int, str]
    is_stopped: bool = False
    restores: int = 0
    is_verified: bool = False
    was_exported: bool = False
    is_booked_elsewhere: bool = False
    newcomers: frozenset[int] = frozenset()

    @property
    def is_free(self) -> bool:
        """Whether the entries may be planned."""
        return not self.is_booked_elsewhere and not any(state in LIVE for state in self.attempts.values())

    def after(self, code: str | int, *about: str | int) -> Journal:
        """Return the journal after an event."""
        changes: dict[str, object] = {}
        match code:
            case "exported before":
                changes = {"was_exported": True}
            case "stop":
                changes = {"is_stopped": True}
            case "restore":
                changes = {"is_stopped": False, "restores": self.restores + 1, "is_verified": False}
            case "newcomer":
                changes = {"newcomers": self.newcomers | {int(about[0])}}
            case "ledger":
                is_booked = self.is_booked_elsewhere or about[0] == "booked"
                changes = {"is_verified": True, "newcomers": frozenset(), "is_booked_elsewhere": is_booked}
            case _:
                outcome = "SENDING" if code == "begin" else str(code)
                changes = {"attempts": self.attempts | {int(about[0]): outcome}}
        return self._replace(**changes)


@cache
def journal_of(events: Database) -> Journal:
    """Return the journal of events."""
    return journal_of(events[:-1]).after(*events[-1]) if events else Journal({})


def outcome_event(events: Database, attempt: int, outcome: str) -> Database:
    """Return the event of an outcome, none where it would change another attempt, or one that has ended."""
    before = journal_of(events).attempts.get(attempt)
    is_later = (before == "UNKNOWN" and outcome != "UNKNOWN") or (before, outcome) == ("RELEASED", "ACCEPTED")
    return ((outcome, attempt),) if before == "SENDING" or is_later else ()


class Protocol:
    """A protocol of some rules in a world; bounds are the most attempts, faults and old copies."""

    def __init__(
        self, rules: Collection[str], world: str, *, faults: int, attempts: int = 2, copies: int = 1
    ) -> None:
        self.rules = frozenset(rules)
        self.world = world
        self.faults, self.attempts, self.copies = faults, attempts, copies
        # The machine of each process, and the database of each machine.
        self.machine_of = (0, 0) if world == "process" else (0, 1)
        self.database_of = (0, 1) if world == "computers" else (0, 0)

    def start(self) -> State:
        """Return the state in which everything begins."""
        databases = ((EXPORTED_BEFORE,), ()) if self.world == "computers" else ((EXPORTED_BEFORE,),)
        machines = []
        for number in sorted(set(self.machine_of)):
            events = databases[self.database_of[number]]
            machines.append(Machine(number, self.seen(events), 0 if events else None))
        return State(databases, 0, tuple(machines))

    def seen(self, events: Database) -> Database:
        """Return what a machine remembers of events."""
        return events if "memory" in self.rules else ()

    # What a process asks.

    def lacks_events(self, state: State, machine: int) -> bool:
        """Whether the database lacks what a machine remembers, or is another one."""
        events, (_, seen, database) = state.databases[self.database_of[machine]], state.machines[machine]
        is_other = self.world == "shared" and database is not None and database != state.database
        return self.seen(events[: len(seen)]) != seen or ("identity" in self.rules and is_other)

    def is_closed(self, journal: Journal, machine: int) -> bool:
        """Whether a machine may send nothing for the company."""
        after_restore = "closed" in self.rules and journal.restores > 0 and not journal.is_verified
        return journal.is_stopped or machine in journal.newcomers or after_restore

    def holds_lock(self, state: State, process: Process) -> bool:
        """Whether a process holds its lock; the lock of a session ends when its machine sleeps."""
        is_cut = self.world == "shared" and process.attempt >= 0 and state.is_old[process.attempt]
        return process.at != "idle" and not is_cut

    def still_sending(self, state: State, attempt: int, events: Database) -> bool:
        """Whether an attempt may send its first byte."""
        is_too_old = "age" in self.rules and state.is_old[attempt]
        is_ended = "reread" in self.rules and journal_of(events).attempts.get(attempt) != "SENDING"
        return not is_too_old and not is_ended

    # What a process does.

    def opened(self, state: State, machine: int) -> State:
        """Open the journal: notice a gap, join, and bring the attempts of dead senders into doubt."""
        place = self.database_of[machine]
        events, (number, seen, database) = state.databases[place], state.machines[machine]
        journal = journal_of(events)
        has_restored = journal.restores > 0 and ("restore", journal.restores) not in seen
        if self.lacks_events(state, machine) and "stop" in self.rules and not has_restored:
            return state if journal.is_stopped else state.events(place, ("stop",))
        if journal.is_stopped:
            return state
        has_memory = database is not None and ("memory" not in self.rules or seen != ())
        if "newcomer" in self.rules and events and not has_memory and number not in journal.newcomers:
            state = state.events(place, ("newcomer", number))._replace(day_after_restore=False)
        for attempt, outcome in journal.attempts.items():
            senders = [process for process in state.processes if process.attempt == attempt]
            if outcome == "SENDING" and not any(self.holds_lock(state, sender) for sender in senders):
                state = state.events(place, *outcome_event(state.databases[place], attempt, "UNKNOWN"))
        return state.put(
            "machines", machine, Machine(number, self.seen(state.databases[place]), state.database)
        )

    def begun(self, state: State, number: int) -> Step:
        """Begin an attempt: the intent is in the database."""
        machine = self.machine_of[number]
        place, new = self.database_of[machine], len(state.requests)
        journal = journal_of(state.databases[place])
        if (
            self.is_closed(journal, state.machines[machine].number)
            or new >= self.attempts
            or ("compare_and_set" in self.rules and not journal.is_free)
            or ("begin_compares" in self.rules and self.lacks_events(state, machine))
        ):
            return "begin is refused", state.process(number, Process())
        state = state.events(place, ("begin", new, state.machines[machine].number))
        state = state._replace(requests=(*state.requests, ""), is_old=(*state.is_old, False))
        return f"begins {new}", state.process(number, Process("intent", new))

    def composed(self, state: State, number: int) -> Iterator[Step]:
        """Compose a batch, after the question about a first export."""
        place = self.database_of[self.machine_of[number]]
        journal = journal_of(state.databases[place])
        if journal.was_exported or journal.attempts or "first_export" not in self.rules:
            state = state.process(number, Process("composed"))
            # Where begin asks everything again, nothing that comes between changes anything.
            asks_again = {"compare_and_set", "begin_compares"} <= self.rules
            yield self.begun(state, number) if asks_again else ("composes", state)
            return
        if "other_computers" in self.rules:
            is_in_use_elsewhere = self.world == "computers" and bool(state.databases[1 - place])
            has_ended = all(state.is_old) and "on its way" not in state.requests
            if is_in_use_elsewhere or (state.requests and not has_ended):
                return
        if state.booked:
            yield "a person finds them booked", state.events(place, ("ledger", "booked"))
        else:
            state = state.events(place, EXPORTED_BEFORE).process(number, Process("composed"))
            yield "a person finds nothing; composes", state

    def process_steps(self, state: State, number: int) -> Iterator[Step]:
        """Yield each step of a process."""
        (at, attempt, outcome), machine = state.processes[number], self.machine_of[number]
        place = self.database_of[machine]
        events = state.databases[place]
        if at in {"idle", "composed"}:
            # A process that dies here changes nothing.
            yield from [self.begun(state, number)] if at == "composed" else self.idle_steps(state, number)
            return
        if at == "intent":
            after = self.remembering(state, machine, attempt)
            yield "remembers the intent", after.process(number, Process("remembered", attempt))
        elif at == "remembered":
            if self.still_sending(state, attempt, events):
                yield "may send", state.process(number, Process("connected", attempt))
            else:
                yield "may not send", state.process(number, Process("answered", attempt, "PLANNED"))
        elif at == "disconnected":
            yield "has a dead connection", state.process(number, Process("answered", attempt, "UNKNOWN"))
        elif at == "connected":
            posted = state.put("requests", attempt, "on its way")
            yield f"sends {attempt}", posted.process(number, Process("sent", attempt))
        elif at == "sent":
            yield from self.answers(state, number)
        else:
            assert at == "answered"
            written = () if journal_of(events).is_stopped else outcome_event(events, attempt, outcome)
            yield f"records {outcome}", state.events(place, *written).process(number, Process())
        if state.faults < self.faults:
            yield "DIES", state._replace(faults=state.faults + 1).process(number, Process())

    def idle_steps(self, state: State, number: int) -> Iterator[Step]:
        """Yield each step of a process that has nothing in hand."""
        machine = self.machine_of[number]
        place = self.database_of[machine]
        opened = self.opened(state, machine)
        if opened != state:
            noticed = [str(event[0]) for event in opened.databases[place][len(state.databases[place]) :]]
            yield " ".join(["opens", *noticed]), opened
            return
        journal = journal_of(state.databases[place])
        has_other = self.world == "process" and self.holds_lock(state, state.processes[1 - number])
        # The first sender is process 0; with 1 it is the same.
        is_mirrored = number == 1 and self.world != "computers" and not state.requests and state.faults == 0
        is_mirrored = is_mirrored and state.processes[0].at == "idle"
        is_closed = self.is_closed(journal, state.machines[machine].number)
        is_bounded = len(state.requests) >= self.attempts
        if journal.is_free and not (is_closed or is_bounded or has_other or is_mirrored):
            yield from self.composed(state, number)

    def remembering(self, state: State, machine: int, attempt: int) -> State:
        """Return the state after a machine has remembered its own intent."""
        events, known = state.databases[self.database_of[machine]], state.machines[machine]
        intent: Event = ("begin", attempt, known.number)
        if "memory" not in self.rules or intent not in events or events[: len(known.seen)] != known.seen:
            return state
        seen = events[: max(len(known.seen), events.index(intent) + 1)]
        return state.put("machines", machine, known._replace(seen=seen))

    def answers(self, state: State, number: int) -> Iterator[Step]:
        """Yield each answer that a sender may get."""
        attempt = state.processes[number].attempt
        request = state.requests[attempt]

        def answered(state: State, outcome: str) -> State:
            return state.process(number, Process("answered", attempt, outcome))

        if request not in {"", "on its way"}:
            is_doubt = request == "IN PROGRESS" and "in_progress" in self.rules
            outcome = "UNKNOWN" if is_doubt else request.replace("IN PROGRESS", "PLANNED")
            yield f"reads {request}", answered(state, outcome)
        if state.faults >= self.faults:
            return
        state = state._replace(faults=state.faults + 1)
        refused = "UNKNOWN" if "service_form" in self.rules else "REJECTED"
        yield "LOSES THE ANSWER", answered(state, "UNKNOWN")
        yield "A GATEWAY REFUSES and passes the request on", answered(state, refused)
        if request == "on its way":
            yield (
                "A GATEWAY REFUSES and the request ends",
                answered(state, refused).put("requests", attempt, ""),
            )
            twice = state.put("requests", attempt, "IN PROGRESS")._replace(booked=state.booked + 1)
            yield "A GATEWAY REPEATS the request, and the first one is booked", twice

    # What others do.

    def service_steps(self, state: State) -> Iterator[Step]:
        """Yield each step of the service."""
        for attempt, request in enumerate(state.requests):
            if request == "on its way":
                has_reader = any(each.at == "sent" and each.attempt == attempt for each in state.processes)
                for answer, verb in (("ACCEPTED", "books"), ("REJECTED", "refuses")):
                    after = state.put("requests", attempt, answer if has_reader else "")
                    booked = state.booked + (answer == "ACCEPTED")
                    yield f"the service {verb} {attempt}", after._replace(booked=booked)

    def person_steps(self, state: State) -> Iterator[Step]:
        """Yield each step of an honest person, who looks at the accounting system."""
        for place, events in enumerate(state.databases):
            journal = journal_of(events)
            if journal.is_stopped:
                restored = state.events(place, ("restore", journal.restores + 1))
                yield "a person restores", restored._replace(day_after_restore=False)
                continue
            for attempt, outcome in journal.attempts.items():
                if outcome == "UNKNOWN" and state.booked:
                    yield f"a person finds {attempt} booked", state.events(place, ("ACCEPTED", attempt))
                elif outcome == "UNKNOWN" and self.is_later(state.is_old[attempt]):
                    yield f"a person releases {attempt}", state.events(place, ("RELEASED", attempt))
            is_copy = self.world == "computers" and bool(journal.newcomers and state.databases[1 - place])
            if is_copy and "other_computers" in self.rules:
                # The other journal is the one in use, and this copy is given up.
                continue
            after_restore = journal.restores > 0 and not journal.is_verified
            waits = journal.newcomers or (after_restore and {"ledger", "closed"} <= self.rules)
            if waits and self.is_later(state.day_after_restore):
                shows = "booked" if state.booked else "nothing"
                yield f"a later ledger shows {shows}", state.events(place, ("ledger", shows))

    def is_later(self, day_has_passed: bool) -> bool:  # noqa: FBT001 - the only argument
        """Whether a person's look counts."""
        return day_has_passed or "release_later" not in self.rules

    def day_steps(self, state: State) -> Iterator[Step]:
        """Yield a day that passes; for a process that runs, it is a long sleep of its machine, a fault."""
        journals = [journal_of(events) for events in state.databases]
        waits = any(journal.restores or journal.newcomers for journal in journals)
        sleeps = any(process.at not in {"idle", "composed"} for process in state.processes)
        changes_nothing = all(state.is_old) and (state.day_after_restore or not waits)
        if "on its way" in state.requests or changes_nothing or (sleeps and state.faults >= self.faults):
            return
        dies = "connected" if "one_connection" in self.rules else None
        processes = [
            each._replace(at="disconnected") if each.at == dies else each for each in state.processes
        ]
        after = state._replace(processes=tuple(processes), is_old=(True,) * len(state.is_old))
        after = after._replace(day_after_restore=waits, faults=state.faults + sleeps)
        yield "A LONG SLEEP" if sleeps else "a day passes", after

    def world_steps(self, state: State) -> Iterator[Step]:
        """Yield old copies in the place of a database, and lost machines with a new one in their place."""
        hit = state._replace(faults=state.faults + 1)
        copied = hit._replace(copies=state.copies + 1)
        has_copies = state.copies < self.copies
        for place, events in enumerate(state.databases):
            copies = {each[:length] for each in state.databases for length in range(1, len(each) + 1)}
            for copy in sorted(copies - {events}, key=str) if has_copies else ():
                restored = copied.put("databases", place, copy)._replace(day_after_restore=False)
                database = state.database + (self.world == "shared")
                yield (
                    f"AN OLD COPY OF {len(copy)} EVENTS IS THE DATABASE",
                    restored._replace(database=database),
                )
        for machine, known in enumerate(state.machines):
            if known.number > 1:
                # Each machine is lost once; the new one has another number.
                continue
            place = self.database_of[machine]
            if self.world == "shared":
                yield f"MACHINE {machine} IS LOST", self.lost(hit, machine)
                continue
            yield (
                f"MACHINE {machine} IS LOST with its file",
                self.lost(hit, machine).put("databases", place, ()),
            )
            # A backup is a copy and the loss a fault.
            if has_copies and hit.faults < self.faults:
                lost = self.lost(copied, machine)._replace(faults=hit.faults + 1)
                for length in range(1, len(state.databases[place]) + 1):
                    backup = lost.put("databases", place, state.databases[place][:length])
                    yield f"MACHINE {machine} IS LOST; its backup has {length} events", backup

    def lost(self, state: State, machine: int) -> State:
        """Return a state with a new machine, which knows nothing, in the place of a lost one."""
        new = Machine(state.machines[machine].number + 2, (), None)
        state = state.put("machines", machine, new)._replace(day_after_restore=False)
        for number, process in enumerate(state.processes):
            if self.machine_of[number] == machine and process.at != "idle":
                state = state.process(number, Process())
        return state

    def steps(self, state: State) -> Iterator[Step]:
        """Yield each step from a state. A step that touches nothing shared goes first, alone."""
        alone = [number for number, each in enumerate(state.processes) if each.at == "disconnected"]
        for number in alone[:1] or range(len(state.processes)):
            for label, after in self.process_steps(state, number):
                yield f"{number} {label}", after
        if alone:
            return
        yield from self.service_steps(state)
        yield from self.person_steps(state)
        yield from self.day_steps(state)
        if state.faults < self.faults:
            yield from self.world_steps(state)

    # What must never be.

    def broken(self, state: State) -> Iterator[str]:
        """Yield the promises that a state breaks."""
        if state.booked > 1:
            yield "twice"
        elif state.booked and any(self.is_unaware(state, machine) for machine in range(len(state.machines))):
            yield "unaware"
        is_quiet = all(process.at == "idle" for process in state.processes)
        if is_quiet and "on its way" not in state.requests and self.is_stuck(state):
            yield "stuck"

    def is_unaware(self, state: State, machine: int) -> bool:
        """Whether a machine may send what is booked, with nothing that stops it."""
        opened = self.opened(state, machine)
        journal = journal_of(opened.databases[self.database_of[machine]])
        is_asked = "first_export" in self.rules and not journal.was_exported and not journal.attempts
        return (
            journal.is_free and not is_asked and not self.is_closed(journal, state.machines[machine].number)
        )

    def is_stuck(self, state: State) -> bool:
        """Whether the honest way leads nowhere."""
        state = self.all_opened(state)
        for place, events in enumerate(state.databases):
            if journal_of(events).is_stopped:
                state = state.events(place, ("restore", journal_of(events).restores + 1))
        state = self.all_opened(self.all_opened(state))
        state = state._replace(is_old=(True,) * len(state.is_old), day_after_restore=True)
        while looks := [after for label, after in self.person_steps(state) if "restores" not in label]:
            state = looks[0]
        for journal in map(journal_of, state.databases):
            is_given_up = self.world == "computers" and journal.newcomers
            waits = {"SENDING", "UNKNOWN"} & set(journal.attempts.values())
            is_closed = bool(journal.newcomers) or self.is_closed(journal, -1)
            if not is_given_up and (waits or is_closed):
                return True
        return False

    def all_opened(self, state: State) -> State:
        """Return the state after each machine has opened its journal."""
        for machine in range(len(state.machines)):
            state = self.opened(state, machine)
        return state


class Walk(NamedTuple):
    """A walk: the shortest way to each broken promise, the number of states, and whether it saw all."""

    ways: dict[str, list[str]]
    states: int
    is_whole: bool


def walk(protocol: Protocol, *, promises: Collection[str] = PROMISES, most: int = 10**6) -> Walk:
    """Walk through the states of a protocol until each of the promises is broken, or all states are seen."""
    start = protocol.start()
    came_from: dict[State, tuple[State, str] | None] = {start: None}
    todo, ways = deque([start]), dict[str, list[str]]()
    while todo and len(came_from) < most:
        state = todo.popleft()
        for promise in protocol.broken(state):
            if promise in promises and promise not in ways:
                ways[promise] = way_to(state, came_from)
        if {*ways} == {*promises}:
            return Walk(ways, len(came_from), is_whole=False)
        if state.booked > 1:
            continue
        for label, after in protocol.steps(state):
            if after not in came_from:
                came_from[after] = (state, label)
                todo.append(after)
    return Walk(ways, len(came_from), is_whole=not todo)


def way_to(state: State, came_from: dict[State, tuple[State, str] | None]) -> list[str]:
    """Return the labels of the steps that lead to a state."""
    labels = []
    while (step := came_from[state]) is not None:
        state, label = step
        labels.append(label)
    return labels[::-1]


def main() -> None:
    """Walk as the command line says, and print the shortest ways."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("world", choices=WORLDS)
    parser.add_argument("--faults", type=int, default=1)
    parser.add_argument("--without", default="", help=f"rules, separated by commas: {', '.join(RULES)}")
    options = parser.parse_args()
    rules = set(RULES) - set(options.without.split(","))
    ways, states, is_whole = walk(Protocol(rules, options.world, faults=options.faults))
    sys.stdout.write(f"{states} states{'' if is_whole else ', not all'}\n")
    for promise, way in ways.items():
        sys.stdout.write(f"{promise}: {'; '.join(way)}\n")


if __name__ == "__main__":
    main()
