"""What a method costs in bytes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fedclade.report.naming import indices_by_label
from fedclade.report.palette import PALETTE
from fedclade.report.plots.layout import empty_figure, safe_name
from fedclade.report.run_data import RunData, number, run_labels

if TYPE_CHECKING:
    import plotly.graph_objects as go

VERB_LABELS = {
    "train": "models, trained",
    "train_mean": "models, trained and averaged",
    "train_best": "models, the best trained and averaged",
    "losses": "losses of every model",
    "sketch": "sketches of data",
    "scatter": "sums for a basis",
    "moments": "class moments",
    "changed": "has your data changed?",
    "tune": "encoder, tuned together",
}


def bytes_sent(runs: Sequence[RunData]) -> "go.Figure | None":
    """Megabytes up and down for each method, by what they were for: a mean over seeds, evaluation left out."""
    bars: dict[str, dict[str, float]] = {}
    rows: list[str] = []
    for label, indices in reversed(indices_by_label(run_labels(runs)).items()):
        for direction in ("down", "up"):
            row = f"{safe_name(label, 40)}, {direction}"
            rows.append(row)
            for verb, sizes in bytes_by_verb([runs[index] for index in indices], direction).items():
                bars.setdefault(verb, {})[row] = float(np.mean(sizes)) / 1e6
    if not any(bars.values()):
        return None
    legend = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
    figure = empty_figure(120 + 34 * len(rows), barmode="stack", legend=legend)
    place = {row: number_ for number_, row in enumerate(rows)}
    for index, (verb, sizes_) in enumerate(sorted(bars.items())):
        figure.add_bar(
            y=[place[row] for row in sizes_],
            x=list(sizes_.values()),
            orientation="h",
            name=VERB_LABELS.get(verb, safe_name(verb)),
            marker={"color": PALETTE[index % len(PALETTE)]},
            hovertemplate="%{x:.2f} MB<extra></extra>",
        )
    figure.update_yaxes(tickvals=list(place.values()), ticktext=rows, showgrid=False)
    return figure.update_xaxes(title="megabytes", rangemode="tozero")


def bytes_by_verb(runs: Sequence[RunData], direction: str) -> dict[str, list[float]]:
    """The bytes of each verb, run by run; while a run goes on, those of all together."""
    found: dict[str, list[float]] = {}
    for run in runs:
        if run.result is None:
            total = float(sum(getattr(event, f"bytes_{direction}", None) or 0 for event in run.events))
            found.setdefault("all so far", []).append(total)
            continue
        for name, value in run.result.items():
            verb = name.removeprefix(f"bytes_{direction}_")
            if verb != name and verb != "evaluate" and number(value, 0.0) > 0:
                found.setdefault(verb, []).append(number(value))
    return found
