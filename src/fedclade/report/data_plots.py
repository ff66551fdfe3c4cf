"""Plots of data: what examples look like, and how a world spreads them. PNG, SVG or PDF, by the file's ending."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedclade.core import ClientId, InputError
from fedclade.core.task import LabelForm
from fedclade.data.examples import Part, Source
from fedclade.data.federation import Federation
from fedclade.report.canvas import new_figure
from fedclade.report.palette import BLACK, EXAMPLE_SCALE, SHARE_SCALE, group_colour
from fedclade.report.plots.relatedness import group_edges

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = (".png", ".svg", ".pdf")
MAX_CLASSES = 50  # rows of the grid of examples
EXAMPLES_PER_CLASS = 12
MAX_NAMED_CLIENTS = 60  # with more clients than these their names would not be readable
AXIS_LABELS: dict[LabelForm, str] = {
    "class": "class, as the client calls it",
    "number": "interval of the label, from low to high",
    "flags": "flag; the last one is none at all",
}


def draw_examples(source: Source, path: Path) -> Path:
    """Draw a row of examples for each class."""
    if len(source.shape) != 3 or source.shape[0] not in (1, 3):
        raise InputError(
            "only images have a picture", where=source.name, got=f"inputs {source.shape}", need="(1 or 3, n, n)"
        )
    labels = [label for label in range(source.classes) if (source.train.labels == label).any()][:MAX_CLASSES]
    figure = new_figure(0.55 * EXAMPLES_PER_CLASS + 1.6, 0.55 * len(labels) + 0.7)
    axes = figure.subplots(len(labels), EXAMPLES_PER_CLASS, squeeze=False)
    for row, label in zip(axes, labels, strict=True):
        index = np.flatnonzero(source.train.labels == label)[:EXAMPLES_PER_CLASS]
        shown = np.asarray(Part(source.train, index).inputs, np.float32)
        for place, cell in enumerate(row):
            cell.axis("off")
            if place < len(shown):
                cell.imshow(np.squeeze(shown[place].transpose(1, 2, 0)), cmap=EXAMPLE_SCALE, vmin=0, vmax=1)
        name = source.class_names[label] if source.class_names else str(label)
        row[0].text(-0.3, 0.5, name, transform=row[0].transAxes, ha="right", va="center")
    figure.suptitle(f"{source.name}: {len(source.train.labels):,} training examples, {source.classes} classes")
    return save_figure(figure, path)


def draw_world(federation: Federation, path: Path) -> Path:
    """Draw clients against classes as a heat map, ordered by group, with the size of each client beside it."""
    clients, groups = order_by_group(federation)
    counts = class_counts(federation, clients)
    sums = np.array([len(federation[client].train) for client in clients])
    few = len(clients) <= MAX_NAMED_CLIENTS
    kinds, task = counts.shape[1], federation.task
    figure = new_figure(max(6.5, min(14, 0.3 * kinds + 5)), max(3.5, min(12, 0.22 * len(clients) + 2)))
    heat, sizes = figure.subplots(1, 2, sharey=True, width_ratios=(3, 1))
    shares = heat.imshow(counts / sums[:, None], aspect="auto", cmap=SHARE_SCALE, vmin=0, interpolation="nearest")
    colours = [group_colour(group) for group in groups]
    sizes.barh(np.arange(len(clients)), sums, color=colours, height=0.8 if few else 1)
    borders = group_edges(groups)
    for border in borders:
        for axis in (heat, sizes):
            axis.axhline(border - 0.5, color=BLACK, linewidth=0.8)
    for start, stop in zip([0, *borders], [*borders, len(groups)], strict=True):
        if groups[start] >= 0:
            middle, across = (start + stop - 1) / 2, sizes.get_yaxis_transform()
            sizes.text(1.02, middle, f"group {groups[start]}", transform=across, va="center")
    heat.set_yticks(np.arange(len(clients)) if few else [], clients if few else [])
    heat.set_xticks(np.arange(kinds)[:: 1 + kinds // 60])
    heat.tick_params(labelsize=8)
    heat.set_xlabel(AXIS_LABELS[task.labels])
    heat.set_ylabel("client" if few else f"{len(clients):,} clients")
    sizes.set_xlabel("examples")
    figure.colorbar(shares, ax=heat, location="top", shrink=0.5, label="share of the client's examples")
    figure.suptitle(federation.name)
    return save_figure(figure, path)


def order_by_group(federation: Federation) -> tuple[list[ClientId], list[int]]:
    """The clients in the order of their planted groups, and the group of each; -1 where none are planted."""
    if federation.truth is None:
        return list(federation.clients), [-1] * len(federation)
    clients = [client for members in federation.truth.members for client in members]
    return clients, [federation.truth.labels[client] for client in clients]


def class_counts(federation: Federation, clients: list[ClientId]) -> NDArray[np.int64]:
    """How many training examples of each class, or other kind of label, each client has: (clients, kinds)."""
    rows = [federation.task.kinds_of(federation[client].train.labels).sum(axis=0) for client in clients]
    counts: NDArray[np.int64] = np.stack(rows)
    return counts


def save_figure(figure: "Figure", path: Path) -> Path:
    """Write a plot as a file."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(
            "a picture of this kind cannot be made", where=str(path), got=path.suffix, need=", ".join(ENDINGS)
        )
    try:
        figure.savefig(path, dpi=130)
    except OSError as error:
        raise InputError("the picture cannot be written", where=str(path), got=error.strerror or str(error)) from None
    return path
