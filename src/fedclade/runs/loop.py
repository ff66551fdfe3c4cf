"""The loop: rounds, evaluations, events, checkpoints. It knows no method by name."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace

from fedclade.core import Assignment, ClientId, Groups, Round, Stopped
from fedclade.fleet import Fleet, Scores
from fedclade.methods import Facts, First, SelectionState, select_participants
from fedclade.runs.clock import Clock
from fedclade.runs.divergence import (
    MAX_SILENT_ROUNDS,
    DivergenceWatch,
    advice,
    diverged_rounds,
    divergence_of,
    first_loss,
    median_training_loss,
)
from fedclade.runs.early_stopping import BestRound, end_reason, has_ended, validation_loss
from fedclade.runs.experiment import Experiment
from fedclade.runs.loss_scale import loss_scale, needs_first_loss
from fedclade.runs.lr_search import search_in, search_lr
from fedclade.runs.method_state import RunState, check_state, pack_state, restore_state
from fedclade.runs.metrics import Separation, evaluation_metrics, summary, verdict_details
from fedclade.runs.round_records import client_rows, log_planted_groups, with_traffic
from fedclade.runs.warnings import find_warnings
from fedclade.store import events
from fedclade.store.checkpoints import Checkpoint
from fedclade.store.run_folder import RunFolder

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
    """Play all rounds after a checkpoint's: the verdict, and the final models.

    A run ends early where training diverges, or with early stopping where models no longer improve.
    """

    def at(number: int) -> Round:
        due = number > 0 and (number % plan.evaluate_every == 0 or number == plan.rounds)
        seed, share, scale = plan.seed, plan.participation, experiment.local.schedule.scale(number, plan.rounds)
        local = replace(experiment.local, lr=scale * (experiment.local.lr if search is None else search.lr))
        validation, held_out = needs.validation, plan.held_out
        return Round(
            number, seed, share, local, evaluated=due, validation=validation, held_out=held_out, lr_scale=scale
        )

    method, selection, plan = experiment.method, experiment.selection, experiment.run
    needs, stopping = method.needs(), plan.early_stopping
    by_chance = selection.selection == "random"
    clock = Clock(fleet, checkpoint.totals if checkpoint else {})
    task, past = fleet.model.task, () if checkpoint is None else tuple(folder.events())
    initial_loss, search = first_loss(past), search_in(past)
    if checkpoint is None:
        before = fleet.ledger.totals()  # what a preparation took, before there was a net
        if experiment.lr_values:
            fleet = fleet.begin(0)
            search = search_lr(fleet, experiment.lr_values, first, experiment.local, plan.seed, plan.rounds)
            clock.add(fleet.ledger)
            folder.log_event(with_traffic(search.event(), fleet.ledger))
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
        best, best_state = BestRound(), None
        save(folder, experiment, 0, RunState(state, selection_state), clock)
        last = 0
    else:
        reached = restore_state(experiment, checkpoint)
        state, selection_state, best, best_state = reached.method, reached.selection, reached.best, reached.best_method
        models = method.assignment(state)
        last = checkpoint.round
    scores: Scores | None = None
    watch = DivergenceWatch(loss_scale(task, initial_loss), past)
    diverged = diverged_rounds(past)
    away: set[ClientId] = set()
    while last < plan.rounds:
        if (last in diverged and watch.gives_up) or has_ended(stopping, best, at(last)):
            break
        last = number = last + 1
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
        here = models.restrict(present)
        scores = fleet.evaluate(here, now) if now.evaluated or watch.gives_up else None
        validated = fleet.validate(here, now) if now.evaluated and stopping is not None else None
        clock.add(ledger)
        folder.log_event(with_traffic(played, ledger))
        if scores is not None:
            folder.log_event(events.EvaluationEvent(round=number, **evaluation_metrics(scores, models, truth)))
            if reason := divergence_of(watch, scores, ledger):
                diverged[number] = reason
                folder.log_event(events.DivergedEvent(round=number, reason=reason))
        if validated is not None:
            loss = validation_loss(watch.scale, validated)
            folder.log_event(events.ValidationEvent(round=number, loss=loss, clients=len(validated.clients)))
            if (found := best.after(number, loss)) is not best:
                best, best_state = found, state
        folder.log_clients(client_rows(number, ledger, scores, models))
        save(folder, experiment, number, RunState(state, selection_state, best, best_state), clock)
        values = summary(scores) if scores is not None else {}
        accuracy, metrics = values.get("accuracy"), values.get("metrics", {})
        assert accuracy is None or isinstance(accuracy, float)
        assert isinstance(metrics, dict)
        about = str(values.get("metric", "")), experiment.method_name, plan.seed, str(folder.path)
        progress(RunProgress(number, plan.rounds, accuracy, len(present), metrics, *about))
    kept = last if best_state is None else best.round
    if scores is None or kept < last:
        fleet = fleet.begin(last)
        there = [client for client in fleet.clients() if client in models.row_by_client]
        if kept < last:
            known = method.assignment(best_state)
            if late := tuple(client for client in there if client not in known.row_by_client):
                best_state, _ = method.place(best_state, late, fleet, at(last))  # they came after the best round
            models = method.assignment(best_state)
        scores = fleet.evaluate(models.restrict(there), at(last))
        if kept < last:  # else it is done again: the run was killed before the verdict
            clock.add(fleet.ledger)
    reason = "training diverged" if last in diverged and watch.gives_up else end_reason(best, last, plan.rounds)
    if last < plan.rounds:
        folder.log_event(events.EarlyStopEvent(round=last, kept=kept, reason=reason))
    divergence = {"reason": diverged[kept], "advice": advice(experiment, at(0).local.lr)} if kept in diverged else None
    history = [] if kept < last else [*folder.events(events.EvaluationEvent)]
    warned = find_warnings(scores, history, divergence)
    result: dict[str, object] = {
        "rounds": last,
        **evaluation_metrics(scores, models, truth_at(last)),
        **verdict_details(scores),
        "warnings": [asdict(each) for each in warned],
        "groups": [list(members) for members in models.groups().members],
        "model_hash": model_hash(models),
        "diverged": divergence is not None,
        **({"divergence": divergence} if divergence else {}),
        **({} if search is None else {"lr_search": search.table()}),
        **({} if stopping is None else {"early_stopping": {"kept": kept, "loss": best.loss, "reason": reason}}),
        **clock.totals(),
    }
    return result, models


def save(folder: RunFolder, experiment: Experiment, number: int, state: RunState, clock: Clock) -> None:
    """Save the checkpoint of a round."""
    tree, arrays = pack_state(experiment, state)
    folder.save(Checkpoint(number, tree, arrays, clock.totals()))


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
