"""What a task says of its labels."""

import numpy as np

from fedclade.core.task import Task


def test_intervals_of_a_number_are_named_in_its_own_unit() -> None:
    task = Task(kind="regression", labels="number", centre=100.0, scale=20.0, edges=(-0.5, 0.25))
    assert task.kind_names == ("under 90", "90 to 105", "from 105")
    assert task.kinds_of(np.array([-0.6, -0.5, 0.2, 0.25], np.float32)).argmax(axis=1).tolist() == [0, 1, 1, 2]
    assert Task(kind="regression", labels="number").kind_names == ()


def test_no_flag_at_all_is_a_kind_of_label_too() -> None:
    """Or a client without any would have nothing to be compared by."""
    task = Task(kind="multi-label", labels="flags", count=2, names=("wet", "cold"))
    assert task.kind_names == ("wet", "cold", "no flag")
    found = task.kinds_of(np.array([[1, 0], [1, 1], [0, 0]], np.uint8))
    assert found.tolist() == [[True, False, False], [True, True, False], [False, False, True]]
    assert task.label_kinds == 3


def test_classes_are_named_by_their_numbers_where_they_have_no_names() -> None:
    assert Task(count=3).kind_names == ("0", "1", "2")
    assert Task(count=2, names=("no", "yes")).kind_names == ("no", "yes")
    assert Task(count=1).kind_names == ()
