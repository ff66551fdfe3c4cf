"""What all plots that matplotlib draws have in common: their page, their panels and their grid."""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from fedclade.report.palette import GRID_GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE_WIDTH = 8.5  # inches: 816 pixels of a page


def drawing_settings() -> AbstractContextManager[None]:
    """Settings of matplotlib: words stay words in SVG and PDF, a dollar stays a dollar, ids are the same every time."""
    from matplotlib import rc_context

    return rc_context(
        {
            "svg.fonttype": "none",
            "svg.hashsalt": "fedclade",
            "pdf.fonttype": 42,
            "font.size": 9,
            "text.parse_math": False,
        }
    )


def new_figure(width: float, height: float) -> "Figure":
    """An empty page, in inches."""
    from matplotlib.figure import Figure  # 1 s: only when something is drawn

    return Figure(figsize=(width, height), layout="constrained")


def panel_figure(count: int, per_row: int, row_height: float, more_height: float = 0.0) -> "tuple[Figure, list[Axes]]":
    """A page with so many panels in rows, and its panels; heights in inches."""
    rows = -(-count // per_row)
    figure = new_figure(PAGE_WIDTH, row_height * rows + more_height)
    panels = figure.subplots(rows, min(per_row, count), squeeze=False).ravel()
    for axes in panels[count:]:
        axes.set_visible(False)
    return figure, list(panels[:count])


def add_grid(axes: "Axes") -> None:
    """A light grid, and no frame above and to the right."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(visible=True, color=GRID_GREY, linewidth=0.6)
