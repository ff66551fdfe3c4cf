"""How a model does on a client's examples. Nothing is trained, and nothing of the model changes."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy

from fedclade.data import Part
from fedclade.local.workbench import Workbench
from fedclade.nets.objective import LanguageModel, predicted
from fedclade.nouns import Row, Rows

BATCH = 1000  # examples in one forward pass
TEXTS = 100  # the same of a language model, which has outputs for every word


def score(bench: Workbench, row: Row, part: Part) -> tuple[int, float]:
    """How many examples the model gets right, and its mean loss.

    Of a language model: the share of words that it gets right, as whole examples, and its mean loss of a word.
    """
    bench.load(row)
    bench.module.eval()
    inputs, labels = torch.from_numpy(part.inputs), torch.from_numpy(part.labels)
    correct, count, loss = 0, 0, 0.0
    # A seed, since a module may draw numbers here too (a dropout that does not ask whether it is trained).
    with bench.net.seeded(0), torch.inference_mode():
        size = TEXTS if isinstance(bench.module, LanguageModel) else BATCH
        for some, wanted in zip(torch.split(inputs, size), torch.split(labels, size), strict=True):
            logits, right = predicted(bench.module, some, wanted)
            correct += int((logits.argmax(dim=1) == right).sum())
            count += len(right)
            loss += float(cross_entropy(logits, right, reduction="sum"))
    return correct * len(part) // max(count, 1), loss / max(count, 1)


def losses_of(bench: Workbench, rows: Rows, part: Part) -> NDArray[np.float64]:
    """The mean loss of each model, (models,)."""
    return np.array([score(bench, row, part)[1] for row in rows], np.float64)
