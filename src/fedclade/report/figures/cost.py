"""What a method costs in bytes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fedclade.report.colours import PALETTE
from fedclade.report.figures.layout import blank, plain
from fedclade.report.story import Story, labels, number

if TYPE_CHECKING:
    import plotly.graph_objects as go

WORDS = {
    "train": "models, trained",
    "train_mean": "models, trained and averaged",
    "losses": "losses of every model",
    "sketch": "sketches of data",
    "scatter": "sums for a basis",
    "moments": "class moments",
    "changed": "has your data changed?",
    "tune": "encoder, tuned together",
}


def bytes_sent(stories: Sequence[Story]) -> "go.Figure | None":
    """Megabytes up and down for each method, by what they were for: a mean over seeds, evaluation left out."""
    import plotly.graph_objects as go

    names = labels(stories)
    shown = list(dict.fromkeys(names))
    bars: dict[str, dict[str, float]] = {}
    rows: list[str] = []
    for label in reversed(shown):
        mine = [story for story, name in zip(stories, names, strict=True) if name == label]
        for direction in ("down", "up"):
            row = f"{plain(label, 40)}, {direction}"
            rows.append(row)
            for verb, sizes in by_verb(mine, direction).items():
                bars.setdefault(verb, {})[row] = float(np.mean(sizes)) / 1e6
    if not any(bars.values()):
        return None
    figure = blank(
        120 + 34 * len(rows), barmode="stack", legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
    )
    place = {row: number_ for number_, row in enumerate(rows)}
    for index, (verb, sizes_) in enumerate(sorted(bars.items())):
        figure.add_trace(
            go.Bar(
                y=[place[row] for row in sizes_],
                x=list(sizes_.values()),
                orientation="h",
                name=WORDS.get(verb, plain(verb)),
                marker={"color": PALETTE[index % len(PALETTE)]},
                hovertemplate="%{x:.2f} MB<extra></extra>",
            )
        )
    figure.update_yaxes(tickvals=list(place.values()), ticktext=rows, showgrid=False)
    return figure.update_xaxes(title="megabytes", rangemode="tozero")


def by_verb(stories: Sequence[Story], direction: str) -> dict[str, list[float]]:
    """The bytes of each verb, run by run; while a run goes on, those of all together."""
    found: dict[str, list[float]] = {}
    for story in stories:
        if story.result is None:
            total = sum(number(event.get(f"bytes_{direction}"), 0.0) for event in story.events)
            found.setdefault("all so far", []).append(total)
            continue
        for name, value in story.result.items():
            verb = name.removeprefix(f"bytes_{direction}_")
            if verb != name and verb != "evaluate" and number(value, 0.0) > 0:
                found.setdefault(verb, []).append(number(value))
    return found
