"""From a setting to runs: which experiment goes into which folder, and how much of it is left to do."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from fedclade.nouns import InputError
from fedclade.papers.item import Attending, Pretrained, Setting, Terms
from fedclade.runs.compare import folder_name
from fedclade.runs.experiment import Experiment, experiment_from
from fedclade.runs.folder import RunFolder, is_run

TINY_ROUNDS, TINY_EXAMPLES, TINY_IMAGES, TINY_WATCHED = 2, 30, 100, 4


def plans_of(setting: Setting, terms: Terms) -> dict[Path, Experiment]:
    """Every method with every seed: its folder, and what is run there."""
    asked = tiny(setting) if terms.scale == "tiny" else setting
    return {
        folder_of(asked, label, seed, terms): experiment_of(asked, label).with_seed(seed)
        for seed in range(asked.seeds)
        for label in asked.methods
    }


def folder_of(setting: Setting, label: str, seed: int, terms: Terms) -> Path:
    """Where one run of a setting is."""
    return terms.folder / terms.name / "runs" / setting.name / f"{folder_name(label.lower())}-seed{seed}"


def experiment_of(setting: Setting, label: str) -> Experiment:
    """The experiment of one method."""
    other = setting.others.get(label, {})
    return experiment_from(
        {
            "data": setting.data,
            "net": setting.net,
            "local": {**setting.local, **other.get("local", {})},
            "method": setting.methods[label],
            "run": {**setting.run, **other.get("run", {})},
        },
        where=setting.name,
    )


def tiny(setting: Setting) -> Setting:
    """The same in two rounds, with a few examples for each client: to see that it runs, and for nothing else."""
    over: dict[str, object] = {"fewer": {"examples": TINY_EXAMPLES}}
    if "test_on" in setting.data:  # testing is the larger part of the work then
        over |= {"test_on": "own", **({"padded": False} if "padded" in setting.data else {})}
    if isinstance(late := setting.data.get("newcomers"), Mapping):
        over["newcomers"] = {**late, "rounds": [TINY_ROUNDS]}
    run = {**setting.run, "rounds": TINY_ROUNDS, "evaluate_every": 1}
    others = {label: {"local": {"epochs": 1}, "run": {}} for label in setting.others}
    return replace(
        setting,
        data={**setting.data, **over},
        local={**setting.local, "epochs": 1},
        run=run,
        others=others,
        seeds=1,
        minutes=0.1,
        encoders=tuple(tiny_encoder(each) for each in setting.encoders),
        networks=tuple(tiny_network(each) for each in setting.networks),
    )


def tiny_encoder(encoder: Pretrained) -> Pretrained:
    """One that has seen a few images once."""
    return replace(encoder, epochs=1, images=TINY_IMAGES, minutes=0.0)


def tiny_network(network: Attending) -> Attending:
    """One that has watched a few rounds."""
    return replace(network, rounds=TINY_WATCHED, epochs=1, minutes=0.0)


def finished(path: Path) -> bool:
    """Whether a run is there, and done."""
    return is_run(path) and RunFolder.open(path).finished


def all_plans(settings: tuple[Setting, ...], terms: Terms) -> dict[Path, Experiment]:
    """Those of several settings; an error if two of them want to be in one folder and are not the same."""
    found: dict[Path, Experiment] = {}
    for setting in settings:
        for path, plan in plans_of(setting, terms).items():
            if path in found and found[path].toml() != plan.toml():
                raise InputError("two settings have one folder", where=str(path), need="a name for each")
            found[path] = plan
    return found


def longest_first(plans: Mapping[Path, Experiment]) -> dict[Path, Experiment]:
    """What takes longest comes first, so that no processor waits for it at the end: fine-tuning, then many rounds."""

    def place(path: Path) -> tuple[bool, int]:
        plan = plans[path]
        return not plan.method.needs().tunes_encoder, -plan.run.rounds

    return {path: plans[path] for path in sorted(plans, key=place)}


def told(setting: Setting) -> dict[str, object]:
    """A setting as plain data, without where files are on this machine."""
    return {
        "data": setting.data,
        "net": setting.net,
        "local": setting.local,
        "run": setting.run,
        "methods": {
            label: {
                name: Path(str(value)).name if name in ("encoder", "network") else value
                for name, value in method.items()
            }
            for label, method in setting.methods.items()
        },
        "others": setting.others,
        "seeds": setting.seeds,
    }
