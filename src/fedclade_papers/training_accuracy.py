"""Accuracy of the final models on training examples: FLT's appendix prints it beside the test accuracy."""

import json
import tomllib
from dataclasses import replace
from functools import lru_cache

import numpy as np

from fedclade.core import Round
from fedclade.data import Federation
from fedclade.fleet.simulated import simulated_fleet
from fedclade.nets import net_for
from fedclade.runs.experiment import experiment_from, without_keys
from fedclade.store.run_folder import RunFolder
from fedclade_papers.run_results import ItemRuns, SeedStatistics, seed_statistics


def on_training_examples(found: ItemRuns, setting: str, label: str) -> tuple[SeedStatistics, SeedStatistics]:
    """Mean accuracy over clients in percent, and its variance over clients; each over seeds."""
    seen = [run_accuracy_and_variance(run) for run in found.runs(setting, label)]
    return seed_statistics([accuracy for accuracy, _ in seen]), seed_statistics([variance for _, variance in seen])


def run_accuracy_and_variance(run: RunFolder) -> tuple[float, float]:
    """The two numbers of one run."""
    tables = tomllib.loads(run.experiment_toml())
    asked = experiment_from(tables, where=str(run.path))
    federation = tested_on_training(json.dumps([tables["data"], asked.run.rounds, asked.run.seed]))
    net = net_for(str(asked.net["name"]), federation.shape, federation.classes, without_keys(asked.net, "name"))
    with simulated_fleet(federation, net, workers=0) as fleet:
        fleet = fleet.begin(asked.run.rounds)
        scores = fleet.evaluate(run.models().restrict(fleet.clients()), Round(asked.run.rounds, asked.run.seed))
    percent = 100 * scores.mean_scores
    return float(percent.mean()), float(np.var(percent))


@lru_cache(maxsize=2)
def tested_on_training(asked: str) -> Federation:
    """The federation of an experiment (data, rounds and seed as JSON), each client tested on its training examples."""
    data, rounds, seed = json.loads(asked)
    federation = experiment_from({"data": data, "run": {"rounds": rounds, "seed": seed}}, where="a run").federation()
    held = {client: replace(each, test=each.train) for client, each in federation.data.items()}
    return replace(federation, data=held)
