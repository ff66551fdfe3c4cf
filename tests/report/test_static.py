"""Figures as files: every kind can be drawn, and says what the page's figure says."""

from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from fedclade.core import InputError
from fedclade.report import plots
from fedclade.report.run_data import RunData
from fedclade.report.static import to_matplotlib, write_plot, write_plots
from fedclade.store.run_folder import RunFolder
from report.folders import asked, discovery, evaluation, made, planted, round_event, there
from report.payloads import PAYLOADS


@pytest.fixture
def runs(tmp_path: Path) -> list[RunData]:
    names = (PAYLOADS[0], PAYLOADS[3], "$unclosed^{", "_d")
    lines = [(number, name, 0.25 * place, place % number) for number in (1, 2) for place, name in enumerate(names)]
    facts = {"discovery": discovery(names), "scores": dict.fromkeys(names, 0.5)}
    events = [planted(names[::2], names[1::2]), round_event(1, 10, 20, **facts), evaluation(1, 0.5), evaluation(2, 0.6)]
    one = made(tmp_path / "one", asked("flt"), events, lines, {"bytes_up_train": 10})
    other = [evaluation(1, 0.4), evaluation(2, 0.5)]
    return [one, made(tmp_path / "other", asked("local"), other, lines, {"bytes_up_train": 5})]


@pytest.mark.slow
def test_every_figure_can_be_written_and_read(runs: list[RunData], tmp_path: Path) -> None:
    files = write_plots([RunFolder.open(run.path) for run in runs], tmp_path / "figures", "svg")
    assert len(files) == len({file.name for file in files}) == len(list(plots.draw_plots(runs))) >= 11
    for file in files:
        page = ET.parse(file).getroot()
        assert page.tag.endswith("svg")
        assert not {"script", "a", "foreignObject"} & {element.tag.rpartition("}")[2] for element in page.iter()}
    whole = "".join(file.read_text() for file in files)
    assert "&lt;script&gt;docume…" in whole  # the client's name, shortened, as text
    assert "<script" not in whole


def test_a_line_is_where_the_page_has_it(runs: list[RunData]) -> None:
    figure = to_matplotlib(there(plots.accuracy_against_rounds(runs)).to_plotly_json())
    (axes,) = figure.axes
    assert [np.asarray(line.get_ydata()).tolist() for line in axes.lines] == [[50, 60], [40, 50]]
    assert axes.get_xlabel() == "round"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["flt", "local"]


def test_a_slider_becomes_panels(runs: list[RunData]) -> None:
    figure = to_matplotlib(there(plots.relatedness_over_rounds(runs[0])).to_plotly_json())
    assert [axes.get_title() for axes in figure.axes if axes.get_visible()] == ["round 1", "round 2"]


def test_a_matrix_keeps_its_numbers(runs: list[RunData]) -> None:
    figure = to_matplotlib(there(plots.relatedness_matrix(runs[0])).to_plotly_json())
    shown = np.asarray(figure.axes[1].images[0].get_array()).tolist()
    assert shown == [[0, 1, 5, 5], [1, 0, 5, 5], [5, 5, 0, 1], [5, 5, 1, 0]]


@pytest.mark.slow
@pytest.mark.parametrize(("form", "begins"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_png_and_pdf(runs: list[RunData], tmp_path: Path, form: str, begins: bytes) -> None:
    first = next(iter(plots.draw_plots(runs)))
    assert write_plot(first, tmp_path / f"x.{form}").read_bytes().startswith(begins)


def test_what_cannot_be_written_is_said(runs: list[RunData], tmp_path: Path) -> None:
    folders = [RunFolder.open(run.path) for run in runs]
    with pytest.raises(InputError, match="a figure of this kind cannot be made, --format: got gif, need png, svg, pdf"):
        write_plots(folders, tmp_path / "figures", "gif")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="the figures cannot be written"):
        write_plots(folders, tmp_path / "file")


def test_names_of_files_are_tame() -> None:
    assert plots.file_name("client_accuracy", "../../<b>flt, groups 3") == "client-accuracy--------b-flt--groups-3"
