"""Run folders made by hand, for plots: small enough to check what is drawn by hand."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from fedclade.report.run_data import RunData, read_run
from fedclade.store.client_table import CLIENT_SCHEMA
from fedclade.store.run_folder import RunFolder

if TYPE_CHECKING:
    import plotly.graph_objects as go

Line = tuple[int, str, float | None, int]
"""Round, client, accuracy, group."""


def asked(method: str = "fedavg", seed: int = 0, **settings: object) -> str:
    """An experiment, as TOML."""
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in {"name": method, **settings}.items())
    return f'[data]\nsource = "digits"\n\n[method]\n{lines}\n[run]\nrounds = 2\nseed = {seed}\n'


def made(
    path: Path,
    experiment: str,
    events: Sequence[Mapping[str, object]],
    lines: Sequence[Line] = (),
    result: Mapping[str, object] | None = None,
    took_part: Sequence[bool] | None = None,
    examples: int = 1,
) -> RunData:
    """A run folder of these facts, read back."""
    path.mkdir(parents=True)
    (path / "experiment.toml").write_text(experiment)
    (path / "environment.json").write_text('{"data_sha256": "the same"}')
    (path / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    rounds, clients, accuracy, groups = zip(*lines, strict=True) if lines else ((), (), (), ())
    count = len(lines)
    columns = [rounds, clients, accuracy, [None] * count, groups, [0] * count, took_part or [True] * count]
    columns += [accuracy, [None] * count, [examples] * count]
    table = dict(zip(CLIENT_SCHEMA.names, columns, strict=True))
    pq.write_table(pa.table(table, schema=CLIENT_SCHEMA), path / "clients.parquet")
    if result is not None:
        (path / "result.json").write_text(json.dumps(result))
    return read_run(RunFolder.open(path))


def there(figure: "go.Figure | None") -> "go.Figure":
    """A figure that must be there."""
    assert figure is not None
    return figure


def evaluation(round_: int, accuracy: float, **more: object) -> dict[str, object]:
    """The event of an evaluation."""
    return {"event": "evaluation", "round": round_, "accuracy": accuracy, **more}


def round_event(round_: int, up: int = 0, down: int = 0, **facts: object) -> dict[str, object]:
    """The event of a round."""
    return {"event": "round", "round": round_, "bytes_up": up, "bytes_down": down, "facts": facts}


def planted(*groups: Sequence[str]) -> dict[str, object]:
    """The event of planted groups."""
    return {"event": "planted", "round": 0, "groups": [list(members) for members in groups]}


def discovery(names: Sequence[str] = ("a", "b", "c", "d")) -> dict[str, object]:
    """Four clients in two groups, a and c, b and d: 1 apart inside a group, 5 apart across."""
    a, b, c, d = names
    squared = [[0, 25, 1, 25], [25, 0, 25, 1], [1, 25, 0, 25], [25, 1, 25, 0]]
    return {
        "clients": [a, b, c, d],
        "groups": [[a, c], [b, d]],
        "order": [a, c, b, d],
        "squared_distances": squared,
        "adjacency": [[1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1]],
        "tree": [[0, 2, 1.0, 2], [1, 3, 1.0, 2], [4, 5, 25.0, 4]],
        "embedding": [[-2.5, 0.5], [2.5, 0.5], [-2.5, -0.5], [2.5, -0.5]],
        "sketches": [[[0.0, 1.0], [0.5, 1.0]], [[5.0, 1.0]], [[0.0, 0.0]], [[5.0, 0.0]]],
        "silhouettes": {"2": 0.8, "3": 0.4},
        "passed": True,
        "confidence": 0.8,
    }
