"""LEAF's JSON: writers by name, floats as bytes, and files that are not LEAF's."""

import json
from pathlib import Path

import numpy as np
import pytest

from data.sources.making import load, put
from fedclade.data.registry import SOURCES
from refusals import check_refused


def leaf(**writers: list[tuple[int, int]]) -> bytes:
    """LEAF's file: each writer's images, of one grey each, and their labels."""
    tables = {
        name: {"x": [[grey / 255] * 784 for grey, _ in rows], "y": [label for _, label in rows]}
        for name, rows in writers.items()
    }
    numbers = [len(rows) for rows in writers.values()]
    return json.dumps({"users": [*writers], "num_samples": numbers, "user_data": tables}).encode()


@pytest.mark.parametrize("data", ["", "data"])
def test_writers_are_numbered_by_name(folder: Path, data: str) -> None:
    home = folder / "femnist" / data
    put(home / "train" / "all_data_0.json", leaf(f2=[(0, 1), (255, 61)], f1=[(7, 10)]))
    put(home / "train" / "all_data_1.json", leaf(f3=[(100, 3)]))
    put(home / "test" / "all_data_0.json", leaf(f2=[(9, 4)], f0=[(8, 5)]))
    source, test = load("femnist")
    assert source.train.owners is not None
    assert test.owners is not None
    assert source.train.owners.tolist() == [2, 2, 1, 3]  # f0, f1, f2, f3
    assert test.owners.tolist() == [2, 0]
    assert source.train.labels.tolist() == [1, 61, 10, 3]
    assert source.train.inputs.dtype == np.uint8
    assert source.shape == (1, 28, 28)
    assert source.train.inputs[:, 0, 27, 27].tolist() == [0, 255, 7, 100]
    assert (source.classes, source.class_names[10], source.class_names[61]) == (62, "A", "z")


def test_every_byte_comes_back_and_an_empty_folder_is_refused(folder: Path) -> None:
    put(folder / "femnist" / "test" / "a.json", leaf(a=[(0, 0)]))
    (folder / "femnist" / "train").mkdir()
    check_refused(r"has no JSON file, .*train", SOURCES["femnist"].load)
    put(folder / "femnist" / "train" / "a.json", leaf(a=[(grey, 0) for grey in range(256)]))
    assert SOURCES["femnist"].load().train.inputs[:, 0, 0, 0].tolist() == list(range(256))


def image(pixel: object = 0.5, count: int = 784) -> list[object]:
    return [pixel] * count


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
        (b"[]", "not LEAF's"),
        (b"{}", "not LEAF's"),
        (json.dumps({"user_data": {}}).encode(), "not LEAF's"),
        (json.dumps({"user_data": {"a": {"x": []}}}).encode(), "not LEAF's"),
        (json.dumps({"user_data": {"a": {"x": [], "y": []}}}).encode(), "wrong form"),
        (json.dumps({"user_data": {"a": {"x": [image(count=783)], "y": [0]}}}).encode(), "wrong form"),
        (json.dumps({"user_data": {"a": {"x": [image()], "y": [0, 1]}}}).encode(), "wrong form"),
        (json.dumps({"user_data": {"a": {"x": [image(), image(count=3)], "y": [0, 1]}}}).encode(), "cannot be read"),
        (json.dumps({"user_data": {"a": {"x": [image({})], "y": [0]}}}).encode(), "cannot be read"),
        (json.dumps({"user_data": {"a": {"x": [image("a")], "y": [0]}}}).encode(), "cannot be read"),
        (json.dumps({"user_data": {"a": {"x": [image(1.5)], "y": [0]}}}).encode(), "out of range"),
        (json.dumps({"user_data": {"a": {"x": [image(float("nan"))], "y": [0]}}}).encode(), "out of range"),
        (json.dumps({"user_data": {"a": {"x": [image()], "y": [62]}}}).encode(), "out of range"),
        (json.dumps({"user_data": {"a": {"x": [image()], "y": [0.5]}}}).encode(), "not a whole number"),
    ],
)
def test_files_that_are_not_leafs(folder: Path, content: bytes, said: str) -> None:
    put(folder / "femnist" / "test" / "a.json", leaf(a=[(0, 0)]))
    put(folder / "femnist" / "train" / "b.json", content)
    check_refused(rf"{said}, .*b\.json", SOURCES["femnist"].load)
