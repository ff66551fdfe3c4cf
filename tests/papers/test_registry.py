"""Every table and figure is there, its numbers are the printed ones, and its recipe can be read."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fedclade.nouns import InputError
from fedclade.papers import (
    abc_table1,
    flt_table1,
    flt_table2,
    flt_table3,
    flt_table4,
    flt_table5,
    flt_table7,
    flt_table8,
    flt_table9,
    flt_table10,
)
from fedclade.papers.attention import file_of as network_file
from fedclade.papers.encoders import file_of as encoder_file
from fedclade.papers.flt import OURS, structured
from fedclade.papers.flt_table6 import formulas
from fedclade.papers.item import Attending, Pretrained, Setting, Terms
from fedclade.papers.plans import all_plans, plans_of, tiny
from fedclade.papers.readings import published_ones
from fedclade.papers.registry import ITEMS, chosen
from fedclade.papers.timing import minutes_left, minutes_of, training_of, written_minutes

STALE = ("fedavg", "fedsem", "pca-km-hc", "flt")  # the authors' code keeps models of absent clients in their means
TERMS = [
    Terms(Path("out").absolute(), scale, published)
    for scale in ("tiny", "small", "paper")
    for published in (False, True)
]


def test_every_item_is_there() -> None:
    tables = [f"flt-table{number}" for number in range(1, 11)]
    figures = [f"flt-figure{number}" for number in (2, 3, 4, 5, 6, 7, 12)]
    cfl = [f"cfl-figure{number}" for number in (3, 6, 7, 8, 9, 10)] + ["cfl-newcomers", "cfl-theory"]
    abc = ["abc-figure5", "abc-figure6", "abc-table1"]
    assert list(ITEMS) == tables + figures + cfl + abc
    for item in ITEMS.values():
        assert item.title
        assert item.differs
        assert item.rule


@pytest.mark.parametrize("terms", TERMS, ids=lambda terms: terms.name)
def test_every_recipe_can_be_read(terms: Terms) -> None:
    """Names, ranges and combinations of settings are checked without any data; folders are each of one experiment."""
    settings: list[Setting] = []
    for item in ITEMS.values():
        mine = item.settings(terms)
        plans = all_plans(mine, terms)
        assert len(plans) == sum(len(plans_of(setting, terms)) for setting in mine)
        settings.extend(mine)
        assert minutes_of(item, terms) > 0
        for part in item.parts:  # at every scale there is something of it
            (some,) = chosen([f"{item.name}:{part}"])
            assert set(all_plans(some.settings(terms), terms)) <= set(plans) != set()
            assert some.settings(terms)
        assert minutes_left(item, mine, terms) == pytest.approx(minutes_of(item, terms))
    all_plans(tuple(settings), terms)  # an error if two items mean different things by one folder


@pytest.mark.parametrize("terms", TERMS, ids=lambda terms: terms.name)
def test_every_file_that_a_run_names_is_made_for_it(terms: Terms) -> None:
    """Encoders and networks are in files of their recipes: what a method reads is what its setting trains."""
    for setting in (each for item in ITEMS.values() for each in item.settings(terms)):
        named = {
            str(method[key])
            for method in setting.methods.values()
            for key in ("encoder", "network")
            if str(method.get(key, "")).endswith(".safetensors")
        }
        run = tiny(setting) if terms.scale == "tiny" else setting
        made = {str(encoder_file(each, terms)) for each in run.encoders}
        made |= {str(network_file(each, terms)) for each in run.networks}
        assert named == made


def test_small_is_under_45_minutes() -> None:
    """What is common to several items is made once."""
    terms = Terms(Path("out"), "small")
    settings = {setting.name: setting for item in ITEMS.values() for setting in item.settings(terms)}
    runs = sum(setting.minutes for setting in settings.values())
    trained = sum(training_of(tuple(settings.values()), terms).values())
    assert min(runs, trained) > 0
    assert runs + trained + sum(item.minutes.get("small", 0.0) for item in ITEMS.values()) < 45


def test_names() -> None:
    assert [item.name for item in chosen([])] == list(ITEMS)
    part = chosen(["flt-table1:mnist"])[0]
    assert part.name == "flt-table1:mnist"
    assert [setting.name for setting in part.settings(TERMS[2])] == ["s1-mnist"]
    (gap,) = chosen(["cfl-figure7:mnist"])
    assert [setting.name for setting in gap.settings(TERMS[4])] == ["swap-mnist-100"]
    (ten,) = chosen(["abc-table1:N10"])
    assert len(ten.settings(TERMS[4])) == 9  # three data sets, three mixes
    with pytest.raises(InputError, match=r'the item is not known.*"flt-tabel1".*did you mean "flt-table1"'):
        chosen(["flt-tabel1"])
    with pytest.raises(InputError, match=r'got "emnist", need one of mnist, cifar10'):
        chosen(["flt-table1:emnist"])
    with pytest.raises(InputError, match="it is one piece"):
        chosen(["cfl-theory:mnist"])


def test_times_in_words() -> None:
    assert written_minutes(0.02) == "10 seconds"
    assert written_minutes(0.7) == "40 seconds"
    assert written_minutes(1.2) == "1 minute"
    assert written_minutes(8.4) == "8 minutes"
    assert written_minutes(150) == "2 hours"


def test_times_count_encoders_and_networks_that_are_not_there(tmp_path: Path) -> None:
    """100,000 images ten times at 10 minutes for a million: 10; two items of a setting share them."""
    encoder = Pretrained("enc", ("digits",), 10, 100_000)
    network = Attending(name="net", source="digits", clients=4, examples=9, steps=1, rounds=4, epochs=1, minutes=3.0)
    whole = next(iter(ITEMS["cfl-newcomers"].settings(Terms(tmp_path, "small"))))
    both = tuple(replace(whole, name=name, encoders=(encoder,), networks=(network,)) for name in ("one", "two"))
    item = replace(ITEMS["cfl-newcomers"], settings=lambda _: both, minutes={})
    terms = Terms(tmp_path, "small")
    assert minutes_of(item, terms) == pytest.approx(2 * whole.minutes + 10 + 3)
    path = encoder_file(encoder, terms)
    path.parent.mkdir(parents=True)
    path.touch()
    assert minutes_left(item, both, terms) == pytest.approx(2 * whole.minutes + 3)


def test_what_has_one_reading_only_is_not_published_twice() -> None:
    """FLT's code does otherwise than its paper says, in pictures without runs too; of CFL and ABC there is one."""
    for terms in TERMS[1::2]:
        two, others = published_ones(chosen([]), terms, ITEMS.values(), by_name=False)
        assert [item.name for item in two] == [name for name in ITEMS if name.startswith("flt-")]
        assert others == tuple(name for name in ITEMS if not name.startswith("flt-"))
    part = chosen(["flt-table1:mnist"])
    assert published_ones(part, TERMS[1], ITEMS.values(), by_name=True) == (part, ())
    for name in ("cfl-figure3", "cfl-figure9:mnist", "abc-figure5"):
        with pytest.raises(InputError, match=f"the item has one reading only, --as-published: got {name}, need"):
            published_ones(chosen([name]), TERMS[1], ITEMS.values(), by_name=True)


# Read by hand from the paper's pages.
PRINTED: list[tuple[object, Sequence[str], tuple[float, ...]]] = [
    (flt_table1.PRINTED, ("mnist", "FedAvg"), (82.73, 44.65)),
    (flt_table1.PRINTED, ("mnist", "FLT (Enc1)"), (97.98, 2.17)),
    (flt_table1.PRINTED, ("cifar10", "PCA+kM+HC"), (75.35, 589.6)),
    (flt_table1.PRINTED, ("cifar10", "FLT (Enc2)"), (87.17, 84.62)),
    (flt_table2.PRINTED, ("mnist", "FedSEM"), (94.14, 1.20)),
    (flt_table2.PRINTED, ("cifar10", "Local"), (70.44, 72.29)),
    (flt_table3.PRINTED, ("mlp", "IFCA"), (61.24, 176.38)),
    (flt_table3.PRINTED, ("mlp", "CFL"), (65.35, 180.23)),
    (flt_table3.PRINTED, ("leaf_cnn", "FLT"), (82.14, 145.03)),
    (flt_table3.PRINTED, ("leaf_cnn", "FLT (C=5)"), (78.71, 169.22)),
    (flt_table4.PRINTED, ("mlp", "FLT"), (86.51, 207.60)),
    (flt_table4.PRINTED, ("leaf_cnn", "FedSEM"), (76.22, 1264.38)),
    (flt_table7.PRINTED_TRAIN, ("mnist", "Local"), (99.25, 0.60)),
    (flt_table7.PRINTED_TRAIN, ("cifar10", "FLT (Enc1)"), (93.52, 36.21)),
    (flt_table8.PRINTED_TRAIN, ("mnist", "PCA+kM+HC"), (85.27, 19.09)),
    (flt_table8.PRINTED, ("mnist", "PCA+kM+HC"), (85.45, 18.40)),
    (flt_table9.PRINTED_TRAIN, ("mlp", "FLT (C=3)"), (75.73, 101.14)),
    (flt_table9.PRINTED, ("leaf_cnn", "FLT"), (82.14, 15.03)),
    (flt_table10.PRINTED_TRAIN, ("leaf_cnn", "FLT"), (97.95, 6.59)),
    (flt_table10.PRINTED_TRAIN, ("mlp", "PCA+kM+HC"), (72.66, 770.84)),
]


@pytest.mark.parametrize(("table", "keys", "numbers"), PRINTED)
def test_printed_numbers(table: object, keys: Sequence[str], numbers: tuple[float, ...]) -> None:
    for key in keys:
        assert isinstance(table, dict)
        table = table[key]
    assert table == numbers


def test_table_5() -> None:
    """Rows (100, 0.2, 5, 50), (500, 0.5, 1, 100) and (500, 0.2, 5, 100)."""
    assert flt_table5.PRINTED[100, 0.2, 5][0] == (71.85, 79.45, 78.64)
    assert flt_table5.PRINTED[500, 0.5, 1][1] == (76.82, 79.66, 79.01)
    assert flt_table5.PRINTED[500, 0.2, 5][1] == (73.21, 81.77, 81.00)


def test_table_6() -> None:
    """10 clients, 2 asked, 3 rounds, 100 numbers: 1,200; IFCA with C = 5 three times that; the encoder has 25,956."""
    found = formulas(clients=10, asked=2, rounds=3, model=100)
    assert found == {"FedSEM": 1200, "IFCA": 3600, "FLT": 1200 + 10 * 25_956 + 5 * 10 * 128}


def test_paper_scale_has_the_printed_settings() -> None:
    terms = Terms(Path("out"), "paper")
    by_name = {setting.name: setting for item in ITEMS.values() for setting in item.settings(terms)}
    one = by_name["s1-mnist"]
    assert (one.data["clients"], one.local["epochs"], one.run["rounds"]) == (100, 1, 100)
    assert (by_name["s1-cifar10"].local["epochs"], by_name["s4-mlp"].data["clients"]) == (5, 2400)
    assert (by_name["s4-leaf_cnn"].data["clients"], by_name["s3-mlp"].run["rounds"]) == (600, 1000)
    assert by_name["s3-leaf_cnn"].others["IFCA"]["run"]["rounds"] == 1500
    assert all("fewer" not in setting.data for name, setting in by_name.items() if re.match(r"s[1-4]-", name))
    assert (by_name["permuted-cifar10"].data["clients"], by_name["permuted-cifar10"].run["rounds"]) == (20, 200)
    published = {
        setting.name: setting for item in ITEMS.values() for setting in item.settings(replace(terms, published=True))
    }
    assert published["s1-mnist"].local["momentum"] == 0.5
    assert published["s1-mnist"].methods["FedAvg"]["absent"] == "stale"
    assert [published[name].methods["FLT (Enc1)"]["points"] for name in ("s1-mnist", "s2-mnist")] == [2, 3]
    assert published["s4-mlp"].data["padded"] is True
    assert published["s4-mlp"].local["epochs"] == 1
    assert published["s4-mlp"].others["FedSEM"]["local"]["epochs"] == 5
    tables = [setting for name, setting in published.items() if re.match(r"s[1-4]-", name)]
    assert all(OURS not in setting.methods for setting in tables)
    averages = [method for setting in tables for method in setting.methods.values() if method["name"] in STALE]
    assert {method["absent"] for method in averages} == {"stale"}
    assert by_name["swap-cifar10-2400"].data["test_on"] == "group"


def test_small_clients_of_scenario_4_differ_in_size() -> None:
    """A share of what they have at the printed size, not the same number for all."""
    for net in ("mlp", "leaf_cnn"):
        fewer = structured(Terms(Path("out"), "small"), net).data["fewer"]
        assert isinstance(fewer, dict)
        assert fewer.keys() == {"share"}


def test_abc_table_1() -> None:
    """FMNIST 5C with 50 clients, two of them in a round: FedAvg did not converge, ABC took 1,697 rounds."""
    never = float("inf")
    read: list[tuple[str, str, int, tuple[float, float]]] = [
        ("FMNIST", "5C", 1, (never, 1697)),
        ("EMNIST", "2C-1", 0, (never, 967)),
        ("EMNIST", "2C-1", 1, (2980, 738)),
        ("EMNIST", "2C-1", 2, (1725, 1363)),
        ("CIFAR10", "5C", 2, (3225, 2204)),
        ("FMNIST*", "2C-2", 0, (913, 397)),
    ]
    for data, mix, place, printed in read:
        assert abc_table1.PRINTED[data][mix][place] == printed
