"""Plots: one function each, from runs that have been read (`fedclade.report.run_data.read_run`) to a plotly figure.

A function returns None if the runs have nothing for it to show. `draw_plots` gives all plots of runs, with their titles
and captions; `figure.to_json()` is what a page draws.

    from fedclade.report.plots import accuracy_against_rounds, draw_plots
    from fedclade.report.run_data import read_run

    runs = [read_run(folder) for folder in folders]      # runs may still be going on
    accuracy_against_rounds(runs)
    for plot in draw_plots(runs): plot.name, plot.title, plot.caption, plot.figure
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from fedclade.report.naming import indices_by_label
from fedclade.report.plots.cost import bytes_sent
from fedclade.report.plots.curves import accuracy_against_megabytes, accuracy_against_rounds
from fedclade.report.plots.fairness import client_accuracy, group_accuracy
from fedclade.report.plots.graph import relatedness_graph
from fedclade.report.plots.maps import client_map, sketch_map
from fedclade.report.plots.number import imposed_groups, silhouettes
from fedclade.report.plots.regrouping import relatedness_over_rounds
from fedclade.report.plots.relatedness import relatedness_matrix
from fedclade.report.plots.scores import client_scores
from fedclade.report.plots.splitting import accuracy_and_gaps, update_norms
from fedclade.report.plots.tree import dendrogram, parameter_tree
from fedclade.report.run_data import RunData, run_labels

if TYPE_CHECKING:
    import plotly.graph_objects as go


DrawnT = TypeVar("DrawnT")


@dataclass(frozen=True)
class PlotKind(Generic[DrawnT]):
    """A plot of one run, or of several side by side."""

    draw: Callable[[DrawnT], "go.Figure | None"]
    title: str
    caption: str = ""


COMPARISON_PLOTS: tuple[PlotKind[Sequence[RunData]], ...] = (
    PlotKind(accuracy_against_rounds, "Accuracy against rounds", "Bands go from the lowest to the highest seed."),
    PlotKind(accuracy_against_megabytes, "Accuracy against megabytes", "What the method sent, evaluation left out."),
    PlotKind(
        client_accuracy,
        "Every client after the last round",
        "A mark is a client. Crosses: it does worse than with Local or FedAvg on the same data and seed, beyond noise.",
    ),
    PlotKind(imposed_groups, "Effect of an imposed number of groups"),
    PlotKind(bytes_sent, "Bytes", "A mean over seeds."),
)
RUN_PLOTS: tuple[PlotKind[RunData], ...] = (
    PlotKind(group_accuracy, "Every client, by group"),
    PlotKind(relatedness_matrix, "Relatedness", "Distances between clients' data: near is bright. Squares are groups."),
    PlotKind(relatedness_graph, "Who learns from whom"),
    PlotKind(dendrogram, "Tree of clients", "Where groups merge, and where the tree was cut."),
    PlotKind(client_map, "Map of clients", "Near each other: clients whose data are alike."),
    PlotKind(sketch_map, "Map of sketches", "A mark is one of the points that stand for a client's data."),
    PlotKind(silhouettes, "How well each number of groups separates", "The best number is ringed."),
    PlotKind(
        relatedness_over_rounds,
        "Groups over rounds",
        "Bright: the two clients have one model. Squares: planted groups.",
    ),
    PlotKind(parameter_tree, "Parameter tree", "Every split, with its round and the separation gap."),
    PlotKind(update_norms, "Norms and thresholds", "A cluster that has stalled while its clients have not is split."),
    PlotKind(accuracy_and_gaps, "Accuracy and separation gaps", "Upright lines: splits."),
    PlotKind(client_scores, "Scores of clients"),
)


@dataclass(frozen=True, eq=False)
class Plot:
    """A figure, its title and its caption."""

    name: str
    """Of a file."""
    title: str
    caption: str
    figure: "go.Figure"


def draw_plots(runs: Sequence[RunData]) -> Iterator[Plot]:
    """All plots of these runs: those of all together, then those of each method's first run."""
    for many in COMPARISON_PLOTS:
        if (figure := many.draw(runs)) is not None:
            yield Plot(
                file_name(many.draw.__name__, metric=runs[0].metric),
                title_of(many.title, runs[0]),
                many.caption,
                figure,
            )
    first_runs = {label: runs[indices[0]] for label, indices in indices_by_label(run_labels(runs)).items()}
    for label, run in first_runs.items():
        for one in RUN_PLOTS:
            if (figure := one.draw(run)) is not None:
                alone = len(first_runs) == 1
                name = file_name(one.draw.__name__, *([] if alone else [label]), metric=run.metric)
                title = title_of(one.title, run) + ("" if alone else f": {label}")
                yield Plot(name, title + ("" if len(runs) == 1 else f", seed {run.seed}"), one.caption, figure)


def title_of(title: str, run: RunData) -> str:
    """The title with the run's main metric in the place of the accuracy."""
    label = run.metric_kind().label
    return title.replace("Accuracy", label[:1].upper() + label[1:])


def file_name(first: str, *words: str, metric: str = "accuracy") -> str:
    """Words as the name of a file: lower case letters, digits and dashes."""
    text = "-".join([first.replace("accuracy", metric), *words]).replace("_", "-").lower()
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in text).strip("-")


__all__ = [
    "COMPARISON_PLOTS",
    "RUN_PLOTS",
    "Plot",
    "accuracy_against_megabytes",
    "accuracy_against_rounds",
    "accuracy_and_gaps",
    "bytes_sent",
    "client_accuracy",
    "client_map",
    "client_scores",
    "dendrogram",
    "draw_plots",
    "group_accuracy",
    "imposed_groups",
    "parameter_tree",
    "relatedness_graph",
    "relatedness_matrix",
    "relatedness_over_rounds",
    "silhouettes",
    "sketch_map",
    "update_norms",
]
