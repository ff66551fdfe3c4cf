"""Figures: one function each, from run folders to a piece of plotly JSON that the page draws."""

from collections.abc import Mapping, Sequence

import numpy as np

from fedclade.report.comparison import final_accuracy, labels
from fedclade.runs.folder import RunFolder

# Okabe and Ito's colours: they can be told apart with any kind of colour vision. Four of Tol's, for many methods.
PALETTE = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442"),
    *("#882255", "#117733", "#999933", "#332288"),
)
SETTLED = {"fedavg": 0, "local": 1, "fedprox": 2}  # the same colour for the same method in every report
LAYOUT = {"template": "plotly_white", "margin": {"l": 60, "r": 20, "t": 30, "b": 50}}


def colours(methods: Sequence[str]) -> dict[str, str]:
    """A colour for each method."""
    free = [number for number in range(len(PALETTE)) if number not in SETTLED.values()]
    others = [method for method in sorted(methods) if method not in SETTLED]
    place = {**SETTLED, **{method: free[number % len(free)] for number, method in enumerate(others)}}
    return {method: PALETTE[place[method]] for method in methods}


def accuracy_curves(folders: Sequence[RunFolder], shades: Mapping[str, str]) -> dict[str, str]:
    """Mean accuracy against rounds, a line for each method, with a band from the lowest to the highest seed."""
    import plotly.graph_objects as go

    figure = go.Figure()
    names = labels(folders)
    for method, colour in shades.items():
        curves: dict[int, list[float]] = {}
        for folder, name in zip(folders, names, strict=True):
            if name == method:
                for event in folder.events():
                    if event["event"] == "evaluation" and event["accuracy"] is not None:
                        curves.setdefault(int(str(event["round"])), []).append(100 * float(str(event["accuracy"])))
        rounds = sorted(curves)
        low, high = [min(curves[number]) for number in rounds], [max(curves[number]) for number in rounds]
        if low != high:
            band = go.Scatter(
                x=rounds + rounds[::-1], y=high + low[::-1], fill="toself", fillcolor=colour, opacity=0.2, line_width=0
            )
            figure.add_trace(band.update(hoverinfo="skip", showlegend=False))
        means = [float(np.mean(curves[number])) for number in rounds]
        figure.add_trace(go.Scatter(x=rounds, y=means, name=method, mode="lines+markers", line_color=colour))
    figure.update_layout(xaxis_title="round", yaxis_title="mean accuracy of the clients, %", **LAYOUT)
    return {"title": "Accuracy against rounds", "json": script_safe(figure.to_json())}


def client_strips(folders: Sequence[RunFolder], shades: Mapping[str, str]) -> dict[str, str]:
    """The final accuracy of every client, a strip for each method: who is left behind."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for method, colour in shades.items():
        names: list[str] = []
        reached: list[float] = []
        for folder, name in zip(folders, labels(folders), strict=True):
            if name == method:
                seed = folder.result()["seed"]
                for client, accuracy in final_accuracy(folder).items():
                    names.append(f"{client}, seed {seed}")
                    reached.append(100 * accuracy)
        strip = go.Box(y=reached, name=method, text=names, boxpoints="all", jitter=0.6, pointpos=0, marker_color=colour)
        figure.add_trace(strip.update(fillcolor="rgba(0,0,0,0)", hoverinfo="text+y", marker_size=5))
    figure.update_layout(yaxis_title="final accuracy of a client, %", showlegend=False, **LAYOUT)
    return {"title": "Every client after the last round", "json": script_safe(figure.to_json())}


def script_safe(json: str) -> str:
    """JSON that can stand inside a script element, whatever a client is called."""
    return json.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
