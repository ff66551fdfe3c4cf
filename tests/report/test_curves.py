"""Curves: means and bands over seeds, by hand."""

from pathlib import Path

from fedclade.report.plots import accuracy_against_megabytes, accuracy_against_rounds
from report.folders import asked, evaluation, made, round_event, there


def test_a_line_is_the_mean_and_its_band_goes_to_the_extremes(tmp_path: Path) -> None:
    runs = [
        made(tmp_path / "0", asked(seed=0), [evaluation(1, 0.2), evaluation(2, 0.5)]),
        made(tmp_path / "1", asked(seed=1), [evaluation(1, 0.4), evaluation(2, 0.7)]),
    ]
    band, line = there(accuracy_against_rounds(runs)).data
    assert (list(line.x), list(line.y)) == ([1, 2], [30, 60])
    assert list(zip(band.x, band.y, strict=True)) == [(1, 40), (2, 70), (2, 50), (1, 20)]
    assert line.name == "fedavg"


def test_bytes_are_those_sent_until_then(tmp_path: Path) -> None:
    start = {"event": "start", "round": 0, "bytes_up": 500_000, "bytes_down": 0}
    events = [start, round_event(1, 1_000_000, 2_000_000), evaluation(1, 0.2), round_event(2, 0, 500_000)]
    run = made(tmp_path / "run", asked(), [*events, evaluation(2, 0.5)])
    (line,) = there(accuracy_against_megabytes([run])).data
    assert list(line.x) == [3.5, 4.0]


def test_two_settings_of_a_method_have_its_colour_and_other_dashes_and_marks(tmp_path: Path) -> None:
    runs = [made(tmp_path / str(number), asked("flt", groups=number), [evaluation(1, 0.2)]) for number in (2, 3)]
    one, other = there(accuracy_against_rounds(runs)).data
    assert (one.name, other.name) == ("flt, groups 2", "flt, groups 3")
    assert one.line.color == other.line.color
    assert one.line.dash != other.line.dash
    assert one.marker.symbol != other.marker.symbol


def test_a_run_that_has_not_been_evaluated_has_no_curve(tmp_path: Path) -> None:
    assert accuracy_against_rounds([made(tmp_path / "run", asked(), [round_event(1)])]) is None
