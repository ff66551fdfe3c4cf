"""FLT's figures 4 to 7 and 12, read from curves and groups made up by hand."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fedclade.core import Groups
from fedclade.data import build
from fedclade_papers import flt_figure4, flt_figure5, flt_figure6, flt_figure7, flt_figure12
from fedclade_papers.curves import rounds_to
from fedclade_papers.flt import OURS
from fedclade_papers.item import Item, Outcome, Terms
from papers.doubles import check, found_in, homes, ran, runs_of, shown

Curve = dict[int, float]
# FLT ends with 80 %: 95 % of that are 76 %.
SOON, LATE, LOW = {4: 50.0, 8: 77.0, 12: 80.0}, {4: 50.0, 8: 75.0, 12: 90.0}, {4: 50.0, 8: 60.0, 12: 75.0}
SAME_ROUND, SOONER = {4: 50.0, 8: 77.0, 12: 79.0}, {4: 76.5, 8: 60.0, 12: 60.0}


def read_curves(folder: Path, item: Item, curves: dict[str, Curve], others: Curve, groups: int = 10) -> Outcome:
    """Read runs of both nets with these curves, and the last one for all other methods; FLT has so many groups."""
    found = runs_of(folder, item, seeds=1)
    for setting in found.settings:
        for label in found.labels(setting.name):
            points = {number: {"accuracy": value / 100} for number, value in curves.get(label, others).items()}
            result = {**points[max(points)], "group_count": groups if label == "FLT" else 10}
            ran(found, setting.name, label, evaluations=points, result=result)
    return item.read(found)


def test_rounds_to_an_accuracy() -> None:
    """The first evaluated round that has it, even if it is lost again."""
    curve = {"x": [5.0, 10.0, 15.0, 20.0], "y": [40.0, 70.0, 65.0, 80.0]}
    assert [rounds_to(curve, y) for y in (40, 65, 70.1, 80, 80.1)] == [5, 10, 20, 20, float("inf")]


@pytest.mark.parametrize(
    ("fedavg", "variant", "groups", "expected"),
    [
        (LATE, LOW, 10, True),  # better in the end
        (LOW, SOONER, 10, True),  # variants of FLT are not its rivals
        (SOONER, LOW, 10, False),  # worse in the end
        (SAME_ROUND, LOW, 10, False),
        (LOW, LOW, 1, False),  # with one group it has FedAvg's model
    ],
)
def test_figure_4(fedavg: Curve, variant: Curve, groups: int, expected: bool, tmp_path: Path) -> None:
    curves = {"FLT": SOON, "FedAvg": fedavg, "FLT (C=3)": variant}
    outcome = read_curves(tmp_path, flt_figure4.ITEM, curves, LOW, groups)
    check(outcome, *([] if expected else ["MLP FLT", "CNN FLT"]))
    assert outcome.series["MLP FLT"] == {"x": [4, 8, 12], "y": pytest.approx([50, 77, 80])}
    assert outcome.series["CNN IFCA"] == {"x": [4, 8, 12], "y": pytest.approx([50, 60, 75])}


SLOW, EARLY, WEAK = {10: 50.0, 20: 77.0, 30: 80.0}, {10: 78.0, 20: 78.0, 30: 78.0}, {4: 10.0, 8: 20.0, 12: 30.0}


@pytest.mark.parametrize(
    ("flt", "moments", "others", "rounds", "fails"),
    [
        (SOON, {4: 50.0, 8: 56.9, 12: 60.0}, WEAK, (8, 12), ["roughly 20"]),  # ten rounds less are allowed
        (SLOW, SLOW, EARLY, (20, 20), ["fastest"]),
    ],
)
def test_figure_5(
    flt: Curve, moments: Curve, others: Curve, rounds: tuple[int, int], fails: list[str], tmp_path: Path
) -> None:
    """Rounds to 95 % of its final accuracy: 20 are printed for FLT, and none for class moments."""
    outcome = read_curves(tmp_path, flt_figure5.ITEM, {"FLT": flt, OURS: moments}, others)
    check(outcome, *fails)
    for words in ("MLP", "CNN"):
        column = f"{words} rounds to 95 % of its final accuracy"
        assert shown(outcome, "FLT", column) == (20, rounds[0])
        assert shown(outcome, OURS, column) == (None, rounds[1])


BLOCKS, ITSELF, FAR, SO_ARE = "ten blocks", "by itself", "FedSEM's groups are far", "so are those"


@pytest.mark.parametrize(
    ("missing", "wrong", "detected", "aris", "fails"),
    [
        (0, 0, 2, (0.6, 0.0), []),
        (3, 0, 2, (0.6, 0.0), []),  # three of six pairs inside the groups are linked: half
        (4, 0, 2, (0.6, 0.0), [BLOCKS]),
        (0, 1, 2, (0.6, 0.0), [BLOCKS]),  # one of nine pairs across
        (0, 0, 2, (0.7, 0.7), [FAR, SO_ARE]),
        (0, 0, 6, (0.6, 0.0), [ITSELF]),  # told the number the groups are right, by itself everybody is alone
    ],
)
def test_figure_6(
    missing: int,
    wrong: int,
    detected: int,
    aris: tuple[float, float],
    fails: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Six clients in two groups of three: six pairs are inside the groups, nine are across.

    FLT's links are those of the groups, but for some that are missing and some that are wrong. FedSEM has all clients
    in one group. PCA+kM+HC has no two clients together.
    """
    data = {"source": "digits", "world": "classes", "clients": 6, "groups": 2}
    setting = replace(flt_figure6.setting_of(Terms(tmp_path)), data=data)
    federation = build(source="digits", world="classes", clients=6, groups=2, seed=0)
    assert federation.truth is not None
    one, other = federation.truth.members
    place = {client: number for number, client in enumerate(federation.clients)}
    pairs = [(a, b) for part in (one, other) for a, b in combinations(part, 2)][missing:]
    pairs += [(one[0], other[number]) for number in range(wrong)]
    links = np.eye(6, dtype=bool)
    for a, b in pairs:
        links[place[a], place[b]] = links[place[b], place[a]] = True
    seen = SimpleNamespace(clients=federation.clients, squared=np.where(links, 0.9, 1.1), partition=federation.truth)
    monkeypatch.setattr(flt_figure6, "client_points", lambda *_: None)
    alone = SimpleNamespace(partition=Groups(tuple((client,) for client in federation.clients)))
    monkeypatch.setattr(flt_figure6, "groups_of", lambda _, how: seen if how.groups or detected == 2 else alone)
    apart = {client: number for number, client in enumerate(one + other)}
    found = found_in(tmp_path, [setting], seeds=1)
    for label, ari, home in zip(("FedSEM", "PCA+kM+HC"), aris, (dict.fromkeys(apart, 0), apart), strict=True):
        ran(found, setting.name, label, models=homes(home), result={"ari": ari, "group_count": 2})
    outcome = flt_figure6.ITEM.read(found)
    check(outcome, *fails)
    shares = {"FLT": ((6 - missing) / 6, wrong / 9), "FedSEM": (1, 1), "PCA+kM+HC": (0, 0)}
    for label, (inside, across) in shares.items():
        assert shown(outcome, label, "% of pairs of a group linked")[1] == round(100 * inside, 9)
        assert shown(outcome, label, "% of other pairs linked")[1] == round(100 * across, 9)
    if not (missing or wrong):
        matrix = [[1, 1, 1, 0, 0, 0]] * 3 + [[0, 0, 0, 1, 1, 1]] * 3
        assert outcome.series["FLT"] == {"order": [*one, *other], "matrix": matrix}


@pytest.mark.parametrize(
    ("end", "moved", "fails"),
    [
        (0.62, {1: 0, 5: 30, 15: 4, 20: 3}, []),  # 34 before, 3 after
        (0.62, {1: 0, 5: 30, 15: 4, 20: 4}, ["stuck"]),
        (0.92, {1: 0, 5: 30}, ["ten groups"]),
        (0.4, {1: 0, 5: 23}, ["stuck"]),  # fewer than a tenth of 240: nothing formed
    ],
)
def test_figure_7(end: float, moved: dict[int, int], fails: list[str], tmp_path: Path) -> None:
    """FedSEM's index in the end, and how many clients changed their group in which round."""
    found = runs_of(tmp_path, flt_figure7.ITEM, seeds=1)
    evaluations = {5: {"ari": 0.3}, 30: {"ari": end}}
    ran(found, "s4-mlp", "FedSEM", evaluations=evaluations, facts={at: {"moved": count} for at, count in moved.items()})
    outcome = flt_figure7.ITEM.read(found)
    check(outcome, *fails)
    assert outcome.series["FedSEM"] == {"x": [5, 30], "y": [0.3, end]}


@pytest.mark.parametrize(
    ("ends", "fails"),
    [
        ((80.0, 80.4, 79.0, 79.4), []),  # up by less than half a point
        ((80.0, 78.0, 79.0, 77.0), ["the more groups"]),  # three groups are better than two
        ((80.0, 80.4, 80.8, 77.0), ["whole graph"]),  # 0.8 above it, by two steps of 0.4
    ],
)
def test_figure_12(ends: tuple[float, ...], fails: list[str], tmp_path: Path) -> None:
    labels = ("FLT", "FLT (C=2)", "FLT (C=3)", "FLT (C=5)")
    curves = {label: {6: 10.0, 12: end} for label, end in zip(labels, ends, strict=True)}
    outcome = read_curves(tmp_path, flt_figure12.ITEM, curves, {12: 99.0})
    check(outcome, *fails)
    assert outcome.series["CNN FLT (C=3)"] == {"x": [6, 12], "y": pytest.approx([10, ends[2]])}
