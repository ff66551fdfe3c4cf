"""Clients that do worse than with another method, Local or FedAvg, on the same data and seed, and not by chance."""

from collections.abc import Sequence

from fedclade.core import ClientId
from fedclade.report.naming import flat_settings
from fedclade.report.run_data import RunData
from fedclade.runs.metrics import harmed_clients

BASELINES = ("local", "fedavg")  # what a client could have instead


def harmed_by_run(runs: Sequence[RunData]) -> list[tuple[ClientId, ...] | None]:
    """For each run, the clients that a baseline under the same terms serves better; None without a baseline."""
    finals = [run.final_metrics for run in runs]
    terms = [(run.environment.get("data_sha256"), run.seed, settings_except_method(run)) for run in runs]
    found: list[tuple[ClientId, ...] | None] = []
    for index, run in enumerate(runs):
        others = [
            finals[other]
            for other, baseline in enumerate(runs)
            if baseline.method in BASELINES and baseline.method != run.method and terms[other] == terms[index]
        ]
        found.append(harmed_clients(finals[index], others) if others else None)
    return found


def settings_except_method(run: RunData) -> tuple[tuple[str, str], ...]:
    """What two runs must have in common to be compared client by client: all settings but the method's."""
    settings = flat_settings(run.experiment_toml)
    return tuple((key, value) for key, value in settings.items() if not key.startswith("method."))
