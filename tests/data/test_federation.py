"""A federation is checked where it is made, and its fingerprint is that of its data."""

from collections.abc import Iterator
from typing import TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray

from fedclade.core import Groups, InputError
from fedclade.data import ClientData, Federation, Part, Pool
from refusals import check_refused

Number = TypeVar("Number", np.float32, np.int64)

IMAGES: NDArray[np.float32] = np.arange(6 * 4, dtype=np.float32).reshape(6, 1, 2, 2)
LABELS: NDArray[np.int64] = np.array([0, 1, 2, 0, 1, 2])
INDEX: NDArray[np.int64] = np.array([[0, 1], [2, 2], [3, 4], [5, 5]])  # train and test of a, then of b


def pool(images: NDArray[np.generic] = IMAGES, labels: NDArray[np.generic] = LABELS) -> Pool:
    """The type of a pool's arrays is wider here: what has the wrong one is tested."""
    return Pool(images.copy(), labels.copy())  # type: ignore[arg-type]  # see above


def two(shared: Pool, index: NDArray[np.int64] = INDEX, *, classes: int = 3, truth: Groups | None = None) -> Federation:
    a, b = (ClientData(Part(shared, train), Part(shared, test)) for train, test in (index[:2], index[2:]))
    return Federation("two", {"b": b, "a": a}, classes, truth)


def test_clients_are_sorted_and_found_by_id() -> None:
    federation = two(pool())
    assert federation.clients == ("a", "b")
    assert len(federation) == 2
    assert federation.shape == (1, 2, 2)
    assert federation["b"].train.labels.tolist() == [0, 1]
    with pytest.raises(InputError, match='there is no client "c", two'):
        federation["c"]


def test_a_part_turns_renames_and_scales_on_the_way_out() -> None:
    """By hand: [[4 5] [6 7]] turned by a quarter counter-clockwise is [[5 7] [4 6]]; 255 is 1."""
    turned = Part(pool(), np.array([1]), relabel=np.array([1, 2, 0]), quarter_turns=1)
    assert turned.inputs.tolist() == [[[[5, 7], [4, 6]]]]
    assert turned.labels.tolist() == [2]
    assert Part(pool(np.full((6, 2), 255, np.uint8)), np.array([0])).inputs.tolist() == [[1, 1]]


@pytest.mark.parametrize(
    ("what", "array"),
    [
        *(("images", array) for array in (IMAGES.astype(np.float64), IMAGES.astype(np.int64), IMAGES[:, 0, 0, 0])),
        *(("labels", array) for array in (LABELS.astype(np.int32), LABELS.astype(float), LABELS[:5], LABELS[:, None])),
    ],
)
def test_arrays_of_a_wrong_dtype_or_form_are_refused(what: str, array: NDArray[np.generic]) -> None:
    said = "inputs have the wrong form" if what == "images" else "labels have the wrong form"
    assert check_refused(said, pool, **{what: array}).got == f"{array.dtype} {array.shape}"


@pytest.mark.parametrize("broken", [np.nan, np.inf, -np.inf])
def test_inputs_that_are_not_finite_are_refused(broken: float) -> None:
    images = IMAGES.copy()
    images[3, 0, 1, 1] = images[3, 0, 0, 0] = images[5, 0, 0, 0] = broken
    check_refused("first at example 3: got NaN or infinity in 2 of 6 examples", pool, images)


def test_labels_out_of_range_are_refused() -> None:
    check_refused("a label is negative", pool, labels=np.array([0, 1, -1, 0, 1, 2]))
    check_refused('a label is out of range, two, client "a": got 2 to 2, need 0 to 1', two, pool(), classes=2)
    part = Part(pool(), np.array([0, 1]), relabel=np.array([-100, 0, 1]))
    check_refused("out of range", Federation, "one", {"a": ClientData(part, part)}, 3)


@pytest.mark.parametrize(("use", "train", "test"), [("training", [], [1]), ("test", [1], [])])
def test_a_client_without_examples_is_refused(use: str, train: list[int], test: list[int]) -> None:
    held = ClientData(Part(pool(), np.array(train, np.int64)), Part(pool(), np.array(test, np.int64)))
    check_refused(f'client "a" has no {use} examples, one: got 0, need at least 1', Federation, "one", {"a": held}, 3)


class Twice(dict[str, ClientData]):
    """A mapping of an application that names every client twice."""

    def __iter__(self) -> Iterator[str]:
        yield from [*super().__iter__()] * 2


def test_bad_ids_mixed_shapes_and_wrong_truth_are_refused() -> None:
    mixed = ClientData(Part(pool(), INDEX[0]), Part(pool(IMAGES.reshape(6, 4)), INDEX[1]))
    error = check_refused("inputs differ in shape", Federation, "one", {"a": mixed}, 3)
    assert error.got == "[(1, 2, 2), (4,)]"
    held = two(pool())["a"]
    check_refused('client "a" is there twice, one', Federation, "one", Twice(a=held), 3)
    check_refused("not a usable name, one", Federation, "one", {" a": held}, 3)
    check_refused("there are no clients, one", Federation, "one", {}, 3)
    for truth in (Groups((("a",),)), Groups((("a", "b"), ("c",)))):
        check_refused("groups do not cover the clients", two, pool(), truth=truth)


def test_the_fingerprint_is_that_of_the_data_alone() -> None:
    """Other names, other order, a copy of the pool for each part, truth or none: the same data."""
    same = two(pool()).fingerprint
    apart = {c: ClientData(Part(pool(), INDEX[i]), Part(pool(), INDEX[i + 1])) for c, i in (("b", 2), ("a", 0))}
    assert Federation("other", dict(sorted(apart.items())), 3, truth=Groups((("a", "b"),))).fingerprint == same
    assert two(pool(np.asfortranarray(IMAGES))).fingerprint == same
    column = np.stack([LABELS, LABELS], axis=1)[:, 0]
    assert two(Pool(IMAGES.copy(), column)).fingerprint == same


def changed(array: NDArray[Number], place: int) -> NDArray[Number]:
    """The array with another number at this place."""
    other = array.copy()
    other.flat[place] = (other.flat[place] + 1) % 3
    return other


def test_any_one_change_changes_the_fingerprint() -> None:
    """24 pixels, 6 labels, 8 positions: each alone."""
    federations = [two(pool())]
    federations += [two(pool(changed(IMAGES, place))) for place in range(24)]
    federations += [two(pool(labels=changed(LABELS, place))) for place in range(6)]
    federations += [two(pool(), changed(INDEX, place)) for place in range(8)]
    assert len({federation.fingerprint for federation in federations}) == 1 + 24 + 6 + 8


def test_whose_examples_and_what_a_world_does_to_them_count_in_the_fingerprint() -> None:
    part = Part(pool(), INDEX[0])
    renamed, turned = Part(part.pool, INDEX[0], np.array([1, 0, 2])), Part(part.pool, INDEX[0], quarter_turns=1)
    kinds = [("a", part, part), ("b", part, part), ("a", renamed, part), ("a", turned, part), ("a", part, turned)]
    prints = {Federation("x", {who: ClientData(train, test)}, 3).fingerprint for who, train, test in kinds}
    assert len(prints | {Federation("x", {"a": ClientData(part, part)}, 4).fingerprint}) == 6
