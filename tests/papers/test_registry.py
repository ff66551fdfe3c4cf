"""Every table and figure is there, and its recipe can be read at every scale."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from fedclade.core import InputError
from fedclade_papers.expected_times import duration_text, minutes_left, minutes_of, training_minutes
from fedclade_papers.flt import OURS
from fedclade_papers.item import Setting, Terms
from fedclade_papers.published_readings import items_with_two_readings
from fedclade_papers.registry import ITEMS, items_named
from fedclade_papers.run_plans import all_plans, plans_of, setting_at_scale
from fedclade_papers.weights import file_of
from papers.digit_items import ENCODER, NETWORK

ONLY_AT_THE_PRINTED_SIZE = ("emnist_N50", "fmnist_N50", "cifar10_N10", "cifar10_N50")
STALE = ("fedavg", "fedsem", "pca-km-hc", "flt")  # the authors' code uses the models of absent clients
TERMS = [
    Terms(Path("out").absolute(), scale, published)
    for scale in ("tiny", "small", "paper")
    for published in (False, True)
]


def settings_by_name(terms: Terms) -> dict[str, Setting]:
    return {setting.name: setting for item in ITEMS.values() for setting in item.settings(terms)}


def test_every_item_is_there() -> None:
    tables = [f"flt-table{number}" for number in range(1, 7)]
    figures = [f"flt-figure{number}" for number in (2, 3, 4, 5, 6, 7, 12)]
    figures += ["flt-cifar10-groups", "flt-theory"]
    cfl = [f"cfl-figure{number}" for number in (3, 6, 7, 8)] + ["cfl-thresholds", "cfl-figure9", "cfl-figure10"]
    cfl += ["cfl-newcomers", "cfl-theory"]
    abc = ["abc-figure5", "abc-figure6", "abc-table1"]
    assert list(ITEMS) == tables + figures + cfl + abc
    assert all(item.title and item.differences for item in ITEMS.values())


@pytest.mark.parametrize("terms", TERMS, ids=lambda terms: terms.name)
def test_every_recipe_can_be_read(terms: Terms) -> None:
    """Names, ranges and combinations of settings are checked without any data; folders are each of one experiment."""
    settings: list[Setting] = []
    for item in ITEMS.values():
        mine = item.settings(terms)
        plans = all_plans(mine, terms)
        assert len(plans) == sum(len(plans_of(setting, terms)) for setting in mine)
        settings.extend(mine)
        for part in item.parts:
            (some,) = items_named([f"{item.name}:{part}"])
            if not terms.is_full_scale and part in ONLY_AT_THE_PRINTED_SIZE:
                with pytest.raises(InputError, match="the part of an item has no runs at this scale"):
                    some.settings(terms)
                continue
            assert set(all_plans(some.settings(terms), terms)) <= set(plans) != set()
            assert some.settings(terms)
        assert minutes_left(item, mine, terms) == pytest.approx(minutes_of(item, terms))
        assert minutes_of(item, terms) > 0
    all_plans(tuple(settings), terms)  # an error if two items mean different things by one folder
    for setting in settings:  # encoders and networks: a setting trains the files that its methods read
        named = re.findall(r'"([^"]+\.safetensors)"', json.dumps(setting.methods))
        assert set(named) == {str(file_of(each, terms)) for each in setting_at_scale(setting, terms).weights}


def test_small_is_under_45_minutes() -> None:
    """What is common to several items is made once."""
    terms = Terms(Path("out"), "small")
    settings = settings_by_name(terms)
    runs = sum(setting.minutes for setting in settings.values())
    trained = sum(training_minutes(tuple(settings.values()), terms).values())
    assert min(runs, trained) > 0
    assert runs + trained + sum(item.minutes.get("small", 0.0) for item in ITEMS.values()) < 45
    assert settings["s4-mlp"].data["fewer"] == {"share": 0.25}  # of a client's own examples: sizes differ


def test_names() -> None:
    assert [item.name for item in items_named([])] == list(ITEMS)
    ten, gap = items_named(["abc-table1:emnist_N10", "cfl-figure7:mnist"])
    assert len(ten.settings(TERMS[4])) == 4  # three mixes, one of them also sharper
    assert (gap.name, [each.name for each in gap.settings(TERMS[4])]) == ("cfl-figure7:mnist", ["swap-mnist-100"])
    with pytest.raises(InputError, match="it is one piece"):
        items_named(["cfl-theory:mnist"])


def test_times_count_encoders_and_networks_that_are_not_there(tmp_path: Path) -> None:
    """100,000 images ten times at 10 minutes for a million: 10; two settings share them."""
    terms, whole = Terms(tmp_path, "small"), ITEMS["cfl-newcomers"].settings(Terms(tmp_path, "small"))[0]
    encoder, network = replace(ENCODER, epochs=10, images=100_000), replace(NETWORK, minutes=3.0)
    both = tuple(replace(whole, name=name, encoders=(encoder,), networks=(network,)) for name in ("one", "two"))
    item = replace(ITEMS["cfl-newcomers"], settings=lambda _: both, minutes={})
    assert minutes_of(item, terms) == pytest.approx(2 * whole.minutes + 10 + 3)
    path = file_of(encoder, terms)
    path.parent.mkdir(parents=True)
    path.touch()
    assert minutes_left(item, both, terms) == pytest.approx(2 * whole.minutes + 3)
    words = ["10 seconds", "40 seconds", "1 minute", "8 minutes", "2 hours"]
    assert [duration_text(minutes) for minutes in (0.02, 0.7, 1.2, 8.4, 150)] == words


def test_what_has_one_reading_only_is_not_published_twice() -> None:
    """FLT's code does otherwise than its paper says, in pictures without runs too; of CFL and ABC there is one."""
    for terms in TERMS[1::2]:
        two, others = items_with_two_readings(items_named([]), terms, by_name=False)
        assert [item.name for item in two] == [name for name in ITEMS if name.startswith("flt-")]
        assert others == tuple(name for name in ITEMS if not name.startswith("flt-"))
    part = items_named(["flt-table1:mnist"])
    assert items_with_two_readings(part, TERMS[1], by_name=True) == (part, ())
    for name in ("cfl-figure3", "cfl-figure9:mnist", "abc-figure5"):
        with pytest.raises(InputError, match=f"the item has one reading only, --as-published: got {name}, need"):
            items_with_two_readings(items_named([name]), TERMS[1], by_name=True)


def test_paper_scale_has_the_printed_settings() -> None:
    by_name = settings_by_name(Terms(Path("out"), "paper"))
    one = by_name["s1-mnist"]
    assert (one.data["clients"], one.local["epochs"], one.run["rounds"]) == (100, 1, 100)
    assert (by_name["s1-cifar10"].local["epochs"], by_name["s4-mlp"].data["clients"]) == (5, 2400)
    assert (by_name["s4-leaf_cnn"].data["clients"], by_name["s3-mlp"].run["rounds"]) == (600, 1000)
    assert by_name["s3-leaf_cnn"].overrides["IFCA"]["run"]["rounds"] == 1500
    assert all("fewer" not in setting.data for name, setting in by_name.items() if re.match(r"s[1-4]-", name))
    assert (by_name["permuted-cifar10"].data["clients"], by_name["permuted-cifar10"].run["rounds"]) == (20, 200)
    assert by_name["swap-cifar10-2400"].data["test_on"] == "group"


def test_published_settings_are_those_of_the_authors_code() -> None:
    by_name = settings_by_name(Terms(Path("out"), "paper", published=True))
    assert by_name["s1-mnist"].local["momentum"] == 0.5
    for name in ("s1-mnist", "s2-mnist"):
        method = by_name[name].methods["FLT (Enc1)"]
        assert method["case"] == "graph"
        assert '"points": "classes"' in json.dumps(method)
    structured = by_name["s4-mlp"]
    assert (structured.data["padded"], structured.local["epochs"]) == (True, 5)
    tables = [setting for name, setting in by_name.items() if re.match(r"s[1-4]-", name)]
    assert all(OURS not in setting.methods for setting in tables)
    averages = [(each.name, method) for each in tables for method in each.methods.values() if method["name"] in STALE]
    found = {(method["name"], method["absent"]) for name, method in averages if not name.startswith("s4-")}
    assert found == {("fedavg", "stale"), ("pca-km-hc", "stale"), ("flt", "stale"), ("fedsem", "clustered")}
    others = {(name, method["name"], method["absent"]) for name, method in averages if "absent" in method}
    assert {each for each in others if each[0].startswith("s4-")} == {("s4-mlp-240", "fedsem", "clustered")}, (
        "scenario 4 is trained as the text says, but for FedSEM where its groups are shown (figures 6 and 7)"
    )
