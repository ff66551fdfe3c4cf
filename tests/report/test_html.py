"""The report: one file, offline, with the plots and numbers of the runs."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import fedclade as fc
from fedclade.api import Settings
from fedclade.core import InputError
from fedclade.data import Federation
from fedclade.report.comparison import compare_runs
from fedclade.report.harm import harmed_by_run
from fedclade.report.html import write_report
from fedclade.report.run_data import read_run
from fedclade.report.summary import summarise
from fedclade.report.tables import main_table, metric_table
from fedclade.store.run_folder import RunFolder
from report.parsing import check_page

QUICK: Settings = {"rounds": 2, "participation": 1.0, "evaluate_every": 1, "lr": 0.2, "workers": 0}


@pytest.fixture(scope="module")
def comparison(two_groups: Federation, tmp_path_factory: pytest.TempPathFactory) -> fc.Comparison:
    folder = tmp_path_factory.mktemp("report")
    return fc.compare(two_groups, [fc.FedAvg(), fc.Local()], seeds=2, net="logistic", out=folder, **QUICK)


def test_the_page_shows_what_the_runs_say(comparison: fc.Comparison, tmp_path: Path) -> None:
    path = comparison.report(tmp_path / "report.html")
    assert path.stat().st_size < 8e6  # plotly is in it, once
    page = check_page(path)
    for table in (main_table(comparison.lines), metric_table(comparison.lines)):
        for cell in (*table.headings, *(cell for row in table.rows for cell in row)):
            assert cell in page.text
    for run in comparison.runs:
        assert str(run.result["model_hash"]) in page.text
    assert re.search(r"(fedavg|local) was best: |No method is clearly best: ", page.text)
    assert re.search(r"\d+\.\d % mean accuracy over 6 clients", page.text)
    figures = [json.loads(found) for found in re.findall(r"const figure = (.*);", page.scripts[-1])]
    curves, _, strips = figures[:3]
    named = {trace["name"]: trace for trace in curves["data"] if trace.get("name")}
    assert set(named) == {"fedavg", "local"}
    assert all(len(trace["x"]) == 2 for trace in named.values())
    marks = [len(trace["text"]) for trace in strips["data"] if trace["type"] == "scatter"]
    assert [marks[0] + marks[1], marks[2] + marks[3]] == [12, 12]  # 6 clients, 2 seeds; harmed ones apart
    assert curves["layout"]["yaxis"]["title"]["text"] == "mean accuracy of the clients, %"


def test_harmed_clients_are_those_of_fishers_test(comparison: fc.Comparison) -> None:
    from scipy import stats

    runs = [read_run(run.folder) for run in comparison.runs]
    fedavg, local = runs[0].final_values(), runs[1].final_values()
    assert len(fedavg) == 6
    hurt = harmed_by_run(runs)
    examples = dict(zip(runs[0].final_metrics.clients, runs[0].final_metrics.examples.tolist(), strict=True))
    for mine, other, found in ((fedavg, local, hurt[0]), (local, fedavg, hurt[1])):
        p = [
            stats.fisher_exact(
                [[round(has[name] * count), round((1 - has[name]) * count)] for has in (mine, other)], "less"
            )
            for name, count in examples.items()
        ]
        kept = stats.false_discovery_control([each.pvalue for each in p]) <= 0.05
        assert found == tuple(name for name, is_kept in zip(examples, kept, strict=True) if is_kept)
    assert harmed_by_run(runs[:1]) == [None]  # nobody to compare with
    assert compare_runs([comparison.runs[0].folder])[0].harmed is None


def test_an_unfinished_run_has_no_report(comparison: fc.Comparison, tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", "", {}) as folder, pytest.raises(InputError, match="a run is not finished"):
        write_report([folder], tmp_path / "report.html")
    with pytest.raises(InputError, match="the report cannot be written"):
        comparison.report(tmp_path / "nowhere" / "report.html")


def test_the_verdict_leaves_out_what_is_not_known_and_says_what_is_within_noise(comparison: fc.Comparison) -> None:
    runs = [read_run(run.folder) for run in comparison.runs]
    one, other = comparison.lines

    def said(first: float, second: float) -> str:
        return summarise(runs, [replace(one, value=first), replace(other, value=second)]).sentence

    same = summarise(runs[:1], [one]).sentence
    assert re.match(
        r"fedavg reached \d+\.\d % mean accuracy, 95 % interval [\d.]+ to [\d.]+, over 6 clients in 2", same
    )
    for pair in ((float("nan"), 0.5), (0.5, float("nan"))):
        assert " was best: 50.0 %" in said(*pair)
        assert "not evaluated)." in said(*pair)
    assert said(float("nan"), float("nan")) == "Nobody could be evaluated."
