"""CFL's tree, norms and gaps, by hand."""

from pathlib import Path

from fedclade.report.plots import accuracy_and_gaps, parameter_tree, update_norms
from fedclade.report.run_data import RunData
from fedclade.report.splits import parameter_tree_of
from report.folders import asked, evaluation, made, round_event, there


def cluster(node: int, members: int, mean: float, largest: float) -> dict[str, object]:
    return {"node": node, "members": members, "mean_norm": mean, "restless_norm": largest, "eps1": 0.5, "eps2": 1.5}


SPLIT = {"node": 0, "children": [1, 2], "parts": [["a", "b"], ["c"]], "clients": ["a", "b", "c"]}


def run(path: Path, *more: dict[str, object]) -> RunData:
    parts = [cluster(1, 2, 0.2, 1.0), cluster(2, 1, 0.1, 1.0)]
    events = [
        round_event(1, clusters=[cluster(0, 3, 1.0, 2.0)], splits=[], separation_gaps=[0.1]),
        evaluation(1, 0.5, accuracy_by_planted_group=[0.4, 0.6]),
        round_event(2, clusters=[cluster(0, 3, 0.4, 2.0)], splits=[SPLIT], separation_gaps=[0.3]),
        round_event(3, clusters=parts, splits=[], separation_gaps=[-0.2, None]),
        *more,
    ]
    return made(path, asked("cfl"), events)


def test_the_tree_has_every_split(tmp_path: Path) -> None:
    tree = parameter_tree_of(run(tmp_path / "run"))
    nodes = {node: (each.depth, each.size, each.children) for node, each in tree.items()}
    assert nodes == {0: (0, 3, (1, 2)), 1: (1, 2, ()), 2: (1, 1, ())}
    assert (tree[0].split_round, tree[0].gap) == (2, 0.3)
    words = [note.text for note in there(parameter_tree(run(tmp_path / "again"))).layout.annotations]
    assert words == ["3 clients<br>split in round 2, gap +0.30", "2 clients", "1 client"]


def test_a_split_that_was_taken_back_says_so(tmp_path: Path) -> None:
    undone = round_event(4, clusters=[cluster(0, 3, 0.2, 1.0)], splits=[], undone=[0])
    tree = parameter_tree_of(run(tmp_path / "run", undone))
    assert list(tree) == [0]
    assert (tree[0].split_round, tree[0].undone_round, tree[0].children) == (2, 4, ())
    again = round_event(5, clusters=[cluster(0, 3, 0.2, 1.0)], splits=[SPLIT], separation_gaps=[0.5])
    assert list(parameter_tree_of(run(tmp_path / "again", undone, again))) == [0, 1, 2]


def test_norms_stand_beside_their_thresholds(tmp_path: Path) -> None:
    figure = there(update_norms(run(tmp_path / "run")))
    of_the_root = [(trace.yaxis, list(trace.y)) for trace in figure.data if list(trace.x) == [1, 2]]
    assert of_the_root == [("y", [2.0, 2.0]), ("y", [1.5, 1.5]), ("y2", [1.0, 0.4]), ("y2", [0.5, 0.5])]
    assert [shape.x0 for shape in figure.layout.shapes] == [2]  # the split


def test_gaps_stand_below_the_accuracy_of_the_planted_groups(tmp_path: Path) -> None:
    figure = there(accuracy_and_gaps(run(tmp_path / "run")))
    assert [(trace.name, list(trace.x), list(trace.y)) for trace in figure.data] == [
        ("group 0", [1], [40]),
        ("group 1", [1], [60]),
        ("cluster 0", [1, 2], [0.1, 0.3]),
        ("cluster 1", [3], [-0.2]),
    ]


def test_a_run_without_splits_has_no_tree(tmp_path: Path) -> None:
    unsplit = made(tmp_path / "run", asked("fedavg"), [round_event(1)])
    assert parameter_tree(unsplit) is update_norms(unsplit) is accuracy_and_gaps(unsplit) is None
