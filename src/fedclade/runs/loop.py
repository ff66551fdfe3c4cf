"""The loop: rounds, evaluations, facts, checkpoints. It knows no method by name."""

import hashlib
import inspect
import json
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter, process_time

import numpy as np
import pyarrow as pa

from fedclade.fleet import Fleet, Ledger, Scores
from fedclade.methods import AnyMethod, Facts, First, Selection, Standing, selected
from fedclade.nouns import Assignment, ClientId, Damaged, Groups, InputError, LocalTraining, Round, Stopped
from fedclade.runs.client_table import CLIENTS
from fedclade.runs.codec import pack, unpack
from fedclade.runs.experiment import RunSettings
from fedclade.runs.folder import Checkpoint, RunFolder
from fedclade.runs.metrics import Separation, by_group, rand_index, summary

SILENT_ROUNDS = 5  # so many rounds in a row in which nobody could be heard are the end


@dataclass(frozen=True)
class Progress:
    """How far a run is: for somebody who watches."""

    round: int
    rounds: int
    accuracy: float | None
    clients: int = 0
    """Who could be asked in this round."""


Watch = Callable[[Progress], None]


@dataclass(frozen=True)
class Judge:
    """What the metrics may know and the method may not."""

    truth_at: Callable[[int], Groups | None]
    """The planted groups of a round."""

    def verdict(self, scores: Scores, models: Assignment, number: int) -> dict[str, object]:
        """Every figure of one evaluation, after this round."""
        truth = self.truth_at(number)
        accuracy = dict(zip(scores.clients, scores.accuracy.tolist(), strict=True))
        groups = models.groups()
        return {
            **summary(scores),
            "group_count": len(groups),
            "accuracy_by_group": by_group(accuracy, groups),
            "accuracy_by_planted_group": None if truth is None else by_group(accuracy, truth),
            "ari": None if truth is None else rand_index(groups, truth),
        }


def state_class(method: AnyMethod) -> type[object]:
    """The class of a method's state, from the annotation of its `start`."""
    start = inspect.unwrap(method.start)
    try:
        returned = only_return(start)
    except (NameError, SyntaxError) as error:  # an annotation in quotes that cannot be read
        returned = str(error)
    kind = next(iter(typing.get_args(returned)), None) if typing.get_origin(returned) is tuple else None
    if not isinstance(kind, type):
        raise InputError(
            f"the state of {type(method).__name__} is not known",
            where="its start",
            got=f"-> {returned}",
            need="-> tuple[ITS STATE, Facts]: by its class a run can be resumed",
        )
    return kind


def only_return(function: Callable[..., object]) -> object:
    """The annotation of what a function returns; those of its arguments may name what only a type checker knows."""

    def bare() -> None: ...

    bare.__annotations__ = {"return": inspect.get_annotations(function).get("return")}
    known = getattr(function, "__globals__", {})
    return inspect.get_annotations(bare, globals=known, eval_str=True)["return"]


def remembered(method: AnyMethod, selection: Selection, reached: Checkpoint) -> tuple[object, Standing]:
    """A method's state, and what selection remembers, as a checkpoint has them."""
    if selection.selection == "random":
        return unpack(state_class(method), reached.tree, reached.arrays), Standing()
    both = types.GenericAlias(tuple, (state_class(method), Standing))
    state, standing = unpack(typing.cast("type[tuple[object, Standing]]", both), reached.tree, reached.arrays)
    return state, standing


def check_state(method: AnyMethod, state: object) -> None:
    """An error unless the state comes back from its packing: found at the start, and not when a run is resumed."""
    kind = state_class(method)
    try:
        tree, arrays = pack(state)
        again = pack(unpack(kind, json.loads(json.dumps(tree)), arrays))
        same = again[0] == tree and all(np.array_equal(array, again[1][name]) for name, array in arrays.items())
    except (TypeError, ValueError, KeyError, Damaged) as wrong:
        raise InputError(
            f"the state of {type(method).__name__} cannot be saved",
            where=kind.__name__,
            got=str(wrong),
            need="a frozen dataclass of arrays, ids, numbers, tuples and dicts, each annotated as what it is",
        ) from None
    if not same:
        raise InputError(f"the state of {type(method).__name__} does not come back as it was", where=kind.__name__)


def play(
    method: AnyMethod,
    selection: Selection,
    fleet: Fleet,
    first: First,
    plan: RunSettings,
    local: LocalTraining,
    judge: Judge,
    folder: RunFolder,
    reached: Checkpoint | None,
    watch: Watch,
) -> tuple[dict[str, object], Assignment]:
    """Play all rounds that are left, from where a checkpoint got to: the verdict, and the final models."""

    def at(number: int) -> Round:
        return Round(number, plan.seed, plan.participation, local, judged=is_due(number), validation=needs.validation)

    def is_due(number: int) -> bool:
        return number > 0 and (number % plan.evaluate_every == 0 or number == plan.rounds)

    needs = method.needs()
    by_chance = selection.selection == "random"
    clock = Clock(fleet, reached.totals if reached else {})
    if reached is None:
        fleet = fleet.begin(0)
        with clock.server(fleet.ledger):
            state, facts = method.start(fleet, first, at(0))
        standing = Standing()
        check_state(method, state)
        clock.add(fleet.ledger)
        folder.note("start", round=0, clients=len(fleet.clients()), **told(fleet.ledger), facts=facts)
        note_planted(folder, judge, 0)
        save(folder, 0, state, None if by_chance else standing, clock)
        begin = 1
    else:
        state, standing = remembered(method, selection, reached)
        begin = reached.round + 1
    scores: Scores | None = None
    models = method.assignment(state)
    silence = 0
    away: set[ClientId] = set()
    for number in range(begin, plan.rounds + 1):
        separation = Separation(judge.truth_at(number))
        now, fleet = at(number), fleet.begin(number, separation)
        ledger = fleet.ledger
        if judge.truth_at(number) is not judge.truth_at(number - 1):
            note_planted(folder, judge, number)
        present = fleet.clients()
        if not present:
            raise Stopped("there are no clients", where=f"round {number}", got="0", need="at least 1")
        if away or present != models.clients:
            gone = set(models.home) - set(present)
            for what, whom in (("left", gone - away), ("returned", away - gone)):
                if whom:
                    folder.note(what, round=number, clients=sorted(whom))
            away = gone
            if newcomers := tuple(client for client in present if client not in models.home):
                with clock.server(ledger):
                    state, facts = method.place(state, newcomers, fleet, now)
                    models = method.assignment(state)
                folder.note("newcomers", round=number, clients=list(newcomers), facts=facts)
        news: Facts = {}
        with clock.server(ledger):
            if not by_chance:
                common = needs.common_models(state) if needs.common_models is not None else models
                standing, now, news = selected(selection, standing, common.only(present), fleet, now)
            state, facts = method.round(state, fleet, now)
        silence = 0 if ledger.trained else silence + 1
        if silence == SILENT_ROUNDS:
            reasons = sorted({refusal.reason for refusal in ledger.refused})[:1] or ["no answer"]
            raise Stopped(
                f"nobody could be heard for {SILENT_ROUNDS} rounds",
                where=f"round {number}",
                got=reasons[0],
                need="at least one usable reply (if models diverge: a smaller local.lr)",
            )
        models = method.assignment(state)
        scores = fleet.evaluate(models.only(present), now) if now.judged else None
        clock.add(ledger)
        if separation.gaps:
            news = {**news, "separation_gaps": list(separation.gaps)}
        folder.note("round", round=number, **told(ledger), facts={**facts, **news})
        if scores is not None:
            folder.note("evaluation", round=number, **judge.verdict(scores, models, number))
        folder.note_clients(lines(number, ledger, scores, models))
        save(folder, number, state, None if by_chance else standing, clock)
        watch(
            Progress(
                number,
                plan.rounds,
                float(scores.accuracy.mean()) if scores is not None and scores.clients else None,
                len(present),
            )
        )
    if scores is None:  # killed between the last checkpoint and the verdict
        fleet = fleet.begin(plan.rounds)
        there = [client for client in fleet.clients() if client in models.home]
        scores = fleet.evaluate(models.only(there), at(plan.rounds))
    result: dict[str, object] = {
        "rounds": plan.rounds,
        **judge.verdict(scores, models, plan.rounds),
        "groups": [list(members) for members in models.groups().members],
        "model_hash": model_hash(models),
        **clock.totals(),
    }
    return result, models


def note_planted(folder: RunFolder, judge: Judge, number: int) -> None:
    """The planted groups as of this round, for who reads the run: figures show what was found beside them."""
    if (truth := judge.truth_at(number)) is not None:
        folder.note("planted", round=number, groups=[list(members) for members in truth.members])


class Clock:
    """Sums over the whole run, resumed or not: seconds, and bytes by verb."""

    def __init__(self, fleet: Fleet, before: Mapping[str, float]) -> None:
        self._transport = fleet.transport
        self._before = dict(before)
        self._bytes: dict[str, float] = {name: value for name, value in before.items() if name.startswith("bytes_")}
        self._wall, self._cpu, self._server = perf_counter(), process_time(), 0.0

    @contextmanager
    def server(self, ledger: Ledger) -> Iterator[None]:
        """Inside, the method works: what it does not wait for clients is the server's own."""
        begin, waited = perf_counter(), ledger.seconds
        yield
        self._server += perf_counter() - begin - (ledger.seconds - waited)

    def add(self, ledger: Ledger) -> None:
        """What crossed the seam in one round."""
        for direction, by_verb in (("down", ledger.down), ("up", ledger.up)):
            for verb, count in by_verb.items():
                name = f"bytes_{direction}_{verb}"
                self._bytes[name] = self._bytes.get(name, 0) + count

    def totals(self) -> dict[str, float]:
        """The sums; `bytes_up` and `bytes_down` are what the method sent, without its evaluation."""
        sums = {
            f"bytes_{direction}": sum(
                int(count)
                for name, count in self._bytes.items()
                if name.startswith(f"bytes_{direction}_") and not name.endswith("_evaluate")
            )
            for direction in ("up", "down")
        }
        cpu = process_time() - self._cpu + self._transport.cpu_seconds
        return {
            **sums,
            **{name: int(count) for name, count in self._bytes.items() if name not in sums},
            "seconds": self._before.get("seconds", 0.0) + perf_counter() - self._wall,
            "cpu_seconds": self._before.get("cpu_seconds", 0.0) + cpu,
            "server_seconds": self._before.get("server_seconds", 0.0) + self._server,
        }


def save(folder: RunFolder, number: int, state: object, standing: Standing | None, clock: Clock) -> None:
    """The checkpoint of a round: the method's state, and beside it what selection remembers."""
    tree, arrays = pack(state if standing is None else (state, standing))
    folder.save(Checkpoint(number, tree, arrays, clock.totals()))


def told(ledger: Ledger) -> dict[str, object]:
    """A round's ledger as facts."""
    return {
        "bytes_up": sum(count for verb, count in ledger.up.items() if verb != "evaluate"),
        "bytes_down": sum(count for verb, count in ledger.down.items() if verb != "evaluate"),
        "took_part": len(ledger.trained),
        "refused": [{"client": each.client, "verb": each.verb, "reason": each.reason} for each in ledger.refused],
        "silent": [{"client": client, "verb": verb} for verb, client in ledger.silent],
    }


def lines(number: int, ledger: Ledger, scores: Scores | None, models: Assignment) -> pa.RecordBatch:
    """The clients' table of a round: everybody when it was evaluated, else those who were asked."""
    judged: dict[ClientId, tuple[float, float]] = {}
    if scores is not None:
        judged = dict(
            zip(scores.clients, zip(scores.accuracy.tolist(), scores.losses.tolist(), strict=True), strict=True)
        )
    clients = sorted({*judged, *ledger.by_client})
    groups = models.numbers()
    return pa.record_batch(
        [
            [number] * len(clients),
            clients,
            [judged[client][0] if client in judged else None for client in clients],
            [judged[client][1] if client in judged else None for client in clients],
            [groups[models.home[client]] for client in clients],
            [ledger.by_client.get(client, 0) for client in clients],
            [client in ledger.trained for client in clients],
        ],
        schema=CLIENTS,
    )


def model_hash(models: Assignment) -> str:
    """SHA-256 over every client's id and model, however the models are kept."""
    rows = [hashlib.sha256(row.tobytes()).digest() for row in models.rows]
    whole = hashlib.sha256()
    for client, row in models.home.items():
        whole.update(client.encode() + b"\n" + rows[row])
    return whole.hexdigest()
