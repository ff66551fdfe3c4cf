"""Matrices, graphs, maps and trees of clients, by hand."""

from pathlib import Path

import numpy as np
import pytest
from scipy.cluster import hierarchy

from fedclade.report.figures import (
    client_map,
    dendrogram,
    relatedness_graph,
    relatedness_matrix,
    relatedness_over_rounds,
    silhouettes,
    sketch_map,
)
from fedclade.report.figures.regrouping import binned
from fedclade.report.figures.tree import laid_out
from fedclade.report.story import Story
from report.folders import asked, discovery, made, planted, round_event, there


@pytest.fixture
def story(tmp_path: Path) -> Story:
    return made(tmp_path / "run", asked("flt"), [planted("ac", "bd"), round_event(1, discovery=discovery())])


def test_a_matrix_is_reordered_by_group(story: Story) -> None:
    raw, ordered = there(relatedness_matrix(story)).data
    assert raw.z.tolist() == [[0, 5, 1, 5], [5, 0, 5, 1], [1, 5, 0, 5], [5, 1, 5, 0]]
    assert ordered.z.tolist() == [[0, 1, 5, 5], [1, 0, 5, 5], [5, 5, 0, 1], [5, 5, 1, 0]]
    layout = there(relatedness_matrix(story)).layout
    assert layout.yaxis2.ticktext == ("a", "c", "b", "d")
    frames = {(shape.x0, shape.x1) for shape in layout.shapes}
    assert frames == {(-0.5, 1.5), (1.5, 3.5)}


def test_a_tree_is_laid_out_as_scipy_does_it() -> None:
    tree = hierarchy.linkage(np.random.default_rng(0).normal(size=(30, 2)), "average")
    order, across, up = laid_out(tree)
    drawn = hierarchy.dendrogram(tree, no_plot=True)
    assert order == drawn["leaves"]
    assert sorted(zip(across, up, strict=True)) == sorted(zip(drawn["icoord"], drawn["dcoord"], strict=True))


def test_a_binned_matrix_is_shown_with_borders_between_groups(tmp_path: Path) -> None:
    facts = discovery()
    table = [[0, 0, 9], [0, 0, 9], [9, 9, 0]]
    facts["binned"] = {"sizes": [1, 1, 2], "squared_distances": table, "adjacency": table}
    figure = there(relatedness_matrix(made(tmp_path / "run", asked("flt"), [round_event(1, discovery=facts)])))
    assert figure.data[0].z.tolist() == [[0, 0, 3], [0, 0, 3], [3, 3, 0]]
    assert {(shape.x0, shape.x1) for shape in figure.layout.shapes} == {(-0.5, 1.5), (1.5, 2.5)}


def test_a_graph_has_a_line_for_each_pair_of_relatives(story: Story) -> None:
    lines, *groups = there(relatedness_graph(story)).data
    assert len(lines.x) == 2 * 3  # two pairs, and a gap behind each
    assert [len(trace.x) for trace in groups] == [2, 2]


def test_maps_show_what_was_found_beside_what_was_planted(story: Story) -> None:
    assert [(trace.name, len(trace.x)) for trace in there(client_map(story)).data] == [
        ("found 0", 2),
        ("found 1", 2),
        ("planted 0", 2),
        ("planted 1", 2),
    ]
    assert [len(trace.x) for trace in there(sketch_map(story)).data] == [3, 2, 3, 2]  # a sent two points


def test_a_tree_is_cut_between_its_groups(story: Story) -> None:
    figure = there(dendrogram(story))
    (cut,) = figure.layout.shapes
    assert cut.y0 == cut.y1 == 3  # halfway between merges at 1 and at 5
    assert max(height for trace in figure.data for height in trace.y if height is not None) == 5
    assert {trace.line.color for trace in figure.data} == {"#8a8f94", "#0072B2", "#D55E00"}


def test_no_groups_no_cut(tmp_path: Path) -> None:
    facts = {**discovery(), "passed": False, "groups": [["a", "b", "c", "d"]]}
    assert not there(dendrogram(made(tmp_path / "run", asked("flt"), [round_event(1, discovery=facts)]))).layout.shapes


def test_the_best_number_of_groups_is_ringed(story: Story) -> None:
    every, best = there(silhouettes(story)).data
    assert (list(every.x), list(every.y)) == ([2, 3], [0.8, 0.4])
    assert (list(best.x), list(best.y)) == ([2], [0.8])


def test_groups_over_rounds_has_a_step_for_each_change(tmp_path: Path) -> None:
    rounds = {1: (0, 0, 0, 0), 2: (0, 0, 0, 0), 3: (0, 1, 1, 1), 4: (0, 1, 0, 1)}
    lines = [
        (number, client, 0.5, group)
        for number, groups in rounds.items()
        for client, group in zip("abcd", groups, strict=True)
    ]
    figure = there(relatedness_over_rounds(made(tmp_path / "run", asked("ifca"), [planted("ac", "bd")], lines)))
    assert [trace.name for trace in figure.data] == ["round 1", "round 3", "round 4"]
    assert figure.layout.yaxis.ticktext == ("a", "c", "b", "d")
    assert figure.data[1].z.tolist() == [[1, 0, 0, 0], [0, 1, 1, 1], [0, 1, 1, 1], [0, 1, 1, 1]]
    assert figure.data[2].z.tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    assert [trace.visible for trace in figure.data] == [False, False, True]
    steady = [(number, client, 0.5, 0) for number in (1, 2) for client in "abcd"]
    assert relatedness_over_rounds(made(tmp_path / "steady", asked(), [], steady)) is None


def test_many_clients_are_binned() -> None:
    labels = np.repeat([0, 1], 200)
    shown = binned(np.equal.outer(labels, labels))
    assert shown.shape == (200, 200)
    assert (shown == 100 * np.equal.outer(np.repeat([0, 1], 100), np.repeat([0, 1], 100))).all()


def test_facts_that_do_not_fit_together_are_not_drawn(tmp_path: Path) -> None:
    wrong: dict[str, object] = {
        **discovery(),
        "squared_distances": [[0, 1], [1, 0]],
        "adjacency": "none",
        "tree": [[0, 9, 1.0, 2], [1, 3, 1.0, 2], [4, 5, 25.0, 4]],
        "embedding": [[1], [2]],
        "silhouettes": {"two": 1},
    }
    story = made(tmp_path / "run", asked("flt"), [round_event(1, discovery=wrong)])
    for draw in (relatedness_matrix, relatedness_graph, dendrogram, client_map, silhouettes):
        assert draw(story) is None
