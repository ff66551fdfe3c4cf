"""Fitting a preparation: roles of columns, quantiles and sums of numbers, categories, and what gives labels away."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedclade.core import ClientId, InputError, Round
from fedclade.core.preparation import (
    MAX_INPUTS,
    CategoryInput,
    ColumnChoices,
    MissingInput,
    NumberInput,
    Numbers,
    Preparation,
    TableInput,
    WordInput,
)
from fedclade.core.problems import Problem, problems_error, shell_word
from fedclade.fleet import Fleet
from fedclade.fleet.results import ClientTable, ColumnSums
from fedclade.preparation.leaks import MAX_CLASSES, intervals_tell, names_tell, quantile_edges
from fedclade.preparation.quantiles import Sketch, sketch_numbers
from fedclade.preparation.roles import NEARLY_ALL, Roles, decide_roles

MAX_CATEGORIES = 32  # inputs of one column; further names are "other"
MAX_ASKED = 200  # names of one column that are counted, of which the most frequent become inputs
MAX_WORDS = 100  # inputs of one column of text
MIN_ROWS = 5  # rows of all clients that an input must tell apart
MAX_WORD_SHARE = 0.95  # of the rows: a word that nearly all have tells nothing
LARGEST = 1e38  # about what float32 holds
SAME = "the same in every row"
NEARLY_SAME = f"the same in all rows but {MIN_ROWS - 1} or fewer"
ALL_WORDS = "no word tells its rows apart"
RARE = f"no value is there {MIN_ROWS} times at any client"
ROUNDING = 1e-12  # of itself: a column that differs by less differs by rounding
DATE_PARTS = {"month": (1.0, 12.0), "weekday": (0.0, 6.0), "hour": (0.0, 23.0)}  # beside the year
WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,18})")  # as Python writes a whole number


@dataclass(frozen=True, eq=False)
class BoundedNumbers:
    """Numbers, with the bounds at which they are cut off."""

    numbers: Numbers
    low: float
    high: float
    middle: float
    sketch: Sketch | None = None
    """None where the bounds are known without."""


@dataclass(frozen=True)
class CategoryCounts:
    """How many rows of all clients have which category of a column."""

    column: str
    rows: Mapping[str, int]
    rest: int
    """Rows with names that are not known."""


def fit_preparation(
    fleet: Fleet,
    choices: ColumnChoices,
    now: Round,
    *,
    where: str,
    class_names: Sequence[str] = (),
    tell_classes: bool = False,
    client: str = "",
    label: str = "",
    problems: Sequence[Problem] = (),
) -> Preparation:
    """The preparation of all clients' tables. The classes are given, or told by the clients, or there are none.

    `problems` are those that are known already: one error names them and those that are found here.
    """
    tables = fleet.columns(tuple(fleet.enrolments), now, tell_classes=tell_classes)
    clients = tuple(tables)
    roles = decide_roles(tables, choices)
    if problems or roles.problems:
        raise problems_error([*problems, *roles.problems], where)
    classes = tuple(class_names) or (sorted_classes(tables) if tell_classes else ())
    numbers = bound_numbers(fleet, clients, tables, roles, now)
    bounds = [(each.numbers, each.low, each.high, each.middle) for each in numbers]
    named = {role: [column for column, its in roles.roles.items() if its == role] for role in ("category", "text")}
    sums = fleet.column_sums(clients, bounds, now, categories=named["category"], texts=named["text"])
    frequent = dict(zip((*named["category"], *named["text"]), sums.names, strict=True))
    leave_out_client_names(roles, tables, frequent, choices)
    kept = [column for column in named["category"] if column in roles.roles]
    counts, warnings = count_names(fleet, clients, kept, frequent, numbers, classes, now)

    rows = sum(table.rows for table in tables.values())
    made = number_inputs(numbers, sums, raw=choices.prepare == "none")
    inputs: list[TableInput] = []
    for column, role in roles.roles.items():
        filled = sum(table.columns[column].filled for table in tables.values() if column in table.columns)
        own = made.get(column, [])
        if role == "category":
            own = category_inputs(counts[column])
        elif role == "text":
            own = word_inputs(column, frequent[column], filled)
        if MIN_ROWS <= rows - filled <= rows - MIN_ROWS:
            own = [*own, MissingInput(column=column)]
        if not own and column in frequent and not frequent[column]:
            roles.left_out[column] = RARE
        elif not own:
            sketch = next((each.sketch for each in numbers if each.numbers.column == column), None)
            rest = sketch.total - int(sketch.counts.max()) if sketch else counts[column].rest if column in counts else 0
            roles.left_out[column] = ALL_WORDS if role == "text" else NEARLY_SAME if rest else SAME
        inputs += own
    check_inputs(inputs, roles, where)
    return Preparation(
        inputs=tuple(inputs),
        class_names=classes,
        client=client,
        label=label,
        left_out=roles.left_out,
        warnings=tuple(warnings),
    )


def count_names(
    fleet: Fleet,
    clients: Sequence[ClientId],
    categories: Sequence[str],
    frequent: Mapping[str, Mapping[str, int]],
    numbers: Sequence[BoundedNumbers],
    classes: Sequence[str],
    now: Round,
) -> tuple[dict[str, CategoryCounts], list[str]]:
    """How many rows of all clients have each category that is known; and a warning of each column that tells labels.

    Clients with few rows of a category told nothing of it; now that its name is known they count it too.
    """
    asked = [(column, usual_names(frequent[column], MAX_ASKED)) for column in categories]
    by_label = classes if 2 <= len(classes) <= MAX_CLASSES else ()
    sketches = [(each.numbers, leak_edges(each)) for each in numbers if by_label]
    if not asked and not sketches:
        return {}, []
    tables = fleet.column_counts(clients, sketches, now, names=asked, class_names=by_label)
    of_numbers, of_names = tables[: len(sketches)], tables[len(sketches) :]
    telling = [each.column for (each, _), table in zip(sketches, of_numbers, strict=True) if intervals_tell(table)]
    telling += [column for (column, _), table in zip(asked, of_names, strict=True) if names_tell(table)]
    counts = {
        column: CategoryCounts(column, dict(zip(names, rows[:-1], strict=True)), rows[-1])
        for (column, names), table in zip(asked, of_names, strict=True)
        for rows in [table.sum(axis=1).tolist()]
    }
    return counts, [
        f"column {column!r} gives the label away: from it alone every label can be told; "
        f"leave it out if it is not there when a label is wanted: --without {shell_word(column)}"
        for column in dict.fromkeys(telling)
    ]


def leak_edges(each: BoundedNumbers) -> list[float]:
    """Thresholds between which labels are looked for: quantiles, or halves between the few values that there can be."""
    return quantile_edges(each.sketch) if each.sketch else np.arange(each.low + 0.5, each.high).tolist()


def leave_out_client_names(
    roles: Roles,
    tables: Mapping[ClientId, ClientTable],
    frequent: Mapping[str, Mapping[str, int]],
    choices: ColumnChoices,
) -> None:
    """Leave out columns of categories that are names of clients: the same in all rows of nearly every one.

    Clients with enough rows told their names: there are as many as clients where these differ.
    """
    chosen = {*choices.keep, *choices.categorical, *choices.only}
    for column in [column for column, role in roles.roles.items() if role == "category" and column not in chosen]:
        facts = [table.columns[column] for table in tables.values() if column in table.columns]
        sure = [fact for fact in facts if fact.filled >= MIN_ROWS]
        alike, enough = sum(fact.different == 1 for fact in sure), NEARLY_ALL * len(sure)
        if len(sure) >= 2 and alike >= enough and len(frequent[column]) >= enough:
            roles.left_out[column] = "a name of the client: the same in all its rows, and another one elsewhere"
            del roles.roles[column]


def usual_names(rows: Mapping[str, int], most: int) -> list[str]:
    """The most frequent names."""
    return sorted((name for name in rows if rows[name] >= MIN_ROWS), key=lambda name: (-rows[name], name))[:most]


def bound_numbers(
    fleet: Fleet, clients: Sequence[ClientId], tables: Mapping[ClientId, ClientTable], roles: Roles, now: Round
) -> list[BoundedNumbers]:
    """All numbers with their bounds: as far again beyond the first and the last percent as these are apart."""
    wanted = [
        Numbers(column, role, "year" if role == "date" else "")
        for column, role in roles.roles.items()
        if role in ("number", "date")
    ]
    whole = [each.of == "number" and all_whole(tables, each.column) for each in wanted]
    sketched = dict(zip(wanted, sketch_numbers(fleet, clients, wanted, whole, now), strict=True)) if wanted else {}
    found: list[BoundedNumbers] = []
    for column, role in roles.roles.items():
        if role == "boolean":
            found.append(BoundedNumbers(Numbers(column, "boolean"), 0.0, 1.0, 0.0))
        elif role in ("number", "date"):
            numbers = Numbers(column, role, "year" if role == "date" else "")
            found.append(find_bounds(numbers, sketched[numbers]))
        if role == "date":
            found += [
                BoundedNumbers(Numbers(column, "date", part), low, high, low)  # type: ignore[arg-type]  # its keys
                for part, (low, high) in DATE_PARTS.items()
            ]
    return found


def find_bounds(numbers: Numbers, sketch: Sketch) -> BoundedNumbers:
    """Numbers with the bounds that their quantiles give; where nearly all are one value, with wide ones.

    Few rows have quantiles further in, so that a single number far out is cut off there too.
    """
    share = sketch.tail_share(0.01)
    first, middle, last = (sketch.quantile(each) for each in (share, 0.5, 1 - share))
    low, high = first - (last - first), last + (last - first)
    if not low < high and sketch.total:
        low, high = sketch.outer()
        low, high = min(low, first), max(high, last)
    return BoundedNumbers(numbers, low, high, middle, sketch)


def all_whole(tables: Mapping[ClientId, ClientTable], column: str) -> bool:
    """Whether every client has only whole numbers in a column."""
    facts = [table.columns[column] for table in tables.values() if column in table.columns]
    return all(fact.is_whole for fact in facts if fact.filled)


def number_inputs(numbers: Sequence[BoundedNumbers], sums: ColumnSums, *, raw: bool) -> dict[str, list[TableInput]]:
    """The inputs of the columns of numbers, truth values and dates."""
    made = dict[str, list[TableInput]]()
    for each, count, total, square in zip(numbers, sums.counts, sums.sums, sums.squares, strict=True):
        found = number_input(each, int(count), float(total), float(square), raw=raw)
        if found is not None:
            made.setdefault(each.numbers.column, []).append(found)
    return made


def number_input(each: BoundedNumbers, count: int, total: float, square: float, *, raw: bool) -> NumberInput | None:
    """The input of some numbers; none if they are the same everywhere."""
    if not count:
        return None
    offset = total / count
    mean = each.middle + offset
    deviation = float(np.sqrt(max(square / count - offset**2, 0.0)))
    if deviation <= ROUNDING * max(abs(mean), 1e-280):
        return None
    numbers = each.numbers
    fill = each.middle if each.sketch is not None else mean
    if raw:
        return NumberInput(
            column=numbers.column, of=numbers.of, part=numbers.part, low=-LARGEST, high=LARGEST, fill=fill
        )
    return NumberInput(
        column=numbers.column,
        of=numbers.of,
        part=numbers.part,
        low=each.low,
        high=each.high,
        fill=fill,
        centre=mean,
        scale=deviation,
    )


def category_inputs(counts: CategoryCounts) -> list[TableInput]:
    """The most frequent names, and all others together; nothing if there is one name only."""
    kept = usual_names(counts.rows, MAX_CATEGORIES)
    other = counts.rest + sum(counts.rows.values()) - sum(counts.rows[name] for name in kept) >= MIN_ROWS
    if len(kept) + other < 2:
        return []
    return [CategoryInput(column=counts.column, categories=tuple(sorted(kept)), other=other)]


def word_inputs(column: str, rows: Mapping[str, int], filled: int) -> list[TableInput]:
    """The most frequent words that not nearly every text has."""
    usual = {word: count for word, count in rows.items() if count <= MAX_WORD_SHARE * filled}
    kept = usual_names(usual, MAX_WORDS)
    return [WordInput(column=column, words=tuple(sorted(kept)))] if kept else []


def sorted_classes(tables: Mapping[ClientId, ClientTable]) -> tuple[str, ...]:
    """The labels that clients have, in order: as numbers if all are whole numbers, else as text."""
    names = {name for table in tables.values() for name in table.class_names}
    return tuple(sorted(names, key=int) if all(WHOLE.fullmatch(name) for name in names) else sorted(names))


def check_inputs(inputs: Sequence[TableInput], roles: Roles, where: str) -> None:
    """An error if nothing is left, or too much."""
    if not inputs:
        got = "; ".join(f"{column!r}: {why}" for column, why in roles.left_out.items()) or "no other columns"
        need, do = "a column that differs from row to row", "use one all the same: --keep COLUMN"
        raise InputError("no column can be used", where=where, got=got, need=need, do=do)
    width = sum(len(each.names()) for each in inputs)
    if width > MAX_INPUTS:
        raise InputError("a row has too many inputs", where=where, got=str(width), need=f"at most {MAX_INPUTS}")
