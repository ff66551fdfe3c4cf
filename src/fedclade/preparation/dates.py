"""What stands first in the dates of a column, day or month, over all clients: one client's dates may not show it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fedclade.core import ClientId
from fedclade.core.preparation import DateOrder, Dates, Numbers
from fedclade.core.problems import Problem, shell_word
from fedclade.fleet.results import ClientTable, ColumnSums

NEARLY_ALL = 0.9  # of the clients
MIN_INSIDE = 0.1  # of the variance of dates, that lies inside of clients: with less they hardly overlap
MIN_ROWS = 10  # rows of a client: in fewer, dates rise by chance


@dataclass
class DateOrders:
    """What stands first in the dates of each column, where that matters; what is wrong, and what a user should know."""

    orders: dict[str, DateOrder] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def decide_orders(tables: Mapping[ClientId, ClientTable], columns: Sequence[str], chosen: Dates) -> DateOrders:
    """What all clients together show; where none does, what is chosen, or what the other columns show."""
    found = DateOrders()
    unclear: list[str] = []
    for column in columns:
        facts = [table.columns[column] for table in tables.values() if column in table.columns]
        orders = {(fact.day_first, fact.month_first) for fact in facts} - {(False, False)}
        if {(True, False), (False, True)} <= orders:
            do = f"write them in one way, or leave the column out: --without {shell_word(column)}"
            why = "holds dates with the day first, and others with the month first"
            found.problems.append(Problem(column, why, do))
        elif orders == {(True, True)}:
            unclear.append(column)
        elif orders:
            found.orders[column] = "day" if (True, False) in orders else "month"
    clear = dict(found.orders)
    for column in unclear:
        if chosen != "auto":
            found.orders[column] = "day" if chosen == "day-first" else "month"
        elif len(set(clear.values())) == 1:
            like, order = next(iter(clear.items()))
            found.orders[column] = order
            found.notes.append(f"dates of column {column!r} are read with the {order} first, as those of {like!r}")
        else:
            why = "holds dates that can be read with the day first and with the month first"
            do = "say what stands first: --dates day-first, or --dates month-first"
            found.problems.append(Problem(column, why, do))
    return found


def rising_notes(tables: Mapping[ClientId, ClientTable], numbers: Sequence[Numbers], sums: ColumnSums) -> list[str]:
    """A note of each column of dates that may only number the rows of a file, one client after the other.

    They rise, or fall, from row to row at nearly all clients, and hardly overlap between them.
    """
    notes: list[str] = []
    for place, each in enumerate(numbers):
        if each.part != "year":
            continue
        column = each.column
        facts = [table.columns[column] for table in tables.values() if column in table.columns]
        large = [fact for fact in facts if fact.filled >= MIN_ROWS]
        rising = sum(fact.is_monotone for fact in large)
        mean_square = sums.sums[place] ** 2 / max(int(sums.counts[place]), 1)
        inside, whole = sums.squares[place] - sums.between[place], sums.squares[place] - mean_square
        if len(large) >= 3 and rising >= NEARLY_ALL * len(large) and whole > 0 and inside < MIN_INSIDE * whole:
            notes.append(
                f"dates of column {column!r} rise from row to row, and each client has a time of its own: if they only "
                f"number the rows, groups may follow from that; leave them out: --without {shell_word(column)}"
            )
    return notes
