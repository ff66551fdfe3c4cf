"""A run, a comparison and a federation in few words."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fedclade as fc
from fedclade.core import Groups
from fedclade.core.text_table import text_table
from fedclade.runs.run_text import as_html, in_one_line, in_three_lines, value_text

VERDICT: dict[str, object] = {
    "method": "flt",
    "rounds": 20,
    "seed": 3,
    "metric": "accuracy",
    "metrics": {"accuracy": 0.8765, "loss": 0.4},
    "baseline": {"accuracy": 0.1},
    "accuracy": 0.8765,
    "worst_tenth": 0.7,
    "groups": [["a", "b", "c"], ["d", "e"]],
    "ari": 1.0,
}
REGRESSION: dict[str, object] = {
    **VERDICT,
    "metric": "rmse",
    "metrics": {"mae": 40.0, "rmse": 54.321},
    "baseline": {},
    "accuracy": None,
    "worst_tenth": 71.5,
    "groups": [["a", "b", "c", "d", "e"]],
    "ari": None,
}


def test_the_texts_of_a_verdict() -> None:
    assert in_one_line(VERDICT, Path("runs/x")) == "Run(flt: accuracy 87.6 %, 20 rounds, 2 groups, 'runs/x')"
    assert in_three_lines(VERDICT, Path("runs/x")) == (
        "flt: accuracy 87.6 % over 5 clients (worst tenth 70.0 %, one answer for all 10.0 %)\n"
        "20 rounds, seed 3; 2 groups of 3, 2 clients, ARI 1.00\n"
        "runs/x"
    )


def test_the_texts_of_a_regression() -> None:
    """The root mean squared error, in the label's own unit."""
    assert in_one_line(REGRESSION, Path("x")) == "Run(flt: RMSE 54.32, 20 rounds, 1 group, 'x')"
    assert in_three_lines(REGRESSION, Path("x")) == (
        "flt: RMSE 54.32 over 5 clients (worst tenth 71.5)\n20 rounds, seed 3; 1 group of 5 clients\nx"
    )
    assert '<td style="text-align:left">54.32</td>' in as_html(REGRESSION, Path("x"))


def test_a_verdict_without_answers_or_of_an_earlier_version_has_texts_too() -> None:
    nobody = {**VERDICT, "metrics": {}, "baseline": {}, "accuracy": None, "worst_tenth": None, "groups": []}
    assert "accuracy - over 0 clients (worst tenth -)" in in_three_lines(nobody, Path("x"))
    earlier = {name: VERDICT[name] for name in VERDICT if name not in ("metric", "metrics", "baseline")}
    assert "accuracy 87.6 %, " in in_one_line(earlier, Path("x"))


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        *(("accuracy", 0.123456, "12.3 %"), ("auc", 1.0, "100.0 %"), ("log_loss", 0.123456, "0.1235")),
        *(("rmse", 12345.6, "12,346"), ("cost of mine", 3, "3"), ("accuracy", None, "-"), ("r2", float("nan"), "-")),
    ],
)
def test_a_metric_as_text(name: str, value: object, expected: str) -> None:
    assert value_text(name, value) == expected


def test_a_table_as_text() -> None:
    assert text_table(["what", "n"], [["a", "1.5"], ["longer", "10"]]) == "what      n\na       1.5\nlonger   10"


def test_many_clients_make_no_long_text(tmp_path: Path) -> None:
    """500 clients with a model each: what was printed was thousands of names."""
    rng = np.random.default_rng(0)
    data = {f"client-{number:03}": (rng.random((4, 3)), np.arange(4) % 2) for number in range(500)}
    federation = fc.data.from_arrays(data)
    done = fc.compare(federation, [fc.Local()], net="logistic", rounds=1, workers=0, out=tmp_path)
    (run,) = done.runs
    shown: list[Callable[[], str]] = [run.__repr__, run.__str__, done.__repr__, done.__str__, federation.__repr__]
    shown += [federation.__str__, run.groups.__repr__, run._repr_html_, done._repr_html_, federation._repr_html_]
    for text in shown:
        assert len(text()) < 1500, text
    for text in (run.__repr__, done.__repr__, federation.__repr__, run.groups.__repr__):
        assert "\n" not in text()
    assert [line[:9] for line in str(run).splitlines()[3:]] == ["Warning: "] * len(run.warnings)
    assert str(run.path) in str(run)
    assert str(done).splitlines()[0].split()[:2] == ["method", "accuracy"]
    assert str(done).splitlines()[-1] == f"1 run of 1 round in {tmp_path}"
    assert repr(done) == f"Comparison(local: 1 run of 1 round in {tmp_path})"


def test_the_texts_of_groups_and_of_a_federation(two_groups: fc.Federation) -> None:
    assert repr(Groups((("a", "b"), ("c",)))) == "Groups(2 groups of 2, 1 clients)"
    noted = replace(two_groups, notes=("3 rows are set aside",))
    assert repr(noted) == "Federation(digits, label-permutation: 6 clients, 10 classes, 2 planted groups)"
    assert str(noted) == f"{noted!r}\nNote: 3 rows are set aside"
    shown = noted._repr_html_()
    assert '<p class="tex2jax_ignore mathjax_ignore">3 rows are set aside</p>' in shown
    examples = {use: sum(len(getattr(held, use)) for held in noted.data.values()) for use in ("train", "test")}
    assert sum(examples.values()) == 1797  # all of scikit-learn's digits
    for cell in ("6", f"{examples['train']:,}", f"{examples['test']:,}", "1 x 8 x 8", "10 classes", "2"):
        assert f'<td style="text-align:left">{cell}</td>' in shown
