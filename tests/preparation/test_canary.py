"""What fitting a preparation tells of one site: no rare category and no number far out is in any message."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from fedclade.core.settings import settings_table
from fedclade.fleet import Fleet
from fedclade.wire import Reply
from fedclade.wire.message import AnyRequest
from preparation.frames import Recorder, federation_of, fit, record

KNOWN = ["asthma", "gout", "scurvy"]
NAME = "Morquio syndrome"
NUMBER = 48_123.456_789
DATE = "1777-04-30"
DATE_SECONDS = -6_080_140_800.0  # from there to 1970
DATE_YEAR = 1777 + 119 / 365  # January 31, February 28, March 31, April 29 days


def plain(value: Any) -> Any:
    """Settings in tuples as tables too."""
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return plain(settings_table(value)) if hasattr(value, "__dataclass_fields__") else value


def numbers_in(value: Any) -> Iterator[float]:
    """All numbers of plain data."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from numbers_in(each)
    elif isinstance(value, int | float):
        yield float(value)


def header(request: AnyRequest) -> Any:
    return plain(settings_table(request.fields))


def texts_of(recorder: Recorder) -> Iterator[str]:
    """All that crossed as text: headers, and arrays of bytes."""
    for request in recorder.requests:
        yield json.dumps([request.client, header(request)], ensure_ascii=False)
    for reply in recorder.replies:
        for array in reply.arrays.values():
            yield array.tobytes().decode("utf-8", "replace")


def numbers_of_replies(reply: Reply) -> Iterator[float]:
    for array in reply.arrays.values():
        if array.dtype != np.uint8:
            yield from np.asarray(array, np.float64).ravel().tolist()


def check_nothing_is_told(recorder: Recorder, secrets: list[float]) -> None:
    """No secret as text or as bytes, as a number to a millionth of itself, or within the bounds of a sum."""
    texts = [*texts_of(recorder)]
    for text in texts:
        assert NAME not in text
        assert NAME.lower() not in text
        assert not any(word in text for word in ("Morquio", "syndrome", "morquio"))
        assert DATE not in text
        assert not any(repr(secret) in text for secret in secrets)
    raw = b"".join(array.tobytes() for reply in recorder.replies for array in reply.arrays.values())
    for secret in secrets:
        assert np.float64(secret).tobytes() not in raw
        assert np.float32(secret).tobytes() not in raw
    sent = [number for request in recorder.requests for number in numbers_in(header(request))]
    numbers = np.array([*sent, *(number for reply in recorder.replies for number in numbers_of_replies(reply))])
    for secret in secrets:
        assert not np.isclose(numbers, secret, rtol=1e-6, atol=0).any()
    for request in recorder.requests:
        if request.verb.name == "column_sums":
            for asked in request.fields.numbers:
                assert not any(asked.low <= secret <= asked.high for secret in secrets if asked.column in ("x", "when"))


def secret_fleet(rows: int, clients: int, *, copies: int = 1, alone: bool = False) -> tuple[Fleet, Recorder, list[str]]:
    """A fleet in which one client has a rare category, a number far out and a date of another century.

    Alone: that client has no other rows.
    """
    rng = np.random.default_rng(rows + clients)
    x = rng.lognormal(1, 0.5, rows).round(3).tolist()
    names = rng.choice(KNOWN, rows).tolist()
    days = [f"2024-{1 + row % 12:02}-{1 + row % 28:02}" for row in range(rows)]
    notes = [f"felt {'cold' if row % 2 else 'warm'} in week {row}" for row in range(rows)]
    sites = [f"s{row % clients:02}" for row in range(rows)]
    for row in range(copies):
        place = row * clients
        x[place], names[place], days[place] = NUMBER, NAME, DATE
        notes[place] = f"has {NAME} since {row}"
        if alone:
            sites[place] = "alone"
    labels = rng.choice(["no", "yes"], rows).tolist()
    federation = federation_of({"x": x, "name": names, "when": days, "note": notes}, sites, labels)
    fleet, recorder = record(federation)
    found = fit(federation, fleet, text=("note",))
    return fleet, recorder, [*found.names, found.to_json().decode()]


@pytest.mark.parametrize("rows", [40, 60, 150, 400, 2000])
@pytest.mark.parametrize("clients", [2, 12])
@pytest.mark.parametrize("copies", [1, 3, 4])
def test_a_rare_category_and_a_number_far_out_are_in_no_message(rows: int, clients: int, copies: int) -> None:
    _, recorder, stored = secret_fleet(rows, clients, copies=copies)
    check_nothing_is_told(recorder, [NUMBER, DATE_SECONDS, DATE_YEAR])
    assert not any(NAME in text for text in stored)


@pytest.mark.parametrize("copies", [1, 2, 4])
def test_nor_where_a_client_has_nothing_else(copies: int) -> None:
    _, recorder, _ = secret_fleet(300, 5, copies=copies, alone=True)
    check_nothing_is_told(recorder, [NUMBER, DATE_SECONDS, DATE_YEAR])


def test_the_recorder_sees_what_is_told() -> None:
    """The same check fails where five rows have it, so it can fail at all."""
    _, recorder, stored = secret_fleet(400, 5, copies=5)
    assert any(NAME in text for text in texts_of(recorder))
    assert any(NAME in text for text in stored)
    assert {request.verb.name for request in recorder.requests} == {"columns", "column_counts", "column_sums"}


@pytest.mark.parametrize("rows", [60, 400])
def test_counts_by_label_name_no_rare_category(rows: int) -> None:
    """The search for columns that give the label away asks for names that are known, and no others."""
    _, recorder, _ = secret_fleet(rows, 5)
    counted = [request.fields for request in recorder.requests if request.verb.name == "column_counts"]
    asked = [fields for fields in counted if fields.class_names]
    assert {name for fields in asked for names in fields.categories for name in names.names} <= {*KNOWN, ""}
    for fields in asked:
        for numbers in fields.columns:
            assert not any(10_000 < threshold < 100_000 for threshold in numbers.thresholds if numbers.column == "x")
