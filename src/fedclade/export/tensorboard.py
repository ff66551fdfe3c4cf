"""A run as TensorBoard reads it: a curve for each figure, and how accuracy is spread over clients."""

from pathlib import Path

import numpy as np

from fedclade.export.history import rows, settings
from fedclade.nouns import InputError
from fedclade.runs.folder import RunFolder


def write_tensorboard(folder: RunFolder, out: Path) -> list[Path]:
    """Write one event file into a new or empty folder: a second one beside it would be drawn over it."""
    from tensorboardX import SummaryWriter

    if out.exists() and any(out.iterdir()):
        raise InputError(
            "the folder is taken", where=str(out), got="something that is there", need="a new or empty one"
        )
    when: dict[int, float] = {}
    with SummaryWriter(logdir=str(out)) as writer:
        asked = "\n".join(f"    {name} = {value}" for name, value in settings(folder).items())
        writer.add_text("experiment", asked, 0)
        for row in rows(folder):
            when[row.round] = row.seconds
            for name, value in row.known():
                writer.add_scalar(name, value, row.round, row.seconds)
        table = folder.clients()
        numbers, accuracies = table["round"].to_numpy(), table["accuracy"].to_numpy()
        for number in np.unique(numbers):
            reached = accuracies[numbers == number]
            reached = reached[np.isfinite(reached)]
            if len(reached):
                writer.add_histogram("accuracy of clients", reached, int(number), "auto", when.get(int(number)))
    return sorted(out.iterdir())
