"""Groups in a user's own data: found where they were planted, and not where there are none."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import fedclade as fc
from fedclade.core import InputError
from fedclade.data import Federation, from_arrays, from_frame
from fedclade.data.load import load_own
from fedclade.runs.own_groups import GroupAnswer, find_own_groups

SITES, ROWS, GROUPS = 30, 200, 3
TRUTH = tuple(tuple(f"site-{site:02d}" for site in range(group, SITES, GROUPS)) for group in range(GROUPS))
"""The sites in the order of their first members, as `Groups` has them."""


def planted_table(path: Path, seed: int, planted: bool) -> Path:
    """30 sites with 200 rows each, on features of very different scales; planted: sites 0, 3, 6, ... are alike, and
    so are 1, 4, 7, ... and 2, 5, 8, ...: each group has other means.
    """
    rng = np.random.default_rng(seed)
    scale = np.array([0.001, 1.0, 1000.0, 10.0])
    means = rng.normal(size=(GROUPS, 4))
    lines = ["site,a,b,c,d,fault"]
    for site in range(SITES):
        fault = rng.integers(0, 2, ROWS)
        values = rng.normal(size=(ROWS, 4)) + 0.5 * fault[:, None] + (means[site % GROUPS] if planted else 0)
        for row, label in zip(values * scale, fault, strict=True):
            lines.append(f"site-{site:02d}," + ",".join(f"{value:.6g}" for value in row) + f",{label}")
    path.write_text("\n".join(lines) + "\n")
    return path


def answer(path: Path, seed: int, *, planted: bool, label: str = "fault") -> GroupAnswer:
    table, without = planted_table(path, seed, planted), () if label else ("fault",)
    return find_own_groups(load_own(table, {"client": "site", "label": label, "without": without}))


@pytest.mark.slow
@pytest.mark.parametrize("label", ["fault", ""])
def test_right_in_nineteen_of_twenty_seeds_and_never_without_groups(tmp_path: Path, label: str) -> None:
    """The means of three groups are drawn: in one of the twenty seeds two of them lie close, and are taken for one."""
    right = 0
    for seed in range(20):
        found = answer(tmp_path / "planted.csv", seed, planted=True, label=label)
        assert found.has_groups
        right += found.found.groups == TRUTH
        none = answer(tmp_path / "iid.csv", seed, planted=False, label=label)
        assert (none.has_groups, none.found.groups) == (False, (tuple(sorted(sum(TRUTH, ()))),)), seed
    assert right >= 19


def test_planted_groups_are_found_and_none_is_an_answer(tmp_path: Path) -> None:
    found = answer(tmp_path / "planted.csv", 0, planted=True)
    assert found.found.groups == TRUTH
    assert found.sentence() == "3 groups in 30 clients"
    assert found.confidence.silhouette > found.confidence.needed
    assert found.confidence.stability == 1
    assert found.confidence.height_ratio > 1.5
    none = answer(tmp_path / "iid.csv", 0, planted=False)
    assert not none.has_groups
    assert none.sentence() == "no clear groups: use one model for all 30 clients"
    assert none.confidence.silhouette < none.confidence.needed
    assert none.confidence.height_ratio < 1.5


def table_of(
    inputs: Mapping[str, NDArray[np.float64]], labels: Mapping[str, NDArray[np.int64]] | None = None
) -> Federation:
    """The federation of a table with these rows."""
    rows = np.concatenate([*inputs.values()])
    columns: dict[str, object] = {f"f{number}": rows[:, number] for number in range(rows.shape[1])}
    columns["site"] = [client for client, held in inputs.items() for _ in held]
    if labels is not None:
        columns["label"] = np.concatenate([*labels.values()])
    return from_frame(columns, client="site", label="" if labels is None else "label", name="own")


def test_labels_that_mean_the_opposite_are_seen_only_with_labels() -> None:
    rng = np.random.default_rng(0)
    inputs, labels = {}, {}
    for site in range(12):
        label = rng.integers(0, 2, 200)
        turned = label if site < 6 else 1 - label
        inputs[f"s{site:02d}"] = rng.normal(size=(200, 2)) + 2 * turned[:, None]
        labels[f"s{site:02d}"] = label
    halves = (tuple(f"s{site:02d}" for site in range(6)), tuple(f"s{site:02d}" for site in range(6, 12)))
    assert find_own_groups(table_of(inputs, labels)).found.groups == halves
    assert not find_own_groups(table_of(inputs)).has_groups


def test_one_wrong_cell_is_not_the_whole_answer() -> None:
    rng = np.random.default_rng(0)
    inputs = {f"s{site:02d}": rng.normal(size=(100, 3)) + 2 * (site % 2) for site in range(10)}
    inputs["s00"][0, 0] = 1e6
    assert find_own_groups(table_of(inputs)).found.count == 2


def test_a_column_that_never_changes_is_left_out() -> None:
    rng = np.random.default_rng(0)
    inputs = {f"s{site}": np.c_[rng.normal(size=(50, 1)), np.full(50, 7.0)] for site in range(4)}
    found = find_own_groups(table_of(inputs))
    assert (found.names, dict(found.left_out)) == (("f0",), {"f1": "the same in every row"})
    with pytest.raises(InputError, match=r"no column can be used.*'f0': the same in every row"):
        table_of({client: rows[:, 1:] for client, rows in inputs.items()})


def test_long_numbers_keep_their_last_digits(tmp_path: Path) -> None:
    """Seconds since 1970: float32 tells only every 128th of them apart."""
    rng = np.random.default_rng(0)
    lines = ["site,time"]
    for site in range(8):
        lines += [f"s{site},{1_700_000_000 + int(second)}" for second in rng.integers(0, 10, 50) + 20 * (site % 2)]
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n")
    found = find_own_groups(load_own(tmp_path / "data.csv", {"client": "site", "label": ""})).found
    assert found.groups == (("s0", "s2", "s4", "s6"), ("s1", "s3", "s5", "s7"))


def test_images_are_seen_through_the_public_basis_or_an_encoder() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(20) % 2
    bright = {f"s{site:02d}": (0.1 * rng.random((20, 1, 8, 8)) + 0.6 * (site % 2), labels) for site in range(8)}
    for encoder in ("", "pixels"):
        found = find_own_groups(from_arrays(bright), encoder=encoder)
        assert found.found.groups == (("s00", "s02", "s04", "s06"), ("s01", "s03", "s05", "s07"))


def test_too_little_to_compare_is_said() -> None:
    rows = np.random.default_rng(0).normal(size=(4, 2))
    with pytest.raises(InputError, match="there are too few clients to compare, own: got 3: a, b, c, need at least 4"):
        find_own_groups(table_of(dict.fromkeys("abc", rows)))


@pytest.mark.slow
def test_an_index_makes_no_groups_of_noise(tmp_path: Path) -> None:
    """Rows of each site lie together, so that a row's number says which site it is of."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        table = pd.DataFrame({"site": np.repeat([f"s{site:02d}" for site in range(20)], 50)})
        table["x"], table["y"], table["label"] = rng.normal(size=1000), rng.normal(size=1000), rng.integers(0, 3, 1000)
        table.to_csv(tmp_path / "index.csv")
        table[table.index >= 0].to_parquet(tmp_path / "index.parquet")
        for name in ("index.csv", "index.parquet"):
            for label in ("label", ""):
                found = fc.find_groups(tmp_path / name, client="site", label=label)
                assert (found.count, found.outliers) == (1, ()), (seed, name, label)


def shuffled(rng: np.random.Generator) -> NDArray[np.float64]:
    """Row numbers that are not in order within a client."""
    return np.concatenate([rng.permutation(50) + 50.0 * site for site in range(30)])


def index_of(kind: str, rng: np.random.Generator) -> NDArray[np.float64]:
    """Row numbers as they are found in files."""
    rows = np.arange(1500.0)
    if kind == "newest first":
        return rows[::-1]
    if kind == "gaps":
        return np.where(rng.random(1500) < 0.02, np.nan, rows)
    if kind == "a row twice":
        rows[20::50] -= 1
        return rows
    if kind == "number_of_site":
        return np.repeat(rng.permutation(np.arange(30.0)), 50)
    return shuffled(rng)


@pytest.mark.parametrize(
    "kind", ["newest first", "gaps", "a row twice", "number_of_site", "Unnamed: 0.1", "caseId", "Nr.", "#", "level_0"]
)
def test_an_index_of_another_form_makes_no_groups_of_noise(tmp_path: Path, kind: str) -> None:
    for seed in range(2):
        rng = np.random.default_rng(seed)
        table = pd.DataFrame({"site": np.repeat([f"s{site:02d}" for site in range(30)], 50)})
        table["x"], table["label"] = rng.normal(size=1500), rng.integers(0, 3, 1500)
        table[kind] = pd.array(index_of(kind, rng), dtype="Int64")
        table.to_csv(tmp_path / "index.csv", index=False)
        found = fc.find_groups(tmp_path / "index.csv", client="site", label="label")
        assert (found.count, found.outliers) == (1, ())
