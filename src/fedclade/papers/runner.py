"""Making items: their runs, what is read from them, and the result on disk. What is there already is not made again."""

import hashlib
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from time import perf_counter

from fedclade.data.registry import sources_kept
from fedclade.fleet.simulated import cores
from fedclade.local import one_thread
from fedclade.nouns import Damaged, InputError, Stopped
from fedclade.papers import attention, encoders, stored, writing
from fedclade.papers.found import Found
from fedclade.papers.item import Item, Setting, Terms, described
from fedclade.papers.pictures import pictures
from fedclade.papers.plans import all_plans, finished, longest_first, tiny, told
from fedclade.papers.registry import place_of
from fedclade.papers.renewal import check_data, make_way
from fedclade.papers.timing import minutes_left, written_minutes
from fedclade.relate.embedding import check_installed, warming
from fedclade.runs.abreast import Work
from fedclade.runs.compare import Held, finish
from fedclade.runs.durable import write_file
from fedclade.runs.environment import environment
from fedclade.runs.experiment import Experiment
from fedclade.runs.folder import RunFolder
from fedclade.runs.loop import Watch
from fedclade.runs.plain import finite
from fedclade.runs.run import unwatched

FORMAT = 1  # of a result; one of another format is made anew
HERE = Path(__file__).parent
SHOWING = ("page.py", "writing.py", "glossary.py", "tried.py")
INTERRUPTED = "interrupted"  # what a run says that was
AGAIN = "the same command again: it goes on where it was stopped, but for encoders and networks, which begin anew"
ANEW = "remove that run's folder: the same command makes it anew"
TOLD = ("python", "platform", "cores", "memory_bytes")  # of the environment

Result = Mapping[str, object]


@dataclass(frozen=True)
class Watching:
    """Somebody who looks on."""

    tell: Callable[[str], None] = lambda _: None
    watch: Callable[[Path], Watch] = lambda _: unwatched


class NotAllMade(InputError):
    """Some items could not be made, for want of data or by a damaged run; the others are there."""

    def __init__(self, results: Sequence[Result], missing: Mapping[str, str]) -> None:
        count = f"{len(missing)} of {len(missing) + len(results)} items"
        super().__init__(
            f"{count} were not made",
            got=", ".join(missing),
            need="what the line of each says",
            do="fedclade data list, which says what to fetch, or mend the run; then the same command again",
        )
        self.results, self.missing = results, missing


def reproduce(items: Sequence[Item], terms: Terms, *, jobs: int = 0, watching: Watching | None = None) -> list[Result]:
    """Every item's result: made now, or as it was stored. The tables of all that are there are written after each.

    An item whose data are not here, or one of whose runs is damaged, does not keep the others from being made; the
    error comes at the end.
    """
    looking = watching or Watching()
    folder = terms.folder / terms.name
    check_writable(folder)
    results: list[Result] = []
    missing: dict[str, str] = {}
    with sources_kept():
        for item in items:
            try:
                with interruptible(item):
                    results.append(made(item, terms, jobs or cores(), looking))
            except (InputError, Damaged) as wrong:
                if len(items) == 1:
                    raise
                missing[item.name] = str(wrong)
                looking.tell(f"{item.name}: not made, {wrong}")
    if missing:
        raise NotAllMade(results, missing)
    return results


def check_writable(folder: Path) -> None:
    """An error unless results can be written here; the tables of those that are there already are."""
    try:
        (folder / "results").mkdir(parents=True, exist_ok=True)
        writing.write_all(stored_in(folder / "results"), folder)
    except OSError as wrong:
        raise InputError(
            "the folder cannot be written",
            where=str(folder),
            got=wrong.strerror or str(wrong),
            need="a folder in which files can be made",
            do="give another --out",
        ) from None


@contextmanager
def interruptible(item: Item) -> Iterator[None]:
    """Inside, an interrupt says how to go on, and a damaged run what to do: what is finished is not made again."""
    try:
        yield
    except KeyboardInterrupt:
        raise Stopped(INTERRUPTED, where=item.name, do=AGAIN) from None
    except Stopped as wrong:
        if wrong.what != INTERRUPTED:
            raise
        raise Stopped(INTERRUPTED, where=item.name, got=wrong.got, do=AGAIN) from None
    except Damaged as wrong:
        raise Damaged(wrong.what, where=wrong.where, got=wrong.got, need=wrong.need, do=wrong.do or ANEW) from None


def stored_in(folder: Path) -> list[Result]:
    """All results of a folder, in the order of the papers."""
    found = [result for path in sorted(folder.glob("*.json")) if (result := read_result(path)) is not None]
    return sorted(found, key=lambda result: place_of(str(result["item"])))


def made(item: Item, terms: Terms, jobs: int, looking: Watching) -> Result:
    """One item: its stored result if the recipe is still the same, else a new one, which comes into the tables."""
    folder = terms.folder / terms.name
    settings = item.settings(terms)
    plans = all_plans(settings, terms)
    recipe = digest(item, settings, plans, terms)
    path = folder / "results" / f"{writing.stem_of({'item': item.name})}.json"
    before = read_result(path)
    if before is not None and before.get("recipe_sha256") == recipe:
        looking.tell(f"{item.name}: {writing.verdict_of(before)}, as it was")
        return before
    check_data(settings)
    if with_umap(plans.values()):
        check_installed()
    make_way(plans, terms, looking.tell)
    expected = written_minutes(minutes_left(item, settings, terms))
    looking.tell(f"{item.name}: {item.title}; about {expected} on two cores")
    read_anew = before is not None and bool(plans) and all(map(finished, plans))
    begin, begun = perf_counter(), processor_time()
    play(plans, weights_of(settings, terms), jobs, looking)
    runs = [RunFolder.open(each).result() for each in plans]
    with one_thread():  # the same numbers on any number of processors
        outcome = item.read(Found(terms, settings, looking.tell))
    result = {
        "format": FORMAT,
        **writing.as_data(item, outcome, judged=terms.scale != "tiny"),  # two rounds show only that it runs
        "scale": terms.scale,
        "as_published": terms.published,
        "command": command(item, terms),
        "seeds": sorted({plan.run.seed for plan in plans.values()}) or [0],
        "runs": len(plans),
        "run_seconds": sum(number(run["seconds"]) for run in runs),
        "run_cpu_seconds": sum(number(run["cpu_seconds"]) for run in runs),
        "seconds": perf_counter() - begin,
        "cpu_seconds_here": processor_time() - begun,
        **({name: before[name] for name in ("seconds", "cpu_seconds_here")} if before and read_anew else {}),
        "environment": made_under(plans),
        "recipe": {setting.name: told(setting_as_run(setting, terms)) for setting in settings},
        "recipe_sha256": recipe,
    }
    drawn = pictures(item.name, outcome.series)
    for end in writing.PICTURES:
        path.with_suffix(f".{end}").unlink(missing_ok=True)
    for end, content in drawn.items():
        write_file(path.with_suffix(f".{end}"), content)
    write_file(path, json.dumps(finite(result), indent=1, allow_nan=False).encode())
    writing.write_all(stored_in(folder / "results"), folder)
    looking.tell(f"{item.name}: {writing.verdict_of(result)}")
    return json.loads(path.read_bytes())  # type: ignore[no-any-return]  # what was just written


def made_under(plans: Iterable[Path]) -> dict[str, object]:
    """Machine, versions and commits of all runs, several where they differ; of now, where there are no runs."""
    each = [RunFolder.open(path).environment() for path in plans] or [environment()]
    packages: dict[str, set[str]] = {}
    for one in each:
        installed = one.get("packages")
        for name, version in installed.items() if isinstance(installed, Mapping) else ():
            packages.setdefault(name, set()).add(version)
    return {
        **{name: each[-1][name] for name in TOLD if name in each[-1]},
        "processors": several(each, "processor"),
        "packages": {name: ", ".join(sorted(versions)) for name, versions in packages.items()},
        "fedclade_commits": several(each, "fedclade_commit"),
        "read_at": environment()["fedclade_commit"],
    }


def several(each: Iterable[Mapping[str, object]], name: str) -> list[str]:
    """What runs say of this, where they say something."""
    return sorted({str(one[name]) for one in each if one.get(name)})


def processor_time() -> float:
    """Of this process and all that it has started and seen end, in seconds."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def play(plans: Mapping[Path, Experiment], weights: Mapping[Path, Work], jobs: int, looking: Watching) -> None:
    """All runs; what must be trained before some of them is trained beside the others."""
    left = {path: plan for path, plan in longest_first(plans).items() if not finished(path)}
    missing = {path: work for path, work in weights.items() if not path.is_file()}
    missing = {path: work for path, work in missing.items() if any(needs(plan, [path]) for plan in left.values())}
    if with_umap(left.values()):
        warming().join()  # here, once, and not in every process
    held = Held(None)
    if missing:
        able = {path: plan for path, plan in left.items() if not needs(plan, missing)}
        finish(able, held, jobs=jobs, watch=looking.watch, beside=missing)
    finish(left, held, jobs=jobs, watch=looking.watch)
    for path, plan in plans.items():
        if plan.method.needs().model_path is None:  # its checkpoint holds the models on the way to those at the end
            RunFolder.open(path).forget()


def with_umap(plans: Iterable[Experiment]) -> bool:
    """Whether one of these runs embeds points."""
    return any(getattr(plan.method, "embedding", "none") == "umap" for plan in plans)


def needs(plan: Experiment, files: Iterable[Path]) -> bool:
    """Whether a run reads one of these files."""
    read: set[str] = set()
    for each in (plan.method.needs(), plan.selection.needs()):
        read |= {each.encoder, each.network.name if each.network is not None else ""}
    return not read.isdisjoint(map(str, files))


def weights_of(settings: Sequence[Setting], terms: Terms) -> dict[Path, Work]:
    """Every file of weights that runs read, and what makes it."""
    run = [setting_as_run(setting, terms) for setting in settings]
    seen = {encoders.file_of(each, terms): partial(encoders.make, each, terms) for one in run for each in one.encoders}
    watched = {
        attention.file_of(each, terms): partial(attention.make, each, terms) for one in run for each in one.networks
    }
    return {**seen, **watched}


def setting_as_run(setting: Setting, terms: Terms) -> Setting:
    """What is really run."""
    return tiny(setting) if terms.scale == "tiny" else setting


def read_result(path: Path) -> Result | None:
    """A stored result; None if there is none that can be used."""
    with suppress(OSError, ValueError):
        content = path.read_bytes()
        stored.check.validate_json(content, strict=True)
        found = json.loads(content)
        if isinstance(found, dict) and found.get("format") == FORMAT:
            return found
    return None


def digest(item: Item, settings: Sequence[Setting], plans: Mapping[Path, Experiment], terms: Terms) -> str:
    """By which a result is known to be of this recipe.

    That is every experiment but for where files are, every encoder and network, and all code that reads results.
    """
    asked = [plan.toml().replace(str(terms.folder), "") for plan in plans.values()]
    run = [setting_as_run(setting, terms) for setting in settings]
    trained = [described(each) for setting in run for each in setting.encoders]
    trained += [described(each) for setting in run for each in setting.networks]
    reading = [sources_in(HERE), inspect.getsource(sys.modules[item.read.__module__])]
    whole = json.dumps([item.name, terms.name, sorted(asked), trained, reading])
    return hashlib.sha256(whole.encode()).hexdigest()


@cache
def sources_in(folder: Path) -> str:
    """Of all code here by which a result could become another one: how it is shown does not count."""
    files = {path.name: path.read_bytes() for path in sorted(folder.glob("*.py")) if path.name not in SHOWING}
    return hashlib.sha256(b"".join(name.encode() + files[name] for name in files)).hexdigest()


def command(item: Item, terms: Terms) -> str:
    """What makes it again."""
    return f"fedclade reproduce {item.name} --scale {terms.scale}" + (" --as-published" if terms.published else "")


def number(value: object) -> float:
    """A number of a verdict."""
    return float(value) if isinstance(value, int | float) else 0.0
