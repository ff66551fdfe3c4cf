"""Commands about data, and a user's own files through `fedclade run`."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from cli.calling import call, parsed
from fedclade.data import SOURCES, WORLDS

QUICK = """
[net]
name = "logistic"
[local]
lr = 0.1
[run]
rounds = 2
participation = 1.0
[engine]
workers = 0
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_sources_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    found = parsed("data list --json", capsys)
    assert list(found) == list(SOURCES)
    assert found["digits"]["here"] is True  # type: ignore[index]
    assert re.search(r"digits +yes +1,797", call("data list", capsys)[1])


@pytest.mark.slow
def test_a_source_is_counted_and_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call("data show digits", capsys)
    assert code == 0
    assert "digits: 1,797 train, inputs 1 x 8 x 8" in out
    with Image.open("digits.png") as picture:
        assert picture.size[0] > 500
    shown = parsed("data show digits --json --out other.svg", capsys)
    assert sum(shown["counts"]["train"]) == 1797  # type: ignore[index]
    assert Path("other.svg").read_text().startswith("<?xml")


def test_fetch_does_nothing_for_what_is_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("data fetch digits", capsys) == (0, "digits is here\n", "")


def test_what_is_not_here_says_what_to_put_where(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, here: Path
) -> None:
    monkeypatch.setenv("FEDCLADE_DATA", str(here))
    monkeypatch.setenv("XDG_CACHE_HOME", str(here / "cache"))
    code, out, err = call("data show femnist", capsys)
    assert (code, out) == (2, "")
    assert err.startswith("error: the files are not here, source femnist")
    assert str(here) in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("world", ["classes", "rotation", "dirichlet", "quantity", "congruent"])
def test_worlds_are_drawn(world: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = parsed(f"worlds show {world} --json --set clients=8", capsys)
    assert shown["clients"] == 8
    assert Path(f"{world}.png").stat().st_size > 5000
    assert isinstance(shown["smallest"], int)
    assert isinstance(shown["largest"], int)
    assert shown["smallest"] <= shown["largest"]


def test_a_world_is_told_by_its_groups(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call("worlds show classes --set clients=10 --set groups=5 --out w.png", capsys)
    assert code == 0
    assert len(re.findall(r"^group \d +\d(?:, \d|-\d) +2 ", out, re.MULTILINE)) == 5
    assert "Picture: w.png" in out


def test_worlds_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(parsed("worlds --json", capsys)) == list(WORLDS)
    assert call("worlds --quiet", capsys)[1].split() == list(WORLDS)


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
    code, _, err = call(command, capsys)
    assert code == 2
    assert re.match(f"error: .*{said}", err)


def test_a_table_of_twelve_sites_runs_end_to_end(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    """Three kinds of sites, in which another feature decides: each site's own model finds it."""
    rng = np.random.default_rng(0)
    lines = ["site,temperature,pressure,vibration,fault"]
    for site in range(12):
        for _ in range(60):
            features = rng.normal(size=3)
            cells = [
                f"site-{site:02d}",
                *(f"{each:.4f}" for each in features),
                "yes" if features[site % 3] > 0 else "no",
            ]
            lines.append(",".join(cells))
    Path("sites.csv").write_text("\n".join(lines) + "\n")
    Path("own.toml").write_text(
        '[data]\nsource = "own"\npath = "sites.csv"\nclient = "site"\nlabel = "fault"\n' + QUICK
    )
    own = parsed("run own.toml --json --set method.name=local --set run.rounds=20 --out own", capsys)
    common = parsed("run own.toml --json --set run.rounds=20 --out common", capsys)
    assert own["accuracy"] > 0.85 > 0.75 > common["accuracy"]  # type: ignore[operator]
    assert own["ari"] is None
    assert len(own["groups"]) == 12  # type: ignore[arg-type]
    (here / "elsewhere").mkdir()
    assert parsed("resume own --json", capsys)["model_hash"] == own["model_hash"]


def test_a_run_on_own_files_resumes_from_another_folder(
    capsys: pytest.CaptureFixture[str], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("t.csv").write_text("who,x,label\n" + "".join(f"{who},{n},{n % 2}\n" for who in "ab" for n in range(10)))
    Path("own.toml").write_text('[data]\nsource = "own"\npath = "t.csv"\nclient = "who"\n' + QUICK)
    first = parsed("run own.toml --json --out run", capsys)
    (here / "elsewhere").mkdir()
    monkeypatch.chdir(here / "elsewhere")
    assert parsed("resume ../run --json", capsys)["model_hash"] == first["model_hash"]


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
    Path("own.toml").write_text('[data]\nsource = "own"\npath = "pictures"\n' + QUICK.replace("logistic", "lenet"))
    result = parsed("run own.toml --json --set run.rounds=15 --set local.epochs=4", capsys)
    assert result["accuracy"] > 0.8  # type: ignore[operator]
    table = json.loads(call("runs show " + str(result["run"]) + " --json", capsys)[1])
    assert 'source = "own"' in table["experiment"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ('source = "own"\npath = "nowhere.csv"\nclient = "who"', "there is no such file or folder"),
        ('source = "own"\npath = "t.csv"', "client is missing"),
        ('source = "own"\npath = "t.csv"\nclient = "whom"', 'did you mean "who"|nearest|whom'),
        ('source = "own"\npath = "t.csv"\nclient = "who"\nworld = "iid"', "data.world has no use"),
        ('source = "own"', "path is missing"),
        ('source = "own"\npath = "bad.csv"\nclient = "who"', "bad.csv"),
    ],
)
def test_own_data_that_are_wrong(data: str, said: str, capsys: pytest.CaptureFixture[str], here: Path) -> None:
    Path("t.csv").write_text("who,x,label\n" + "".join(f"{who},{n},{n % 2}\n" for who in "ab" for n in range(10)))
    Path("bad.csv").write_text("who,x,label\na,1,0\na,nan,1\nb,two,1\n")
    Path("own.toml").write_text(f"[data]\n{data}\n{QUICK}")
    code, out, err = call("run own.toml", capsys)
    assert (code, out) == (2, "")
    assert re.match(f"error: .*({said})", err), err
    assert err.count("\n") == 1
    assert not (here / "runs").exists()


def test_a_changing_world_from_toml(capsys: pytest.CaptureFixture[str]) -> None:
    Path("e.toml").write_text(
        '[data]\nsource = "digits"\nworld = "rotation"\nclients = 8\ngroups = 2\n'
        "[data.drift]\nround = 2\nshare = 0.25\n[data.newcomers]\nrounds = [2]\nshare = 0.25\n" + QUICK
    )
    result = parsed("run e.toml --json --out run --set data.drift.kind=rotate", capsys)
    assert len(result["groups"][0]) == 8  # type: ignore[index]
    asked = Path("run/experiment.toml").read_text()
    assert "[data.drift]" in asked
    assert 'kind = "rotate"' in asked
    assert parsed("resume run --json", capsys) == result
