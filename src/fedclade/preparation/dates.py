"""What stands first in the dates of a column, day or month, over all clients: one client's dates may not show it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fedclade.core import ClientId
from fedclade.core.preparation import DateOrder, Dates
from fedclade.core.problems import Problem, shell_word
from fedclade.fleet.results import ClientTable


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
