"""Figures: one function each, from runs that have been read (`fedclade.report.story.read`) to a plotly figure.

A function gives None where the runs have nothing for it to show. `drawn` gives all figures that there are, with the
words that go with them; `figure.to_json()` is what a page draws.

    from fedclade.report.figures import accuracy_against_rounds, drawn
    from fedclade.report.story import read

    stories = [read(folder) for folder in folders]      # runs may still be going on
    accuracy_against_rounds(stories)
    for each in drawn(stories): each.name, each.title, each.caption, each.figure
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedclade.report.figures.cost import bytes_sent
from fedclade.report.figures.curves import accuracy_against_megabytes, accuracy_against_rounds
from fedclade.report.figures.fairness import client_accuracy, group_accuracy
from fedclade.report.figures.graph import relatedness_graph
from fedclade.report.figures.maps import client_map, sketch_map
from fedclade.report.figures.number import imposed_groups, silhouettes
from fedclade.report.figures.regrouping import relatedness_over_rounds
from fedclade.report.figures.relatedness import relatedness_matrix
from fedclade.report.figures.scores import client_scores
from fedclade.report.figures.splitting import accuracy_and_gaps, update_norms
from fedclade.report.figures.tree import dendrogram, parameter_tree
from fedclade.report.story import Story, labels

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True)
class OfRuns:
    """A figure of several runs side by side."""

    draw: Callable[[Sequence[Story]], "go.Figure | None"]
    title: str
    caption: str = ""


@dataclass(frozen=True)
class OfRun:
    """A figure of one run."""

    draw: Callable[[Story], "go.Figure | None"]
    title: str
    caption: str = ""


OF_RUNS = (
    OfRuns(accuracy_against_rounds, "Accuracy against rounds", "Bands go from the lowest to the highest seed."),
    OfRuns(accuracy_against_megabytes, "Accuracy against megabytes", "What the method sent, evaluation left out."),
    OfRuns(
        client_accuracy,
        "Every client after the last round",
        "A mark is a client. Crosses: it would do better with Local or FedAvg on the same data and seed.",
    ),
    OfRuns(imposed_groups, "Effect of an imposed number of groups"),
    OfRuns(bytes_sent, "Bytes", "A mean over seeds."),
)
OF_RUN = (
    OfRun(group_accuracy, "Every client, by group"),
    OfRun(relatedness_matrix, "Relatedness", "Distances between clients' data: near is bright. Squares are groups."),
    OfRun(relatedness_graph, "Who learns from whom"),
    OfRun(dendrogram, "Tree of clients", "Where groups merge, and where the tree was cut."),
    OfRun(client_map, "Map of clients", "Near each other: clients whose data are alike."),
    OfRun(sketch_map, "Map of sketches", "A mark is one of the points that stand for a client's data."),
    OfRun(silhouettes, "How well each number of groups separates", "The best number is ringed."),
    OfRun(
        relatedness_over_rounds,
        "Groups over rounds",
        "Bright: the two clients have one model. Squares: planted groups.",
    ),
    OfRun(parameter_tree, "Parameter tree", "Every split, with its round and the separation gap."),
    OfRun(update_norms, "Norms and thresholds", "A cluster that has stalled while its clients have not is split."),
    OfRun(accuracy_and_gaps, "Accuracy and separation gaps", "Upright lines: splits."),
    OfRun(client_scores, "Scores of clients"),
)


@dataclass(frozen=True, eq=False)
class Drawn:
    """A figure, and the words that go with it."""

    name: str
    """What a file of it may be called."""
    title: str
    caption: str
    figure: "go.Figure"


def drawn(stories: Sequence[Story]) -> Iterator[Drawn]:
    """All figures of these runs: those of all together, then those of each method's first run."""
    for many in OF_RUNS:
        if (figure := many.draw(stories)) is not None:
            yield Drawn(file_name(many.draw.__name__), many.title, many.caption, figure)
    names = labels(stories)
    for index in [names.index(label) for label in dict.fromkeys(names)]:
        story = stories[index]
        alone = len(set(names)) == 1
        for one in OF_RUN:
            if (figure := one.draw(story)) is not None:
                name = file_name(one.draw.__name__, *(() if alone else (names[index],)))
                title = one.title if alone else f"{one.title}: {names[index]}"
                yield Drawn(name, title + ("" if len(stories) == 1 else f", seed {story.seed}"), one.caption, figure)


def file_name(*words: str) -> str:
    """Words as a part of a path."""
    text = "-".join(words).replace("_", "-").lower()
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in text).strip("-")


__all__ = [
    "OF_RUN",
    "OF_RUNS",
    "Drawn",
    "OfRun",
    "OfRuns",
    "accuracy_against_megabytes",
    "accuracy_against_rounds",
    "accuracy_and_gaps",
    "bytes_sent",
    "client_accuracy",
    "client_map",
    "client_scores",
    "dendrogram",
    "drawn",
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
