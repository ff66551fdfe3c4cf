"""FedAvg with fedclade: a whole run with its folder and checkpoints, every client tested in every round."""

import tempfile
from pathlib import Path

import numpy as np
from task import Task, examples

import fedclade as fc
from fedclade.data import ClientData, Federation, Part, Pool
from fedclade.store.events import EvaluationEvent


def federation(task):
    """Each client with its training examples and an equal share of the test examples."""
    held = examples(task.data)
    trained = Pool(held["train_inputs"].reshape(-1, 1, 28, 28), held["train_labels"].reshape(-1))
    tested = Pool(held["test_inputs"].reshape(-1, 1, 28, 28), held["test_labels"])
    train_parts = np.split(np.arange(len(trained.labels)), task.clients)
    test_parts = np.split(np.arange(len(tested.labels)), task.clients)
    data = {
        f"client-{number:03d}": ClientData(Part(trained, train_parts[number]), Part(tested, test_parts[number]))
        for number in range(task.clients)
    }
    return Federation("peers", data, classes=10)


if __name__ == "__main__":
    task = Task()
    with tempfile.TemporaryDirectory() as folder:
        run = fc.train(
            federation(task),
            fc.FedAvg(),
            net="mlp",
            net_settings={"dropout": 0.0},
            out=Path(folder, "run"),
            rounds=task.rounds,
            participation=task.chosen / task.clients,
            evaluate_every=1,
            epochs=task.epochs,
            batch=task.batch,
            lr=task.lr,
            seed=task.seed,
            workers=task.workers,
        )
        for event in run.folder.events(EvaluationEvent):
            task.write_round(event.round, event.accuracy, event.seconds)
