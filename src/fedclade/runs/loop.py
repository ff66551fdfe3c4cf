"""The loop: rounds, evaluations, events, checkpoints. It knows no method by name."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TypeVar

import pyarrow as pa

from fedclade.core import Assignment, ClientId, Groups, Round, Stopped
from fedclade.fleet import Fleet, Ledger, Scores
from fedclade.methods import Facts, First, SelectionState, select_participants
from fedclade.runs.clock import Clock
from fedclade.runs.divergence import (
    MAX_SILENT_ROUNDS,
    DivergenceWatch,
    advice,
    divergence_of,
    first_loss,
    loss_scale,
    median_training_loss,
    needs_first_loss,
    reason_at,
)
from fedclade.runs.experiment import Experiment
from fedclade.runs.method_state import check_state, restore_state
from fedclade.runs.metrics import Separation, client_metrics, evaluation_metrics, summary, verdict_details
from fedclade.runs.significance import SHARE_TASKS
from fedclade.runs.warnings import find_warnings
from fedclade.store import events
from fedclade.store.checkpoints import Checkpoint
from fedclade.store.client_table import CLIENT_SCHEMA
from fedclade.store.run_folder import RunFolder
from fedclade.store.state_codec import pack

TrafficT = TypeVar("TrafficT", bound=events.TrafficEvent)
MODELS_AT_ONCE = 64  # that are added up at once where models are a mixture


@dataclass(frozen=True)
class RunProgress:
    """How far a run is, after one of its rounds."""

    round: int
    """1 after the first."""
    rounds: int
    """How many the run has."""
    accuracy: float | None
    """The mean over clients, 0 to 1; None where the models were not evaluated, or of a task without an accuracy."""
    clients: int = 0
    """How many could be asked in this round."""
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    """Every metric of the task, where the models were evaluated after this round."""
    metric: str = ""
    """The name of the main one among them."""
    method: str = ""
    """The method's name."""
    seed: int = 0
    """The run's seed."""
    run: str = ""
    """The run's folder."""


ProgressCallback = Callable[[RunProgress], None]
TruthAt = Callable[[int], Groups | None]
"""The planted groups of a round: the metrics may know them, and the method may not."""


def run_rounds(
    experiment: Experiment,
    fleet: Fleet,
    first: First,
    truth_at: TruthAt,
    folder: RunFolder,
    checkpoint: Checkpoint | None,
    progress: ProgressCallback,
) -> tuple[dict[str, object], Assignment]:
    """Play all rounds after a checkpoint's: the verdict, and the final models. Training that diverges ends early."""

    def at(number: int) -> Round:
        due = number > 0 and (number % plan.evaluate_every == 0 or number == plan.rounds)
        seed, share, scale = plan.seed, plan.participation, experiment.local.schedule.scale(number, plan.rounds)
        local = replace(experiment.local, lr=scale * experiment.local.lr)
        return Round(number, seed, share, local, evaluated=due, validation=needs.validation, lr_scale=scale)

    method, selection, plan = experiment.method, experiment.selection, experiment.run
    needs = method.needs()
    by_chance = selection.selection == "random"
    clock = Clock(fleet, checkpoint.totals if checkpoint else {})
    task, past = fleet.model.task, () if checkpoint is None else tuple(folder.events())
    initial_loss = first_loss(past)
    if checkpoint is None:
        before = fleet.ledger.totals()  # what a preparation took, before there was a net
        fleet = fleet.begin(0)
        fleet.ledger.add_totals(before)
        with clock.measure_server(fleet.ledger):
            state, facts = method.start(fleet, first, at(0))
        selection_state = SelectionState()
        check_state(method, state)
        models = method.assignment(state)
        initial = fleet.evaluate(models, at(0)) if needs_first_loss(task) else None
        clock.add(fleet.ledger)
        folder.log_event(with_traffic(events.StartEvent(clients=len(fleet.clients()), facts=facts), fleet.ledger))
        log_planted_groups(folder, 0, truth_at(0))
        if initial is not None:
            evaluated = events.EvaluationEvent(round=0, **evaluation_metrics(initial, models, truth_at(0)))
            initial_loss = evaluated.loss
            folder.log_event(evaluated)
        save(folder, 0, state, None if by_chance else selection_state, clock)
        begin = 1
    else:
        state, selection_state = restore_state(method, selection, checkpoint)
        models = method.assignment(state)
        begin = checkpoint.round + 1
    scores: Scores | None = None
    watch = DivergenceWatch(loss_scale(task, initial_loss), past)
    last = begin - 1
    diverged = reason_at(last, past)
    away: set[ClientId] = set()
    for number in range(begin, plan.rounds + 1):
        if diverged and watch.gives_up:
            break
        last = number
        truth = truth_at(number)
        separation = Separation(truth)
        now, fleet = at(number), fleet.begin(number, separation)
        ledger = fleet.ledger
        if truth is not truth_at(number - 1):
            log_planted_groups(folder, number, truth)
        present = fleet.clients()
        if not present:
            raise Stopped("there are no clients", where=f"round {number}", got="0", need="at least 1")
        if away or present != models.clients:
            gone = set(models.row_by_client) - set(present)
            if left := gone - away:
                folder.log_event(events.LeftEvent(round=number, clients=tuple(sorted(left))))
            if returned := away - gone:
                folder.log_event(events.ReturnedEvent(round=number, clients=tuple(sorted(returned))))
            away = gone
            if newcomers := tuple(client for client in present if client not in models.row_by_client):
                with clock.measure_server(ledger):
                    state, facts = method.place(state, newcomers, fleet, now)
                    models = method.assignment(state)
                folder.log_event(events.NewcomersEvent(round=number, clients=newcomers, facts=facts))
        more: Facts = {}
        with clock.measure_server(ledger):
            if not by_chance:
                common = needs.common_models(state) if needs.common_models is not None else models
                selection_state, now, more = select_participants(
                    selection, selection_state, common.restrict(present), fleet, now
                )
            state, facts = method.round(state, fleet, now)
            if not by_chance and isinstance(loss := facts.get("loss"), float):
                selection_state = selection_state.after_loss(loss)
        if separation.gaps:
            more = {**more, "separation_gaps": list(separation.gaps)}
        played = events.RoundEvent(round=number, facts={**facts, **more}, training_loss=median_training_loss(ledger))
        watch.add(with_traffic(played, ledger))
        if watch.silent >= MAX_SILENT_ROUNDS and not any(refusal.overflow for refusal in ledger.refused):
            reasons = sorted({refusal.reason for refusal in ledger.refused})[:1] or ["no answer"]
            what = f"nobody could be heard for {MAX_SILENT_ROUNDS} rounds"
            raise Stopped(what, where=f"round {number}", got=reasons[0], need="at least one usable reply")
        models = method.assignment(state)
        scores = fleet.evaluate(models.restrict(present), now) if now.evaluated or watch.gives_up else None
        clock.add(ledger)
        folder.log_event(with_traffic(played, ledger))
        diverged = ""
        if scores is not None:
            folder.log_event(events.EvaluationEvent(round=number, **evaluation_metrics(scores, models, truth)))
            if diverged := divergence_of(watch, scores, ledger):
                folder.log_event(events.DivergedEvent(round=number, reason=diverged))
        folder.log_clients(client_rows(number, ledger, scores, models))
        save(folder, number, state, None if by_chance else selection_state, clock)
        values = summary(scores) if scores is not None else {}
        accuracy, metrics = values.get("accuracy"), values.get("metrics", {})
        assert accuracy is None or isinstance(accuracy, float)
        assert isinstance(metrics, dict)
        about = str(values.get("metric", "")), experiment.method_name, plan.seed, str(folder.path)
        progress(RunProgress(number, plan.rounds, accuracy, len(present), metrics, *about))
    if scores is None:  # killed between the last checkpoint and the verdict
        fleet = fleet.begin(last)
        there = [client for client in fleet.clients() if client in models.row_by_client]
        scores = fleet.evaluate(models.restrict(there), at(last))
    divergence = {"reason": diverged, "advice": advice(experiment)} if diverged else None
    warned = find_warnings(scores, [*folder.events(events.EvaluationEvent)], divergence)
    result: dict[str, object] = {
        "rounds": last,
        **evaluation_metrics(scores, models, truth_at(last)),
        **verdict_details(scores),
        "warnings": [asdict(each) for each in warned],
        "groups": [list(members) for members in models.groups().members],
        "model_hash": model_hash(models),
        "diverged": diverged != "",
        **({"divergence": divergence} if divergence else {}),
        **clock.totals(),
    }
    return result, models


def log_planted_groups(folder: RunFolder, number: int, truth: Groups | None) -> None:
    """Note the planted groups from this round on: plots show the groups that were found beside them."""
    if truth is not None:
        folder.log_event(events.PlantedEvent(round=number, groups=tuple(truth.members)))


def save(folder: RunFolder, number: int, state: object, selection_state: SelectionState | None, clock: Clock) -> None:
    """Save the checkpoint of a round: the method's state, and with it what selection remembers."""
    tree, arrays = pack(state if selection_state is None else (state, selection_state))
    folder.save(Checkpoint(number, tree, arrays, clock.totals()))


def with_traffic(event: TrafficT, ledger: Ledger) -> TrafficT:
    """The event with what a round's ledger says."""
    return replace(
        event,
        bytes_up=sum(count for verb, count in ledger.up.items() if verb != "evaluate"),
        bytes_down=sum(count for verb, count in ledger.down.items() if verb != "evaluate"),
        took_part=len(ledger.trained),
        refused=tuple(events.RefusedReply(each.client, each.verb, each.reason) for each in ledger.refused),
        silent=tuple(events.MissingReply(client, verb) for verb, client in ledger.silent),
    )


def client_rows(number: int, ledger: Ledger, scores: Scores | None, models: Assignment) -> pa.RecordBatch:
    """The clients' table of a round: all clients when it was evaluated, else those that were asked."""
    values: dict[ClientId, float] = {}
    errors: dict[ClientId, float] = {}
    losses: dict[ClientId, float] = {}
    examples: dict[ClientId, int] = {}
    has_accuracy = scores is not None and scores.task.kind in SHARE_TASKS
    if scores is not None:
        found = client_metrics(scores)
        values = dict(zip(scores.clients, found.values.tolist(), strict=True))
        errors = {
            name: error for name, error in zip(scores.clients, found.errors.tolist(), strict=True) if error == error
        }
        losses = dict(zip(scores.clients, scores.losses.tolist(), strict=True))
        examples = dict(zip(scores.clients, scores.examples.tolist(), strict=True))
    clients = sorted({*values, *ledger.by_client})
    groups = models.group_by_row()
    return pa.record_batch(
        [
            [number] * len(clients),
            clients,
            [values.get(client) if has_accuracy else None for client in clients],
            [losses.get(client) for client in clients],
            [groups[models.row_by_client[client]] for client in clients],
            [ledger.by_client.get(client, 0) for client in clients],
            [client in ledger.trained for client in clients],
            [values.get(client) for client in clients],
            [errors.get(client) for client in clients],
            [examples.get(client) for client in clients],
        ],
        schema=CLIENT_SCHEMA,
    )


def model_hash(models: Assignment) -> str:
    """SHA-256 over every client's id and model, however the models are kept."""
    numbers, digests = sorted(set(models.row_by_client.values())), list[bytes]()
    for start in range(0, len(numbers), MODELS_AT_ONCE):
        rows = models.models(numbers[start : start + MODELS_AT_ONCE])
        digests += [hashlib.sha256(row.tobytes()).digest() for row in rows]
    digest_by_number = dict(zip(numbers, digests, strict=True))
    whole = hashlib.sha256()
    for client, number in models.row_by_client.items():
        whole.update(client.encode() + b"\n" + digest_by_number[number])
    return whole.hexdigest()
