"""What each column is for: an input of some kind, or left out, or something that cannot be used as it is."""

import difflib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from fedclade.core import ClientId
from fedclade.core.preparation import NO_NAME, ColumnChoices, DateOrder
from fedclade.core.problems import Problem, shell_word
from fedclade.fleet.results import ClientTable, ColumnFacts
from fedclade.preparation.dates import decide_orders

Role: TypeAlias = Literal["number", "boolean", "date", "category", "text"]
NEARLY_ALL = 0.9  # of the clients
MIN_LARGE_ROWS = 10  # rows of a client: in fewer, what is no id can be unique and in order by chance
MIN_SURE_ROWS = 5  # filled cells of a client: in fewer, what is no name of it can be the same in all by chance
MAX_CODES = 20  # different values of a client: whole numbers among text are codes, if they are no more
MIN_WORDS = 3.0  # words in a cell of free text, in the mean
MIN_DIFFERENT = 0.5  # of the cells: free text hardly ever repeats
ID_NAME = re.compile(
    r"(.*[_ ])?(id|uuid|guid|index|idx|row|rownum|nr|no|num|number|key|record|serial|seq|sequence)[.#]?", re.IGNORECASE
)
CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")  # between the words of caseId
YEAR_NAME = re.compile(r"(.*[_ ])?(year|yr|jahr|annee|ano)", re.IGNORECASE)
MAX_SHOWN = 10  # columns that an error names
KIND_ROLES: Mapping[str, Role] = {"number": "number", "boolean": "boolean", "date": "date"}
"""The role of a kind; all others are categories."""


@dataclass
class Roles:
    """What is known of the columns of all tables."""

    roles: dict[str, Role] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    """Columns that are no input, and why."""
    keepable: list[str] = field(default_factory=list)
    """Those among them that look like ids, and could be inputs."""
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What a user should know, a sentence each."""
    orders: dict[str, DateOrder] = field(default_factory=dict)
    """What stands first in the dates of a column, where that matters."""


def decide_roles(tables: Mapping[ClientId, ClientTable], choices: ColumnChoices) -> Roles:
    """The roles of all columns, in the order of the tables."""
    found = Roles()
    columns = list(dict.fromkeys(name for table in tables.values() for name in table.columns))
    check_names(columns, choices, found)
    minority: list[str] = []
    for column in columns:
        if column in choices.without or (choices.only and column not in choices.only):
            continue
        facts = [(table.rows, table.columns[column]) for table in tables.values() if column in table.columns]
        if 2 * len(facts) <= len(tables):
            minority.append(column)
            if len(minority) <= MAX_SHOWN:
                found.left_out[column] = f"only {len(facts)} of {len(tables)} clients have it"
        else:
            decide_role(column, facts, len(tables), choices, found)
    dates = [column for column, role in found.roles.items() if role == "date"]
    orders = decide_orders(tables, dates, choices.dates)
    found.orders, found.notes = orders.orders, [*found.notes, *orders.notes]
    found.problems += orders.problems
    if len(minority) > MAX_SHOWN:
        found.notes.append(f"{len(minority) - MAX_SHOWN} more columns are left out: only a few clients have them")
    return found


def check_names(columns: Sequence[str], choices: ColumnChoices, found: Roles) -> None:
    """Add a problem for each column that is named and not there."""
    for setting in ("without", "only", "keep", "categorical", "numeric", "text"):
        for name in getattr(choices, setting):
            if name not in columns:
                near = difflib.get_close_matches(name, columns, n=1, cutoff=0.5)
                do = f'did you mean "{near[0]}"?' if near else f"name a column that is there: {first_names(columns)}"
                found.problems.append(Problem(name, f"is not there (--{setting})", do))


def first_names(columns: Sequence[str]) -> str:
    """Some names, for an error."""
    return ", ".join(columns[:MAX_SHOWN]) + (", ..." if len(columns) > MAX_SHOWN else "")


def decide_role(
    column: str, facts: Sequence[tuple[int, ColumnFacts]], clients: int, choices: ColumnChoices, found: Roles
) -> None:
    """Add the role of one column, why it is left out, or what is wrong with it."""
    kept = column in (*choices.keep, *choices.categorical, *choices.numeric, *choices.text, *choices.only)
    faults = [fact.fault or "cannot be read" for _, fact in facts if fact.kind == "unusable"]
    if 0 < len(faults) <= (1 - NEARLY_ALL) * len(facts):  # of a few sites, which must not stop all others
        found.notes.append(
            f"column {column!r} {faults[0]} at {len(faults)} of {clients} clients: it counts as empty there"
        )
        facts = [(rows, fact) for rows, fact in facts if fact.kind != "unusable"]
        faults = []
    if faults:
        fault = faults[0]
        found.problems.append(Problem(column, fault, f"leave it out: --without {shell_word(column)}"))
    elif NO_NAME.fullmatch(column) and not kept:
        found.left_out[column] = "an index without a name"
        if usual_kind([fact for _, fact in facts]) == "number":
            found.keepable.append(column)
    elif not any(fact.filled for _, fact in facts):
        found.left_out[column] = "empty in every row"
    elif column in choices.text:
        found.roles[column] = "text"
    elif column in choices.categorical:
        found.roles[column] = "category"
    elif column in choices.numeric:
        found.roles[column] = "number"
    else:
        kind = usual_kind([fact for _, fact in facts])
        if problem := mixed_problem(column, [fact for _, fact in facts]) or unit_problem(column, facts):
            found.problems.append(problem)
        elif kind == "category" and is_free_text([fact for _, fact in facts]) and column not in choices.keep:
            name = shell_word(column)
            do = f"leave it out: --without {name}, or use its words: --text {name}"
            found.problems.append(Problem(column, "holds free text", do))
        elif not kept and (reason := id_reason(column, kind, facts)):
            found.left_out[column] = reason
            if kind == "number":
                found.keepable.append(column)
        else:
            found.roles[column] = kind


def usual_kind(facts: Sequence[ColumnFacts]) -> Role:
    """The kind that all clients say; where they differ, a column is of categories."""
    kinds = {fact.kind for fact in facts if fact.filled}
    if kinds == {"number", "boolean"}:
        return "number"
    return KIND_ROLES.get(kinds.pop(), "category") if len(kinds) == 1 else "category"


def mixed_problem(column: str, facts: Sequence[ColumnFacts]) -> Problem | None:
    """What is wrong with a column of measured numbers, or of dates, in which some cells are something else."""
    kinds = Counter(fact.kind for fact in facts if fact.filled)
    name = shell_word(column)
    dates, numbers = kinds["date"] + kinds["dates and text"], kinds["number"] + kinds["numbers and text"]
    if kinds["date"] < kinds.total() <= 2 * dates:
        do = f"correct its dates, or leave it out: --without {name}"
        return Problem(column, "holds dates, and text among them", do)
    if not kinds["number"] + kinds["boolean"] < kinds.total() <= 2 * numbers:
        return None
    numeric = [fact for fact in facts if fact.filled and fact.kind in ("number", "numbers and text")]
    is_measured = any(not fact.is_whole or fact.different > MAX_CODES for fact in numeric)
    if not is_measured and kinds["number"] < NEARLY_ALL * kinds.total():
        return None
    do = f"such cells count as empty with --numeric {name}; all are categories with --categorical {name}"
    return Problem(column, "holds numbers, and text among them", do)


def unit_problem(column: str, facts: Sequence[tuple[int, ColumnFacts]]) -> Problem | None:
    """What is wrong with a column of numbers with a unit, or written in another way; few of them are categories."""
    filled = [fact for _, fact in facts if fact.filled]
    with_unit = [fact for fact in filled if fact.kind == "numbers with a unit"]
    cells, different = sum(fact.filled for fact in with_unit), sum(fact.different for fact in with_unit)
    if 2 * len(with_unit) <= len(filled) or different < MIN_DIFFERENT * cells:
        return None
    name = shell_word(column)
    do = f"write plain numbers, such as 12345.67; or leave it out: --without {name}"
    return Problem(column, "holds numbers with a currency, a unit, or another mark", do)


def is_free_text(facts: Sequence[ColumnFacts]) -> bool:
    """Whether cells are sentences, which hardly ever repeat."""
    texts = [fact for fact in facts if fact.kind == "text"]
    filled = max(sum(fact.filled for fact in texts), 1)
    words = sum(fact.words * fact.filled for fact in texts) / filled
    return words >= MIN_WORDS and sum(fact.different for fact in texts) >= MIN_DIFFERENT * filled


def id_reason(column: str, kind: Role, facts: Sequence[tuple[int, ColumnFacts]]) -> str:
    """Why a column is an id and no feature; empty if it is none."""
    some = [fact for rows, fact in facts if rows >= 2]
    large = [fact for rows, fact in facts if rows >= MIN_LARGE_ROWS]

    def nearly_all(flag: Callable[[ColumnFacts], bool]) -> bool:
        """Of all clients, and of those with many rows alone: many small ones must not outvote these."""
        return len(some) >= 2 and all(sum(map(flag, each)) >= NEARLY_ALL * len(each) for each in (some, large))

    if kind == "category" and large and nearly_all(lambda fact: fact.is_unique):
        return "an id: no text comes twice at a client"
    if kind != "number" or not nearly_all(lambda fact: fact.is_whole):
        return ""
    if YEAR_NAME.fullmatch(column) or nearly_all(lambda fact: fact.has_years):
        return ""
    if nearly_all(lambda fact: fact.is_monotone):
        return "an id: whole numbers that rise, or fall, from row to row"
    if ID_NAME.fullmatch(CAMEL_CASE.sub("_", column)) and nearly_all(lambda fact: fact.is_unique):
        return "an id: whole numbers, none twice at a client"
    return ""


def client_codes(tables: Mapping[ClientId, ClientTable], roles: Roles, choices: ColumnChoices) -> list[str]:
    """Columns that may name the client, the same in all rows of nearly every one: text, or whole numbers but years."""
    chosen = {*choices.keep, *choices.categorical, *choices.numeric, *choices.only}
    found = list[str]()
    for column, role in roles.roles.items():
        facts = [table.columns[column] for table in tables.values() if column in table.columns]
        is_code = role == "category" or (role == "number" and is_whole_code(column, facts))
        sure = sure_facts(facts)
        alike = sum(fact.different == 1 for fact in sure)
        if is_code and column not in chosen and len(sure) >= 2 and alike >= NEARLY_ALL * len(sure):
            found.append(column)
    return found


def sure_facts(facts: Sequence[ColumnFacts]) -> list[ColumnFacts]:
    """Those of clients with enough cells to say whether all have one value."""
    return [fact for fact in facts if fact.filled >= MIN_SURE_ROWS]


def is_whole_code(column: str, facts: Sequence[ColumnFacts]) -> bool:
    """Whether a column of numbers holds whole numbers that are no years."""
    filled = [fact for fact in facts if fact.filled]
    if YEAR_NAME.fullmatch(column) or sum(fact.has_years for fact in filled) >= NEARLY_ALL * len(filled):
        return False
    return all(fact.is_whole for fact in filled)
