"""The figures of stored results as files: small, in panels, and with their words as words."""

import io
import re

import numpy as np
from PIL import Image

from fedclade_papers.pictures import MAX_POINTS, draw_pictures, panels, thin_curves

POINTS = [(0.0, 1.0), (1.0, 2.0)]


def test_curves_of_a_kind_share_a_panel() -> None:
    names = ("MLP FedAvg", "MLP FLT, class moments", "CNN FedAvg")
    found = panels(dict.fromkeys(names, POINTS))
    assert {title: list(each) for title, each in found.items()} == {
        "MLP": ["FedAvg", "FLT, class moments"],
        "CNN": ["FedAvg"],
    }
    found = panels(dict.fromkeys(("MNIST, CFL", "CIFAR-10, CFL"), POINTS))
    assert list(found) == ["MNIST", "CIFAR-10"]
    assert list(panels(dict.fromkeys(("FedAvg", "FLT, class moments"), POINTS))) == [""]
    found = panels(dict.fromkeys(("K = 2", "guaranteed gamma", "K = 4"), POINTS))
    assert {title: list(each) for title, each in found.items()} == {
        "": ["K = 2", "K = 4"],
        "guaranteed gamma": ["guaranteed gamma"],
    }


def test_many_points_become_few() -> None:
    """Of 9,001 points of one curve 1,500 are left, the first and the last among them."""
    long = [(float(x), 0.0) for x in range(9001)]
    few = thin_curves({"one": long})["one"]
    assert len(few) == MAX_POINTS
    assert (few[0], few[-1]) == (long[0], long[-1])
    assert thin_curves({"one": POINTS})["one"] == POINTS


def test_large_figures_are_small_files() -> None:
    """Twelve curves of 1,000 rounds, and four matrices of 240 clients, as the largest items have them."""
    steps = np.random.default_rng(0)
    labels = ("FedAvg", "Local", "FedSEM", "IFCA", "FLT", "costs $5 and $6")
    series: dict[str, dict[str, object]] = {
        f"{net} {label}": {"x": list(range(1000)), "y": steps.random(1000).tolist()}
        for net in ("MLP", "CNN")
        for label in labels
    }
    homes = steps.integers(10, size=(4, 240))
    series |= {f"m{n}": {"matrix": np.equal.outer(each, each).astype(int).tolist()} for n, each in enumerate(homes)}
    found = draw_pictures("flt-figure4:mlp", series)
    assert {end: len(content) < 100_000 for end, content in found.items()} == {"svg": True, "png": True}
    words = re.findall(r"<text[^>]*>([^<]*)</text>", found["svg"].decode())
    assert {*labels, "MLP", "CNN", "round", "accuracy in %"} <= set(words)
    assert Image.open(io.BytesIO(found["png"])).width == 850


def test_an_agreement_is_drawn_from_0_to_1() -> None:
    """However little it changes; a norm fills its panel."""

    def ticks(item: str) -> set[str]:
        drawn = draw_pictures(item, {"FedSEM": {"x": [1, 2], "y": [0.054, 0.059]}})["svg"].decode()
        return set(re.findall(r">([0-9.]+)</text>", drawn))

    assert {"0.0", "0.5", "1.0"} <= ticks("flt-figure7")
    assert "0.5" not in ticks("cfl-figure8")


def test_nothing_to_draw() -> None:
    assert draw_pictures("cfl-theory", {}) == {}
    assert draw_pictures("cfl-theory", {"empty": {"x": [], "y": []}}) == {}
