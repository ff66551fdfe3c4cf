"""The golden file is of this code: a few of its entries are played again, but for what another processor rounds.

`make golden` compares all of them to the bit.
"""

import json

import pytest

pytest.importorskip("flwr", reason="Flower is an extra: pip install 'fedclade[flower]'")

from golden.compare import FILE, differences, recorded

SOME = (
    "fedavg | permuted | simulated",
    "flt tau global | rotated-changing | loopback",
    "ifca restarts | permuted-changing | loopback | not a number",
    "cfl validation | permuted-changing | simulated | silent",
    "groups two | --label",
)
ROUNDED = ("model_hash", "accuracy")


@pytest.mark.slow
def test_some_entries_are_as_they_were() -> None:
    golden = json.loads(FILE.read_text())
    now = recorded(lambda name: name in SOME)
    assert set(now) == set(SOME)
    before, after = (
        {name: {key: value for key, value in each[name].items() if key not in ROUNDED} for name in SOME}
        for each in (golden, now)
    )
    assert list(differences(before, after)) == []
    changed = {**after, SOME[0]: {**after[SOME[0]], "groups": []}}
    assert len(list(differences(before, changed))) == 1  # what differs is seen
