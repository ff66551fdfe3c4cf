"""What distinguishes groups: shares of labels and means of features, a row for each group."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedclade.report.palette import DEVIATION_SCALE, SHARE_SCALE
from fedclade.report.plots.layout import empty_figure, long_name, safe_name
from fedclade.report.profiles import GroupProfile

if TYPE_CHECKING:
    import plotly.graph_objects as go

MAX_COLUMNS = 30  # labels or features that can be read: those in which groups differ most
MAX_GROUPS = 30
MAX_SHORT_NAME = 3  # characters: longer names would overlap, so they stand upright


def label_shares(profiles: Sequence[GroupProfile], labels: Sequence[str]) -> "go.Figure | None":
    """The part of each group's examples that has each label."""
    if not labels or len(profiles) < 2:
        return None
    shares = 100 * np.array([each.shares for each in profiles])
    return heatmap(profiles, shares, labels, "label", SHARE_SCALE, (0.0, 100.0), "%{z:.0f}")


def feature_means(profiles: Sequence[GroupProfile], features: Sequence[str]) -> "go.Figure | None":
    """The mean of each feature in each group, in deviations from the mean of all."""
    if not features or len(profiles) < 2:
        return None
    means = np.round(np.array([each.means for each in profiles]), 1) + 0.0  # as it is shown, and no -0.0
    largest = max(float(np.abs(means).max()), 0.5)
    return heatmap(profiles, means, features, "feature", DEVIATION_SCALE, (-largest, largest), "%{z:+.1f}")


def heatmap(
    profiles: Sequence[GroupProfile],
    values: NDArray[np.float64],
    names: Sequence[str],
    what: str,
    scale: str,
    span: tuple[float, float],
    number_format: str,
) -> "go.Figure":
    """Groups against labels or features, with the numbers in the cells."""
    kept = np.sort(np.argsort(-values.std(axis=0), kind="stable")[:MAX_COLUMNS])
    shown = values[:MAX_GROUPS, kept]
    long = any(len(names[column]) > MAX_SHORT_NAME for column in kept)
    figure = empty_figure((250 if long else 150) + 34 * len(shown))
    figure.add_heatmap(
        z=shown,
        colorscale=scale,
        zmin=span[0],
        zmax=span[1],
        texttemplate=number_format,
        textfont={"size": 11},
        showscale=False,  # the numbers stand in the cells
        text=[
            [f"{long_name(each.name)}, {long_name(names[column])}" for column in kept] for each in profiles[:MAX_GROUPS]
        ],
        hovertemplate="%{text}: " + number_format + "<extra></extra>",
        xgap=1,
        ygap=1,
    )
    more = f", the {len(kept)} of {len(names)} in which groups differ most" if len(names) > len(kept) else ""
    figure.update_xaxes(
        title={"text": what + more, "standoff": 8},
        automargin=True,
        tickvals=list(range(len(kept))),
        ticktext=[safe_name(names[column], 18) for column in kept],
        tickangle=90 if long else 0,
        showgrid=False,
    )
    return figure.update_yaxes(
        tickvals=list(range(len(shown))),
        ticktext=[safe_name(each.name) for each in profiles[:MAX_GROUPS]],
        autorange="reversed",
        showgrid=False,
    )
