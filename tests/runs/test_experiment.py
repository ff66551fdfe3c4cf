"""One TOML file becomes checked settings; every mistake is named with its place, before any work."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclade.core import InputError, LocalTraining
from fedclade.core.training import SGD, Adam, CosineSchedule
from fedclade.methods import FLT, Encoder
from fedclade.runs.compare import parse_method
from fedclade.runs.experiment import experiment_from, read_experiment
from refusals import check_refused

SMALL = '[data]\nsource = "digits"\nworld = "classes"\nclients = 8\ngroups = 2\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "experiment.toml"
    path.write_text(SMALL)
    return path


def test_defaults_are_filled_in(file: Path) -> None:
    found = read_experiment(file)
    asked = {"source": "digits", "world": "classes", "clients": 8, "groups": 2}
    assert found.data == {**asked, "test": 0.2, "test_on": "own", "group_sizes": ()}
    assert (found.method_name, found.net["name"], found.engine.name) == ("fedavg", "mlp", "simulated")
    assert (found.run.rounds, found.run.participation, found.run.seed) == (100, 0.2, 0)


def test_what_is_written_reads_the_same(file: Path, tmp_path: Path) -> None:
    first = read_experiment(file, ["method.name=fedprox", "method.mu=0.5", "local.lr=1", "net.name=lenet"], seed=7)
    again = tmp_path / "again.toml"
    again.write_text(first.toml())
    second = read_experiment(again)
    assert second == first
    assert second.toml() == first.toml()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("run.round=3", r'run\.round is not known.*got "round".*did you mean "rounds"'),
        ("method.mu=3", r"method\.mu is not known"),
        ("data.client=3", r'did you mean "clients"'),
        ("nett.name=mlp", r'section \[nett\] is not known.*did you mean "net"'),
        ("net.hiden=3", r'did you mean "hidden"'),
        ("method.name=fedavgg", r'method\.name: got "fedavgg".*did you mean "fedavg"'),
        ("data.world=clases", r'did you mean "classes"'),
        ("data.source=digit", r'did you mean "digits"'),
        ("net.name=mpl", r'did you mean "mlp"'),
        ("engine.name=ray", r'the engine is not known.*got "ray"'),
        ("run.rounds=0", r"rounds is not usable.*run\.rounds: got 0, need greater than or equal to 1"),
        ("run.rounds=many", r"rounds is not usable.*got 'many'"),
        ("run.participation=0", r"participation is not usable.*need greater than 0"),
        ("run.participation=1.5", r"participation is not usable.*need less than or equal to 1"),
        ("run.participation=nan", r"participation is not usable.*finite"),
        ("run.seed=-1", r"seed is not usable"),
        ("local.lr=-0.1", r"lr is not usable"),
        ("local.momentum=1", r"momentum is not usable"),
        ("local.optimizer=adan", r'optimizer\.kind is not known.*local\.optimizer: got "adan".*did you mean "adam"'),
        ("local.optimizer.betas=[0.9,0.99]", r"need one of kind, momentum, weight_decay"),
        ("local.schedule=linear", r"need one of constant, cosine, step"),
        ("local.class_weights=[1,-1]", r"class_weights is not usable.*local\.class_weights: got \(1, -1\)"),
        ("engine.device=gpu", r"device is not usable"),
        ("engine.workers=-1", r"workers is not usable"),
        ("data.groups=0", r"groups is not usable"),
        ("method.name=3", r"method\.name is not text"),
        ("local.batch=1000000000000000000000000000000", r"batch is not usable"),
        ("net.hidden=100000000000", r"hidden is not usable"),
        ("data.clients=1000000000", r"clients is not usable"),
        ("run.rounds=" + "[" * 5000, r"rounds is not usable"),
        ("data.drift.round=101", r"drift comes after the last round, .*data\.drift: got round 101, need at most 100"),
        ("nonsense", r"a change is not usable.*need section\.key=value"),
        ("run=3", r"a change is not usable"),
    ],
)
def test_mistakes_are_named(file: Path, change: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        read_experiment(file, [change])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[data\n", "not TOML"),
        ("data = 3\n", "data is not a section"),
        ('[data]\nworld = "iid"\n', "data.source is missing"),
        ('[data]\nsource = "digits"\n', "data.world is missing"),
        ("\xff", "not TOML"),
        ("[" * 10000, "not TOML"),
        ("#" * (2**20 + 1), "too large"),
    ],
)
def test_broken_files_are_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "broken.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=said) as caught:
        read_experiment(path)
    assert "broken.toml" in str(caught.value)


def test_a_nested_table_is_changed_in_any_order(file: Path) -> None:
    points, pixels = (["method.name=flt", f"method.signature.{each}"] for each in ("points=3", "name=pixels"))
    for changes, expected in (
        ([*points, "method.signature.kind=encoder"], Encoder(points=3)),
        ([*points, "method.signature=encoder"], Encoder(points=3)),
        ([*pixels, "method.signature.kind=encoder"], Encoder(name="pixels")),
    ):
        for ordered in (changes, changes[::-1]):
            assert read_experiment(file, ordered).method == FLT(signature=expected)
    drift = ["data.drift.round=2", "data.drift.share=0.5", "data.drift.kind=rotate"]
    assert read_experiment(file, drift).data["drift"] == {"round": 2, "share": 0.5, "kind": "rotate"}
    as_flt = read_experiment(file, ["method.name=flt"])
    assert parse_method("flt:preset=paper", as_flt)[0] == FLT(preset="paper")
    assert parse_method("flt:signature.points=3,signature.kind=encoder", as_flt)[0] == FLT(signature=Encoder(points=3))


def test_impossible_worlds_are_refused_before_work(file: Path) -> None:
    for change, said in (("data.groups=11", "more groups than"), ("data.clients=2000", "more clients")):
        check_refused(said, read_experiment(file, [change]).federation)


@pytest.mark.parametrize("turn", [1, -1])
def test_the_order_of_changes_does_not_matter(file: Path, turn: int) -> None:
    found = read_experiment(file, ["method.mu=0.5", "net.hidden=5", "method.name=fedprox", "net.name=mlp"][::turn])
    assert "mu = 0.5" in found.toml()
    assert "hidden = 5" in found.toml()


def test_another_name_forgets_the_settings_of_the_old_one(file: Path) -> None:
    """Also of one that is only the default: an mlp has a hidden layer, a lenet has none to set."""
    file.write_text(SMALL + '[method]\nname = "fedprox"\nmu = 0.5\n[net]\nhidden = 5\n')
    found = read_experiment(file, ["method.name=local", "net.name=lenet"])
    assert (found.method_name, found.net) == ("local", {"name": "lenet", "padded": True})


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers())


@given(
    st.dictionaries(
        st.sampled_from(["data", "net", "local", "method", "run", "engine"]) | st.text(max_size=5),
        st.dictionaries(
            st.sampled_from(["name", "source", "world", "lr", "rounds", "seed"]) | st.text(max_size=5), VALUES
        )
        | VALUES,
    )
)
def test_any_tables_give_an_experiment_or_a_clear_error(tables: dict[str, object]) -> None:
    try:
        found = experiment_from(tables)
    except InputError:
        return  # any other exception is a bug
    assert experiment_from({"data": found.data}).data == found.data


def test_an_optimiser_and_a_schedule_are_tables_or_names(file: Path) -> None:
    """Another kind takes the settings of the old one with it; what stands in a file of old is read as before."""

    def local(*changes: str) -> LocalTraining:
        return read_experiment(file, changes).local

    assert local("local.optimizer=adam").optimizer == Adam()
    assert local("local.optimizer.betas=[0.5,0.9]", "local.optimizer=adam").optimizer == Adam(betas=(0.5, 0.9))
    assert local("local.momentum=0.5", "local.optimizer.weight_decay=1").optimizer == SGD(momentum=0.5, weight_decay=1)
    assert local("local.schedule=cosine", "local.schedule.floor=0.1").schedule == CosineSchedule(floor=0.1)
    assert local("local.class_weights=[1, 2.5]").class_weights == (1.0, 2.5)
    changed = read_experiment(file, ["local.optimizer.kind=adam", "local.optimizer.eps=0.1", "local.schedule=step"])
    file.write_text(changed.toml())
    assert read_experiment(file) == changed
    assert local("local.optimizer=sgd", "local.momentum=0.9").optimizer == SGD(momentum=0.9)
