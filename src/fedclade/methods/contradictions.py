"""Settings of FLT that would do nothing beside others: an error, so that nobody believes that they did something."""

from dataclasses import fields
from typing import TYPE_CHECKING

from fedclade.nouns import InputError

if TYPE_CHECKING:
    from fedclade.methods.flt import FLT

SMALLEST, LARGEST = 1e-6, 1e9  # of gamma: its square is still a number
ONLY_WITH: tuple[tuple[tuple[str, ...], str, tuple[object, ...]], ...] = (
    (("fewest", "noise"), "signature", ("class-moments",)),
    (("encoder", "points", "tuning", "embedding", "distance", "cut"), "signature", ("encoder",)),
    (("tuning_epochs",), "tuning", ("clients", "together")),
    (("dimensions",), "embedding", ("umap",)),
    (("soft",), "case", ("graph",)),
    (("groups",), "cut", ("average", "ward")),
    (("gate",), "groups", (0,)),
)
"""Settings; the one on which it depends whether they do something; and the values with which they do."""


def check_settings(how: "FLT") -> None:
    """An error if a setting was changed that does nothing beside the others."""
    defaults = {field.name: field.default for field in fields(how)}
    for names, other, values in ONLY_WITH:
        for name in names:
            if getattr(how, name) != defaults[name] and getattr(how, other) not in values:
                raise idle(how, name, (other,), " or ".join(repr(value) for value in values))
    if how.gamma and how.case == "groups" and how.cut == "average":
        raise idle(how, "gamma", ("case", "cut"), "case 'graph', or cut 'ward' or 'components'")
    if 0 < how.gamma < SMALLEST:
        raise InputError(
            "gamma is too small", where="FLT.gamma", got=str(how.gamma), need=f"0, or {SMALLEST:g} to {LARGEST:g}"
        )
    if how.groups > how.most:
        raise InputError(
            "groups exceeds most",
            where="FLT.groups",
            got=f"{how.groups} with most = {how.most}",
            need="most of at least as many",
            do=f"set most to {how.groups} or more",
        )


def check_number(groups: int, clients: int) -> None:
    """An error if more groups are asked for than there are clients."""
    if groups > clients:
        raise InputError(
            "there are fewer clients than groups",
            where="FLT.groups",
            got=f"{groups} groups, {clients} clients at the start",
            need=f"at most {clients} groups",
            do="give fewer, or 0: they are found",
        )


def idle(how: "FLT", name: str, others: tuple[str, ...], need: str) -> InputError:
    """The error of a setting that does nothing beside others."""
    beside = " and ".join(f"{other} = {getattr(how, other)!r}" for other in others)
    return InputError(
        f"{name} does nothing",
        where=f"FLT.{name}",
        got=f"{getattr(how, name)!r} with {beside}",
        need=need if len(others) > 1 else f"{others[0]} {need}",
        do=f"change {' or '.join(others)}, or leave {name} out",
    )
