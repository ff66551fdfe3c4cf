"""Groups in a user's own data, written down: groups.json for machines, groups.html for people."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fedclade import __version__
from fedclade.nouns import InputError
from fedclade.report.figures import Drawn, file_name
from fedclade.report.figures.maps import map_of
from fedclade.report.figures.number import silhouettes_of
from fedclade.report.figures.profiles import feature_means, label_shares
from fedclade.report.figures.relatedness import matrix_of
from fedclade.report.figures.tree import dendrogram_of
from fedclade.report.page import rendered, written
from fedclade.report.profiles import Profile, profiles
from fedclade.runs.durable import write_file
from fedclade.runs.looking import Answer
from fedclade.runs.plain import finite

MEANING = (
    ("silhouette", "how far groups stand apart, -1 to 1"),
    ("height ratio", "how much higher the merge is that the cut prevents, from 1"),
    ("stability", "how far the groups of four fifths of the clients are the same, 0 to 1"),
)


def write_groups(answer: Answer, folder: Path) -> tuple[Path, Path]:
    """groups.json and groups.html, in this folder."""
    known = profiles(answer)
    page = rendered(
        "groups.html",
        drawn_of(answer, known),
        name=answer.data.name,
        verdict=answer.sentence() + ".",
        clear=answer.clear,
        sure=list(zip(MEANING, figures_of(answer), strict=True)),
        profiles=known,
        most=200,
        version=__version__,
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        machine = folder / "groups.json"
        write_file(machine, json.dumps(as_json(answer), indent=2, allow_nan=False).encode() + b"\n")
    except OSError as wrong:
        raise InputError("the groups cannot be written", where=str(folder), got=wrong.strerror or str(wrong)) from None
    return machine, written(page, folder / "groups.html")


def figures_of(answer: Answer) -> tuple[str, str, str]:
    """How sure the answer is, as a reader wants it."""
    sure = answer.sure
    return f"{sure.silhouette:.2f} (needs {sure.needed:.2f})", f"{sure.height_ratio:.1f}", f"{sure.stability:.2f}"


def as_json(answer: Answer) -> object:
    """The answer as plain data."""
    sure = answer.sure
    labels, features = answer.data.class_names, answer.encoded.names
    return finite(
        {
            "data": answer.data.name,
            "clients": len(answer.data.inputs),
            "examples": answer.data.examples,
            "clear": answer.clear,
            "answer": answer.sentence(),
            "count": answer.found.count if answer.clear else 1,
            "outliers": list(answer.found.outliers),
            "left_out": list(answer.encoded.left_out),
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
                    "label_shares": dict(zip(labels, np.round(each.shares, 4).tolist(), strict=True))
                    if labels
                    else None,
                    "feature_means": dict(zip(features, np.round(each.means, 4).tolist(), strict=True))
                    if features
                    else None,
                    "telling": list(each.telling),
                }
                for each in profiles(answer)
            ],
        }
    )


def drawn_of(answer: Answer, known: list[Profile]) -> Iterator[Drawn]:
    """The figures of an answer."""
    facts = answer.facts
    found = (
        (
            "Which labels each group has",
            "Percent of the group's examples.",
            label_shares(known, answer.data.class_names),
        ),
        (
            "What each group's features are like",
            "Means, in standard deviations from the mean of all examples.",
            feature_means(known, answer.encoded.names),
        ),
        ("Map of clients", "Near each other: clients whose data are alike.", map_of(facts, {})),
        ("Relatedness", "Distances between clients' data: near is bright. Squares are groups.", matrix_of(facts)),
        ("Tree of clients", "Where groups merge, and where the tree was cut.", dendrogram_of(facts)),
        ("How well each number of groups separates", "The best number is ringed.", silhouettes_of(facts)),
    )
    for title, caption, figure in found:
        if figure is not None:
            yield Drawn(file_name(title), title, caption, figure)
