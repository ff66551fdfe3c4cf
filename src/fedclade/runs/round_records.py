"""What a run writes of a round: the fields of its events, and the lines of the clients' table."""

from dataclasses import replace
from typing import TypeVar

import pyarrow as pa

from fedclade.core import Assignment, ClientId, Groups
from fedclade.fleet import Ledger, Scores
from fedclade.runs.metrics import client_metrics
from fedclade.runs.significance import SHARE_TASKS
from fedclade.store import events
from fedclade.store.client_table import CLIENT_SCHEMA
from fedclade.store.run_folder import RunFolder

TrafficT = TypeVar("TrafficT", bound=events.TrafficEvent)


def log_planted_groups(folder: RunFolder, number: int, truth: Groups | None) -> None:
    """Note the planted groups from this round on: plots show the groups that were found beside them."""
    if truth is not None:
        folder.log_event(events.PlantedEvent(round=number, groups=tuple(truth.members)))


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
