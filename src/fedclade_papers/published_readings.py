"""Which items have two readings: as the paper says, and as its authors' code does it (`--as-published`)."""

from collections.abc import Sequence
from dataclasses import replace

from fedclade.core import InputError
from fedclade_papers.item import Item, Terms
from fedclade_papers.registry import ITEMS
from fedclade_papers.run_plans import setting_data


def items_with_two_readings(
    items: Sequence[Item], terms: Terms, *, by_name: bool
) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """The items that have two readings, and the names of the others; an error if one of those was asked for by name.

    An item without runs has nothing to compare: it has two readings if another item of its paper has.
    """
    papers = {item.paper for item in ITEMS.values() if differs_as_published(item, terms)}
    two = tuple(
        item for item in items if (differs_as_published(item, terms) if item.settings(terms) else item.paper in papers)
    )
    others = tuple(item.name for item in items if item not in two)
    if others and by_name:
        raise InputError(
            "the item has one reading only",
            where="--as-published",
            got=", ".join(others),
            need="an item whose authors' code does something else than the paper says",
            do="leave out --as-published",
        )
    return two, others


def differs_as_published(item: Item, terms: Terms) -> bool:
    """Whether its runs as published are other ones than as printed; the folders of files do not count."""
    printed, published = (
        [setting_data(setting) for setting in item.settings(replace(terms, published=which))] for which in (False, True)
    )
    return printed != published
