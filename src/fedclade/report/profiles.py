"""What distinguishes each group that was found in a user's own data: shares of labels, and means of features.

The labels of a regression count as intervals of equally many examples, and have a mean of their own.
"""

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fedclade.core import ClientId
from fedclade.core.task import Task
from fedclade.runs.own_groups import GroupAnswer

MAX_STATEMENTS = 3  # about a group
MIN_STANDARD_ERRORS = 3.0  # that shares must differ by: shares of few examples differ by much by chance
MIN_SHARE_DIFFERENCE = 0.1  # from 0 to 1: smaller ones are not mentioned
MIN_CORRELATION_DIFFERENCE = 0.3  # from 0 to 2: smaller ones are not mentioned
MIN_MEAN_DIFFERENCE = 0.25  # standard deviations: smaller ones are not mentioned
SHARE_OF_A_DEVIATION = 0.2  # a difference of shares that is as remarkable as a deviation


@dataclass(frozen=True, eq=False)
class GroupProfile:
    """One group."""

    name: str
    clients: tuple[ClientId, ...]
    examples: int
    shares: NDArray[np.float64]
    """(labels,): the part of its examples that has each label, or flag; empty without labels."""
    means: NDArray[np.float64]
    """(features,): less the means of all examples; numbers in deviations, features that are 0 or 1 as shares; empty
    for images."""
    means_by_label: NDArray[np.float64]
    """(labels, features): the same for the examples of one label, against all examples of that label."""
    label_mean: float = math.nan
    """Of a regression, in the label's unit."""
    label_deviation: float = math.nan
    correlations: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    """(features,): of each feature with the number that is learned; empty where none is."""
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
    kinds = np.concatenate([answer.label_kinds(client) for client in clients])
    kinds = kinds[:, : len(answer.class_names)]  # one kind that all examples have tells nothing
    means, by_label = np.zeros(0), np.zeros((0, 0))
    if answer.names:
        rows = np.concatenate([answer.inputs(client) for client in clients])
        means = rows.mean(axis=0)
        by_label = label_means(rows, kinds)
    made = GroupProfile(name, clients, len(kinds), kinds.mean(axis=0), means, by_label)
    numbers = np.concatenate([answer.label_numbers(client) for client in clients])
    if not len(numbers):
        return made
    found = correlations(rows, numbers) if answer.names else np.zeros(0)
    return replace(made, label_mean=numbers.mean(), label_deviation=numbers.std(), correlations=found)


def correlations(rows: NDArray[np.float64], numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """(features,): of each one with the numbers; 0 where one of both does not vary."""
    apart, about = rows - rows.mean(axis=0), numbers - numbers.mean()
    lengths = np.sqrt((apart**2).sum(axis=0) * (about**2).sum())
    found: NDArray[np.float64] = np.divide(about @ apart, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
    return found


def label_means(rows: NDArray[np.float64], kinds: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(labels, features): the mean of each label's examples; NaN where there are none."""
    counts = kinds.sum(axis=0)[:, None]
    sums = kinds.T.astype(np.float64) @ rows
    means: NDArray[np.float64] = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    return means


def share_errors(mine: GroupProfile, others: list[GroupProfile]) -> NDArray[np.float64]:
    """(labels,): by how much shares differ by chance if they are the same, as one standard error."""
    count = sum(each.examples for each in others)
    both = [mine, *others]
    pooled = np.average([each.shares for each in both], axis=0, weights=[each.examples for each in both])
    errors: NDArray[np.float64] = np.sqrt(pooled * (1 - pooled) * (1 / mine.examples + 1 / count))
    return errors


def label_phrases(task: Task) -> list[str]:
    """Each kind of label in words."""
    if task.labels == "number":
        return [f"{label_name(task)} {interval}" for interval in task.kind_names]
    if task.labels == "flags":
        return [*(f"flag {name}" for name in task.kind_names[:-1]), *task.kind_names[-1:]]
    return [f"label {name}" for name in task.kind_names]


def label_name(task: Task) -> str:
    """What the number that is learned is called."""
    return task.names[0] if task.names else "label"


def label_mean_statement(task: Task, mine: GroupProfile, others: list[GroupProfile]) -> str:
    """The mean label, where it is unlike the others'; empty where it is not, or there is none."""
    if math.isnan(mine.label_mean):
        return ""
    sizes = np.array([each.examples for each in others], np.float64)
    there = float(np.average([each.label_mean for each in others], weights=sizes))
    apart = abs(mine.label_mean - there) / task.scale
    variances = np.average([each.label_deviation**2 for each in others], weights=sizes) / sizes.sum()
    noise = math.sqrt(mine.label_deviation**2 / mine.examples + variances) / task.scale
    if apart < max(MIN_MEAN_DIFFERENCE, MIN_STANDARD_ERRORS * noise):
        return ""
    return f"{label_name(task)} {mine.label_mean:.4g} in the mean (others {there:.4g})"


def correlation_statements(
    answer: GroupAnswer, mine: GroupProfile, others: list[GroupProfile]
) -> list[tuple[float, str]]:
    """What the number that is learned has to do with each feature, where that is unlike the others', and how much."""
    sizes = np.array([each.examples for each in others], np.float64)
    there = np.average([each.correlations for each in others], axis=0, weights=sizes)
    apart = np.abs(mine.correlations - there)
    noise = math.sqrt(1 / mine.examples + 1 / sizes.sum())
    name = label_name(answer.federation.task)
    said = []
    for feature in np.flatnonzero(apart >= max(MIN_CORRELATION_DIFFERENCE, MIN_STANDARD_ERRORS * noise)):
        words = f"correlation {mine.correlations[feature]:+.2f} (others {there[feature]:+.2f})"
        said.append((apart[feature] / SHARE_OF_A_DEVIATION, f"{name} with {answer.names[feature]}: {words}"))
    return said


def with_statements(answer: GroupAnswer, mine: GroupProfile, all_profiles: list[GroupProfile]) -> GroupProfile:
    """The profile with what sets it apart from all others taken together, the strongest first."""
    others = [each for each in all_profiles if each is not mine]
    if not others:
        return mine
    weights = np.array([each.examples for each in others], np.float64)
    said: list[tuple[float, str]] = []
    names, labels, numbers = answer.names, answer.class_names, answer.are_numbers
    phrases = label_phrases(answer.federation.task)
    if words := label_mean_statement(answer.federation.task, mine, others):
        said.append((math.inf, words))  # it comes first
    if labels:
        there = np.average([each.shares for each in others], axis=0, weights=weights)
        apart = np.abs(mine.shares - there)
        limit = MIN_STANDARD_ERRORS * share_errors(mine, others)
        for label in np.flatnonzero((apart >= MIN_SHARE_DIFFERENCE) & (apart > limit)):
            share, other = 100 * mine.shares[label], 100 * there[label]
            words = f"{phrases[label]}: {share:.0f} % (others {other:.0f} %)"
            said.append((apart[label] / SHARE_OF_A_DEVIATION, words))
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
                words = f"{names[feature]}: {round(share)} % (others {round(share - 100 * apart[feature])} %)"
            said.append((strength[feature], words))
    if len(mine.correlations):
        said += correlation_statements(answer, mine, others)
    elif names and len(labels) > 1:
        known = [np.nan_to_num(each.means_by_label) for each in others]
        with_label = np.array([[each.examples * each.shares for each in others]])[0]
        total = np.maximum(with_label.sum(axis=0), 1e-9)
        there = np.einsum("gl,glf->lf", with_label, np.array(known)) / total[:, None]
        inside = np.where((with_label.sum(axis=0) > 0)[:, None], mine.means_by_label - there, np.nan)
        beyond = np.nan_to_num(inside - apart[None])  # what the means of all examples do not say already
        counts = 1 / np.maximum(mine.examples * mine.shares, 1) + 1 / np.maximum(with_label.sum(axis=0), 1)
        by_chance = MIN_STANDARD_ERRORS * np.sqrt(counts)[:, None] * np.where(numbers, 1.0, spread)
        there_too = np.abs(np.nan_to_num(inside)) >= least  # not: no difference where one was expected
        for label, feature in np.argwhere(there_too & (np.abs(beyond) >= np.maximum(2 * least, by_chance))):
            size = f"{inside[label, feature]:+.1f} deviations"
            if not numbers[feature]:
                size = f"{100 * inside[label, feature]:+.0f} points"
            words = f"{names[feature]} {size} where {phrases[label]}"
            said.append((abs(beyond[label, feature]) / (1.0 if numbers[feature] else SHARE_OF_A_DEVIATION), words))
    said.sort(key=lambda each: -each[0])
    return replace(mine, statements=tuple(words for _, words in said[:MAX_STATEMENTS]))
