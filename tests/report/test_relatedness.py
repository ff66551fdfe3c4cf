"""Matrices, graphs, maps and trees of clients, by hand."""

from pathlib import Path

import numpy as np
import pytest
from scipy.cluster import hierarchy

from fedclade.report import plots
from fedclade.report.palette import BLUE, GREY, ORANGE
from fedclade.report.plots.layout import empty_figure
from fedclade.report.plots.regrouping import bin_matrix
from fedclade.report.plots.relatedness import add_group_borders
from fedclade.report.plots.tree import tree_layout
from fedclade.report.run_data import RunData
from report.folders import asked, discovery, made, planted, round_event, there


@pytest.fixture
def run(tmp_path: Path) -> RunData:
    return made(tmp_path / "run", asked("flt"), [planted("ac", "bd"), round_event(1, discovery=discovery())])


def test_a_matrix_is_reordered_by_group(run: RunData) -> None:
    figure = there(plots.relatedness_matrix(run))
    raw, ordered = figure.data
    assert raw.z.tolist() == [[0, 5, 1, 5], [5, 0, 5, 1], [1, 5, 0, 5], [5, 1, 5, 0]]
    assert ordered.z.tolist() == [[0, 1, 5, 5], [1, 0, 5, 5], [5, 5, 0, 1], [5, 5, 1, 0]]
    assert figure.layout.yaxis2.ticktext == ("a", "c", "b", "d")
    assert {(shape.x0, shape.x1) for shape in figure.layout.shapes} == {(-0.5, 1.5), (1.5, 3.5)}


def test_a_tree_is_laid_out_as_scipy_does_it() -> None:
    tree = hierarchy.linkage(np.random.default_rng(0).normal(size=(30, 2)), "average")
    order, across, up = tree_layout(tree)
    drawn = hierarchy.dendrogram(tree, no_plot=True)
    assert order == drawn["leaves"]
    assert sorted(zip(across, up, strict=True)) == sorted(zip(drawn["icoord"], drawn["dcoord"], strict=True))


def test_a_binned_matrix_is_shown_with_borders_between_groups(tmp_path: Path) -> None:
    facts = discovery()
    table = [[0, 0, 9], [0, 0, 9], [9, 9, 0]]
    facts["binned"] = {"sizes": [1, 1, 2], "squared_distances": table, "adjacency": table}
    figure = there(plots.relatedness_matrix(made(tmp_path / "run", asked("flt"), [round_event(1, discovery=facts)])))
    assert figure.data[0].z.tolist() == [[0, 0, 3], [0, 0, 3], [3, 3, 0]]
    assert {(shape.x0, shape.x1) for shape in figure.layout.shapes} == {(-0.5, 1.5), (1.5, 2.5)}


def test_squares_are_added_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plotly checks every earlier shape again whenever one is added: 300 groups took 70 s."""
    monkeypatch.setattr("plotly.graph_objects.Figure.add_shape", None)
    figure = add_group_borders(empty_figure(), [place + 0.5 for place in range(299)], 300, "")
    assert len(figure.layout.shapes) == 600  # white inside black


def test_a_graph_has_a_line_for_each_pair_of_relatives(run: RunData) -> None:
    lines, *groups = there(plots.relatedness_graph(run)).data
    assert len(lines.x) == 2 * 3  # two pairs, and a gap behind each
    assert [len(trace.x) for trace in groups] == [2, 2]


def test_maps_show_what_was_found_beside_what_was_planted(run: RunData) -> None:
    marks = {trace.name: len(trace.x) for trace in there(plots.client_map(run)).data}
    assert marks == {"found 0": 2, "found 1": 2, "planted 0": 2, "planted 1": 2}
    assert [len(trace.x) for trace in there(plots.sketch_map(run)).data] == [3, 2, 3, 2]  # a sent two points


def test_a_tree_is_cut_between_its_groups_if_there_are_any(run: RunData, tmp_path: Path) -> None:
    figure = there(plots.dendrogram(run))
    (cut,) = figure.layout.shapes
    assert cut.y0 == cut.y1 == 3  # halfway between merges at 1 and at 5
    assert max(height for trace in figure.data for height in trace.y if height is not None) == 5
    assert {trace.line.color for trace in figure.data} == {GREY, BLUE, ORANGE}

    facts = {**discovery(), "passed": False, "groups": [["a", "b", "c", "d"]]}
    assert not there(
        plots.dendrogram(made(tmp_path / "none", asked("flt"), [round_event(1, discovery=facts)]))
    ).layout.shapes


def test_the_best_number_of_groups_is_ringed(run: RunData) -> None:
    every, best = there(plots.silhouettes(run)).data
    assert (list(every.x), list(every.y)) == ([2, 3], [0.8, 0.4])
    assert (list(best.x), list(best.y)) == ([2], [0.8])


def test_groups_over_rounds_has_a_step_for_each_change(tmp_path: Path) -> None:
    rounds = {1: (0, 0, 0, 0), 2: (0, 0, 0, 0), 3: (0, 1, 1, 1), 4: (0, 1, 0, 1)}
    lines = [
        (number, client, 0.5, groups["abcd".index(client)]) for number, groups in rounds.items() for client in "abcd"
    ]
    figure = there(plots.relatedness_over_rounds(made(tmp_path / "run", asked("ifca"), [planted("ac", "bd")], lines)))
    assert [trace.name for trace in figure.data] == ["round 1", "round 3", "round 4"]
    assert figure.layout.yaxis.ticktext == ("a", "c", "b", "d")
    assert figure.data[1].z.tolist() == [[1, 0, 0, 0], [0, 1, 1, 1], [0, 1, 1, 1], [0, 1, 1, 1]]
    assert figure.data[2].z.tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    assert [trace.visible for trace in figure.data] == [False, False, True]
    steady = [(number, client, 0.5, 0) for number in (1, 2) for client in "abcd"]
    assert plots.relatedness_over_rounds(made(tmp_path / "steady", asked(), [], steady)) is None


def test_many_clients_are_binned() -> None:
    labels = np.repeat([0, 1], 200)
    shown = bin_matrix(np.equal.outer(labels, labels))
    assert shown.shape == (200, 200)
    assert (shown == 100 * np.equal.outer(np.repeat([0, 1], 100), np.repeat([0, 1], 100))).all()


def test_facts_that_do_not_fit_together_are_not_drawn(tmp_path: Path) -> None:
    facts = discovery()
    facts |= {"squared_distances": [[0, 1], [1, 0]], "adjacency": "none", "embedding": [[1], [2]]}
    facts |= {"tree": [[0, 9, 1.0, 2], [1, 3, 1.0, 2], [4, 5, 25.0, 4]], "silhouettes": {"two": 1}}
    run = made(tmp_path / "run", asked("flt"), [round_event(1, discovery=facts)])
    for draw in (
        plots.relatedness_matrix,
        plots.relatedness_graph,
        plots.dendrogram,
        plots.client_map,
        plots.silhouettes,
    ):
        assert draw(run) is None
