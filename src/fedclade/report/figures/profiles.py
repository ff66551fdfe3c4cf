"""What distinguishes groups: shares of labels and means of features, a row for each group."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedclade.report.figures.layout import blank, plain, whole
from fedclade.report.profiles import Profile

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_COLUMNS = 30  # labels or features that can be read: those in which groups differ most
MOST_GROUPS = 30
SHORT = 3  # characters: longer names would overlap, so they stand upright


def label_shares(profiles: Sequence[Profile], labels: Sequence[str]) -> "go.Figure | None":
    """The part of each group's examples that has each label."""
    if not labels or len(profiles) < 2:
        return None
    shares = 100 * np.array([each.shares for each in profiles])
    return heat(profiles, shares, labels, "label", "Blues", (0.0, 100.0), "%{z:.0f}")


def feature_means(profiles: Sequence[Profile], features: Sequence[str]) -> "go.Figure | None":
    """The mean of each feature in each group, in deviations from the mean of all."""
    if not features or len(profiles) < 2:
        return None
    means = np.round(np.array([each.means for each in profiles]), 1) + 0.0  # as it is shown, and no -0.0
    largest = max(float(np.abs(means).max()), 0.5)
    return heat(
        profiles,
        means,
        features,
        "feature",
        "PuOr",
        (-largest, largest),
        "%{z:+.1f}",
    )


def heat(
    profiles: Sequence[Profile],
    values: NDArray[np.float64],
    names: Sequence[str],
    what: str,
    scale: str,
    span: tuple[float, float],
    form: str,
) -> "go.Figure":
    """Groups against labels or features, with the numbers in the cells."""
    import plotly.graph_objects as go

    telling = np.argsort(-values.std(axis=0), kind="stable")[:MOST_COLUMNS]
    kept = np.sort(telling)
    shown = values[:MOST_GROUPS, kept]
    long = any(len(names[column]) > SHORT for column in kept)
    figure = blank((250 if long else 150) + 34 * len(shown))
    figure.add_trace(
        go.Heatmap(
            z=shown,
            colorscale=scale,
            zmin=span[0],
            zmax=span[1],
            texttemplate=form,
            textfont={"size": 11},
            showscale=False,  # the numbers stand in the cells
            text=[
                [f"{whole(each.name)}, {whole(names[column])}" for column in kept] for each in profiles[:MOST_GROUPS]
            ],
            hovertemplate="%{text}: " + form + "<extra></extra>",
            xgap=1,
            ygap=1,
        )
    )
    more = f", the {len(kept)} of {len(names)} in which groups differ most" if len(names) > len(kept) else ""
    figure.update_xaxes(
        title=what + more,
        tickvals=list(range(len(kept))),
        ticktext=[plain(names[column], 18) for column in kept],
        tickangle=90 if long else 0,
        showgrid=False,
    )
    return figure.update_yaxes(
        tickvals=list(range(len(shown))),
        ticktext=[plain(each.name) for each in profiles[:MOST_GROUPS]],
        autorange="reversed",
        showgrid=False,
    )
