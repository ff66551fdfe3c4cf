"""Making items: their runs, what is read from them, and the result on disk. What is there already is not made again."""

import hashlib
import inspect
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import perf_counter, process_time

from fedclade.fleet.simulated import cores
from fedclade.nouns import InputError, Stopped
from fedclade.papers import attention, encoders, writing
from fedclade.papers.found import Found
from fedclade.papers.item import Item, Setting, Terms, described
from fedclade.papers.plans import all_plans, finished, tiny, told
from fedclade.papers.registry import place_of
from fedclade.papers.renewal import check_data, make_way
from fedclade.papers.timing import minutes_left, written_minutes
from fedclade.relate.embedding import warming
from fedclade.runs.compare import compare
from fedclade.runs.durable import write_file
from fedclade.runs.environment import environment
from fedclade.runs.experiment import Experiment
from fedclade.runs.folder import finite
from fedclade.runs.loop import Watch
from fedclade.runs.run import unwatched

FORMAT = 1  # of a result; one of another format is made anew
HERE = Path(__file__).parent
SHOWING = ("page.py", "writing.py", "drawing.py", "pictures.py", "glossary.py")
INTERRUPTED = "interrupted"  # what a run says that was
AGAIN = "the same command again: it goes on where it was stopped"
TOLD = ("python", "packages", "platform", "cores", "memory_bytes", "git_commit")  # of the environment

Result = Mapping[str, object]


@dataclass(frozen=True)
class Watching:
    """Somebody who looks on."""

    tell: Callable[[str], None] = lambda _: None
    watch: Callable[[Path], Watch] = lambda _: unwatched


class NotAllMade(InputError):
    """Some items could not be made, mostly for want of data; the others are there."""

    def __init__(self, results: Sequence[Result], missing: Mapping[str, str]) -> None:
        count = f"{len(missing)} of {len(missing) + len(results)} items"
        super().__init__(
            f"{count} were not made",
            got=", ".join(missing),
            need="the data of each, or what its line says",
            do="fedclade data list, which says what to fetch; then the same command again",
        )
        self.results, self.missing = results, missing


def reproduce(items: Sequence[Item], terms: Terms, *, jobs: int = 0, watching: Watching | None = None) -> list[Result]:
    """Every item's result: made now, or as it was stored. The tables of all that are there are written after each.

    An item whose data are not here does not keep the others from being made; the error comes at the end.
    """
    looking = watching or Watching()
    folder = terms.folder / terms.name
    check_writable(folder)
    results: list[Result] = []
    missing: dict[str, str] = {}
    for item in items:
        try:
            with interruptible(item):
                results.append(made(item, terms, jobs or cores(), looking))
                writing.write_all(stored_in(folder / "results"), folder)
        except InputError as wrong:
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
    """Inside, an interrupt says how to go on: what is finished is on disk, and is not made again."""
    try:
        yield
    except KeyboardInterrupt:
        raise Stopped(INTERRUPTED, where=item.name, do=AGAIN) from None
    except Stopped as wrong:
        if wrong.what != INTERRUPTED:
            raise
        raise Stopped(INTERRUPTED, where=item.name, got=wrong.got, do=AGAIN) from None


def stored_in(folder: Path) -> list[Result]:
    """All results of a folder, in the order of the papers."""
    found = [result for path in sorted(folder.glob("*.json")) if (result := read_result(path)) is not None]
    return sorted(found, key=lambda result: place_of(str(result["item"])))


def made(item: Item, terms: Terms, jobs: int, looking: Watching) -> Result:
    """One item: its stored result if the recipe is still the same, else a new one."""
    settings = item.settings(terms)
    plans = all_plans(settings, terms)
    recipe = digest(item, settings, plans, terms)
    path = terms.folder / terms.name / "results" / f"{item.name.replace(':', '-')}.json"
    stored = read_result(path)
    if stored is not None and stored.get("recipe_sha256") == recipe:
        looking.tell(f"{item.name}: {writing.verdict_of(stored)}, as it was")
        return stored
    check_data(settings)
    make_way(plans, terms, looking.tell)
    expected = written_minutes(minutes_left(item, settings, terms))
    looking.tell(f"{item.name}: {item.title}; about {expected} on two cores")
    begin, begun = perf_counter(), process_time()
    new = [each for each in plans if not finished(each)]
    for encoder in dict.fromkeys(each for setting in settings for each in setting_as_run(setting, terms).encoders):
        encoders.make(encoder, terms, looking.tell)
    for network in dict.fromkeys(each for setting in settings for each in setting_as_run(setting, terms).networks):
        attention.make(network, terms, looking.tell)
    if new and any(getattr(plan.method, "embedding", "none") == "umap" for plan in plans.values()):
        warming().join()  # here, once, and not in every process
    runs = compare(plans, jobs=min(jobs, max(len(new), 1)), watch=looking.watch) if plans else ()
    outcome = item.read(Found(terms, settings, looking.tell))
    result = {
        "format": FORMAT,
        **writing.as_data(item, outcome, judged=terms.scale != "tiny"),  # two rounds show only that it runs
        "scale": terms.scale,
        "as_published": terms.published,
        "command": command(item, terms),
        "seeds": sorted({plan.run.seed for plan in plans.values()}) or [0],
        "runs": len(plans),
        "run_seconds": sum(number(run.result["seconds"]) for run in runs),
        "run_cpu_seconds": sum(number(run.result["cpu_seconds"]) for run in runs),
        "seconds": perf_counter() - begin,
        "cpu_seconds_here": process_time() - begun,
        "environment": {name: value for name, value in environment().items() if name in TOLD},
        "recipe": {setting.name: told(setting_as_run(setting, terms)) for setting in settings},
        "recipe_sha256": recipe,
    }
    write_file(path, json.dumps(finite(result), indent=1, allow_nan=False).encode())
    looking.tell(f"{item.name}: {writing.verdict_of(result)}")
    return json.loads(path.read_bytes())  # type: ignore[no-any-return]  # what was just written


def setting_as_run(setting: Setting, terms: Terms) -> Setting:
    """What is really run."""
    return tiny(setting) if terms.scale == "tiny" else setting


def read_result(path: Path) -> Result | None:
    """A stored result; None if there is none that can be used."""
    with suppress(OSError, ValueError):
        found = json.loads(path.read_bytes())
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
