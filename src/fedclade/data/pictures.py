"""Pictures of data: what examples look like, and how a world spreads them. PNG, SVG or PDF, by the file's ending."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedclade.data.examples import Part, Source
from fedclade.data.federation import Federation
from fedclade.nouns import ClientId, InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = (".png", ".svg", ".pdf")
MOST_CLASSES = 50  # rows of the grid of examples
EACH = 12  # examples of a class
GROUP_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
LABELLED = 60  # with more clients than these their names would not be readable


def draw_examples(source: Source, path: Path) -> Path:
    """A row of examples for each class."""
    if len(source.shape) != 3 or source.shape[0] not in (1, 3):
        raise InputError(
            "only images have a picture", where=source.name, got=f"inputs {source.shape}", need="(1 or 3, n, n)"
        )
    labels = [label for label in range(source.classes) if (source.train.labels == label).any()][:MOST_CLASSES]
    figure = blank(0.55 * EACH + 1.6, 0.55 * len(labels) + 0.7)
    axes = figure.subplots(len(labels), EACH, squeeze=False)
    for row, label in zip(axes, labels, strict=True):
        index = np.flatnonzero(source.train.labels == label)[:EACH]
        shown = np.asarray(Part(source.train, index).inputs, np.float32)
        for place, cell in enumerate(row):
            cell.axis("off")
            if place < len(shown):
                cell.imshow(np.squeeze(shown[place].transpose(1, 2, 0)), cmap="gray_r", vmin=0, vmax=1)
        name = source.class_names[label] if source.class_names else str(label)
        row[0].text(-0.3, 0.5, name, transform=row[0].transAxes, ha="right", va="center")
    figure.suptitle(f"{source.name}: {len(source.train.labels):,} training examples, {source.classes} classes")
    return written(figure, path)


def draw_world(federation: Federation, path: Path) -> Path:
    """Clients against classes as a heat map, ordered by group, with everybody's size beside it."""
    clients, groups = in_groups(federation)
    counts = class_counts(federation, clients)
    figure = blank(max(6.5, min(14, 0.3 * federation.classes + 5)), max(3.5, min(12, 0.22 * len(clients) + 2)))
    heat, sizes = figure.subplots(1, 2, sharey=True, width_ratios=(3, 1))
    drawn = heat.imshow(
        counts / counts.sum(axis=1, keepdims=True), aspect="auto", cmap="Blues", vmin=0, interpolation="nearest"
    )
    colours = [GROUP_COLOURS[group % len(GROUP_COLOURS)] if group >= 0 else "#777777" for group in groups]
    sizes.barh(np.arange(len(clients)), counts.sum(axis=1), color=colours, height=1 if len(clients) > LABELLED else 0.8)
    borders = [place for place in range(1, len(groups)) if groups[place] != groups[place - 1]]
    for border in borders:
        for axis in (heat, sizes):
            axis.axhline(border - 0.5, color="black", linewidth=0.8)
    for start, stop in zip([0, *borders], [*borders, len(groups)], strict=True):
        if groups[start] >= 0:
            sizes.text(
                1.02,
                (start + stop - 1) / 2,
                f"group {groups[start]}",
                transform=sizes.get_yaxis_transform(),
                va="center",
            )
    few = len(clients) <= LABELLED
    heat.set_yticks(np.arange(len(clients)) if few else [], clients if few else [])
    heat.set_xticks(np.arange(federation.classes)[:: 1 + federation.classes // 60])
    heat.tick_params(labelsize=8)
    heat.set_xlabel("class, as the client calls it")
    heat.set_ylabel("client" if few else f"{len(clients):,} clients")
    sizes.set_xlabel("examples")
    figure.colorbar(drawn, ax=heat, location="top", shrink=0.5, label="share of the client's examples")
    figure.suptitle(federation.name)
    return written(figure, path)


def in_groups(federation: Federation) -> tuple[list[ClientId], list[int]]:
    """The clients in the order of their planted groups, and each one's group; -1 where none are planted."""
    if federation.truth is None:
        return list(federation.clients), [-1] * len(federation)
    clients = [client for members in federation.truth.members for client in members]
    return clients, [federation.truth.labels[client] for client in clients]


def class_counts(federation: Federation, clients: list[ClientId]) -> NDArray[np.int64]:
    """How many training examples of each class each client has: (clients, classes)."""
    rows = [np.bincount(federation[client].train.labels, minlength=federation.classes) for client in clients]
    counts: NDArray[np.int64] = np.stack(rows)
    return counts


def blank(width: float, height: float) -> "Figure":
    """An empty page, in inches."""
    from matplotlib.figure import Figure  # 1 s: only when a picture is asked for

    return Figure(figsize=(width, height), layout="constrained")


def written(figure: "Figure", path: Path) -> Path:
    """The picture as a file."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(
            "a picture of this kind cannot be made", where=str(path), got=path.suffix, need=", ".join(ENDINGS)
        )
    try:
        figure.savefig(path, dpi=130)
    except OSError as wrong:
        raise InputError("the picture cannot be written", where=str(path), got=wrong.strerror or str(wrong)) from None
    return path
