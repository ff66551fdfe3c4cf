"""A user's own data to be looked at: tables, arrays and folders, with labels and without; and wrong ones."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from fedclade.core import InputError
from fedclade.data.own_examples import read_own_examples
from refusals import check_refused

TABLE = "site,heat,speed,fault\nb,1,10,yes\na,2,20,no\nb,3,30,no\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "data.csv").write_text(TABLE)
    return tmp_path / "data.csv"


def test_a_table_with_labels_and_without(table: Path) -> None:
    found = read_own_examples(table, client="site", label="fault")
    assert list(found.inputs) == ["a", "b"]
    assert found.inputs["b"].tolist() == [[1, 10], [3, 30]]
    assert found.class_names == ("no", "yes")
    assert found.labels["b"].tolist() == [1, 0]
    assert (found.features, found.examples) == (("heat", "speed"), 3)
    found = read_own_examples(table, client="site", without=["fault", "heat"])
    assert (found.features, found.class_names) == (("speed",), ())
    assert found.labels["b"].tolist() == [0, 0]


def test_parquet_and_arrays(table: Path, tmp_path: Path) -> None:
    columns = {"site": ["b", "a", "b"], "heat": [1.0, 2.0, 3.0], "speed": [10, 20, 30], "fault": ["yes", "no", "no"]}
    pq.write_table(pa.table(columns), tmp_path / "data.parquet")
    one = read_own_examples(tmp_path / "data.parquet", client="site", label="fault")
    other = read_own_examples(table, client="site", label="fault")
    assert one.inputs["b"].tolist() == other.inputs["b"].tolist()
    assert one.labels["b"].tolist() == other.labels["b"].tolist()
    inputs = np.arange(8, dtype=np.float64).reshape(4, 2)
    np.savez(tmp_path / "data.npz", inputs=inputs, who=np.array(["a", "b", "a", "b"]), kind=np.array([5, 5, 7, 7]))
    found = read_own_examples(tmp_path / "data.npz", client="who", label="kind")
    assert found.inputs["a"].tolist() == [[0, 1], [4, 5]]
    assert found.labels["a"].tolist() == [0, 1]
    assert found.class_names == ("5", "7")
    assert read_own_examples(tmp_path / "data.npz", client="who").class_names == ()
    check_refused('there is no array "site"', read_own_examples, tmp_path / "data.npz", client="site")


def pixels(path: Path, value: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", (3, 2), value).save(path)


def test_files_or_images_for_each_client(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    for client in "ab":
        (files / f"{client}.csv").write_text("heat,kind\n1,x\n2,y\n")
    found = read_own_examples(files, label="kind")
    assert (found.class_names, found.features) == (("x", "y"), ("heat",))
    check_refused(r"a feature is not a number, .*column 'kind': got 'x' in row 1", read_own_examples, files)
    for client, value in (("a", 0), ("b", 255)):
        pixels(tmp_path / "plain" / client / "1.png", value)
        pixels(tmp_path / "classed" / client / "cat" / "1.png", value)
        pixels(tmp_path / "classed" / client / "dog" / "1.png", value)
    plain, classed = read_own_examples(tmp_path / "plain"), read_own_examples(tmp_path / "classed")
    assert plain.inputs["b"].shape == (1, 1, 2, 3)
    assert plain.inputs["b"].max() == classed.inputs["b"].min() == 1
    assert (plain.class_names, classed.class_names) == ((), ("cat", "dog"))
    assert classed.labels["a"].tolist() == [0, 1]


def test_what_is_wrong_with_a_table_is_said(table: Path) -> None:
    """What a CSV file and its columns can have wrong is in test_tables.py."""
    check_refused('there is no column "faults"', read_own_examples, table, client="site", label="faults")
    check_refused("no column names the client of a row, .*do: give it: --client COLUMN", read_own_examples, table)
    check_refused("client and label are one column", read_own_examples, table, client="site", label="site")
    table.write_text(TABLE + "c,warm,1,no\n")
    said = "a feature is not a number, .*'warm' in row 4.*--without heat"
    check_refused(said, read_own_examples, table, client="site", label="fault")


def test_what_is_not_there_or_not_known_is_said(tmp_path: Path) -> None:
    check_refused("there is no such file or folder", read_own_examples, tmp_path / "nowhere.csv", client="site")
    (tmp_path / "data.xlsx").write_text("x")
    with pytest.raises(InputError, match=r"the ending is not known, .*need .csv, .parquet, .npz"):
        read_own_examples(tmp_path / "data.xlsx", client="site")
    (tmp_path / "folder" / "a").mkdir(parents=True)
    check_refused("a folder has no such column, --client", read_own_examples, tmp_path / "folder", client="site")
    check_refused('client "a" has no images', read_own_examples, tmp_path / "folder")
    pixels(tmp_path / "folder" / "a" / "1.png", 0)
    check_refused("images have no label column", read_own_examples, tmp_path / "folder", label="kind")
