"""All items in the order of the papers, and how they are named."""

from collections.abc import Sequence
from dataclasses import replace

from fedclade.core import InputError
from fedclade.core.settings import unknown_name_error
from fedclade_papers import (
    abc_figure5,
    abc_figure6,
    abc_table1,
    cfl_figure3,
    cfl_figure6,
    cfl_figure7,
    cfl_figure8,
    cfl_figure9,
    cfl_figure10,
    cfl_newcomers,
    cfl_theory,
    cfl_thresholds,
    flt_cifar10_groups,
    flt_figure2,
    flt_figure3,
    flt_figure4,
    flt_figure5,
    flt_figure6,
    flt_figure7,
    flt_figure12,
    flt_table1,
    flt_table2,
    flt_table3,
    flt_table4,
    flt_table5,
    flt_table6,
    flt_theory,
)
from fedclade_papers.item import Item, Setting, Terms

MODULES = (
    *(flt_table1, flt_table2, flt_table3, flt_table4, flt_table5, flt_table6),
    *(flt_figure2, flt_figure3, flt_figure4, flt_figure5, flt_figure6, flt_figure7, flt_figure12),
    *(flt_cifar10_groups, flt_theory),
    *(cfl_figure3, cfl_figure6, cfl_figure7, cfl_figure8, cfl_thresholds, cfl_figure9, cfl_figure10),
    *(cfl_newcomers, cfl_theory),
    *(abc_figure5, abc_figure6, abc_table1),
)
SHOWN_WITH = {f"flt-table{number + 6}": f"flt-table{number}" for number in range(1, 5)}
"""Tables of the appendix: training accuracies of tables 1 to 4."""
ITEMS: dict[str, Item] = {module.ITEM.name: module.ITEM for module in MODULES}


def item_order(name: str) -> tuple[int, str]:
    """A sort key: items, and parts of them, in the order of the papers."""
    whole, _, part = name.partition(":")
    return list(ITEMS).index(whole) if whole in ITEMS else len(ITEMS), part


def items_named(names: Sequence[str]) -> tuple[Item, ...]:
    """The items of these names, `flt-table1:mnist` for a part of one; all of them if there are none."""
    return tuple(item_named(name) for name in dict.fromkeys(names)) or tuple(ITEMS.values())


def item_named(name: str) -> Item:
    """One item, or a part of it."""
    whole, colon, part = name.partition(":")
    if whole in SHOWN_WITH:
        got, need = f'"{name}"', f"{SHOWN_WITH[whole]}, which shows it too"
        raise InputError("the table is part of another item", where="reproduce", got=got, need=need)
    if whole not in ITEMS:
        raise unknown_name_error("the item", "reproduce", whole, ITEMS)
    item = ITEMS[whole]
    if not colon:
        return item
    if part not in item.parts:
        if item.parts:
            raise unknown_name_error("the part of an item", whole, part, item.parts)
        got, need = f'"{part}"', "no part: it is one piece"
        raise InputError("the part of an item is not known", where=whole, got=got, need=need, do=f"reproduce {whole}")

    def part_settings(terms: Terms) -> tuple[Setting, ...]:
        found = tuple(setting for setting in item.settings(terms) if part in setting.name.split("-"))
        if not found:
            raise InputError(
                "the part of an item has no runs at this scale",
                where=f"{whole}:{part}",
                got=f"--scale {terms.scale}",
                need="--scale paper",
                do="ask for that, or for the whole item",
            )
        return found

    return replace(item, name=f"{whole}:{part}", settings=part_settings, parts=())
