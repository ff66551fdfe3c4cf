"""What leads to a graphics card. There is none here: the card itself has never been tried."""

import numpy as np
import pytest
import torch

from client.plain import examples
from fedclade.client import PathFacts, path_facts
from fedclade.client.flat_module import FlatModule
from fedclade.client.general import General, Training
from fedclade.client.plan import choose_path, path_name_for
from fedclade.core import LocalTraining, Round
from fedclade.core.training import SGD, Adam
from fedclade.nets import net_for
from refusals import check_refused

MLP = net_for("mlp", (4,), 3)
CLIPPED = LocalTraining(clip_norm=1.0)


def test_a_card_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    said = r'no graphics card.*engine\.device: got "cuda", need a card.*do: engine\.device = "cpu", or "auto"'
    check_refused(said, choose_path, MLP, device="cuda")
    assert path_facts(MLP, LocalTraining(), device="auto") == PathFacts(path_name_for(MLP))
    assert path_facts(MLP, CLIPPED, device="auto") == PathFacts("general", "clip_norm", "cpu")


def test_a_card_takes_what_the_faster_paths_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert path_facts(MLP, LocalTraining(), device="auto") == PathFacts(path_name_for(MLP))
    found = path_facts(MLP, CLIPPED, device="auto")
    assert (found, str(found)) == (PathFacts("general", "clip_norm", "cuda"), "general (clip_norm, on cuda)")
    assert str(path_facts(MLP, LocalTraining(), device="cuda")) == 'general (engine.device "cuda", on cuda)'
    path = choose_path(MLP, device="cuda")  # no card is opened before the first step
    assert isinstance(path, General)
    assert path.device == "cuda"


@pytest.mark.parametrize(
    "local",
    [
        LocalTraining(optimizer=SGD(momentum=0.5, weight_decay=0.1), clip_norm=1.0),
        LocalTraining(optimizer=Adam(), class_weights="balanced"),
    ],
)
def test_everything_in_a_step_is_on_one_device(local: LocalTraining, monkeypatch: pytest.MonkeyPatch) -> None:
    """torch's device "meta" computes nothing, and refuses to be mixed with another, as a card does."""
    monkeypatch.setattr(torch.Tensor, "item", lambda _: 1.0)  # what it cannot give
    monkeypatch.setattr(torch.Tensor, "__float__", lambda _: 1.0)
    monkeypatch.setattr(FlatModule, "unload", lambda flat: flat.row.device.type)
    part, now = examples(30, (4,), 3), Round(1, 0, local=local, proximal=0.1)
    asked = Training(MLP.initial_row(0), part, now, "a", class_weights=np.ones(3, np.float32))
    assert General(MLP, "meta").train(asked)[0] == "meta"  # type: ignore[arg-type]  # no user's choice
    with pytest.raises(RuntimeError, match="device"):
        General(MLP, "meta")._flat_module.module(torch.zeros(1, 4))  # type: ignore[arg-type]
