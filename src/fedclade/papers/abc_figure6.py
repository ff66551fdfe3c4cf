"""ABC, figure 6: accuracy against rounds; ABC's curve is steadier."""

import numpy as np

from fedclade.papers.abc import PAPER, session, sessions
from fedclade.papers.abc_table1 import ITEM as TABLE_1
from fedclade.papers.found import Found
from fedclade.papers.item import Claim, Item, Outcome, Setting, Terms
from fedclade.papers.verdicts import CLAIMS_RULE
from fedclade.report.story import number as as_number

LESS = 0.9  # less by a tenth is less


def settings(terms: Terms) -> tuple[Setting, ...]:
    """The sessions of ten clients under 2C-1: the paper does not say which three it draws."""
    data_sets = dict.fromkeys(data for data, *_ in sessions(terms))
    return tuple(session(terms, data, "2C-1", 10, 2) for data in data_sets)


def read(found: Found) -> Outcome:
    """Curves, and how much accuracy goes down from one evaluation to the next."""
    series, claims = {}, []
    for setting in found.settings:
        data = setting.name.split("-")[1].upper()
        restless: dict[str, float] = {}
        for label in found.labels(setting.name):
            series[f"{data}, {label}"] = found.curve(setting.name, label)
            restless[label] = float(
                np.mean([unrest(found, setting.name, label, seed) for seed in range(setting.seeds)])
            )
        claims.append(
            Claim(
                f"{data}: ABC's curve is less wiggly than FedAvg's",
                restless["ABC"] < LESS * restless["FedAvg"],
                ", ".join(f"{label} {value:.2f} points" for label, value in restless.items()),
            )
        )
        area = {label: float(np.mean(found.curve(setting.name, label)["y"])) for label in restless}
        claims.append(
            Claim(
                f"{data}: ABC's is above FedAvg's, on the mean over all rounds",
                area["ABC"] > area["FedAvg"],
                ", ".join(f"{label} {value:.1f} %" for label, value in area.items()),
                main=False,
            )
        )
    return Outcome(claims=tuple(claims), series=series)


def unrest(found: Found, setting: str, label: str, seed: int) -> float:
    """How far accuracy falls between two evaluations, in points, on the mean over a run: a rise is no unrest."""
    run = found.runs(setting, label)[seed]
    reached = [100 * as_number(event["accuracy"]) for event in run.events() if event["event"] == "evaluation"]
    return float(np.maximum(-np.diff(reached), 0.0).mean()) if len(reached) > 1 else 0.0


ITEM = Item(
    name="abc-figure6",
    paper=PAPER,
    title="Accuracy against rounds for FedAvg, the least used clients and ABC",
    differs=TABLE_1.differs,
    rule=CLAIMS_RULE
    + " Wiggly: how far accuracy falls between two evaluations, on the mean over a run; less is a tenth less.",
    settings=settings,
    read=read,
)
