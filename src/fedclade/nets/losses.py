"""What of a task takes torch: the loss that training follows, and how a model does on test examples."""

import numpy as np
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, huber_loss, mse_loss, pad

from fedclade.core import InputError
from fedclade.core.evaluation import Evaluation, count_classes, count_flags, count_numbers
from fedclade.core.task import Task
from fedclade.nets.own_task import OwnTask


class LanguageModel(nn.Module):
    """A module that is trained to predict what its own inputs say next."""

    def predictions(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs (words that follow one, vocabulary), and the words that do follow."""
        raise NotImplementedError


def outputs_of(task: Task, shape: tuple[int, ...], own: OwnTask | None = None) -> int:
    """How many numbers a net gives for an example of this shape."""
    if own is not None and own.outputs is not None:
        return own.outputs
    if task.kind == "reconstruction":
        return int(np.prod(shape))
    return 1 if task.labels == "number" else task.count


def outputs_and_labels(module: nn.Module, inputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Outputs, and what each should have been: one for each example, or for each next word."""
    return module.predictions(inputs) if isinstance(module, LanguageModel) else (module(inputs), labels)


def mean_loss(
    task: Task, own: OwnTask | None, outputs: Tensor, labels: Tensor, inputs: Tensor, weight: Tensor | None = None
) -> Tensor:
    """The loss that training follows: a mean over examples, weighted by class where weights are given.

    Of a multi-label task a weight is how much a flag that is there counts, against one that is not.
    """
    if own is not None:
        return own.mean_loss(outputs, labels)
    if task.kind == "own":
        raise InputError("the functions of an own task are not here", where="task", need="the OwnTask of the run")
    if task.kind == "reconstruction":
        return mse_loss(outputs.reshape(inputs.shape), inputs)
    if task.kind == "regression":
        single = outputs.reshape(labels.shape)
        return huber_loss(single, labels) if task.loss == "huber" else mse_loss(single, labels)
    if task.kind == "multi-label":
        return binary_cross_entropy_with_logits(outputs, labels.to(outputs.dtype), pos_weight=weight)
    if weight is not None:  # a net may have more outputs than there are classes
        weight = pad(weight, (0, outputs.shape[1] - len(weight)), value=1.0)
    return cross_entropy(outputs, labels, weight=weight)


def total_weight(task: Task, labels: Tensor, weight: Tensor | None) -> float:
    """What the mean loss over these labels is divided by: their number, or the sum of the weights of their classes."""
    return float(weight[labels].sum()) if weight is not None and task.is_classification else len(labels)


def evaluate_outputs(task: Task, own: OwnTask | None, outputs: Tensor, labels: Tensor, inputs: Tensor) -> Evaluation:
    """How a model does whose outputs for some examples these are."""
    given, wanted, size = outputs.numpy(), labels.numpy(), len(inputs)
    score, counts, sums = np.zeros(2), np.zeros(task.count_width, np.int64), np.zeros(task.sum_width)
    if task.kind == "classification":
        loss = float(cross_entropy(outputs, labels, reduction="sum")) / size
        return Evaluation(size, loss, *count_classes(task, given, wanted))
    loss = float(mean_loss(task, own, outputs, labels, inputs))
    if task.kind == "regression":
        score, sums = count_numbers(task, given.reshape(wanted.shape), wanted)
    elif task.kind == "multi-label":
        score, counts, sums = count_flags(given, wanted)
    elif task.kind == "reconstruction":
        errors = ((outputs.reshape(inputs.shape) - inputs) ** 2).reshape(size, -1).double().mean(dim=1).numpy()
        score, sums = np.array([errors.sum(), (errors**2).sum()]), np.array([float(size), errors.sum()])
    elif own is not None:
        values = own.measure(outputs, labels) or [loss]
        score, sums = np.array([size * values[0], size * values[0] ** 2]), size * np.array(values[: task.sum_width])
    return Evaluation(size, loss, score, counts, sums)


def evaluate_words(right: int, words: int, loss: float, texts: int) -> Evaluation:
    """How a language model does on so many texts: the words that it gets right, all words, the sum of their losses."""
    share = right / max(words, 1)
    score = np.array([share * texts, share**2 * texts])
    return Evaluation(texts, loss / max(words, 1), score, np.zeros(0, np.int64), np.array([right, words], np.float64))
