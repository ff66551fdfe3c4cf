"""Which task a label makes, and the labels of rows: of numbers, of flags, and of none."""

from typing import Any

import numpy as np
import pytest

from fedclade.core.task import Task
from fedclade.data import Federation, from_file, from_frame
from refusals import check_refused

ROWS = 60
SITES = ["north", "south", "west"] * 20
HEAT = [row % 7 + 0.5 for row in range(ROWS)]
RNG = np.random.default_rng(0)
WEAR = RNG.normal(50, 4, ROWS).round(3)


def read(fault: object, label: object = "fault", **options: Any) -> Federation:
    return from_frame({"site": SITES, "heat": HEAT, "fault": fault}, **{"client": "site", "label": label, **options})


@pytest.mark.parametrize(
    ("labels", "kind", "note"),
    [
        (["a", "b", "c"] * 20, "classification", ""),
        ([True, False, True] * 20, "classification", ""),
        ([0.5, 1.5, 2.5] * 20, "classification", ""),
        ([row % 20 for row in range(ROWS)], "classification", ""),
        ([f"{row % 30:03d}" for row in range(ROWS)], "classification", ""),
        (WEAR, "regression", "holds 60 different numbers: a regression"),
        ([str(each) for each in WEAR], "regression", "holds 60 different numbers"),
        ([3 * row for row in range(ROWS)], "regression", "holds 60 different numbers"),
        ([row % 21 / 2 for row in range(ROWS)], "regression", "holds 21 different numbers"),
    ],
)
def test_the_label_shows_what_is_learned(labels: object, kind: str, note: str) -> None:
    federation = read(labels)
    assert federation.task.kind == kind
    assert [each for each in federation.notes if "label" in each] == [
        each for each in federation.notes if note and note in each
    ]
    assert bool(note) == any("--task classification takes them for classes" in each for each in federation.notes)


def test_numbers_of_classes_without_a_gap_stay_classes() -> None:
    """30 whole numbers from 0 on, 10 rows of each; with a gap, or 9 rows, they are measurements."""
    for labels, kind in (
        (np.arange(300) % 30, "classification"),
        (1 + np.arange(300) % 30, "classification"),
        (2 + np.arange(300) % 30, "regression"),
        (np.where(np.arange(300) % 30 == 7, 90, np.arange(300) % 30), "regression"),
        (np.arange(279) % 31, "regression"),
    ):
        sites = ["a", "b", "c"] * (len(labels) // 3)
        table = {"site": sites, "heat": np.arange(len(labels)) / 7, "fault": labels}
        federation = from_frame(table, client="site", label="fault")
        assert federation.task.kind == kind, labels
        assert ("whole numbers without a gap" in " ".join(federation.notes)) == (kind == "classification")


def test_the_task_can_be_said() -> None:
    assert read(np.arange(ROWS) % 3, task="regression").task.kind == "regression"
    assert read(np.arange(ROWS) % 30 / 2, task="classification").classes == 30
    assert read(WEAR, loss="huber").task.loss == "huber"
    check_refused("no regression, and only one has loss 'huber'", read, ["a", "b"] * 30, loss="huber")
    check_refused(r"holds 'a', and a regression needs numbers .--task", read, ["a", "1"] * 30, task="regression")
    check_refused("is 2 in every row: there is nothing to learn", read, [2] * ROWS, task="regression")
    check_refused("has classes .--classes., and the task is regression", read, WEAR, task="regression", classes=["1"])
    check_refused("task is not usable.*'auto', 'classification'", read, WEAR, task="ranking")
    check_refused("is infinite in row 2", read, [1.5, float("inf"), *WEAR[2:]])


def test_labels_of_a_regression_are_brought_to_one_scale() -> None:
    """Mean and deviation of the training rows of all clients; values that are far out are not cut off."""
    values = [*WEAR[:-1], 900.0]
    federation = read(values, split="later")
    task = federation.task
    held = [federation[client] for client in federation.clients]
    wanted = {client: [v for v, s in zip(values, SITES, strict=True) if s == client] for client in federation.clients}
    for client, each in zip(federation.clients, held, strict=True):
        assert each.train.labels.dtype == np.float32
        np.testing.assert_allclose(each.train.labels * task.scale + task.centre, wanted[client][:16], rtol=1e-6)
        np.testing.assert_allclose(each.test.labels * task.scale + task.centre, wanted[client][16:], rtol=1e-6)
    train = np.concatenate([wanted[client][:16] for client in federation.clients])
    assert task.centre == pytest.approx(train.mean(), abs=1e-9)  # 900 is among the rows to test on
    assert task.scale == pytest.approx(train.std(), rel=1e-9)
    edges = np.array(task.edges) * task.scale + task.centre
    assert len(edges) == 2
    counts = np.histogram(train, [-np.inf, *edges, np.inf])[0]
    assert counts.sum() == 48
    assert max(abs(counts - 16)) < 2  # three bins of 48 rows: quantiles within one percentile rank or two
    assert federation.classes == 3
    assert federation.preparation is not None
    assert federation.preparation.task == task


def test_rows_without_a_number_are_set_aside() -> None:
    federation = read([None, *WEAR[1:-1], float("nan")])
    assert "2 of 60 rows have no label and are set aside" in federation.notes
    assert sum(len(held.train) + len(held.test) for held in federation.data.values()) == 58


def test_several_columns_are_flags() -> None:
    rare = [int(row % 20 == 0) for row in range(ROWS)]
    table = {"site": SITES, "heat": HEAT, "hot": [True, False] * 30, "wet": rare, "a,b": [0, 1, 1] * 20}
    for label in ("hot,wet", " hot , wet", ["hot", "wet"], ("hot", "wet")):
        federation = from_frame(table, client="site", label=label)
        assert federation.task == Task(kind="multi-label", labels="flags", count=2, names=("hot", "wet"))
        assert federation.preparation is not None
        assert federation.preparation.columns == ("heat", "a,b")
        assert federation.notes == ("labels 'hot', 'wet' hold flags: a multi-label task",)
        for held in federation.data.values():
            for part in (held.train, held.test):
                assert part.labels.tolist() == [[1 - row % 2, int(row % 20 == 0)] for row in part.index.tolist()]
    assert from_frame(table, client="site", label="a,b").class_names == ("0", "1")
    one = from_frame(table, client="site", label="wet", task="multi-label")
    assert (one.task.kind, one.task.count) == ("multi-label", 1)
    for wrong, said in (
        ("hot,hat", "'hat' is not there .--label.*did you mean \"heat\""),
        ("hot,heat", "'heat' holds '.*', and one of several labels is 0 or 1"),
        ("hot,hot", "'hot' is named twice"),
        ("hot,site", "'site' is both client and label"),
    ):
        check_refused(said, from_frame, table, client="site", label=wrong)


def test_inputs_are_reconstructed_without_a_label(tmp_path: Any) -> None:
    (tmp_path / "a.csv").write_text(
        "site,heat\n" + "\n".join(f"{s},{h}" for s, h in zip(SITES, HEAT, strict=True)) + "\n"
    )
    federation = from_file(tmp_path / "a.csv", client="site", task="reconstruction")
    assert (federation.task.kind, federation.task.count) == ("reconstruction", 1)
    named = read(["a", "b", "c"] * 20, task="reconstruction")
    assert (named.task.kind, named.task.count, named.task.names) == ("reconstruction", 3, ("a", "b", "c"))
