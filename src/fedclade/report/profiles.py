"""What distinguishes each group that was found in a user's own data: shares of labels, and means of features."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import ClientId
from fedclade.runs.looking import Answer

TELLING = 3  # statements about a group
SURE = 3.0  # standard errors that shares must differ by: few examples differ by much by chance
LEAST_SHARE, LEAST_MEAN = 0.1, 0.25  # a difference below this (of all examples, in deviations) is not worth a word


@dataclass(frozen=True, eq=False)
class Profile:
    """One group."""

    name: str
    clients: tuple[ClientId, ...]
    examples: int
    shares: NDArray[np.float64]
    """(labels,): the part of its examples that has each label; empty without labels."""
    means: NDArray[np.float64]
    """(features,): in deviations of all examples, 0 is the mean of all; empty for images."""
    given: NDArray[np.float64]
    """(labels, features): the same for the examples of one label, against all examples of that label."""
    telling: tuple[str, ...] = ()
    """What is most unlike the others, in words."""


def profiles(answer: Answer) -> list[Profile]:
    """A profile of each group, and of each client that is like nobody; of everybody else together if there are none."""
    members = answer.found.partition.members
    if not answer.clear:
        members = tuple(sorted(members, key=len, reverse=True))  # those who are like nobody come last
    names = group_names(members, answer.clear)
    made = [profile(answer, name, group) for name, group in zip(names, members, strict=True)]
    return [with_words(answer, each, made) for each in made]


def group_names(members: tuple[tuple[ClientId, ...], ...], clear: bool) -> list[str]:
    """Groups by their numbers, or everybody (else) if there are none; a client that is like nobody by its name."""
    if len(members) == 1:
        return ["everybody"]
    return [
        f"{group[0]} alone" if len(group) == 1 else f"group {number}" if clear else "everybody else"
        for number, group in enumerate(members)
    ]


def profile(answer: Answer, name: str, clients: tuple[ClientId, ...]) -> Profile:
    """What these clients have."""
    labels = np.concatenate([answer.data.labels[client] for client in clients])
    classes = len(answer.data.class_names)
    shares = np.bincount(labels, minlength=classes) / len(labels) if classes else np.zeros(0)
    means, given = np.zeros(0), np.zeros((0, 0))
    if answer.encoded.names:
        rows = np.concatenate([answer.encoded.examples[client] for client in clients])
        means = rows.mean(axis=0)
        given = by_label(rows, labels, classes)
    return Profile(name, clients, len(labels), shares, means, given)


def by_label(rows: NDArray[np.float64], labels: NDArray[np.int64], classes: int) -> NDArray[np.float64]:
    """(labels, features): the mean of each label's examples; NaN where there are none."""
    counts = np.bincount(labels, minlength=classes)
    sums = np.zeros((classes, rows.shape[1]))
    if classes:
        np.add.at(sums, labels, rows)
    with np.errstate(invalid="ignore"):
        return np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], np.nan)


def share_errors(mine: Profile, others: list[Profile]) -> NDArray[np.float64]:
    """(labels,): by how much shares differ by chance if they are the same, as one standard error."""
    count = sum(each.examples for each in others)
    both = [mine, *others]
    pooled = np.average([each.shares for each in both], axis=0, weights=[each.examples for each in both])
    errors: NDArray[np.float64] = np.sqrt(pooled * (1 - pooled) * (1 / mine.examples + 1 / count))
    return errors


def with_words(answer: Answer, mine: Profile, everybody: list[Profile]) -> Profile:
    """The profile with what sets it apart from all others taken together, the strongest first."""
    others = [each for each in everybody if each is not mine]
    if not others:
        return mine
    weights = np.array([each.examples for each in others], np.float64)
    said: list[tuple[float, str]] = []
    names, labels = answer.encoded.names, answer.data.class_names
    if labels:
        there = np.average([each.shares for each in others], axis=0, weights=weights)
        apart = np.abs(mine.shares - there)
        for label in np.flatnonzero((apart >= LEAST_SHARE) & (apart > SURE * share_errors(mine, others))):
            share, other = mine.shares[label], there[label]
            said.append(
                (abs(share - other) / 0.2, f"label {labels[label]}: {100 * share:.0f} % (others {100 * other:.0f} %)")
            )
    if names:
        apart = mine.means - np.average([each.means for each in others], axis=0, weights=weights)
        for feature in np.flatnonzero(np.abs(apart) >= LEAST_MEAN):
            said.append((abs(apart[feature]), f"{names[feature]} {apart[feature]:+.1f} deviations"))
    if names and len(labels) > 1:
        known = [np.nan_to_num(each.given) for each in others]
        with_label = np.array([[each.examples * each.shares for each in others]])[0]
        total = np.maximum(with_label.sum(axis=0), 1e-9)
        there = np.einsum("gl,glf->lf", with_label, np.array(known)) / total[:, None]
        inside = np.where((with_label.sum(axis=0) > 0)[:, None], mine.given - there, np.nan)
        beyond = np.nan_to_num(inside - apart[None])  # what the means of all examples do not say already
        for label, feature in np.argwhere(np.abs(beyond) >= 2 * LEAST_MEAN):
            words = f"{names[feature]} {inside[label, feature]:+.1f} deviations where label {labels[label]}"
            said.append((abs(beyond[label, feature]), words))
    said.sort(key=lambda each: -each[0])
    telling = tuple(words for _, words in said[:TELLING])
    return Profile(mine.name, mine.clients, mine.examples, mine.shares, mine.means, mine.given, telling)
