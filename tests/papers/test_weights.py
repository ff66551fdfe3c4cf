"""Encoders and attention networks have a file for each recipe. On scikit-learn's digits."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedclade.core import InputError
from fedclade.data.sources.digits import digits
from fedclade.nets.attention_files import ATTENTION
from fedclade.nets.weight_files import read
from fedclade_papers.attention import training_of
from fedclade_papers.encoders import first_available, images_of
from fedclade_papers.item import Terms
from fedclade_papers.weights import file_of, make_weights
from fedclade_papers.worlds.dominant import Dominant
from papers.digit_items import ENCODER, NETWORK


def test_without_any_source_the_one_that_can_be_fetched_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """EMNIST-47 and Tiny-ImageNet-10 cannot be fetched; the official files can."""
    for name in ("FEDCLADE_DATA", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    assert first_available("emnist", "emnist47") == first_available("emnist47", "emnist") == "emnist"
    assert first_available("emnist", "digits") == "digits"


def test_only_the_classes_that_are_asked_for() -> None:
    labels = digits().train.labels
    assert len(images_of("digits")) == len(labels)
    wanted = np.flatnonzero((labels == 3) | (labels == 5))
    np.testing.assert_array_equal(images_of("digits", (3, 5)), images_of("digits")[wanted])
    with pytest.raises(InputError, match="there are no images of these classes, source digits: got 10, 11"):
        images_of("digits", (10, 11))


def test_an_encoder_is_trained_once(tmp_path: Path) -> None:
    terms = Terms(tmp_path, "small")
    path = make_weights(ENCODER, terms)
    written = path.stat().st_mtime_ns
    assert path.name.startswith("enc-")
    assert read(path).recipe["examples"] == 40
    assert make_weights(ENCODER, terms) == path
    assert path.stat().st_mtime_ns == written


def test_another_recipe_is_another_file() -> None:
    """But for an estimate of the time that it takes."""
    terms = Terms(Path("out"), "small")
    others = (replace(ENCODER, images=30), replace(ENCODER, classes={"digits": (3, 5)}), replace(ENCODER, epochs=2))
    networks = (NETWORK, replace(NETWORK, seed=7), replace(NETWORK, examples=60))
    assert len({file_of(each, terms) for each in (ENCODER, *others, *networks)}) == 7
    assert file_of(replace(ENCODER, minutes=3.0), terms) == file_of(ENCODER, terms)
    assert file_of(replace(NETWORK, minutes=3.0), terms) == file_of(NETWORK, terms)


def test_tiny_makes_the_file_that_its_runs_name(tmp_path: Path) -> None:
    """Settings name the file of the whole encoder, and hand over a shortened one: it is the same file."""
    terms = Terms(tmp_path, "tiny")
    whole = replace(ENCODER, epochs=50, images=1000)
    assert read(make_weights(whole, terms)).recipe["epochs"] == 1
    assert file_of(whole, terms) == file_of(replace(ENCODER, epochs=1, images=100), terms)


def test_a_network_watches_other_clients_with_as_many_examples() -> None:
    """A session with 50 examples for each of four clients, from seed 0: no watched client has their examples."""
    how = training_of(NETWORK)
    assert (how.clients, how.examples, how.seed) == (4, 50, 1000)
    session = Dominant(clients=4, mix="2C-1", examples=50).spread(digits(), 0)
    watched = Dominant(clients=how.clients, mix=how.mix, examples=how.examples).spread(digits(), how.seed)
    parts = [[each.train for each in world.data.values()] for world in (session, watched)]
    assert {len(part) for part in parts[0] + parts[1]} == {40}
    assert not {part.inputs.tobytes() for part in parts[0]} & {part.inputs.tobytes() for part in parts[1]}


@pytest.mark.slow
def test_a_networks_file_says_what_it_has_watched(tmp_path: Path) -> None:
    recipe = read(make_weights(NETWORK, Terms(tmp_path, "small")), ATTENTION).recipe
    assert (recipe["seed"], recipe["examples"], recipe["clients"]) == (1000, 50, 4)
