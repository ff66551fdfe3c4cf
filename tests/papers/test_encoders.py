"""Encoders and networks are files of their recipe: another recipe is another file. On scikit-learn's digits."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedclade.data.sources.digits import digits
from fedclade.data.worlds.dominant import Dominant
from fedclade.nets.attention_shelf import ATTENTION
from fedclade.nets.shelf import read
from fedclade.nouns import InputError
from fedclade.papers import attention, encoders
from fedclade.papers.encoders import first_here, images_of
from fedclade.papers.item import Attending, Pretrained, Terms

ENCODER = Pretrained("enc", ("digits",), 1, 40)
NETWORK = Attending(name="net", source="digits", clients=4, examples=50, steps=1, rounds=4, epochs=1)


def test_without_any_source_the_one_that_can_be_fetched_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """EMNIST-47 and Tiny-ImageNet-10 are nowhere to be had; the official files are."""
    monkeypatch.setenv("FEDCLADE_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert first_here("emnist", "emnist47") == "emnist"
    assert first_here("emnist47", "emnist") == "emnist"
    assert first_here("cifar100", "tiny-imagenet-10") == "cifar100"
    assert first_here("emnist", "digits") == "digits"


def test_only_the_classes_that_are_asked_for() -> None:
    labels = digits().train.labels
    assert len(images_of("digits")) == len(labels)
    some = images_of("digits", (3, 5))
    assert len(some) == np.sum((labels == 3) | (labels == 5))
    assert np.array_equal(some[0], images_of("digits")[np.flatnonzero((labels == 3) | (labels == 5))[0]])
    with pytest.raises(InputError, match="there are no images of these classes, source digits: got 10, 11"):
        images_of("digits", (10, 11))


def test_an_encoder_of_another_recipe_is_made_anew(tmp_path: Path) -> None:
    terms = Terms(tmp_path, "small")
    first = encoders.make(ENCODER, terms)
    assert first.name.startswith("enc-")
    written = first.stat().st_mtime_ns
    assert encoders.make(replace(ENCODER, minutes=3.0), terms) == first  # an estimate is no recipe
    assert first.stat().st_mtime_ns == written
    others = [replace(ENCODER, images=30), replace(ENCODER, classes={"digits": (3, 5)}), replace(ENCODER, epochs=2)]
    paths = {encoders.make(other, terms) for other in others}
    assert len(paths | {first}) == 4
    assert all(path.is_file() for path in paths)
    assert read(first).recipe["examples"] == 40


def test_tiny_makes_the_file_that_its_runs_name(tmp_path: Path) -> None:
    """Settings name the file of the whole encoder, and hand over a shortened one: it is the same file."""
    terms = Terms(tmp_path, "tiny")
    whole = replace(ENCODER, epochs=50, images=1000)
    assert encoders.make(whole, terms) == encoders.file_of(whole, terms)
    assert read(encoders.file_of(whole, terms)).recipe["epochs"] == 1
    assert encoders.file_of(encoders.as_made(whole, terms), terms) == encoders.file_of(whole, terms)


def test_a_network_watches_other_clients_with_as_many_examples() -> None:
    """A session with 50 examples for each of four clients, from seed 0: nobody has what a watched client has."""
    how = attention.training_of(NETWORK)
    assert (how.clients, how.examples, how.seed) == (4, 50, 1000)
    session = Dominant(clients=4, mix="2C-1", examples=50).spread(digits(), 0)
    watched = Dominant(clients=how.clients, mix=how.mix, examples=how.examples).spread(digits(), how.seed)
    sizes = {len(held.train) for world in (session, watched) for held in world.data.values()}
    assert sizes == {40}
    held = [{each.train.inputs.tobytes() for each in world.data.values()} for world in (session, watched)]
    assert not held[0] & held[1]


def test_a_network_of_another_recipe_is_another_file(tmp_path: Path) -> None:
    terms = Terms(tmp_path, "small")
    others = (NETWORK, replace(NETWORK, seed=7), replace(NETWORK, examples=60), replace(NETWORK, rounds=5))
    assert len({attention.file_of(each, terms) for each in others}) == 4
    assert attention.file_of(replace(NETWORK, minutes=3.0), terms) == attention.file_of(NETWORK, terms)


@pytest.mark.slow
def test_a_networks_file_says_what_it_has_watched(tmp_path: Path) -> None:
    made = attention.make(NETWORK, Terms(tmp_path, "small"))
    recipe = read(made, ATTENTION).recipe
    assert (recipe["seed"], recipe["examples"], recipe["clients"]) == (1000, 50, 4)
