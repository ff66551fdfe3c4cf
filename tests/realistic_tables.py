"""Tables as engineers have them, with groups that are planted: mixed types, gaps, an index, scales far apart."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

CLIENTS, ROWS = 300, 60
Columns = dict[str, object]


def machines(rng: np.random.Generator, owner: NDArray[np.int64]) -> tuple[Columns, str, int]:
    """Four kinds of machine: other temperatures, pressures and materials."""
    group, rows = owner % 4, len(owner)
    fault = rng.choice(["none", "leak", "seized"], rows, p=[0.6, 0.25, 0.15])
    hot = 70 + np.array([0, 9, -8, 4])[group] + 5 * rng.normal(size=rows) + 6 * (fault == "leak")
    materials = np.array(["steel", "brass", "cast iron", "01"])
    material = np.where(rng.random(rows) < 0.7, materials[group], rng.choice(materials, rows))
    days = rng.integers(0, 1000, rows).astype("timedelta64[D]")
    columns: Columns = {
        "Unnamed: 0": np.arange(rows),
        "temperature": with_gaps(np.round(hot, 1), rng, 0.05),
        "pressure": 1e5 * (1 + np.array([0.0, 0.3, 0.5, -0.2])[group] + 0.2 * rng.normal(size=rows)),
        "vibration": 1e-3 * np.exp(rng.normal(size=rows) + (fault == "seized")),
        "speed": rng.integers(500, 3000, rows),
        "material": material,
        "night": rng.random(rows) < 0.3,
        "measured": np.datetime64("2022-01-01") + days,
        "software": ["2.1"] * rows,
        "fault": fault,
    }
    return columns, "fault", 4


def clinics(rng: np.random.Generator, owner: NDArray[np.int64]) -> tuple[Columns, str, int]:
    """Three habits of coding: the same patients, other words for what became of them."""
    group, rows = owner % 3, len(owner)
    age, dose = rng.integers(18, 90, rows), np.exp(rng.normal(size=rows))
    ward = rng.choice(["A", "B", "C", "surgery, day"], rows)
    risk = (age - 54) / 20 + np.log(dose) + 0.3 * rng.normal(size=rows)
    outcome = (np.digitize(risk, [-0.7, 0.7]) + group) % 3
    columns: Columns = {
        "age": age,
        "dose": with_gaps(dose, rng, 0.1),
        "ward": ward,
        "smoker": rng.choice(["yes", "no", ""], rows, p=[0.2, 0.7, 0.1]),
        "admitted": np.datetime64("2023-03-01T00:00:00") + rng.integers(0, 30_000_000, rows).astype("timedelta64[s]"),
        "outcome": outcome + 1,
    }
    return columns, "outcome", 3


def shops(rng: np.random.Generator, owner: NDArray[np.int64]) -> tuple[Columns, str, int]:
    """Two kinds of shop: other channels, other baskets, other shares of goods that come back."""
    group, rows = owner % 2, len(owner)
    channels = np.array(["web", "phone", "store", "app"])
    shares = np.array([[0.6, 0.05, 0.05, 0.3], [0.1, 0.2, 0.6, 0.1]])
    channel = channels[(rng.random(rows)[:, None] > shares[group].cumsum(axis=1)).sum(axis=1).clip(0, 3)]
    back = rng.random(rows) < np.where(group, 0.1, 0.35)
    value = np.exp(3 + group + rng.normal(size=rows) + back)
    countries = np.array([f"country {number:02d}" for number in range(60)])
    columns: Columns = {
        "order": [f"#{number:07d}" for number in rng.permutation(rows)],
        "value": np.round(value, 2),
        "items": rng.poisson(3, rows) + 1,
        "channel": channel,
        "country": countries[np.minimum(rng.geometric(0.1, rows) - 1, 59)],
        "year": rng.integers(2019, 2024, rows),
        "returned": back,
    }
    return columns, "returned", 2


def with_gaps(values: NDArray[np.float64], rng: np.random.Generator, share: float) -> list[float | None]:
    """The values, some of which are missing."""
    lost = rng.random(len(values)) < share
    return [None if gone else value for value, gone in zip(values.tolist(), lost, strict=True)]


WORLDS: dict[str, Callable[[np.random.Generator, NDArray[np.int64]], tuple[Columns, str, int]]] = {
    "machines": machines,
    "clinics": clinics,
    "shops": shops,
}


def realistic_table(name: str, seed: int = 0, clients: int = CLIENTS, rows: int = ROWS) -> tuple[pa.Table, str, int]:
    """A table with the column `site`, its label, and how many groups are planted: sites i and i + groups are alike."""
    rng = np.random.default_rng(seed)
    owner = rng.permutation(np.repeat(np.arange(clients), rows))
    columns, label, groups = WORLDS[name](rng, owner)
    sites = np.array([f"site-{number:03d}" for number in range(clients)])
    arrays = [pa.array(values) for values in columns.values()]
    return pa.Table.from_arrays([*arrays, pa.array(sites[owner])], [*columns, "site"]), label, groups


def planted_groups(groups: int, clients: int = CLIENTS) -> tuple[tuple[str, ...], ...]:
    """The planted groups, in the order of their first members."""
    return tuple(tuple(f"site-{number:03d}" for number in range(first, clients, groups)) for first in range(groups))
