"""What all figures have in common: how they look, and names that stay names."""

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import plotly.graph_objects as go

FONT = "system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif"
LONGEST = 28  # characters of a name that a figure shows
LABELLED = 40  # with more clients than these on an axis their names could not be read: positions stand instead
HEIGHT = 420  # pixels


def blank(height: int = HEIGHT, **layout: object) -> "go.Figure":
    """An empty figure in the house style."""
    import plotly.graph_objects as go

    axis = {
        "gridcolor": "#e3e6e9",
        "linecolor": "#8a8f94",
        "showline": False,
        "zeroline": False,
        "ticks": "outside",
        "automargin": True,
    }
    style = go.layout.Template(
        layout={
            "font": {"family": FONT, "size": 13, "color": "#1b1f24"},
            "paper_bgcolor": "white",
            "plot_bgcolor": "white",
            "xaxis": axis,
            "yaxis": axis,
            "hoverlabel": {"align": "left"},
        }
    )
    margin = {"l": 60, "r": 24, "t": 36, "b": 56}
    return go.Figure(layout={"template": style, "height": height, "margin": margin, **layout})


def plain(name: object, longest: int = LONGEST) -> str:
    """A name as a figure may show it: plotly reads a little HTML, and a client may be called anything."""
    text = "".join(letter if letter.isprintable() else "?" for letter in str(name))
    if len(text) > longest:  # long names often begin alike: both ends stay
        end = (longest - 1) // 2
        text = text[: longest - 1 - end] + "…" + text[-end:]
    return html.escape(text, quote=False)


def whole(name: object) -> str:
    """The same where there is room: when one points at it."""
    return plain(name, 200)


def positions(clients: Sequence[str], longest: int = LONGEST) -> dict[str, object]:
    """Ticks of an axis along which clients stand: their names if these can be read, else how many there are."""
    if len(clients) > LABELLED:
        return {"title": f"{len(clients):,} clients"}
    return {
        "tickvals": list(range(len(clients))),
        "ticktext": [plain(name, longest) for name in clients],
        "tickfont": {"size": 10},
    }


def percent(values: Sequence[float]) -> list[float]:
    """Shares as percents, with digits enough for a figure."""
    found: list[float] = np.round(100 * np.asarray(values, np.float64), 3).tolist()
    return found
