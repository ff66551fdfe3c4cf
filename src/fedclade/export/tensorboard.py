"""A run for TensorBoard: a curve for each metric, and histograms of the clients' main metric."""

from pathlib import Path

import numpy as np

from fedclade.core import InputError
from fedclade.export.history import flat_settings, round_rows
from fedclade.store.events import EvaluationEvent
from fedclade.store.run_folder import RunFolder


def write_tensorboard(folder: RunFolder, out: Path) -> list[Path]:
    """Write one event file into a new or empty folder: a second one beside it would be drawn over it."""
    from tensorboardX import SummaryWriter

    if out.exists() and any(out.iterdir()):
        got = "something that is there"
        raise InputError("the folder is taken", where=str(out), got=got, need="a new or empty one")
    when: dict[int, float] = {}
    with SummaryWriter(logdir=str(out)) as writer:
        asked = "\n".join(f"    {name} = {value}" for name, value in flat_settings(folder).items())
        writer.add_text("experiment", asked, 0)
        for row in round_rows(folder):
            when[row.event.round] = row.event.seconds
            for name, value in row.known_metrics():
                writer.add_scalar(name, value, row.event.round, row.event.seconds)
        table = folder.clients()
        last = next(iter([*folder.events(EvaluationEvent)][-1:]), EvaluationEvent())
        title = f"{last.metric_kind.label} of clients"
        numbers = table["round"].to_numpy()
        values = table["metric" if last.metric else "accuracy"].to_numpy()
        for number in np.unique(numbers):
            reached = values[numbers == number]
            reached = reached[np.isfinite(reached)]
            if len(reached):
                writer.add_histogram(title, reached, int(number), "auto", when.get(int(number)))
    return sorted(out.iterdir())
