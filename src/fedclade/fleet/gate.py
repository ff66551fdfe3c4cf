"""The gate: every reply is compared with what the server asked, alone, before anybody uses it.

A reply that does not fit is refused and recorded; for the method it is as if the client had been silent. Nothing that a
client sends raises an exception here.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fedclade.fleet.protocol import Ask, Refusal, Reply
from fedclade.nouns import ClientId

LONGEST_QUOTE = 60  # characters
Arrival = Reply | Refusal
"""What an engine brings back from a client: its reply, or why there is none."""
LARGEST = 1e9  # of a weight, a point or a mean: what is trained or encoded is far below; squares must not overflow
IMPLAUSIBLE = 10  # a client does not suddenly have so many times the examples that it joined with


@dataclass(frozen=True)
class Form:
    """How one array of a reply must look; None in the shape: any length up to `most`."""

    dtype: DTypeLike
    shape: tuple[int | None, ...]
    most: int = 0
    least_value: float = -np.inf
    most_value: float = np.inf

    @property
    def most_bytes(self) -> int:
        """The largest that it can be."""
        return (
            math.prod(self.most if length is None else length for length in self.shape) * np.dtype(self.dtype).itemsize
        )


def expected(ask: Ask) -> dict[str, Form]:
    """The arrays that the answer to this request must have, and no others."""
    if ask.verb == "train":
        row = Form(np.float32, ask.rows.shape[1:], least_value=-LARGEST, most_value=LARGEST)
        return {"row": row, "loss": Form(np.float64, ())}
    if ask.verb == "losses":
        return {"losses": Form(np.float64, ask.rows.shape[:1])}
    if ask.verb == "evaluate":
        return {"correct": Form(np.int64, (), least_value=0), "loss": Form(np.float64, ())}
    if ask.verb == "moments":
        return {
            "counts": Form(np.int64, (ask.classes,), least_value=0),
            "means": Form(np.float32, (ask.classes, ask.features), least_value=-LARGEST, most_value=LARGEST),
            "variances": Form(np.float32, (ask.classes,), least_value=0),
            "token": Form(np.int64, ()),
        }
    if ask.verb == "scatter":
        return {
            "total": Form(np.float64, (ask.features,)),
            "products": Form(np.float32, (ask.features * (ask.features + 1) // 2,)),
        }
    if ask.verb == "changed":
        return {"changed": Form(np.bool_, ())}
    return {
        "points": Form(np.float32, (None, ask.features), most=ask.points, least_value=-LARGEST, most_value=LARGEST),
        "counts": Form(np.int64, (None,), most=ask.points, least_value=1),
        "token": Form(np.int64, ()),
    }


def fault(reply: Reply, ask: Ask, enrolled: int) -> str:
    """What is wrong with this reply to this request; empty if nothing is."""
    said: object = reply.verb  # a client may say anything
    if type(said) is not str or said != ask.verb:
        return f"verb: got {quoted(said)}, need {ask.verb!r}"
    if type(reply.round) is not int or reply.round != ask.now.number:
        return f"round: got {quoted(reply.round)}, need {ask.now.number}"
    if type(reply.examples) is not int or not 0 < reply.examples <= IMPLAUSIBLE * enrolled:
        return f"examples: got {quoted(reply.examples)}, need a whole number from 1 to {IMPLAUSIBLE * enrolled}"
    forms = expected(ask)
    if not isinstance(reply.arrays, Mapping) or set(reply.arrays) != set(forms):
        return f"arrays: need {sorted(forms)}"
    for name, form in forms.items():
        if wrong := misfit(reply.arrays[name], form):
            return f"{name}: {wrong}"
    if ask.verb == "evaluate" and int(reply.arrays["correct"]) > reply.examples:
        return f"correct: got {reply.arrays['correct']}, need at most {reply.examples}"
    if ask.verb == "sketch":
        points, counts = reply.arrays["points"], reply.arrays["counts"]
        if len(points) != len(counts) or not 0 < len(points) <= ask.points:
            return f"points: got {len(points)} with {len(counts)} counts, need 1 to {ask.points} with as many"
        if int(counts.max()) > reply.examples or int(counts.sum()) > reply.examples:
            return f"counts: got more than {reply.examples} examples, need at most those"
    if ask.verb == "scatter":
        return scatter_fault(reply, ask.features)
    return moments_fault(reply) if ask.verb == "moments" else ""


def scatter_fault(reply: Reply, features: int) -> str:
    """What is wrong with sums that have the right form; empty if they can be those of so many examples."""
    total = np.asarray(reply.arrays["total"], np.float64)
    products = np.asarray(reply.arrays["products"], np.float64)
    squares = products[diagonal(features)]
    most = LARGEST * LARGEST * reply.examples
    if float(squares.max(initial=0)) > most:
        return f"products: got {float(squares.max()):g}, need at most {most:g}"
    if (total**2 > 1.001 * reply.examples * squares + 1e-6).any():  # Cauchy and Schwarz, and rounding
        return "total: got more than its squares allow, need sums of the same examples"
    lengths = np.sqrt(np.maximum(squares, 0))
    start = 0
    for row in range(features):
        allowed = 1.001 * lengths[row] * lengths[row:] + 1e-6
        if (np.abs(products[start : start + features - row]) > allowed).any():
            return "products: got more than their squares allow, need sums of the same examples"
        start += features - row
    return ""


def diagonal(features: int) -> NDArray[np.int64]:
    """Where the diagonal of a matrix stands in its upper triangle, row by row."""
    rows = np.arange(features)
    places: NDArray[np.int64] = rows * features - rows * (rows - 1) // 2
    return places


def moments_fault(reply: Reply) -> str:
    """What is wrong with moments that have the right form; empty if nothing is."""
    counts, means, variances = (reply.arrays[name] for name in ("counts", "means", "variances"))
    if int(counts.max()) > reply.examples or int(counts.sum()) > reply.examples:
        return f"counts: got more than {reply.examples} examples, need at most those"
    if means[counts == 0].any() or variances[counts < 2].any():  # type: ignore[operator]  # counts, by their form
        return "means: got some of labels without examples, need 0 there"
    return ""


def quoted(value: object) -> str:
    """What a client sent, short enough for a line of the log."""
    if type(value) not in (bool, int, float, str):
        return f"a {type(value).__name__}"
    try:
        text = repr(value)
    except ValueError:  # a number with more digits than Python will print
        return "a huge number"
    return text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE] + "..."


def misfit(array: NDArray[np.generic], form: Form) -> str:
    """In what this array differs from the form; empty if in nothing."""
    if not isinstance(array, np.ndarray) or array.dtype != form.dtype:
        return f"got {getattr(array, 'dtype', type(array).__name__)}, need {np.dtype(form.dtype)}"
    if len(array.shape) != len(form.shape) or any(
        length != wanted if wanted is not None else length > form.most
        for length, wanted in zip(array.shape, form.shape, strict=True)
    ):
        need = str(form.shape) if None not in form.shape else f"{len(form.shape)} dimensions up to {form.most}"
        return f"got shape {array.shape}, need {need}"
    if array.size and form.least_value <= np.min(array) and np.max(array) <= form.most_value < np.inf:
        return ""  # NaN is in no range: two passes over a large model, and no third
    if not np.isfinite(array).all():
        return f"got {int((~np.isfinite(array)).sum())} of {array.size} values NaN or infinite, need finite"
    if array.size and form.least_value > -np.inf and (least := float(np.min(array))) < form.least_value:
        return f"got {least:g}, need at least {form.least_value:g}"
    if array.size and form.most_value < np.inf and (largest := float(np.max(array))) > form.most_value:
        return f"got {largest:g}, need at most {form.most_value:g}"
    return ""


class Gate:
    """The gate of one call of a verb: lets replies through in the order of the request."""

    def __init__(self, asks: Mapping[ClientId, Ask], enrolled: Mapping[ClientId, int]) -> None:
        self._asks, self._enrolled = asks, enrolled
        self._refused: list[Refusal] = []

    @property
    def refused(self) -> tuple[Refusal, ...]:
        """What was not let through so far."""
        return tuple(self._refused)

    def admit(self, arrivals: Iterable[Arrival]) -> Iterator[Reply]:
        """The replies that fit, one for each client at most, in the order of the request.

        A reply waits here only while one that was asked for before it is missing.
        """
        waiting: dict[ClientId, Reply] = {}
        heard: set[ClientId] = set()
        order = iter(self._asks)
        turn = next(order, None)
        for reply in arrivals:
            if isinstance(reply, Refusal):
                self._refused.append(reply)
                continue
            if wrong := self._fault(reply, heard):
                self._refuse(reply, wrong)
                continue
            heard.add(reply.client)
            waiting[reply.client] = reply
            while turn is not None and turn in waiting:
                yield waiting.pop(turn)
                turn = next(order, None)
        for client in self._asks:
            if client in waiting:
                yield waiting.pop(client)

    def _fault(self, reply: Reply, heard: set[ClientId]) -> str:
        if not isinstance(reply.client, str) or reply.client not in self._asks:
            return "client: was not asked"
        if reply.client in heard:
            return "client: has answered already"
        return fault(reply, self._asks[reply.client], self._enrolled[reply.client])

    def _refuse(self, reply: Reply, reason: str) -> None:
        verb = next(iter(self._asks.values())).verb if self._asks else reply.verb
        self._refused.append(Refusal(str(reply.client)[:200], verb, reason))
