"""A user's own data to be looked at: tables, arrays and folders, with labels and without; and wrong ones."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from fedclade.data.holdings import holdings
from fedclade.nouns import InputError

TABLE = "site,heat,speed,fault\nb,1,10,yes\na,2,20,no\nb,3,30,no\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "data.csv").write_text(TABLE)
    return tmp_path / "data.csv"


def test_a_table_with_labels(table: Path) -> None:
    found = holdings(table, client="site", label="fault")
    assert list(found.inputs) == ["a", "b"]
    assert found.inputs["b"].tolist() == [[1, 10], [3, 30]]
    assert found.class_names == ("no", "yes")
    assert found.labels["b"].tolist() == [1, 0]
    assert found.features == ("heat", "speed")
    assert found.examples == 3


def test_a_table_without_labels_and_without_a_column(table: Path) -> None:
    found = holdings(table, client="site", without=["fault", "heat"])
    assert found.features == ("speed",)
    assert found.class_names == ()
    assert found.labels["b"].tolist() == [0, 0]


def test_parquet(table: Path, tmp_path: Path) -> None:
    columns = {"site": ["b", "a", "b"], "heat": [1.0, 2.0, 3.0], "speed": [10, 20, 30], "fault": ["yes", "no", "no"]}
    pq.write_table(pa.table(columns), tmp_path / "data.parquet")
    one = holdings(tmp_path / "data.parquet", client="site", label="fault")
    other = holdings(table, client="site", label="fault")
    assert one.inputs["b"].tolist() == other.inputs["b"].tolist()
    assert one.labels["b"].tolist() == other.labels["b"].tolist()


def test_arrays_in_one_file(tmp_path: Path) -> None:
    inputs = np.arange(8, dtype=np.float64).reshape(4, 2)
    np.savez(tmp_path / "data.npz", inputs=inputs, who=np.array(["a", "b", "a", "b"]), kind=np.array([5, 5, 7, 7]))
    found = holdings(tmp_path / "data.npz", client="who", label="kind")
    assert found.inputs["a"].tolist() == [[0, 1], [4, 5]]
    assert found.labels["a"].tolist() == [0, 1]
    assert found.class_names == ("5", "7")
    assert holdings(tmp_path / "data.npz", client="who").class_names == ()
    with pytest.raises(InputError, match='there is no array "site"'):
        holdings(tmp_path / "data.npz", client="site")


def pixels(path: Path, value: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", (3, 2), value).save(path)


def test_images_with_classes_and_without(tmp_path: Path) -> None:
    for client, value in (("a", 0), ("b", 255)):
        pixels(tmp_path / "plain" / client / "1.png", value)
        pixels(tmp_path / "classed" / client / "cat" / "1.png", value)
        pixels(tmp_path / "classed" / client / "dog" / "1.png", value)
    plain, classed = holdings(tmp_path / "plain"), holdings(tmp_path / "classed")
    assert plain.inputs["b"].shape == (1, 1, 2, 3)
    assert plain.inputs["b"].max() == classed.inputs["b"].min() == 1
    assert (plain.class_names, classed.class_names) == ((), ("cat", "dog"))
    assert classed.labels["a"].tolist() == [0, 1]


def test_a_file_for_each_client(tmp_path: Path) -> None:
    for client in "ab":
        (tmp_path / f"{client}.csv").write_text("heat,kind\n1,x\n2,y\n")
    assert holdings(tmp_path, label="kind").class_names == ("x", "y")
    assert holdings(tmp_path, label="kind").features == ("heat",)
    with pytest.raises(InputError, match=r"a feature is not a number, .*column 'kind': got 'x' in row 1"):
        holdings(tmp_path)


@pytest.mark.parametrize(
    ("text", "asked", "said"),
    [
        (TABLE + "c,1\n", {"client": "site", "label": "fault"}, "a line is broken, .*line 5: got 2 values"),
        (TABLE, {"client": "sight", "label": "fault"}, 'there is no column "sight", .*did you mean "site"'),
        (TABLE, {"client": "site", "label": "faults"}, 'there is no column "faults"'),
        (
            TABLE + "c,warm,1,no\n",
            {"client": "site", "label": "fault"},
            "a feature is not a number, .*'warm' in row 4.*--without heat",
        ),
        (TABLE + "c,,1,no\n", {"client": "site", "label": "fault"}, "cells are empty or NaN, .*first in row 4 of 4"),
        (TABLE, {"label": "fault"}, "nothing says whose a row is, .*do: give it: --client COLUMN"),
        (TABLE, {"client": "site", "label": "site"}, "client and label are one column"),
        ("", {"client": "site"}, "the file is empty"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, asked: dict[str, str], said: str) -> None:
    (tmp_path / "data.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        holdings(tmp_path / "data.csv", **asked)


def test_what_is_not_there_or_not_known_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file or folder"):
        holdings(tmp_path / "nowhere.csv", client="site")
    (tmp_path / "data.xlsx").write_text("x")
    with pytest.raises(InputError, match=r"the ending is not known, .*need .csv, .parquet, .npz"):
        holdings(tmp_path / "data.xlsx", client="site")
    (tmp_path / "folder" / "a").mkdir(parents=True)
    with pytest.raises(InputError, match="a folder has no such column, --client"):
        holdings(tmp_path / "folder", client="site")
    with pytest.raises(InputError, match='client "a" has no images'):
        holdings(tmp_path / "folder")
    pixels(tmp_path / "folder" / "a" / "1.png", 0)
    with pytest.raises(InputError, match="images have no label column"):
        holdings(tmp_path / "folder", label="kind")
