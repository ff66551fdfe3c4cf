"""Commands about data, and a user's own files through `fedclade run`."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from cli.calling import error_of, output_of, parsed
from fedclade.data import SOURCES

QUICK = """
net = {name = "logistic"}
local = {lr = 0.1}
run = {rounds = 2, participation = 1.0}
engine = {workers = 0}
[data]
"""
OWN = 'source = "own"\n'


def test_sources_are_listed_and_one_that_is_here_is_not_fetched(capsys: pytest.CaptureFixture[str]) -> None:
    found = parsed("data list --json", capsys)
    assert list(found) == list(SOURCES)
    assert found["digits"]["here"] is True  # type: ignore[index]
    assert re.search(r"digits +yes +1,797", output_of("data list", capsys))
    assert output_of("data fetch digits", capsys) == "digits is here\n"


@pytest.mark.slow
def test_a_source_is_counted_and_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    assert "digits: 1,797 train, inputs 1 x 8 x 8" in output_of("data show digits", capsys)
    with Image.open("digits.png") as picture:
        assert picture.size[0] > 500
    shown = parsed("data show digits --json --out other.svg", capsys)
    assert sum(shown["counts"]["train"]) == 1797  # type: ignore[index]
    assert Path("other.svg").read_text().startswith("<?xml")


def test_what_is_not_here_says_what_to_put_where(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, here: Path
) -> None:
    monkeypatch.setenv("FEDCLADE_DATA", str(here))
    monkeypatch.setenv("XDG_CACHE_HOME", str(here / "cache"))
    err = error_of("data show femnist", capsys)
    assert err.startswith("error: the files are not here, source femnist")
    assert str(here) in err


@pytest.mark.parametrize("world", ["classes", "rotation", "dirichlet", "quantity", "congruent"])
def test_worlds_are_drawn(world: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = parsed(f"worlds show {world} --json --set clients=8", capsys)
    assert shown["clients"] == 8
    assert Path(f"{world}.png").stat().st_size > 5000
    assert isinstance(shown["smallest"], int)
    assert isinstance(shown["largest"], int)
    assert shown["smallest"] <= shown["largest"]


def test_a_world_is_told_by_its_groups(capsys: pytest.CaptureFixture[str]) -> None:
    out = output_of("worlds show classes --set clients=10 --set groups=5 --out w.png", capsys)
    assert len(re.findall(r"^group \d +\d(?:, \d|-\d) +2 ", out, re.MULTILINE)) == 5
    assert "Picture: w.png" in out


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("worlds show clases", 'did you mean "classes"'),
        ("worlds show classes --set cliens=3", 'did you mean "clients"'),
        ("worlds show classes --source nothing", "the source is not known"),
        ("worlds show classes --out picture.txt", "a picture of this kind cannot be made"),
        ("worlds show classes --out nowhere/picture.png", "the picture cannot be written"),
        ("data show nothing", "the source is not known"),
        ("data fetch nothing", "the source is not known"),
    ],
)
def test_mistakes(command: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert re.match(f"error: .*{said}", error_of(command, capsys))


def test_a_table_of_twelve_sites_runs_end_to_end(
    capsys: pytest.CaptureFixture[str], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three kinds of sites, in which another feature decides: each site's own model finds it."""
    rng = np.random.default_rng(0)
    lines = ["site,temperature,pressure,vibration,fault"]
    for site in range(12):
        for _ in range(60):
            heat, pressure, vibration = features = rng.normal(size=3)
            fault = "yes" if features[site % 3] > 0 else "no"
            lines.append(f"site-{site:02d},{heat:.4f},{pressure:.4f},{vibration:.4f},{fault}")
    Path("sites.csv").write_text("\n".join(lines) + "\n")
    Path("own.toml").write_text(f'{QUICK}{OWN}path = "sites.csv"\nclient = "site"\nlabel = "fault"\n')
    own = parsed("run own.toml --json --set method.name=local --set run.rounds=20 --set local.lr=0.5 --out own", capsys)
    common = parsed("run own.toml --json --set run.rounds=20 --set local.lr=0.5 --out common", capsys)
    assert own["accuracy"] > 0.85 > 0.75 > common["accuracy"]  # type: ignore[operator]
    assert own["ari"] is None
    assert len(own["groups"]) == 12  # type: ignore[arg-type]
    (here / "elsewhere").mkdir()
    monkeypatch.chdir(here / "elsewhere")  # a run is resumed from any folder
    assert parsed("resume ../own --json", capsys)["model_hash"] == own["model_hash"]


@pytest.mark.slow
def test_a_folder_of_pictures_runs_end_to_end(capsys: pytest.CaptureFixture[str]) -> None:
    """Six sites with pictures of horizontal and vertical bars, in folders by site and class."""
    rng = np.random.default_rng(0)
    for site in range(6):
        for kind in ("flat", "upright"):
            folder = Path("pictures") / f"site-{site}" / kind
            folder.mkdir(parents=True)
            for number in range(12):
                image = rng.integers(0, 60, (8, 8)).astype(np.uint8)
                place = int(rng.integers(0, 8))
                image[(place, slice(None)) if kind == "flat" else (slice(None), place)] = 255
                Image.fromarray(image).save(folder / f"{number}.png")
    Path("own.toml").write_text(QUICK.replace("logistic", "lenet") + OWN + 'path = "pictures"\n')
    result = parsed("run own.toml --json --set run.rounds=15 --set local.epochs=4", capsys)
    assert result["accuracy"] > 0.8  # type: ignore[operator]
    table = parsed(f"runs show {result['run']} --json", capsys)
    assert 'source = "own"' in str(table["experiment"])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ('path = "nowhere.csv"\nclient = "who"', "there is no such file or folder"),
        ('path = "t.csv"\nclient = "whom"', 'did you mean "who"|nearest|whom'),
        ('path = "t.csv"\nclient = "who"\nworld = "iid"', "data.world has no use"),
        ("", "path is missing"),
    ],
)
def test_own_data_that_are_wrong(data: str, said: str, capsys: pytest.CaptureFixture[str], here: Path) -> None:
    Path("t.csv").write_text("who,x,label\n" + "".join(f"{who},{n},{n % 2}\n" for who in "ab" for n in range(10)))
    Path("own.toml").write_text(f"{QUICK}{OWN}{data}\n")
    err = error_of("run own.toml", capsys)
    assert re.match(f"error: .*({said})", err), err
    assert not (here / "runs").exists()


def test_a_changing_world_from_toml(capsys: pytest.CaptureFixture[str]) -> None:
    changes = "drift = {round = 2, share = 0.25}\nnewcomers = {rounds = [2], share = 0.25}\n"
    world = 'source = "digits"\nworld = "rotation"\nclients = 8\ngroups = 2\n'
    Path("e.toml").write_text(QUICK + world + changes)
    result = parsed("run e.toml --json --out run --set data.drift.kind=rotate", capsys)
    assert len(result["groups"][0]) == 8  # type: ignore[index]
    asked = Path("run/experiment.toml").read_text()
    assert "[data.drift]" in asked
    assert 'kind = "rotate"' in asked
    assert parsed("resume run --json", capsys) == result
