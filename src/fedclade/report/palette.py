"""Every colour that fedclade draws with, in plots and on pages; and marks and dashes.

A method has the same colour and mark in every plot. The colours differ with any kind of colour vision: eight are Okabe
and Ito's, four are Tol's. Where two are similar, the marks differ.
"""

from collections.abc import Sequence

PALETTE = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#882255"),
    *("#117733", "#999933", "#332288", "#AA4499"),
)
GROUP_COLOURS = PALETTE  # of groups by their number, in reports and on the dashboard
BLUE, ORANGE, GREEN, _, YELLOW = PALETTE[:5]
WHITE, BLACK, TRANSPARENT = "#ffffff", "#000000", "rgba(0,0,0,0)"
INK = "#1b1f24"  # of text
SOFT = "#57606a"  # of text that matters less, and of lines that mark a round
GREY = "#8a8f94"  # of a client without a group
EDGE_GREY = "#9aa1a8"  # of the lines of a graph
GRID_GREY = "#e3e6e9"

COLOUR_SCALE = "Viridis"  # of matrices: even steps, readable in grey
SHARE_SCALE = "Blues"
DEVIATION_SCALE = "PuOr"  # both ways from a middle
EXAMPLE_SCALE = "gray_r"  # of the pixels of an example: 0 is white
GREY_SCALE = "gray"
SCALE_BY_FIRST_COLOUR = {
    "#440154": COLOUR_SCALE.lower(),
    "rgb(247,251,255)": SHARE_SCALE,
    "rgb(127,59,8)": DEVIATION_SCALE,
}
"""What matplotlib calls a scale: plotly spells it out as (place, colour) pairs."""

PAGE_COLOURS = {
    **{"ink": INK, "soft": SOFT, "line": "#d7dce1", "grid": GRID_GREY, "paper": WHITE, "shade": "#f5f7f9"},
    **{"accent": BLUE, "warning": ORANGE, "warning-fill": "#fff6f0", "notice": "#e0b84c", "notice-fill": "#fff4d6"},
    **{"running": BLUE, "running-fill": "#dcefff", "running-ink": "#00456b"},
    **{"finished": GREEN, "finished-fill": "#dff3ea", "finished-ink": "#00533d"},
    **{"stopped": YELLOW, "stopped-fill": "#fff4d6", "stopped-ink": "#6b4a00"},
    **{"damaged": ORANGE, "damaged-fill": "#fde4d8", "damaged-ink": "#7a3600"},
    **{"curves": ", ".join(PALETTE), "groups": ", ".join(GROUP_COLOURS)},
}

MATPLOTLIB_MARKS = {
    **{"circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "triangle-down": "v"},
    **{"cross": "P", "x": "X", "star": "*"},
}
MATPLOTLIB_DASHES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
MARKS, DASHES = tuple(MATPLOTLIB_MARKS), tuple(MATPLOTLIB_DASHES)  # as plotly calls them

OWN_METHODS = ("fedavg", "local", "flt", "cfl", "ifca", "fedsem", "pca-km-hc", "abc", "fedprox", "fedavg-ft", "ditto")


def css_properties() -> str:
    """The colours of pages as custom properties of CSS: `var(--ink)`; `--curves` and `--groups` list several."""
    return ":root { " + " ".join(f"--{name}: {colours};" for name, colours in PAGE_COLOURS.items()) + " }"


def method_numbers(methods: Sequence[str]) -> dict[str, int]:
    """A number for each method: our own have fixed ones, others follow in the order of their names."""
    every = (*OWN_METHODS, *sorted(set(methods) - set(OWN_METHODS)))
    return {method: every.index(method) for method in methods}


def method_colours(methods: Sequence[str]) -> dict[str, str]:
    """A colour for each method."""
    return {method: PALETTE[number % len(PALETTE)] for method, number in method_numbers(methods).items()}


def method_marks(methods: Sequence[str]) -> dict[str, str]:
    """A mark for each method."""
    return {method: MARKS[number % len(MARKS)] for method, number in method_numbers(methods).items()}


def group_colour(group: int) -> str:
    """The colour of a group, by its number; grey for -1, which is no group."""
    return GROUP_COLOURS[group % len(GROUP_COLOURS)] if group >= 0 else GREY


def group_mark(group: int) -> str:
    """The mark of a group, by its number."""
    return MARKS[group % len(MARKS)] if group >= 0 else "circle-open"
