"""A language model: every next word counts, fillers do not, and it is trained and scored by clients as they are."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import fedclade as fc
from fedclade.client.general import General, Training
from fedclade.core import LocalTraining, Round
from fedclade.data import Part, Pool
from fedclade.nets import net_for

SETTINGS = {"predicts": "next-word", "vocabulary": 6, "embedding": 4, "hidden": 5}
TEXTS = np.array([[2, 3, 4, 5, 0], [3, 2, 9, 0, 0]], np.int32)  # 9 is beyond the vocabulary: the unknown word


def part() -> Part:
    return Part(Pool(TEXTS, np.zeros(2, np.int64)), np.arange(2))


def test_the_loss_is_the_mean_over_words_that_follow_one() -> None:
    """3, 4 and 5 follow in the first text, 2 and the unknown word in the second: five words, one by one."""
    net = net_for("lstm", (5,), 4, SETTINGS)
    module = net.module(net.initial_row(0))
    total = 0.0
    for text, length in (([2, 3, 4, 5], 4), ([3, 2, 1], 3)):
        for place in range(1, length):
            with torch.no_grad():
                logits = module(torch.tensor([text[:place]]))[0]
            total -= float(torch.log_softmax(logits, 0)[text[place]])
    found = General(net).evaluate(net.initial_row(0), part())
    assert found.loss == pytest.approx(total / 5, rel=1e-5)
    assert found.sums[1] == 5
    assert 0 <= found.sums[0] <= 5


def test_a_text_without_a_next_word_teaches_nothing() -> None:
    """One word and fillers, alone in its batch: the other text is learned from as if it were alone."""
    net = net_for("lstm", (5,), 4, SETTINGS)
    texts = np.array([[2, 3, 4, 5, 0], [3, 0, 0, 0, 0]], np.int32)
    now = Round(1, 0, local=LocalTraining(epochs=3, batch=1, lr=0.5))
    both, alone = (Part(Pool(texts, np.zeros(2, np.int64)), np.arange(count)) for count in (2, 1))
    row, loss = General(net).train(Training(net.initial_row(0), both, now, "a"))
    wanted, _ = General(net).train(Training(net.initial_row(0), alone, now, "a"))
    assert np.array_equal(row, wanted)
    assert math.isfinite(loss)


def test_it_learns_what_follows_what() -> None:
    net = net_for("lstm", (5,), 4, SETTINGS)
    now = Round(1, 0, 1.0, LocalTraining(epochs=200, batch=2, lr=1.0))
    row, loss = General(net).train(Training(net.initial_row(0), part(), now, "a"))
    tested = General(net).evaluate(row, part())
    assert tested.loss < 0.75 < math.log(6)  # 2 or 3 may come first, then the rest is certain
    assert loss < 1


def test_perplexity_is_told(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    texts = {f"site-{number}": rng.integers(2, 6, (10, 5)) for number in range(2)}
    made = fc.data.from_arrays({name: (each.astype(np.float32), np.arange(10) % 2) for name, each in texts.items()})
    pools = {name: Pool(each.astype(np.int32), np.zeros(10, np.int64)) for name, each in texts.items()}
    data = {
        client: replace(held, train=Part(pools[client], held.train.index), test=Part(pools[client], held.test.index))
        for client, held in made.data.items()
    }
    plan = {"net": "lstm", "net_settings": SETTINGS, "rounds": 1, "workers": 0}
    run = fc.train(replace(made, data=data), fc.FedAvg(), out=tmp_path / "run", **plan)  # type: ignore[arg-type]  # mixed
    assert run.result["perplexity"] == pytest.approx(math.exp(float(str(run.result["loss"]))))
    assert 2 < float(str(run.result["perplexity"])) < 9  # four words at random, in a vocabulary of six
