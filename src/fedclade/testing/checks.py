"""The checks that every method must pass, one function for each claim."""

import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fedclade.core import Groups, Round
from fedclade.core.training import Adam
from fedclade.fleet.simulated import simulated_fleet
from fedclade.methods import AnyMethod, Needs
from fedclade.nets import net_for
from fedclade.runs.early_stopping import EarlyStopping
from fedclade.runs.loop import model_hash
from fedclade.runs.method_state import state_class
from fedclade.store.events import ValidationEvent
from fedclade.store.run_folder import RunFolder
from fedclade.store.state_codec import pack, unpack
from fedclade.testing.play import LOCAL, Interrupted, play_run
from fedclade.testing.toys import ToyTask, iid_clients, two_groups
from fedclade.testing.wires import LIES, drop_replies, drop_round, lie, reverse_replies

Check = Callable[[AnyMethod, Path], None]
"""Raises AssertionError unless the method does what its name says; runs are written below the folder."""
MIN_ACCURACY = 0.8  # accuracy on ten digits; chance is 0.1
MIN_FLAG_ACCURACY = 0.85  # share of two flags that are right; chance is a half
MAX_ERROR = 0.25  # of a regression: RMSE, as a share of that of the mean label


def check_method(method: AnyMethod, *, finds_groups: bool = False) -> None:
    """AssertionError with everything that the method does not do and should, or nothing.

    `finds_groups`: it claims to find groups of clients whose labels contradict, given six clients and six rounds,
    whether labels are classes, numbers or flags.
    """
    failures: list[str] = []
    wanted = {**CHECKS, **(GROUP_CHECKS if finds_groups else {})}
    with tempfile.TemporaryDirectory(prefix="fedclade-") as folder:
        for number, (name, check) in enumerate(wanted.items()):
            try:
                check(method, Path(folder, str(number)))
            except Exception as error:  # of any kind: it is what the method did
                failures.append(f"{name}: {str(error) or type(error).__name__}")
    if failures:
        count = f"{type(method).__name__} fails {len(failures)} of {len(wanted)} checks:"
        raise AssertionError("\n  ".join([count, *failures]))


def require(claim: bool, message: str) -> None:
    """AssertionError unless it holds, with -O too."""
    if not claim:
        raise AssertionError(message)


def says_what_it_is(method: AnyMethod, _: Path) -> None:
    first = (type(method).__doc__ or "").strip().partition("\n")[0]
    require(first.endswith("."), f"the first line of its docstring is no sentence: {first!r}")


def declares_what_it_needs(method: AnyMethod, _: Path) -> None:
    needs = method.needs()
    require(isinstance(needs, Needs), f"needs() gives a {type(needs).__name__}, not Needs")
    net = net_for("logistic", two_groups().shape, two_groups().classes)
    needs.check(net.layers, LOCAL)
    with simulated_fleet(two_groups(), net, workers=0) as fleet:
        now = Round(0, 0, local=LOCAL, validation=needs.validation)
        state = method.start(fleet, partial(net.initial_row, 0), now)[0]
    clients = set(method.assignment(state).clients)
    if needs.common_models is not None:
        common = set(needs.common_models(state).clients)
        require(common == clients, "common_models are of other clients than assignment")
    if needs.model_path is not None:
        shape = needs.model_path(state, two_groups().clients[0]).shape
        require(len(shape) == 2 and shape[1] == net.size, f"model_path has shape {shape}, not (models, {net.size})")


def learns_the_toy(method: AnyMethod, folder: Path) -> None:
    verdict, _ = play_run(method, iid_clients(), folder, rounds=6, participation=1.0)
    require_accuracy(verdict, "after six rounds")


def learns_a_regression(method: AnyMethod, folder: Path) -> None:
    verdict, _ = play_run(method, iid_clients("regression"), folder, rounds=6, participation=1.0)
    error, mean = (float(verdict[name]["rmse"]) for name in ("metrics", "baseline"))  # type: ignore[index]  # tables
    require(error < MAX_ERROR * mean, f"RMSE {error:.3g} after six rounds, {mean:.3g} by the mean label")


def learns_several_flags(method: AnyMethod, folder: Path) -> None:
    verdict, _ = play_run(method, iid_clients("multi-label"), folder, rounds=6, participation=1.0)
    require_accuracy(verdict, "of flags after six rounds", MIN_FLAG_ACCURACY)


def finds_planted_groups(method: AnyMethod, folder: Path, task: ToyTask = "classification") -> None:
    _, models = play_run(method, two_groups(task), folder, rounds=6, participation=1.0)
    require(models.groups() == two_groups(task).truth, f"found {models.groups().members}")


def finds_groups_of_numbers(method: AnyMethod, folder: Path) -> None:
    """What one group calls more is less in the other."""
    finds_planted_groups(method, folder, "regression")


def finds_groups_of_flags(method: AnyMethod, folder: Path) -> None:
    """Groups have the flags in another order."""
    finds_planted_groups(method, folder, "multi-label")


def resumes_byte_for_byte(method: AnyMethod, folder: Path) -> None:
    whole, _ = play_run(method, two_groups(), folder / "whole")
    for after in (1, 2, 3, 4):  # 4: all rounds are played, and the verdict is not yet there
        try:
            play_run(method, two_groups(), folder / f"cut-{after}", stop_after=after)
        except Interrupted:
            resumed, _ = play_run(method, two_groups(), folder / f"cut-{after}")
            require(without_time(resumed) == without_time(whole), f"another run when stopped after round {after}")
        else:
            raise AssertionError(f"the run was not stopped after round {after}")


def resumes_other_tasks(method: AnyMethod, folder: Path) -> None:
    """A regression, and several flags: the same run when stopped after a round, and with other workers."""
    tasks: tuple[ToyTask, ...] = ("regression", "multi-label")
    for task in tasks:
        whole, _ = play_run(method, two_groups(task), folder / f"{task}-whole", workers=2)
        try:
            play_run(method, two_groups(task), folder / f"{task}-cut", stop_after=2)
        except Interrupted:
            resumed, _ = play_run(method, two_groups(task), folder / f"{task}-cut")
        else:
            raise AssertionError("the run was not stopped after round 2")
        require(without_time(resumed) == without_time(whole), f"another run of {task}, when stopped, or by workers")


def keeps_the_best_round(method: AnyMethod, folder: Path) -> None:
    """With early stopping, and Adam: the models of the round that validation examples say; the same when resumed."""
    stop = EarlyStopping(share=0.3, patience=2)
    plan: dict[str, Any] = {"early_stopping": stop, "rounds": 6, "local": replace(LOCAL, optimizer=Adam(), lr=0.05)}
    whole, models = play_run(method, two_groups(), folder / "whole", **plan)
    found = RunFolder.open(folder / "whole").events(ValidationEvent)
    losses = {event.round: event.loss for event in found if event.loss is not None}
    kept = min(losses, key=lambda number: losses[number])
    require(whole["early_stopping"]["kept"] == kept, f"kept another round than {kept}")  # type: ignore[index]  # a table
    shorter, _ = play_run(method, two_groups(), folder / "shorter", **{**plan, "rounds": kept})
    require(model_hash(models) == shorter["model_hash"], f"other models than those of round {kept}")
    for after in range(1, int(str(whole["rounds"])) + 1):
        with suppress(Interrupted):
            play_run(method, two_groups(), folder / f"cut-{after}", stop_after=after, **plan)
        resumed, _ = play_run(method, two_groups(), folder / f"cut-{after}", **plan)
        require(without_time(resumed) == without_time(whole), f"another run when stopped after round {after}")


def agrees_across_workers(method: AnyMethod, folder: Path) -> None:
    plan: dict[str, Any] = {"net": "mlp", "rounds": 2}
    runs = [play_run(method, two_groups(), folder / f"{count}", workers=count, **plan)[0] for count in (0, 1, 2)]
    require(all(without_time(run) == without_time(runs[0]) for run in runs), "another run with other workers")


def ignores_the_order_of_replies(method: AnyMethod, folder: Path) -> None:
    plain, _ = play_run(method, two_groups(), folder / "plain")
    turned, _ = play_run(method, two_groups(), folder / "turned", wire=reverse_replies)
    require(without_time(turned) == without_time(plain), "another run when the last reply comes first")


def survives_silence(method: AnyMethod, folder: Path) -> None:
    wire = drop_replies("client-00", "client-03")
    verdict, models = play_run(method, iid_clients(), folder, rounds=6, participation=1.0, wire=wire)
    require(bool(np.isfinite(models.rows).all()), "models are not finite")
    require(set(models.clients) == set(iid_clients().clients), "silent clients have no model")
    require_accuracy(verdict, "without two of six")


def takes_a_liar_for_silent(method: AnyMethod, folder: Path) -> None:
    """A reply that the gate refuses changes no bit against the run in which that client said nothing."""
    silent, _ = play_run(method, two_groups(), folder / "silent", wire=drop_replies("client-02"))
    for name, how in LIES.items():
        lied, _ = play_run(method, two_groups(), folder / name, wire=lie("client-02", how))
        require(lied["model_hash"] == silent["model_hash"], f"other models when a client sends {name}")


def goes_on_when_a_round_is_lost(method: AnyMethod, folder: Path) -> None:
    """No client answers in the first round: the models stay, and the next round goes on from them."""
    verdict, models = play_run(method, two_groups(), folder, wire=drop_round(1))
    require(bool(np.isfinite(models.rows).all()), "models are not finite")
    require(verdict["rounds"] == 4, "the run ended early")


def never_sees_the_truth(method: AnyMethod, folder: Path) -> None:
    honest, _ = play_run(method, two_groups(), folder / "honest")
    turned = Groups.from_labels({client: number % 3 for number, client in enumerate(two_groups().clients)})
    misled, _ = play_run(method, replace(two_groups(), truth=turned), folder / "misled")
    blind, _ = play_run(method, replace(two_groups(), truth=None), folder / "blind")
    same = misled["model_hash"] == blind["model_hash"] == honest["model_hash"]
    require(same, "other models when the planted groups are others")


def never_uses_test_data(method: AnyMethod, folder: Path) -> None:
    honest, _ = play_run(method, two_groups(), folder / "honest")
    fewer = {
        client: replace(held, test=replace(held.test, index=held.test.index[:5]))
        for client, held in two_groups().data.items()
    }
    other, _ = play_run(method, replace(two_groups(), data=fewer), folder / "other")
    require(other["model_hash"] == honest["model_hash"], "other models when test examples are others")
    require(other["loss"] != honest["loss"], "the same loss on other test examples")


def places_newcomers(method: AnyMethod, folder: Path) -> None:
    _, models = play_run(method, two_groups(), folder, late=("client-04",))
    require(set(models.clients) == set(two_groups().clients), "a client that came late has no model")
    require(bool(np.isfinite(models.row_of("client-04")).all()), "the model of a client that came late is not finite")


def leaves_its_state_alone(method: AnyMethod, folder: Path) -> None:
    """A round returns a new state; the one it was given has the same bytes as before, and comes back from packing."""
    packing = PackingMethod(method)
    play_run(packing, two_groups(), folder, rounds=2)
    require(packing.rounds == 2, "not every round was played")


def draws_by_the_seed(method: AnyMethod, folder: Path) -> None:
    one, _ = play_run(method, two_groups(), folder / "one", seed=1, rounds=2)
    two, _ = play_run(method, two_groups(), folder / "two", seed=2, rounds=2)
    require(one["model_hash"] != two["model_hash"], "the same models with another seed")


CHECKS: dict[str, Check] = {
    check.__name__.replace("_", " "): check
    for check in (
        *(says_what_it_is, declares_what_it_needs, learns_the_toy, resumes_byte_for_byte, keeps_the_best_round),
        *(agrees_across_workers, ignores_the_order_of_replies, survives_silence, takes_a_liar_for_silent),
        *(goes_on_when_a_round_is_lost, learns_a_regression, learns_several_flags, resumes_other_tasks),
        *(never_sees_the_truth, never_uses_test_data, places_newcomers, leaves_its_state_alone, draws_by_the_seed),
    )
}
"""What holds for every method, by name."""
GROUP_CHECKS: dict[str, Check] = {
    check.__name__.replace("_", " "): check
    for check in (finds_planted_groups, finds_groups_of_numbers, finds_groups_of_flags)
}
"""What holds for every method that claims to find groups."""


class PackingMethod:
    """A method whose state is packed before and after each round, and must come back from its packing."""

    def __init__(self, method: AnyMethod) -> None:
        self._method, self.rounds = method, 0
        self.needs, self.start, self.assignment = method.needs, method.start, method.assignment
        self.place = method.place

    def round(self, state: Any, fleet: Any, now: Any) -> Any:
        tree, arrays = pack(state)
        copies = {name: array.copy() for name, array in arrays.items()}
        after = self._method.round(state, fleet, now)
        again, same = pack(unpack(state_class(self._method), tree, copies))
        require(again == pack(state)[0] == tree, "a round changed the state that it was given")
        for name, array in pack(state)[1].items():
            require(np.array_equal(copies[name], array), f"a round changed {name} of the state that it was given")
            restored = np.array_equal(copies[name], same[name])
            require(restored, f"{name} of the state does not come back from its packing")
        self.rounds += 1
        return after


def require_accuracy(verdict: Mapping[str, object], when: str, least: float = MIN_ACCURACY) -> None:
    """AssertionError unless the run learned the digits, or the flags."""
    accuracy = verdict["accuracy"]
    require(isinstance(accuracy, int | float), f"accuracy is not known: {accuracy}")
    require(float(str(accuracy)) > least, f"accuracy {accuracy:.2f} {when}")


def without_time(verdict: Mapping[str, object]) -> dict[str, object]:
    """A verdict without how long it took."""
    return {name: value for name, value in verdict.items() if "seconds" not in name}
