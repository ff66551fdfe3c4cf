"""Scores of clients, numbers of groups and bytes, by hand."""

from pathlib import Path

import pytest

from fedclade.report.plots import bytes_sent, client_scores, imposed_groups
from report.folders import asked, evaluation, made, planted, round_event, there


def test_scores_are_shown_check_in_by_check_in(tmp_path: Path) -> None:
    events = [
        planted("bd", "ac"),
        round_event(1, scores={"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4}),
        round_event(2, heard=3),
        round_event(3, scores=[0.9, 0.7], clients=["a", "c"], chosen={"a": 2, "c": 1}),
    ]
    first, second, counts = there(client_scores(made(tmp_path / "run", asked("abc"), events))).data
    # The planted groups are b and d, a and c: so stand the clients.
    shown = list(zip(first.text, first.x, first.y, strict=True))
    assert shown == [("b", 0, 0.2), ("d", 1, 0.4), ("a", 2, 0.1), ("c", 3, 0.3)]
    assert list(zip(second.text, second.x, second.y, strict=True)) == [("a", 2, 0.9), ("c", 3, 0.7)]
    assert [first.visible, second.visible] == [False, True]
    assert list(counts.y) == [0, 0, 2, 1]


def test_who_was_chosen_is_counted_over_rounds(tmp_path: Path) -> None:
    events = [round_event(1, scores={"a": 0.1, "b": 0.2}, chosen=["a", "b"]), round_event(2, chosen=["b"])]
    assert list(there(client_scores(made(tmp_path / "run", asked("abc"), events))).data[-1].y) == [1, 2]


def test_who_took_part_is_counted_where_the_method_does_not(tmp_path: Path) -> None:
    lines = [(1, "a", None, 0), (1, "b", None, 0), (2, "a", None, 0)]
    events = [round_event(1, scores={"a": 0.1, "b": 0.2})]
    run = made(tmp_path / "run", asked("abc"), events, lines, took_part=[True, False, True])
    assert list(there(client_scores(run)).data[-1].y) == [2, 0]
    assert client_scores(made(tmp_path / "none", asked(), [round_event(1)])) is None


def test_imposed_numbers_of_groups(tmp_path: Path) -> None:
    settings = [(2, 0, 0.5), (2, 1, 0.7), (3, 0, 0.9), (0, 0, 0.8)]
    runs = [
        made(tmp_path / f"{count}-{seed}", asked("flt", seed, groups=count), [evaluation(2, accuracy, group_count=4)])
        for count, seed, accuracy in settings
    ]
    imposed, found = there(imposed_groups(runs)).data
    assert (list(imposed.x), list(imposed.y)) == ([2, 3], [60, 90])
    assert list(imposed.error_y.array) == pytest.approx([10, 0])
    assert (list(found.x), list(found.y)) == ([4], [80])
    assert imposed_groups(runs[2:]) is None  # one number is no effect


def test_bytes_by_what_they_were_for(tmp_path: Path) -> None:
    result = {"bytes_up": 3, "bytes_up_train": 2e6, "bytes_up_losses": 1e6, "bytes_up_evaluate": 9e6}
    run = made(tmp_path / "run", asked("ifca"), [], result={**result, "bytes_down_train": 4e6})
    figure = there(bytes_sent([run]))
    assert figure.layout.yaxis.ticktext == ("ifca, down", "ifca, up")
    bars = {trace.name: list(zip(trace.y, trace.x, strict=True)) for trace in figure.data}
    assert bars == {"losses of every model": [(1, 1.0)], "models, trained": [(0, 4.0), (1, 2.0)]}
    going_on = made(tmp_path / "live", asked("ifca"), [round_event(1, 1_000_000, 2_000_000)])
    assert [list(trace.x) for trace in there(bytes_sent([going_on])).data] == [[2.0, 1.0]]
