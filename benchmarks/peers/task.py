"""What every program is given and tells: the data, the settings, and the end of each round.

A program is called with three files: the examples (npz), the settings (JSON) and where to write. It knows nothing of
fedclade, so that it runs in an environment of its own.
"""

import json
import sys
import time
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, SequentialSampler, TensorDataset


class Task:
    """FedAvg on so many clients, as the settings say."""

    def __init__(self, arguments=None):
        data, settings, self.out = arguments or sys.argv[1:4]
        self.data = data
        for name, value in json.loads(Path(settings).read_text()).items():
            setattr(self, name, value)  # clients, chosen, rounds, batch, epochs, lr, workers, seed

    def train(self, client):
        """A client's inputs (examples, 784) and labels."""
        held = examples(self.data)
        return scale_pixels(held["train_inputs"][client]), torch.from_numpy(held["train_labels"][client])

    def test(self):
        """The inputs and labels that the common model is judged by."""
        held = examples(self.data)
        return scale_pixels(held["test_inputs"]), torch.from_numpy(held["test_labels"])

    def model(self):
        """The papers' perceptron, without dropout."""
        return nn.Sequential(nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 10))

    def first_model(self):
        """The same with initial weights from the seed."""
        torch.manual_seed(self.seed)
        return self.model()

    def write_round(self, number, accuracy, at=None):
        """A round has ended, evaluation included: now, or at this time (seconds since 1970)."""
        line = {"round": number, "time": time.time() if at is None else at, "accuracy": float(accuracy)}
        with open(self.out, "a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")


@lru_cache(maxsize=1)
def examples(path):
    """The arrays, read once in a process."""
    with np.load(path, allow_pickle=False) as held:
        return {name: held[name] for name in held.files}


def scale_pixels(pixels):
    """Bytes as 0 to 1."""
    return torch.from_numpy(pixels.reshape(len(pixels), -1)).float() / 255


def loader(inputs, labels, batch, *, shuffle=True, generator=None):
    """A DataLoader that takes a batch by one indexing, not example by example: faster than the usual one."""
    dataset = TensorDataset(inputs, labels)
    order = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
    return DataLoader(dataset, sampler=BatchSampler(order, batch, drop_last=False), batch_size=None)


def accuracy_of(model, inputs, labels):
    """The share of the examples that a model gets right, in one forward pass."""
    model.eval()
    with torch.inference_mode():
        return (model(inputs).argmax(dim=1) == labels).float().mean().item()


def one_thread():
    """As OMP_NUM_THREADS says, for whatever did not listen."""
    torch.set_num_threads(1)
