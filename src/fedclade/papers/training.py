"""The final models of a run on what they were trained on: FLT's appendix prints that beside the test."""

import json
import tomllib
from dataclasses import replace
from functools import lru_cache

import numpy as np

from fedclade.data import Federation
from fedclade.fleet.simulated import simulated_fleet
from fedclade.nets import net_for
from fedclade.nouns import Round
from fedclade.papers.found import Found, Seen, over
from fedclade.runs.experiment import experiment_from, rest
from fedclade.runs.folder import RunFolder


def on_training_examples(found: Found, setting: str, label: str) -> tuple[Seen, Seen]:
    """Mean accuracy over clients in percent, and its variance over clients; each over seeds."""
    seen = [scored(run) for run in found.runs(setting, label)]
    return over([accuracy for accuracy, _ in seen]), over([variance for _, variance in seen])


def scored(run: RunFolder) -> tuple[float, float]:
    """The two figures of one run."""
    tables = tomllib.loads(run.asked())
    asked = experiment_from(tables, where=str(run.path))
    federation = tested_on_training(json.dumps([tables["data"], asked.run.rounds, asked.run.seed]))
    net = net_for(str(asked.net["name"]), federation.shape, federation.classes, rest(asked.net, "name"))
    with simulated_fleet(federation, net, workers=0) as fleet:
        fleet = fleet.begin(asked.run.rounds)
        scores = fleet.evaluate(run.models().only(fleet.clients()), Round(asked.run.rounds, asked.run.seed))
    percent = 100 * scores.accuracy
    return float(percent.mean()), float(np.var(percent))


@lru_cache(maxsize=2)
def tested_on_training(asked: str) -> Federation:
    """The federation of an experiment (its data, rounds and seed), everybody tested on its training examples."""
    data, rounds, seed = json.loads(asked)
    federation = experiment_from({"data": data, "run": {"rounds": rounds, "seed": seed}}, where="a run").federation()
    held = {client: replace(each, test=each.train) for client, each in federation.data.items()}
    return replace(federation, data=held)
