"""Clients that do not answer while a preparation is fitted, or whose answer is refused, count in none of it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from fedclade.core import FedcladeError, Stopped
from fedclade.core.preparation import ColumnChoices, Preparation
from fedclade.core.task import Task
from fedclade.data import Federation, from_frame
from fedclade.fleet.tables import TableTransport, raw_fleet
from fedclade.preparation import fit_preparation
from fedclade.wire import Arrival, Refusal
from fedclade.wire import columns as wire_columns
from fedclade.wire.message import AnyRequest
from preparation.frames import NOW, fit, spread

RNG = np.random.default_rng(0)
COLUMNS = {"x": RNG.normal(size=300).tolist(), "city": RNG.choice(["Oslo", "Lima"], 300).tolist()}


@dataclass
class Failing(TableTransport):
    """Clients of which some fall silent, or give an answer that cannot be read, at their nth request."""

    held: Federation
    failing: dict[str, int]
    reason: str = ""

    def __post_init__(self) -> None:
        super().__init__(self.held)
        self.asked: dict[str, int] = {}

    def carry(self, requests: dict[str, AnyRequest]) -> Iterable[Arrival]:  # type: ignore[override]  # a dict is asked
        for arrival in super().carry(requests):
            name = str(arrival.client)
            self.asked[name] = self.asked.get(name, 0) + 1
            if self.asked[name] < self.failing.get(name, 10**9):
                yield arrival
            elif self.reason:
                yield Refusal(name, next(iter(requests.values())).verb.name, self.reason)


def fit_over(transport: TableTransport) -> Preparation:
    return fit_preparation(
        raw_fleet(transport), ColumnChoices(), NOW, where="here", task=Task(count=2, names=("no", "yes"))
    )


@pytest.mark.parametrize("request_number", [1, 2, 3, 5])
@pytest.mark.parametrize("reason", ["", "the client failed"])
def test_all_is_asked_again_without_them(request_number: int, reason: str) -> None:
    whole = spread(COLUMNS)
    found = fit_over(Failing(whole, {"s003": request_number, "s007": request_number + 1}, reason))
    left = {client: data for client, data in whole.data.items() if client not in ("s003", "s007")}
    wanted = fit(replace(whole, data=left))
    assert replace(found, warnings=()) == replace(wanted, warnings=())
    note = found.warnings[-1]
    assert note.startswith("clients that did not count where columns became inputs: 's003' (")
    assert f"'s007' ({reason or 'no answer'})" in note


def test_nobody_and_somebody_new_each_time_stop_the_fit() -> None:
    whole = spread(COLUMNS)
    with pytest.raises(Stopped, match=r"clients do not answer.*10 of 10 did not, first 's000': no answer"):
        fit_over(Failing(whole, dict.fromkeys(whole.clients, 2)))
    with pytest.raises(Stopped, match="clients do not answer"):
        fit_over(Failing(whole, {f"s{number:03}": 2 + 4 * number for number in range(9)}))


def test_in_this_process_a_refusal_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(*_: object) -> str:
        return "wrong on purpose"

    broken = replace(wire_columns.COLUMN_SUMS, fault=faulty)
    monkeypatch.setattr("fedclade.wire.columns.COLUMN_SUMS", broken)
    table = {"x": [*range(20)], "site": ["a", "b"] * 10, "label": ["no", "no", "yes", "yes"] * 5}
    with pytest.raises(FedcladeError, match="first 'a': wrong on purpose"):
        from_frame(table, client="site", label="label")


def test_many_thresholds_go_out_in_several_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request of a wide table would be text of many megabytes."""
    whole = spread({f"x{number}": RNG.normal(size=300).tolist() for number in range(6)} | COLUMNS)
    wanted = fit(whole)
    monkeypatch.setattr(wire_columns, "CELLS_AT_ONCE", 400)
    transport = Failing(whole, {})
    assert fit_over(transport) == wanted
    assert transport.asked["s000"] > 20
