"""Run folders as fedclade writes them, made without training: small, quick, and with any names."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from fedclade.core import Assignment
from fedclade.dashboard.listing import key_of
from fedclade.store.checkpoints import Checkpoint
from fedclade.store.client_table import CLIENT_SCHEMA
from fedclade.store.events import EvaluationEvent, RoundEvent, StartEvent
from fedclade.store.run_folder import RunFolder

EXPERIMENT = """
[data]
source = "digits"
[method]
name = "{method}"
[run]
rounds = {rounds}
seed = 3
"""
TENSORS = ["layer.weight 2x3", "layer.bias 2"]
SIZE = 8


class Written:
    """A run that a test writes, round by round."""

    def __init__(
        self, path: Path, clients: Sequence[str] = ("a", "b", "c", "d"), rounds: int = 10, method: str = "flt"
    ) -> None:
        experiment = EXPERIMENT.format(method=method, rounds=rounds)
        self.folder = RunFolder.create(path, experiment, {"tensors": TENSORS, "seed": 3})
        self.clients = list(clients)
        self.rounds = rounds
        self.folder.log_event(StartEvent(clients=len(clients), bytes_up=100, bytes_down=0))
        self.save(0)

    def log_line(self, **line: object) -> None:
        """A line that fedclade would not write."""
        self.folder._writers()[0].append(json.dumps(line).encode() + b"\n")

    def save(self, number: int) -> None:
        """What is buffered is on the disk after this."""
        self.folder.save(Checkpoint(number, {}, {"x": np.zeros(1, np.float32)}, {}))

    def round(self, number: int, accuracy: float, group_of: Mapping[str, int] | None = None, **facts: object) -> None:
        """One round with its evaluation: client i of n has `accuracy` + i/(100 n)."""
        groups = group_of or dict.fromkeys(self.clients, 0)
        reached = {client: accuracy + at / (100 * len(self.clients)) for at, client in enumerate(self.clients)}
        count = len(self.clients)
        event = RoundEvent(round=number, bytes_up=600_000, bytes_down=400_000, took_part=count, facts=facts)
        self.folder.log_event(event)
        means = [
            float(np.mean([reached[client] for client in self.clients if groups[client] == group]))
            for group in sorted(set(groups.values()))
        ]
        self.folder.log_event(
            EvaluationEvent(
                round=number,
                accuracy=accuracy,
                worst_tenth=accuracy - 0.1,
                loss=1.0,
                group_count=len(means),
                accuracy_by_group=tuple(means),
                ari=0.5,
            )
        )
        accuracies, homes = ([each[client] for client in self.clients] for each in (reached, groups))
        table = [[number] * count, self.clients, accuracies, [1.0] * count, homes, [250] * count, [True] * count]
        table += [accuracies, [None] * count, [10] * count]
        self.folder.log_clients(pa.record_batch(table, schema=CLIENT_SCHEMA))
        self.save(number)

    def finish(self, accuracy: float, groups: int = 1) -> None:
        """The verdict; client i of n has the model i, i, ..."""
        rows = np.repeat(np.arange(len(self.clients), dtype=np.float32)[:, None], SIZE, axis=1)
        models = Assignment(rows, {client: at for at, client in enumerate(self.clients)})
        result = {"method": "flt", "seed": 3, "rounds": self.rounds, "accuracy": accuracy, "group_count": groups}
        self.folder.finish(result, models)
        self.folder.close()


def finished(path: Path, clients: Sequence[str] = ("a", "b", "c", "d"), rounds: int = 3, method: str = "flt") -> Path:
    """A finished run of two groups: the first half of the clients, and the second."""
    run = Written(path, clients, rounds, method)
    halves = {client: 2 * at // len(run.clients) for at, client in enumerate(run.clients)}
    for number in range(1, rounds + 1):
        run.round(number, 0.5 + number / 100, halves)
    run.finish(0.5 + rounds / 100, groups=2)
    return path


def key(name: str) -> str:
    """Of a run by its place below the folder, or of a client."""
    return key_of(name.encode())


def many(folder: Path, count: int) -> None:
    """So many finished runs."""
    first = finished(folder / "run-0000")
    for number in range(1, count):
        shutil.copytree(first, folder / f"run-{number:04d}")
