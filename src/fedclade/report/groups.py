"""Groups in a user's own data as files: groups.json for machines, groups.html for people."""

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedclade import __version__
from fedclade.core import InputError
from fedclade.report.page import render_page, write_page
from fedclade.report.plots import Plot, file_name
from fedclade.report.plots.maps import map_plot
from fedclade.report.plots.number import silhouette_plot
from fedclade.report.plots.profiles import feature_means, label_shares
from fedclade.report.plots.relatedness import matrix_plot
from fedclade.report.plots.tree import dendrogram_plot
from fedclade.report.profiles import GroupProfile, profiles
from fedclade.runs.own_groups import GroupAnswer
from fedclade.store.durable_files import write_file
from fedclade.store.json_values import json_value

CONFIDENCE_MEANINGS = (
    ("silhouette", "how far groups stand apart, -1 to 1"),
    ("height ratio", "how much higher the merge is that the cut prevents, from 1"),
    ("stability", "how far the groups of four fifths of the clients are the same, 0 to 1"),
)


def write_groups(answer: GroupAnswer, folder: Path) -> tuple[Path, Path]:
    """Write groups.json and groups.html in this folder."""
    known = profiles(answer)
    page = render_page(
        "groups.html",
        group_plots(answer, known),
        name=answer.federation.name,
        verdict=answer.sentence() + ".",
        clear=answer.has_groups,
        notes=answer.federation.notes,
        sure=list(zip(CONFIDENCE_MEANINGS, confidence_texts(answer), strict=True)),
        profiles=known,
        first=12,
        most=200,
        version=__version__,
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        machine = folder / "groups.json"
        write_file(machine, json.dumps(as_json(answer), indent=2, allow_nan=False).encode() + b"\n")
    except OSError as error:
        raise InputError("the groups cannot be written", where=str(folder), got=error.strerror or str(error)) from None
    return machine, write_page(page, folder / "groups.html")


def confidence_texts(answer: GroupAnswer) -> tuple[str, str, str]:
    """How sure the answer is, as text in the order of CONFIDENCE_MEANINGS."""
    sure = answer.confidence
    silhouette = math.floor(100 * sure.silhouette) / 100  # not rounded up to what it needs
    return f"{silhouette:.2f} (needs {sure.needed:.2f})", f"{sure.height_ratio:.1f}", f"{sure.stability:.2f}"


def as_json(answer: GroupAnswer) -> object:
    """The answer as plain data."""
    sure = answer.confidence
    labels, features = answer.class_names, answer.names
    return json_value(
        {
            "data": answer.federation.name,
            "clients": len(answer.federation),
            "examples": answer.examples,
            "clear": answer.has_groups,
            "answer": answer.sentence(),
            "count": answer.found.count if answer.has_groups else 1,
            "outliers": list(answer.found.outliers),
            "left_out": list(answer.left_out),
            "notes": list(answer.federation.notes),
            "sure": {
                "silhouette": round(sure.silhouette, 4),
                "needed": sure.needed,
                "height_ratio": round(sure.height_ratio, 4),
                "stability": round(sure.stability, 4),
            },
            "groups": [
                {
                    "name": each.name,
                    "clients": list(each.clients),
                    "examples": each.examples,
                    "label_shares": by_name(labels, each.shares),
                    "label_mean": None if math.isnan(each.label_mean) else float(f"{each.label_mean:.6g}"),
                    "feature_means": by_name(features, each.means),
                    "telling": list(each.statements),
                }
                for each in profiles(answer)
            ],
        }
    )


def by_name(names: Sequence[str], values: NDArray[np.float64]) -> dict[str, float] | None:
    """Each value by its name, with four digits; None without names."""
    return dict(zip(names, np.round(values, 4).tolist(), strict=True)) if names else None


def group_plots(answer: GroupAnswer, known: list[GroupProfile]) -> Iterator[Plot]:
    """The plots of an answer."""
    facts = answer.facts
    shares = label_shares(known, answer.class_names)
    means = feature_means(known, answer.names)
    deviations = "Means, less those of all examples: numbers in standard deviations, categories in shares from 0 to 1."
    found = (
        ("Which labels each group has", "Percent of the group's examples.", shares),
        ("What each group's features are like", deviations, means),
        ("Map of clients", "Near each other: clients whose data are alike.", map_plot(facts, {})),
        ("Relatedness", "Distances between clients' data: near is bright. Squares are groups.", matrix_plot(facts)),
        ("Tree of clients", "Where groups merge, and where the tree was cut.", dendrogram_plot(facts)),
        ("How well each number of groups separates", "The best number is ringed.", silhouette_plot(facts)),
    )
    for title, caption, figure in found:
        if figure is not None:
            yield Plot(file_name(title), title, caption, figure)
