"""Which items have two readings: as the paper says, and as its authors' code does it (`--as-published`)."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from fedclade.nouns import InputError
from fedclade.papers.item import Item, Terms
from fedclade.papers.plans import told


def published_ones(
    items: Sequence[Item], terms: Terms, every: Iterable[Item], *, by_name: bool
) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """Those of these items that are read in two ways, and the names of the others; an error if one was asked for."""
    papers = {item.paper for item in every if differs(item, terms)}
    two = tuple(item for item in items if has_two(item, terms, papers))
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


def has_two(item: Item, terms: Terms, papers: Iterable[str]) -> bool:
    """Whether it is read in two ways. An item without runs has nothing to compare: it is like its paper's others."""
    return differs(item, terms) if item.settings(terms) else item.paper in papers


def differs(item: Item, terms: Terms) -> bool:
    """Whether its runs are others as published; where their files are does not count."""
    printed, published = (
        [told(setting) for setting in item.settings(replace(terms, published=which))] for which in (False, True)
    )
    return printed != published
