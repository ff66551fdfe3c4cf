"""Each client's model: rows that cannot be changed, and the row of each client."""

import numpy as np
import pytest
from numpy.typing import NDArray

from fedclade.core import Assignment, Groups, InputError, Rows

ROWS: Rows = np.array([[0, 1, 2], [3, 4, 5]], np.float32)


def two_groups() -> Assignment:
    return Assignment(ROWS.copy(), {"c": 1, "a": 0, "b": 0})


def test_clients_find_their_rows() -> None:
    assignment = two_groups()
    assert assignment.clients == ("a", "b", "c")
    assert assignment.row_of("b").tolist() == [0, 1, 2]
    assert assignment.row_of("c").tolist() == [3, 4, 5]


def test_one_model_for_all_is_one_row() -> None:
    everybody = [f"client-{number:05d}" for number in range(10_000)]
    assignment = Assignment.of_one(ROWS[1], everybody)
    assert assignment.rows.tolist() == [[3, 4, 5]]
    assert assignment.row_of("client-09999").tolist() == [3, 4, 5]
    assert assignment.groups() == Groups((tuple(everybody),))


def test_clients_with_the_same_row_are_a_group() -> None:
    assert two_groups().groups() == Groups((("a", "b"), ("c",)))


@pytest.mark.parametrize(
    ("rows", "got"),
    [
        (ROWS.astype(np.float64), "float64 (2, 3)"),
        (ROWS[0], "float32 (3,)"),
        (ROWS[None], "float32 (1, 2, 3)"),
        (np.zeros((2, 3), np.int64), "int64 (2, 3)"),
    ],
)
def test_what_is_not_rows_is_refused(rows: NDArray[np.float32], got: str) -> None:
    with pytest.raises(InputError, match="models are not rows") as caught:
        Assignment(rows, {"a": 0})
    assert caught.value.got == got


@pytest.mark.parametrize("row", [-1, 2])
def test_a_client_without_a_row_is_refused(row: int) -> None:
    with pytest.raises(InputError, match=f'client "b" has no such model: got row {row}, need 0 to 1'):
        Assignment(ROWS, {"a": 0, "b": row})


def test_an_unknown_client_has_no_row() -> None:
    for use in (lambda: two_groups().row_of("d"), lambda: two_groups().restrict(["a", "d"])):
        with pytest.raises(InputError, match='there is no client "d"'):
            use()


def test_rows_cannot_be_written_but_the_callers_own_array_can() -> None:
    mine = ROWS.copy()
    assignment = Assignment(mine, {"a": 0})
    for rows in (assignment.rows[0], assignment.row_of("a")):
        with pytest.raises(ValueError, match="read-only"):
            rows[0] = 9
    assert mine.flags.writeable


def test_only_some_clients() -> None:
    part = two_groups().restrict(["c"])
    assert part.clients == ("c",)
    assert part.row_of("c").tolist() == [3, 4, 5]


def test_newcomers_join_at_a_row() -> None:
    before = two_groups()
    after = before.with_clients({"d": 1})
    assert after.groups() == Groups((("a", "b"), ("c", "d")))
    assert before.clients == ("a", "b", "c")
    with pytest.raises(InputError, match='client "e"'):
        before.with_clients({"e": 2})


def test_replaced_clients_get_rows_of_their_own_in_the_order_given() -> None:
    before = two_groups()
    after = before.with_own_rows(["c", "a"], np.array([[7, 7, 7], [8, 8, 8]], np.float32))
    assert [after.row_of(client).tolist() for client in "abc"] == [[8, 8, 8], [0, 1, 2], [7, 7, 7]]
    assert len(after.rows) == 3, "the row that nobody has any more is dropped"
    assert before.rows.tolist() == ROWS.tolist()


def test_all_can_be_replaced() -> None:
    after = two_groups().with_own_rows(["a", "b", "c"], np.arange(9, dtype=np.float32).reshape(3, 3))
    assert [after.row_of(client)[0] for client in "abc"] == [0, 3, 6]
    assert len(after.rows) == 3


@pytest.mark.parametrize(("clients", "rows", "got"), [("ab", 1, "2 clients, 1"), ("a", 2, "1 c"), ("aa", 2, "1 c")])
def test_replacing_with_another_number_of_rows_is_refused(clients: str, rows: int, got: str) -> None:
    with pytest.raises(InputError, match=f"clients and rows do not match.*got {got}"):
        two_groups().with_own_rows(list(clients), np.zeros((rows, 3), np.float32))


def test_rows_are_numbered_as_groups_are() -> None:
    rows = np.zeros((4, 2), np.float32)
    models = Assignment(rows, {"d": 0, "a": 2, "c": 3, "b": 2, "e": 3})
    labels = models.groups().labels
    assert {client: models.group_by_row()[row] for client, row in models.row_by_client.items()} == labels
    assert labels == {"a": 0, "b": 0, "c": 1, "e": 1, "d": 2}
