"""Fitting a preparation: roles of columns, quantiles and sums of numbers, categories, and what gives labels away."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fedclade.core import ClientId, InputError, Round, Stopped
from fedclade.core.column_names import MAX_TEXT
from fedclade.core.preparation import (
    EMPTY_CELL,
    MAX_INPUTS,
    ColumnChoices,
    MissingInput,
    Preparation,
    TableInput,
)
from fedclade.core.problems import Problem, problems_error, shell_word
from fedclade.core.task import Task
from fedclade.fleet import Fleet
from fedclade.fleet.results import ClientTable, ColumnFacts
from fedclade.preparation.bounds import BoundedNumbers, all_whole, bound_numbers
from fedclade.preparation.dates import rising_notes
from fedclade.preparation.inputs import (
    MIN_INPUT_ROWS,
    CategoryCounts,
    category_inputs,
    number_inputs,
    raw_notes,
    usual_names,
    word_inputs,
)
from fedclade.preparation.label import fit_scale, told_task
from fedclade.preparation.leaks import MAX_LEAK_CLASSES, emptiness_tells, leak_edges, names_tell, numbers_tell
from fedclade.preparation.roles import NEARLY_ALL, Roles, client_codes, decide_roles, sure_facts

NO_TASK = Task()  # one class without a name
MAX_ASKED = 200  # names of one column that are counted, of which the most frequent become inputs
SAME = "the same in every row"
NEARLY_SAME = f"the same in all rows but {MIN_INPUT_ROWS - 1} or fewer"
TINY = "numbers that differ by too little to be told apart"
ALL_WORDS = "no word tells its rows apart"
RARE = f"no value is there {MIN_INPUT_ROWS} times at any client"
MAX_SHOWN = 10  # names that a message shows
MAX_TRIES = 3  # rounds of requests, each without those who failed in the one before


def fit_preparation(
    fleet: Fleet,
    choices: ColumnChoices,
    now: Round,
    *,
    where: str,
    task: Task = NO_TASK,
    tell_classes: bool = False,
    client: str = "",
    label: str = "",
    problems: Sequence[Problem] = (),
) -> Preparation:
    """The preparation of all clients' tables.

    The classes are those of the task, or told by the clients, or there are none. The scale of a regression is found.

    `problems` are those that are known already: one error names them and those that are found here. A client that does
    not answer one of the requests, or whose answer is refused, counts in none: all is asked again without it.
    """
    asked = tuple(fleet.enrolments)
    lost: dict[ClientId, str] = {}
    for _ in range(MAX_TRIES):
        ledger = fleet.ledger
        refused, silent = len(ledger.refused), len(ledger.silent)
        clients = tuple(name for name in asked if name not in lost)
        failure: InputError | None = None
        made: Preparation | None = None
        try:
            made = fit_once(
                fleet,
                clients,
                choices,
                now,
                where=where,
                task=task,
                tell_classes=tell_classes,
                client=client,
                label=label,
                problems=problems,
            )
        except InputError as error:  # of sums that lack somebody's, perhaps
            failure = error
        unheard = {name: "no answer" for _, name in ledger.silent[silent:]}
        unheard |= {refusal.client: refusal.reason for refusal in ledger.refused[refused:]}
        if not unheard:
            if made is None:
                assert failure is not None
                raise failure
            return with_lost(made, lost)
        lost |= unheard
        if len(lost) == len(asked):
            break
    first = next(iter(lost))
    got, need = f"{len(lost)} of {len(asked)} did not, first {first!r}: {lost[first]}", "answers from the others"
    raise Stopped("clients do not answer about their columns", where=where, got=got, need=need)


def with_lost(made: Preparation, lost: Mapping[ClientId, str]) -> Preparation:
    """The preparation with a note of the clients that did not count in it."""
    if not lost:
        return made
    shown = "; ".join(f"{client!r} ({reason})" for client, reason in [*lost.items()][:MAX_SHOWN])
    more = f"; and {len(lost) - MAX_SHOWN} more" if len(lost) > MAX_SHOWN else ""
    note = f"clients that did not count where columns became inputs: {shown}{more}"
    return replace(made, warnings=(*made.warnings, note[:MAX_TEXT]))


def fit_once(
    fleet: Fleet,
    clients: Sequence[ClientId],
    choices: ColumnChoices,
    now: Round,
    *,
    where: str,
    task: Task,
    tell_classes: bool,
    client: str,
    label: str,
    problems: Sequence[Problem],
) -> Preparation:
    """The preparation of these clients' tables, from one round of requests."""
    tables = fleet.columns(clients, now, tell_classes=tell_classes)
    clients = tuple(tables)
    is_whole = all_whole(tables, label)
    if task.labels == "number":  # its column is there too
        tables = {name: replace(table, columns=without(table.columns, label)) for name, table in tables.items()}
    roles = decide_roles(tables, choices)
    known = {problem.column for problem in problems}
    if found := [*problems, *(problem for problem in roles.problems if problem.column not in known)]:
        raise problems_error(found, where)
    if task.labels == "number":
        task = fit_scale(fleet, clients, task, label, is_whole, now, where)
    elif tell_classes:
        task = told_task(tables, task, task.names, label, where)
    classes = task.names if task.labels == "class" else ()
    rows = sum(table.rows for table in tables.values())
    filled = filled_cells(tables)
    leave_out_sparse(roles, filled, rows)
    numbers = bound_numbers(fleet, clients, tables, roles, now)
    bounds = [(each.numbers, each.low, each.high, each.middle) for each in numbers]
    named = {role: [column for column, its in roles.roles.items() if its == role] for role in ("category", "text")}
    codes = client_codes(tables, roles, choices)
    categories = list(dict.fromkeys([*named["category"], *codes]))
    sums = fleet.column_sums(clients, bounds, now, categories=categories, texts=named["text"])
    frequent = dict(zip((*categories, *named["text"]), sums.names, strict=True))
    leave_out_client_names(roles, tables, frequent, codes)
    counts, warnings = count_names(fleet, clients, roles, frequent, numbers, classes, now)

    raw = choices.prepare == "none"
    made = number_inputs(numbers, sums, raw=raw)
    warnings += [*(raw_notes(numbers) if raw else ()), *rising_notes(tables, [each.numbers for each in numbers], sums)]
    inputs: list[TableInput] = []
    for column, role in roles.roles.items():
        own = made.get(column, [])
        if role == "category":
            own = category_inputs(counts[column])
        elif role == "text":
            own = word_inputs(column, frequent[column], filled[column])
        reason = ""
        if not own and column in frequent and not frequent[column]:
            reason = RARE
        elif not own and role == "text":
            reason = ALL_WORDS
        elif not own:
            sketch = next((each.sketch for each in numbers if each.numbers.column == column), None)
            rest = sketch.total - int(sketch.counts.max()) if sketch else counts[column].rest if column in counts else 0
            reason = NEARLY_SAME if rest else SAME
            if sketch and most_different(tables, column) > MIN_INPUT_ROWS:
                reason = TINY
        if reason and column in choices.keep:
            reason = f"{reason}, which --keep cannot change"
        if MIN_INPUT_ROWS <= rows - filled[column] <= rows - MIN_INPUT_ROWS:
            own = [*own, MissingInput(column=column)]
            if reason:
                warnings.append(f"of column {column!r} only whether it is empty is used: {reason}")
        elif reason:
            roles.left_out[column] = reason
        inputs += own
    check_inputs(inputs, roles, where)
    return Preparation(
        inputs=tuple(inputs),
        task=task,
        client=client,
        label=label,
        left_out=roles.left_out,
        warnings=(*roles.notes, *warnings),
    )


def without(columns: Mapping[str, ColumnFacts], column: str) -> dict[str, ColumnFacts]:
    """The columns but this one."""
    return {name: facts for name, facts in columns.items() if name != column}


def filled_cells(tables: Mapping[ClientId, ClientTable]) -> dict[str, int]:
    """How many cells of all clients are not empty, by column."""
    found: dict[str, int] = {}
    for table in tables.values():
        for column, facts in table.columns.items():
            found[column] = found.get(column, 0) + facts.filled
    return found


def most_different(tables: Mapping[ClientId, ClientTable], column: str) -> int:
    """How many different values of a column the client has that has the most."""
    return max((table.columns[column].different for table in tables.values() if column in table.columns), default=0)


def leave_out_sparse(roles: Roles, filled: Mapping[str, int], rows: int) -> None:
    """Leave out columns that are nearly empty: sums over so few values would tell each one."""
    for column in [column for column in roles.roles if filled[column] < min(MIN_INPUT_ROWS, rows)]:
        del roles.roles[column]
        roles.left_out[column] = f"filled in fewer than {MIN_INPUT_ROWS} rows"


def count_names(
    fleet: Fleet,
    clients: Sequence[ClientId],
    roles: Roles,
    frequent: Mapping[str, Mapping[str, int]],
    numbers: Sequence[BoundedNumbers],
    classes: Sequence[str],
    now: Round,
) -> tuple[dict[str, CategoryCounts], list[str]]:
    """How many rows of all clients have each category that is known; and a warning of each column that tells labels.

    Clients with few rows of a category told nothing of it; now that its name is known they count it too.
    """
    by_label = classes if 2 <= len(classes) <= MAX_LEAK_CLASSES else ()
    categories = [column for column, role in roles.roles.items() if role == "category"]
    asked = [
        (column, [EMPTY_CELL, *(usual_names(frequent[column], MAX_ASKED) if column in categories else ())])
        for column in (roles.roles if by_label else categories)
    ]
    sketches = [
        (each.numbers, leak_edges(each.sketch, each.low, each.high))
        for each in numbers
        if by_label and each.numbers.column in roles.roles
    ]
    if not asked:
        return {}, []
    tables = fleet.column_counts(clients, sketches, now, names=asked, class_names=by_label)
    of_names = dict(zip([column for column, _ in asked], tables[len(sketches) :], strict=True))
    telling = [column for column, table in of_names.items() if emptiness_tells(table[0], table[1:].sum(axis=0))]
    empties = dict.fromkeys(telling, "by whether it is empty")
    telling += [each.column for (each, _), table in zip(sketches, tables, strict=False) if numbers_tell(table)]
    telling += [column for column in categories if names_tell(of_names[column][1:])]
    counts = {
        column: CategoryCounts(column, dict(zip(names[1:], rows[1:-1], strict=True)), rows[-1])
        for column, names in asked
        if column in categories
        for rows in [of_names[column].sum(axis=1).tolist()]
    }
    return counts, [
        f"column {column!r} gives the label away: {empties.get(column, 'from it alone')} every label can be told; "
        f"leave it out if it is not there when a label is wanted: --without {shell_word(column)}"
        for column in dict.fromkeys(telling)
    ]


def leave_out_client_names(
    roles: Roles,
    tables: Mapping[ClientId, ClientTable],
    frequent: Mapping[str, Mapping[str, int]],
    codes: Sequence[str],
) -> None:
    """Leave out columns that are names or codes of clients: the same in all rows of nearly every one.

    Clients with enough rows told their names: there are as many as clients where these differ.
    """
    for column in codes:
        sure = sure_facts([table.columns[column] for table in tables.values() if column in table.columns])
        if len(frequent[column]) >= NEARLY_ALL * len(sure):
            roles.left_out[column] = "a name of the client: the same in all its rows, and another one elsewhere"
            roles.keepable.append(column)
            del roles.roles[column]


def check_inputs(inputs: Sequence[TableInput], roles: Roles, where: str) -> None:
    """An error if nothing is left, or too much."""
    if not inputs:
        got = "; ".join(f"{column!r}: {why}" for column, why in roles.left_out.items()) or "no other columns"
        need, do = "a column of numbers that differ, or of text of which some comes 5 times at a client", ""
        if roles.keepable:
            do = f"use one all the same: --keep {shell_word(roles.keepable[0])}"
        raise InputError("no column can be used", where=where, got=got, need=need, do=do)
    width = sum(len(each.names()) for each in inputs)
    if width > MAX_INPUTS:
        raise InputError("a row has too many inputs", where=where, got=str(width), need=f"at most {MAX_INPUTS}")
