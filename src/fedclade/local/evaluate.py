"""How a model does on a client's examples. Nothing is trained, and nothing of the model changes."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy

from fedclade.data import Part
from fedclade.local.workbench import Workbench
from fedclade.nouns import Row, Rows

BATCH = 1000  # examples in one forward pass


def score(bench: Workbench, row: Row, part: Part) -> tuple[int, float]:
    """How many examples the model gets right, and its mean loss."""
    bench.load(row)
    bench.module.eval()
    inputs, labels = torch.from_numpy(part.inputs), torch.from_numpy(part.labels)
    correct, loss = 0, 0.0
    # A seed, since a module may draw numbers here too (a dropout that does not ask whether it is trained).
    with bench.net.seeded(0), torch.inference_mode():
        for some, wanted in zip(torch.split(inputs, BATCH), torch.split(labels, BATCH), strict=True):
            logits = bench.module(some)
            correct += int((logits.argmax(dim=1) == wanted).sum())
            loss += float(cross_entropy(logits, wanted, reduction="sum"))
    return correct, loss / len(part)


def losses_of(bench: Workbench, rows: Rows, part: Part) -> NDArray[np.float64]:
    """The mean loss of each model, (models,)."""
    return np.array([score(bench, row, part)[1] for row in rows], np.float64)
