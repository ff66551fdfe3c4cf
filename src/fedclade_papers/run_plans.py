"""From a setting to runs: which experiment goes into which folder, and whether it is finished."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from fedclade.core import InputError
from fedclade.nets.weight_files import SUFFIX
from fedclade.runs.compare import folder_name
from fedclade.runs.experiment import Experiment, experiment_from
from fedclade.store.files import is_run
from fedclade.store.run_folder import RunFolder
from fedclade_papers.item import EncoderRecipe, NetworkRecipe, Setting, Terms, WeightRecipe

TINY_ROUNDS, TINY_EXAMPLES, TINY_IMAGES, TINY_WATCHED_ROUNDS = 2, 30, 100, 4


def plans_of(setting: Setting, terms: Terms) -> dict[Path, Experiment]:
    """The run folder and the experiment of every method with every seed."""
    asked = setting_at_scale(setting, terms)
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
    other = setting.overrides.get(label, {})
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


def setting_at_scale(setting: Setting, terms: Terms) -> Setting:
    """The setting that is run: at tiny scale a shortened one."""
    return tiny_setting(setting) if terms.scale == "tiny" else setting


def recipe_at_scale(recipe: WeightRecipe, terms: Terms) -> WeightRecipe:
    """The recipe that is trained: at tiny scale a shortened one."""
    if terms.scale != "tiny":
        return recipe
    return tiny_encoder(recipe) if isinstance(recipe, EncoderRecipe) else tiny_network(recipe)


def tiny_setting(setting: Setting) -> Setting:
    """The same in two rounds, with a few examples for each client: only to see that it runs."""
    over: dict[str, object] = {"fewer": {"examples": TINY_EXAMPLES}}
    if "test_on" in setting.data:  # testing is the larger part of the work then
        over |= {"test_on": "own", **({"padded": False} if "padded" in setting.data else {})}
    if isinstance(late := setting.data.get("newcomers"), Mapping):
        over["newcomers"] = {**late, "rounds": [TINY_ROUNDS]}
    run = {**setting.run, "rounds": TINY_ROUNDS, "evaluate_every": 1}
    others = {label: {"local": {"epochs": 1}, "run": {}} for label in setting.overrides}
    return replace(
        setting,
        data={**setting.data, **over},
        local={**setting.local, "epochs": 1},
        run=run,
        overrides=others,
        seeds=1,
        minutes=0.1,
        encoders=tuple(map(tiny_encoder, setting.encoders)),
        networks=tuple(map(tiny_network, setting.networks)),
    )


def tiny_encoder(recipe: EncoderRecipe) -> EncoderRecipe:
    """An encoder that sees a few images once."""
    return replace(recipe, epochs=1, images=TINY_IMAGES, minutes=0.0)


def tiny_network(recipe: NetworkRecipe) -> NetworkRecipe:
    """A network that watches a few rounds."""
    return replace(recipe, epochs=1, rounds=TINY_WATCHED_ROUNDS, minutes=0.0)


def is_finished(path: Path) -> bool:
    """Whether a run is there, and done."""
    return is_run(path) and RunFolder.open(path).is_finished


def all_plans(settings: tuple[Setting, ...], terms: Terms) -> dict[Path, Experiment]:
    """The plans of several settings; an error if two experiments have one folder."""
    found: dict[Path, Experiment] = {}
    for setting in settings:
        for path, plan in plans_of(setting, terms).items():
            if path in found and found[path].toml() != plan.toml():
                raise InputError("two settings have one folder", where=str(path), need="a name for each")
            found[path] = plan
    return found


def longest_first(plans: Mapping[Path, Experiment]) -> dict[Path, Experiment]:
    """The longest runs first, so that no processor waits at the end: fine-tuning, then by rounds."""

    def sort_key(path: Path) -> tuple[bool, int]:
        plan = plans[path]
        return not plan.method.needs().tunes_encoder, -plan.run.rounds

    return {path: plans[path] for path in sorted(plans, key=sort_key)}


def setting_data(setting: Setting) -> dict[str, object]:
    """A setting as plain data, without the folders of this machine."""
    return {
        "data": setting.data,
        "net": setting.net,
        "local": setting.local,
        "run": setting.run,
        "methods": without_folders(setting.methods),
        "others": setting.overrides,
        "seeds": setting.seeds,
    }


def without_folders(value: object) -> object:
    """Plain data in which files of weights have their names only."""
    if isinstance(value, Mapping):
        return {name: without_folders(each) for name, each in value.items()}
    return Path(value).name if isinstance(value, str) and value.endswith(SUFFIX) else value
