"""Who gains and who loses, by hand."""

from pathlib import Path

from fedclade.report.harm import harmed_by_run
from fedclade.report.plots import client_accuracy, group_accuracy
from report.folders import asked, made, planted, there

ABCD = ("a", "b", "c", "d")


def test_boxes_and_marks_are_those_of_the_clients(tmp_path: Path) -> None:
    mine = [(1, client, value, 0) for client, value in zip(ABCD, (0.2, 0.4, 0.6, 1.0), strict=True)]
    alone = [(1, client, 0.5, 0) for client in ABCD]
    lines = (("fedavg", mine), ("local", alone))
    runs = [made(tmp_path / name, asked(name), [], each, examples=2000) for name, each in lines]
    figure = there(client_accuracy(runs))
    box, good, harmed = figure.data[:3]
    # By linear interpolation: 0.25 * 3 = 0.75 of the way from the first to the second of 20, 40, 60, 100.
    assert (box.q1[0], box.median[0], box.q3[0]) == (35, 50, 70)
    assert (box.lowerfence[0], box.upperfence[0]) == (20, 100)  # the whiskers may reach to 70 + 1.5 * 35
    assert list(good.y) == [60, 100]
    assert list(harmed.y) == [20, 40]  # alone they would have 50
    assert harmed_by_run(runs) == [("a", "b"), ("c", "d")]
    assert figure.layout.title.text == "harmed by fedavg: a, b"  # of the best method, here 0.55 against 0.5


def test_groups_are_the_planted_ones_where_they_are_known(tmp_path: Path) -> None:
    lines = [(1, client, value, 0) for client, value in zip(ABCD, (0.2, 0.4, 0.6, 1.0), strict=True)]
    known = there(group_accuracy(made(tmp_path / "known", asked(), [planted("ac", "bd")], lines)))
    assert [trace.median[0] for trace in known.data if trace.type == "box"] == [40, 70]
    assert known.layout.xaxis.title.text == "planted group"
    halves = [(1, client, 0.5, number // 2) for number, client in enumerate(ABCD)]
    found = there(group_accuracy(made(tmp_path / "found", asked(), [], halves)))
    assert found.layout.xaxis.title.text == "group that was found"
    assert group_accuracy(made(tmp_path / "one", asked(), [], lines)) is None


def test_of_many_clients_only_the_box_is_drawn(tmp_path: Path) -> None:
    lines = [(1, f"c{number}", 0.5, 0) for number in range(1001)]
    figure = there(client_accuracy([made(tmp_path / "run", asked(), [], lines)]))
    assert [trace.type for trace in figure.data] == ["box"]
