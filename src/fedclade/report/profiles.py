"""What distinguishes each group that was found in a user's own data: shares of labels, and means of features."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedclade.core import ClientId
from fedclade.runs.own_groups import GroupAnswer

MAX_STATEMENTS = 3  # about a group
MIN_STANDARD_ERRORS = 3.0  # that shares must differ by: shares of few examples differ by much by chance
MIN_SHARE_DIFFERENCE = 0.1  # from 0 to 1: smaller ones are not mentioned
MIN_MEAN_DIFFERENCE = 0.25  # standard deviations: smaller ones are not mentioned
SHARE_OF_A_DEVIATION = 0.2  # a difference of shares that is as remarkable as a deviation


@dataclass(frozen=True, eq=False)
class GroupProfile:
    """One group."""

    name: str
    clients: tuple[ClientId, ...]
    examples: int
    shares: NDArray[np.float64]
    """(labels,): the part of its examples that has each label; empty without labels."""
    means: NDArray[np.float64]
    """(features,): less the means of all examples; numbers in deviations, features that are 0 or 1 as shares; empty
    for images."""
    means_by_label: NDArray[np.float64]
    """(labels, features): the same for the examples of one label, against all examples of that label."""
    statements: tuple[str, ...] = ()
    """What is most unlike the others, in words."""


def profiles(answer: GroupAnswer) -> list[GroupProfile]:
    """A profile of each group, and of each client that is like no other; without groups, of the rest together."""
    members = answer.found.partition.members
    if not answer.has_groups:
        members = tuple(sorted(members, key=len, reverse=True))  # single clients come last
    names = group_names(members, answer.has_groups)
    found = [profile(answer, name, group) for name, group in zip(names, members, strict=True)]
    return [with_statements(answer, each, found) for each in found]


def group_names(members: tuple[tuple[ClientId, ...], ...], has_groups: bool) -> list[str]:
    """Groups by their numbers, or everybody (else) if there are none; a client that is like no other by its name."""
    if len(members) == 1:
        return ["everybody"]
    return [
        f"{group[0]} alone" if len(group) == 1 else f"group {number}" if has_groups else "everybody else"
        for number, group in enumerate(members)
    ]


def profile(answer: GroupAnswer, name: str, clients: tuple[ClientId, ...]) -> GroupProfile:
    """The profile of these clients, without statements."""
    labels = np.concatenate([answer.labels(client) for client in clients])
    classes = len(answer.class_names)
    shares = np.bincount(labels, minlength=classes) / len(labels) if classes else np.zeros(0)
    means, by_label = np.zeros(0), np.zeros((0, 0))
    if answer.names:
        rows = np.concatenate([answer.inputs(client) for client in clients])
        means = rows.mean(axis=0)
        by_label = label_means(rows, labels, classes)
    return GroupProfile(name, clients, len(labels), shares, means, by_label)


def label_means(rows: NDArray[np.float64], labels: NDArray[np.int64], classes: int) -> NDArray[np.float64]:
    """(labels, features): the mean of each label's examples; NaN where there are none."""
    counts = np.bincount(labels, minlength=classes)
    sums = np.zeros((classes, rows.shape[1]))
    if classes:
        np.add.at(sums, labels, rows)
    with np.errstate(invalid="ignore"):
        return np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], np.nan)


def share_errors(mine: GroupProfile, others: list[GroupProfile]) -> NDArray[np.float64]:
    """(labels,): by how much shares differ by chance if they are the same, as one standard error."""
    count = sum(each.examples for each in others)
    both = [mine, *others]
    pooled = np.average([each.shares for each in both], axis=0, weights=[each.examples for each in both])
    errors: NDArray[np.float64] = np.sqrt(pooled * (1 - pooled) * (1 / mine.examples + 1 / count))
    return errors


def with_statements(answer: GroupAnswer, mine: GroupProfile, all_profiles: list[GroupProfile]) -> GroupProfile:
    """The profile with what sets it apart from all others taken together, the strongest first."""
    others = [each for each in all_profiles if each is not mine]
    if not others:
        return mine
    weights = np.array([each.examples for each in others], np.float64)
    said: list[tuple[float, str]] = []
    names, labels, numbers = answer.names, answer.class_names, answer.are_numbers
    if labels:
        there = np.average([each.shares for each in others], axis=0, weights=weights)
        apart = np.abs(mine.shares - there)
        limit = MIN_STANDARD_ERRORS * share_errors(mine, others)
        for label in np.flatnonzero((apart >= MIN_SHARE_DIFFERENCE) & (apart > limit)):
            share, other = 100 * mine.shares[label], 100 * there[label]
            said.append(
                (apart[label] / SHARE_OF_A_DEVIATION, f"label {labels[label]}: {share:.0f} % (others {other:.0f} %)")
            )
    if names:
        apart = mine.means - np.average([each.means for each in others], axis=0, weights=weights)
        spread = np.sqrt(np.clip(answer.means * (1 - answer.means), 0, None))
        noise = MIN_STANDARD_ERRORS * spread * np.sqrt(1 / mine.examples + 1 / weights.sum())
        least = np.where(numbers, MIN_MEAN_DIFFERENCE, np.maximum(MIN_SHARE_DIFFERENCE, noise))
        strength = np.abs(apart) / np.where(numbers, 1.0, SHARE_OF_A_DEVIATION)
        for feature in np.flatnonzero(np.abs(apart) >= least):
            words = f"{names[feature]} {apart[feature]:+.1f} deviations"
            if not numbers[feature]:
                share = 100 * (answer.means[feature] + mine.means[feature])
                words = f"{names[feature]}: {share:.0f} % (others {share - 100 * apart[feature]:.0f} %)"
            said.append((strength[feature], words))
    if names and len(labels) > 1:
        known = [np.nan_to_num(each.means_by_label) for each in others]
        with_label = np.array([[each.examples * each.shares for each in others]])[0]
        total = np.maximum(with_label.sum(axis=0), 1e-9)
        there = np.einsum("gl,glf->lf", with_label, np.array(known)) / total[:, None]
        inside = np.where((with_label.sum(axis=0) > 0)[:, None], mine.means_by_label - there, np.nan)
        beyond = np.nan_to_num(inside - apart[None])  # what the means of all examples do not say already
        counts = 1 / np.maximum(mine.examples * mine.shares, 1) + 1 / np.maximum(with_label.sum(axis=0), 1)
        by_chance = MIN_STANDARD_ERRORS * np.sqrt(counts)[:, None] * np.where(numbers, 1.0, spread)
        for label, feature in np.argwhere(np.abs(beyond) >= np.maximum(2 * least, by_chance)):
            size = f"{inside[label, feature]:+.1f} deviations"
            if not numbers[feature]:
                size = f"{100 * inside[label, feature]:+.0f} points"
            words = f"{names[feature]} {size} where label {labels[label]}"
            said.append((abs(beyond[label, feature]) / (1.0 if numbers[feature] else SHARE_OF_A_DEVIATION), words))
    said.sort(key=lambda each: -each[0])
    return replace(mine, statements=tuple(words for _, words in said[:MAX_STATEMENTS]))
