"""Tables of a regression and of a classification: from runs on tables whose numbers are known."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fedclade as fc
from fedclade.api import Settings
from fedclade.report.comparison import comparison_rows
from fedclade.report.plots import draw_plots
from fedclade.report.run_data import RunData, read_run
from fedclade.report.summary import summarise
from fedclade.report.tables import baseline_entry, flat_rows, main_table, metric_table
from report.parsing import check_page

QUICK: Settings = {"rounds": 3, "participation": 1.0, "evaluate_every": 1, "lr": 0.02, "workers": 0}
CLIENTS, ROWS = 8, 40


def compare(kind: str, folder: Path) -> tuple[fc.Comparison, np.ndarray]:
    """A comparison of FedAvg and Local, and the labels tested on; numbers less the mean of those for training."""
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(CLIENTS, ROWS, 3))
    number = inputs @ np.array([3.0, -2.0, 1.0]) + 40 + rng.normal(size=(CLIENTS, ROWS))
    labels = number if kind == "regression" else np.where(number > 46, "rare", "common")
    made = fc.data.from_arrays({f"c{at}": (inputs[at], labels[at]) for at in range(CLIENTS)})
    compared = fc.compare(made, [fc.FedAvg(), fc.Local()], net="logistic", out=folder, **QUICK)
    tested = np.concatenate([held.test.labels for held in made.data.values()])
    learned = np.concatenate([held.train.labels for held in made.data.values()])
    return compared, (tested - learned.mean()) * made.task.scale if kind == "regression" else tested


def runs_of(comparison: fc.Comparison) -> list[RunData]:
    return [read_run(run.folder) for run in comparison.runs]


@pytest.fixture(scope="module")
def regression(tmp_path_factory: pytest.TempPathFactory) -> tuple[fc.Comparison, np.ndarray]:
    return compare("regression", tmp_path_factory.mktemp("regression"))


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> tuple[fc.Comparison, np.ndarray]:
    return compare("classification", tmp_path_factory.mktemp("classes"))


def test_a_regression_has_a_table_with_its_mean(regression: tuple[fc.Comparison, np.ndarray]) -> None:
    comparison, tested = regression
    always = float(np.sqrt((tested.astype(float) ** 2).mean()))
    main, others = main_table(comparison.lines), metric_table(comparison.lines)
    assert main.headings[:4] == ("method", "RMSE", "95 % interval", "worst tenth")
    assert "variance" not in main.headings
    assert [row[0] for row in main.rows] == [row[0] for row in others.rows] == ["fedavg", "local", "(mean)"]
    assert main.rows[-1][1] == f"{always:.4g}"
    assert others.headings == ("method", "MAE", "R2")
    entry = baseline_entry(comparison.lines)
    assert entry["value"] == pytest.approx(always)
    for line in comparison.lines:
        assert line.metric == "rmse"
        assert line.interval is not None
        assert line.interval[0] < line.value < line.interval[1]
        assert np.isnan(line.accuracy)
    rows = flat_rows(comparison.lines)
    assert [row["method"] for row in rows] == ["fedavg", "local"]
    assert rows[0]["baseline rmse"] == pytest.approx(always)
    assert rows[0]["rmse"] == pytest.approx(comparison.lines[0].value)
    assert rows[0]["accuracy"] is None


def test_the_worst_tenth_of_a_regression_has_the_largest_errors(regression: tuple[fc.Comparison, np.ndarray]) -> None:
    run = runs_of(regression[0])[0]
    assert run.result is not None
    assert run.result["worst_tenth"] == pytest.approx(max(run.final_values().values()))  # of eight clients one


def test_plots_of_a_regression_are_in_its_unit(regression: tuple[fc.Comparison, np.ndarray], tmp_path: Path) -> None:
    runs = runs_of(regression[0])
    plots = {plot.name: plot for plot in draw_plots(runs)}
    assert plots["rmse-against-rounds"].title == "RMSE against rounds"
    assert plots["rmse-against-rounds"].figure.layout.yaxis.title.text == "RMSE of the clients"
    assert plots["client-rmse"].figure.layout.yaxis.title.text == "final RMSE of a client"
    shown = [value for trace in plots["client-rmse"].figure.data if trace.type == "scatter" for value in trace.y]
    values = [value for run in runs for value in run.final_values().values()]
    assert sorted(shown) == pytest.approx(sorted(values), rel=1e-5)
    page = check_page(regression[0].report(tmp_path / "report.html"))
    assert "RMSE" in page.text
    assert "accuracy" not in page.text.lower().replace("accuracy_", "")
    assert summarise(runs, comparison_rows(runs)).sentence in page.text


def test_a_classification_has_recalls_and_confusions(classes: tuple[fc.Comparison, np.ndarray], tmp_path: Path) -> None:
    comparison, tested = classes
    others = metric_table(comparison.lines)
    assert others.headings[1:] == (
        "balanced accuracy",
        "macro F1",
        "AUC",
        "log loss",
        "recall common",
        "recall rare",
    )
    assert others.rows[-1][0] == "(most frequent class)"
    assert others.rows[-1][-2:] == ("100.0 %", "0.0 %")
    result = comparison.runs[0].result
    confusion = np.array(result["confusion"])
    assert confusion.sum(axis=1).tolist() == np.bincount(tested).tolist()
    assert result["recall"] == {
        name: pytest.approx(confusion[at, at] / confusion[at].sum()) for at, name in enumerate(("common", "rare"))
    }
    page = check_page(comparison.report(tmp_path / "report.html"))
    for name, row in zip(("common", "rare"), confusion.tolist(), strict=True):
        assert f"{name}{row[0]}{row[1]}" in page.text  # cells of a table


def test_warnings_name_the_run_where_there_are_several(classes: tuple[fc.Comparison, np.ndarray]) -> None:
    runs = runs_of(classes[0])
    text = 'class "rare" is <never> predicted'
    result = {**(runs[0].result or {}), "warnings": [{"name": "never_predicted", "text": text}]}
    marked = [replace(runs[0], result=result), replace(runs[1], result={**(runs[1].result or {}), "warnings": []})]
    found = summarise(marked, comparison_rows(marked))
    assert found.warning_texts() == [f"fedavg, seed 0: {text}"]
    entry = {"run": str(runs[0].path), "method": "fedavg", "seed": 0, "name": "never_predicted", "text": text}
    assert found.as_json()["warnings"] == [entry]
    both = [replace(run, result=result) for run in runs]
    assert summarise(both, comparison_rows(both)).warning_texts() == [
        f"{name}, seed 0: {text}" for name in ("fedavg", "local")
    ]
