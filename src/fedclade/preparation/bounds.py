"""The bounds at which numbers are cut off, from their quantiles over all clients."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedclade.core import ClientId, Round
from fedclade.core.preparation import Numbers
from fedclade.fleet import Fleet
from fedclade.fleet.results import ClientTable
from fedclade.preparation.quantiles import Sketch, sketch_numbers
from fedclade.preparation.roles import Roles

DATE_BOUNDS = {"month": (1.0, 12.0), "weekday": (0.0, 6.0), "hour": (0.0, 23.0)}  # beside the year


@dataclass(frozen=True, eq=False)
class BoundedNumbers:
    """Numbers, with the bounds at which they are cut off."""

    numbers: Numbers
    low: float
    high: float
    middle: float
    sketch: Sketch | None = None
    """None where the bounds are known without."""


def bound_numbers(
    fleet: Fleet, clients: Sequence[ClientId], tables: Mapping[ClientId, ClientTable], roles: Roles, now: Round
) -> list[BoundedNumbers]:
    """All numbers with their bounds: as far again beyond the first and the last percent as these are apart."""
    wanted = [
        Numbers(column, role, "year" if role == "date" else "", roles.orders.get(column, ""))
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
            numbers = Numbers(column, role, "year" if role == "date" else "", roles.orders.get(column, ""))
            found.append(find_bounds(numbers, sketched[numbers]))
        if role == "date":
            found += [
                BoundedNumbers(Numbers(column, "date", part, numbers.order), low, high, low)  # type: ignore[arg-type]  # its keys
                for part, (low, high) in DATE_BOUNDS.items()
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
