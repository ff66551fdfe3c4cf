"""ABC, figure 6: accuracy against rounds; ABC's curve is steadier."""

import numpy as np

from fedclade_papers.abc import PAPER, SOURCES, part_of, session, sessions
from fedclade_papers.abc_table1 import ITEM as TABLE_1
from fedclade_papers.item import Claim, Item, Outcome, Setting, Terms
from fedclade_papers.run_results import ItemRuns

CLEARLY_LESS = 0.9  # less by a tenth is less


def settings(terms: Terms) -> tuple[Setting, ...]:
    """The sessions of ten clients under 2C-1: the paper does not say which three it draws."""
    data_sets = dict.fromkeys(data for data, *_ in sessions(terms))
    return tuple(session(terms, data, "2C-1", 10, 2) for data in data_sets)


def read(found: ItemRuns) -> Outcome:
    """Curves, and how much accuracy goes down from one evaluation to the next."""
    series, claims = {}, []
    for setting in found.settings:
        data = setting.name.split("-")[1].partition("_")[0].upper()
        drops: dict[str, float] = {}
        for label in found.labels(setting.name):
            series[f"{data}, {label}"] = found.curve(setting.name, label)
            drops[label] = float(np.mean([mean_drop(curve["y"]) for curve in found.curves(setting.name, label)]))
        claims.append(
            Claim(
                f"{data}: ABC's curve is less wiggly than FedAvg's",
                drops["ABC"] < CLEARLY_LESS * drops["FedAvg"],
                f"falls of {drops['ABC']:.2f} points on average, FedAvg's {drops['FedAvg']:.2f}. "
                + ", ".join(f"{label} {value:.2f}" for label, value in drops.items() if label not in ("ABC", "FedAvg")),
            )
        )
        area = {label: float(np.mean(found.curve(setting.name, label)["y"])) for label in drops}
        claims.append(
            Claim(
                f"{data}: ABC's is above FedAvg's, on the mean over all rounds",
                area["ABC"] > area["FedAvg"],
                ", ".join(f"{label} {value:.1f} %" for label, value in area.items()),
                main=False,
            )
        )
    return Outcome(claims=tuple(claims), series=series)


def mean_drop(accuracy: list[float]) -> float:
    """How far accuracy falls between two evaluations, in points, as a mean over a run; a rise counts as 0."""
    return float(np.maximum(-np.diff(accuracy), 0.0).mean()) if len(accuracy) > 1 else 0.0


ITEM = Item(
    name="abc-figure6",
    paper=PAPER,
    title="Accuracy against rounds for FedAvg, the least used clients and ABC",
    differences=TABLE_1.differences,
    rule="Wiggly: how far accuracy falls between two evaluations, on the mean over a run; less is a tenth less.",
    settings=settings,
    parts=tuple(part_of(data, 10) for data in SOURCES),
    read=read,
)
