"""Settings that train well on a user's own data, where the user names none.

Measured on tables with natural clients (docs/explanation.md): inputs are standardised, so that a large step is safe; a
large batch keeps the models of small clients close to each other; a small net is enough.
"""

from collections.abc import Mapping
from typing import Literal

from fedclade.core.task import TaskKind
from fedclade.core.training import optimizer_table
from fedclade.data.own import OwnKind

Section = Literal["net", "local", "run"]
DEFAULTS: dict[OwnKind, dict[Section, dict[str, object]]] = {
    "table": {
        "net": {"hidden": 64, "dropout": 0.0},
        "local": {"batch": 128, "lr": 0.5},
        "run": {"rounds": 200},
    },
    "images": {"net": {}, "local": {"lr": 0.1}, "run": {}},
}
REGRESSION: dict[str, object] = {"lr": 0.05, "weight_decay": 0.03}
NET = "mlp"  # whose settings these are
FEW_CLIENTS = 20  # fewer clients all take part in every round


def own_defaults(
    kind: OwnKind, clients: int, *, task: TaskKind = "classification", at_sites: bool = False, raw: bool = False
) -> dict[Section, dict[str, object]]:
    """The defaults of the sections, for data of this kind.

    On this machine the rows of a table are cheap: all of its clients take part in every round, however many. Where
    numbers are raw (`prepare = "none"`), no step is known to be safe.
    """
    known = dict(DEFAULTS[kind])
    if task == "regression":  # squared errors have no bound, as the steps that follow from them
        known["local"] = {**known["local"], **REGRESSION}
    if raw:
        known["local"] = {name: value for name, value in known["local"].items() if name != "lr"}
    if (kind == "table" and not at_sites) or clients < FEW_CLIENTS:
        return {**known, "run": {**known["run"], "participation": 1.0}}
    return known


def array_defaults(task: TaskKind, clients: int) -> dict[Section, dict[str, object]]:
    """The same for arrays, whose inputs may be anything: with few clients all of them take part.

    Of a classification they do not, as in the worlds that it is compared on.
    """
    every_client = task != "classification" and clients < FEW_CLIENTS
    return {"run": {"participation": 1.0}} if every_client else {}


def with_defaults(
    tables: Mapping[str, Mapping[str, object]], defaults: Mapping[Section, Mapping[str, object]]
) -> dict[str, Mapping[str, object]]:
    """The sections with these values where they have none; another net has defaults of its own."""
    made = dict(tables)
    for section, values in defaults.items():
        given = tables.get(section, {})
        if section == "net" and given.get("name", NET) != NET:
            continue
        made[section] = {**(local_defaults(values, given) if section == "local" else values), **given}
    return made


def local_defaults(values: Mapping[str, object], given: Mapping[str, object]) -> Mapping[str, object]:
    """The defaults of `[local]` beside what is given: these step sizes are for SGD, and far too long for Adam.

    An optimiser that is given says itself how weights decay.
    """
    if "optimizer" not in given:
        return values
    is_sgd = optimizer_table(given["optimizer"]).get("kind", "sgd") == "sgd"
    return {name: value for name, value in values.items() if name != "weight_decay" and (is_sgd or name != "lr")}


def says_all(local: Mapping[str, object]) -> bool:
    """Whether a `[local]` has all that depends on the task: then no data are read for its defaults."""
    return "lr" in local and ("weight_decay" in local or "optimizer" in local)
