"""Makes items: their runs, the outcome that is read from them, and the result on disk. Nothing is made twice."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from time import perf_counter

from fedclade.client import one_thread
from fedclade.core import Damaged, InputError, Stopped
from fedclade.data.registry import cache_sources
from fedclade.fleet.simulated import cores
from fedclade.methods import FLT, Encoder
from fedclade.methods.flt.embedding import require_umap, start_warm_up
from fedclade.report.run_data import number as as_number
from fedclade.runs.compare import FederationCache, finish
from fedclade.runs.environment import environment
from fedclade.runs.experiment import Experiment
from fedclade.runs.loop import ProgressCallback
from fedclade.runs.parallel import Work
from fedclade.runs.run import ignore_progress
from fedclade.store.durable_files import write_file
from fedclade.store.json_values import json_value
from fedclade.store.run_folder import RunFolder
from fedclade_papers import result_files, stored_results
from fedclade_papers.code_digest import code_digest
from fedclade_papers.expected_times import duration_text, minutes_left
from fedclade_papers.item import Item, Setting, Terms, recipe_fields
from fedclade_papers.outdated_runs import check_data, method_digest, note_code, remove_outdated_runs
from fedclade_papers.pictures import draw_pictures
from fedclade_papers.registry import item_order
from fedclade_papers.result_files import Result
from fedclade_papers.run_plans import all_plans, is_finished, longest_first, setting_at_scale, setting_data
from fedclade_papers.run_results import ItemRuns
from fedclade_papers.weights import file_of, make_weights

FORMAT = 2  # of a result; one of another format is made anew
HERE = Path(__file__).parent
PRESENTATION_FILES = ("results_page.py", "item_pages.py", "headlines.py", "result_files.py", "glossary.py")
INTERRUPTED = "interrupted"  # as a run says it
REPEAT_HINT = "the same command again: it goes on where it was stopped, but for encoders and networks, which begin anew"
REMOVE_HINT = "remove that run's folder: the same command makes it anew"
ENVIRONMENT_KEYS = ("python", "platform", "cores", "memory_bytes")  # of the environment


@dataclass(frozen=True)
class ProgressDisplay:
    """Where progress is shown: lines of text, and a callback for each run."""

    show: Callable[[str], None] = lambda _: None
    progress_of: Callable[[Path], ProgressCallback] = lambda _: ignore_progress


class SomeItemsFailed(InputError):
    """Some items could not be made, because data are missing or a run is damaged; the others are there."""

    def __init__(self, results: Sequence[Result], missing: Mapping[str, str]) -> None:
        count = f"{len(missing)} of {len(missing) + len(results)} items"
        super().__init__(
            f"{count} were not made",
            got=", ".join(missing),
            need="what the line of each says",
            do="fedclade data list, which says what to fetch, or mend the run; then the same command again",
        )
        self.results, self.missing = results, missing


def reproduce(
    items: Sequence[Item], terms: Terms, *, jobs: int = 0, display: ProgressDisplay | None = None
) -> list[Result]:
    """Make every item's result, or take the stored one. The tables of all results are written after each item.

    An item without its data, or with a damaged run, does not keep the others from being made; the error comes at the
    end.
    """
    screen = display or ProgressDisplay()
    folder = terms.folder / terms.name
    check_writable(folder)
    results: list[Result] = []
    missing: dict[str, str] = {}
    with cache_sources():
        for item in items:
            try:
                with interruptible(item):
                    results.append(make_result(item, terms, jobs or cores(), screen))
            except (InputError, Damaged) as error:
                if len(items) == 1:
                    raise
                missing[item.name] = str(error)
                screen.show(f"{item.name}: not made, {error}")
    if missing:
        raise SomeItemsFailed(results, missing)
    return results


def check_writable(folder: Path) -> None:
    """Raise an error unless results can be written here: the tables of all stored ones are."""
    try:
        (folder / "results").mkdir(parents=True, exist_ok=True)
        result_files.write_all(read_results(folder / "results"), folder)
    except OSError as error:
        raise InputError(
            "the folder cannot be written",
            where=str(folder),
            got=error.strerror or str(error),
            need="a folder in which files can be made",
            do="give another --out",
        ) from None


@contextmanager
def interruptible(item: Item) -> Iterator[None]:
    """Add to an interrupt how to go on, and to a damaged run what to do."""
    try:
        yield
    except KeyboardInterrupt:
        raise Stopped(INTERRUPTED, where=item.name, do=REPEAT_HINT) from None
    except Stopped as error:
        if error.what != INTERRUPTED:
            raise
        raise Stopped(INTERRUPTED, where=item.name, got=error.got, do=REPEAT_HINT) from None
    except Damaged as error:
        raise Damaged(
            error.what, where=error.where, got=error.got, need=error.need, do=error.do or REMOVE_HINT
        ) from None


def read_results(folder: Path) -> list[Result]:
    """All results of a folder, in the order of the papers."""
    found = [result for path in sorted(folder.glob("*.json")) if (result := read_result(path)) is not None]
    return sorted(found, key=lambda result: item_order(str(result["item"])))


def make_result(item: Item, terms: Terms, jobs: int, display: ProgressDisplay) -> Result:
    """One item: its stored result if the recipe is still the same, else a new one, which comes into the tables."""
    folder = terms.folder / terms.name
    settings = item.settings(terms)
    plans = all_plans(settings, terms)
    recipe = digest(item, settings, plans, terms)
    path = folder / "results" / f"{result_files.stem_of({'item': item.name})}.json"
    before = read_result(path)
    if before is not None and before.get("recipe_sha256") == recipe:
        display.show(f"{item.name}: {result_files.outcome_text(before)}, as it was")
        return before
    check_data(settings)
    if uses_umap(plans.values()):
        require_umap()
    remove_outdated_runs(plans, terms, display.show)
    expected = duration_text(minutes_left(item, settings, terms))
    display.show(f"{item.name}: {item.title}; about {expected} on two cores")
    read_anew = before is not None and bool(plans) and all(map(is_finished, plans))
    begin, begun = perf_counter(), processor_time()
    run_all(plans, weights_of(settings, terms), jobs, display)
    runs = [RunFolder.open(each).result() for each in plans]
    with one_thread():  # the same numbers on any number of processors
        outcome = item.read(ItemRuns(terms, settings, display.show))
    result = {
        "format": FORMAT,
        **result_files.as_data(item, outcome),
        "scale": terms.scale,
        "as_published": terms.published,
        "command": command(item, terms),
        "seeds": sorted({plan.run.seed for plan in plans.values()}) or [0],
        "runs": len(plans),
        "run_seconds": sum(as_number(run["seconds"], 0.0) for run in runs),
        "run_cpu_seconds": sum(as_number(run["cpu_seconds"], 0.0) for run in runs),
        "seconds": perf_counter() - begin,
        "cpu_seconds_here": processor_time() - begun,
        **({name: before[name] for name in ("seconds", "cpu_seconds_here")} if before and read_anew else {}),
        "environment": environment_of_runs(plans),
        "recipe": {setting.name: setting_data(setting_at_scale(setting, terms)) for setting in settings},
        "recipe_sha256": recipe,
    }
    drawn = draw_pictures(item.name, outcome.series)
    for end in result_files.PICTURES:
        path.with_suffix(f".{end}").unlink(missing_ok=True)
    for end, content in drawn.items():
        write_file(path.with_suffix(f".{end}"), content)
    write_file(path, json.dumps(json_value(result), indent=1, allow_nan=False).encode())
    result_files.write_all(read_results(folder / "results"), folder)
    display.show(f"{item.name}: {result_files.outcome_text(result)}")
    return json.loads(path.read_bytes())  # type: ignore[no-any-return]  # what was just written


def environment_of_runs(plans: Iterable[Path]) -> dict[str, object]:
    """Machine, versions and commits of all runs, several where they differ; of now, where there are no runs."""
    each = [RunFolder.open(path).environment() for path in plans] or [environment()]
    packages: dict[str, set[str]] = {}
    for one in each:
        installed = one.get("packages")
        for name, version in installed.items() if isinstance(installed, Mapping) else ():
            packages.setdefault(name, set()).add(version)
    return {
        **{name: each[-1][name] for name in ENVIRONMENT_KEYS if name in each[-1]},
        "processors": distinct_values(each, "processor"),
        "packages": {name: ", ".join(sorted(versions)) for name, versions in packages.items()},
        "fedclade_commits": distinct_values(each, "fedclade_commit"),
        "read_at": environment()["fedclade_commit"],
    }


def distinct_values(each: Iterable[Mapping[str, object]], name: str) -> list[str]:
    """All distinct values of this key, of those that have one."""
    return sorted({str(one[name]) for one in each if one.get(name)})


def processor_time() -> float:
    """Processor time of this process and of all its children that have ended, in seconds."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def run_all(
    plans: Mapping[Path, Experiment], weights: Mapping[Path, Work], jobs: int, display: ProgressDisplay
) -> None:
    """Make all runs. Weights that some of them read are trained beside the runs that need none."""
    left = {path: plan for path, plan in longest_first(plans).items() if not is_finished(path)}
    missing = {path: work for path, work in weights.items() if not path.is_file()}
    missing = {
        path: work for path, work in missing.items() if any(reads_any_of(plan, [path]) for plan in left.values())
    }
    if uses_umap(left.values()):
        start_warm_up().join()  # here, once, and not in every process
    held = FederationCache(None)
    if missing:
        able = {path: plan for path, plan in left.items() if not reads_any_of(plan, missing)}
        finish(able, held, jobs=jobs, progress_for=display.progress_of, extra_work=missing)
    finish(left, held, jobs=jobs, progress_for=display.progress_of)
    for path, plan in plans.items():
        note_code(path, plan)
        if plan.method.needs().model_path is None:  # its checkpoint holds the models on the way to those at the end
            RunFolder.open(path).remove_checkpoints()


def uses_umap(plans: Iterable[Experiment]) -> bool:
    """Whether one of these runs embeds points by UMAP."""
    signatures = [plan.method.signature for plan in plans if isinstance(plan.method, FLT)]
    return any(isinstance(each, Encoder) and each.umap_dimensions > 0 for each in signatures)


def reads_any_of(plan: Experiment, files: Iterable[Path]) -> bool:
    """Whether a run reads one of these files."""
    read: set[str] = set()
    for each in (plan.method.needs(), plan.selection.needs()):
        read |= {each.encoder, each.network.name if each.network is not None else ""}
    return not read.isdisjoint(map(str, files))


def weights_of(settings: Sequence[Setting], terms: Terms) -> dict[Path, Work]:
    """Every file of weights that runs read, and the work that makes it."""
    recipes = [recipe for setting in settings for recipe in setting.weights]
    return {file_of(recipe, terms): partial(make_weights, recipe, terms) for recipe in recipes}


def read_result(path: Path) -> Result | None:
    """A stored result; None if there is none that can be used."""
    with suppress(OSError, ValueError):
        content = path.read_bytes()
        stored_results.RESULT_ADAPTER.validate_json(content, strict=True)
        found = json.loads(content)
        if isinstance(found, dict) and found.get("format") == FORMAT:
            return found
    return None


def digest(item: Item, settings: Sequence[Setting], plans: Mapping[Path, Experiment], terms: Terms) -> str:
    """A checksum of the recipe: a stored result with another one is made anew.

    It covers every experiment except its folders, the code of every method, every encoder and network, and all code
    that reads results or finds groups for that.
    """
    methods = sorted({method_digest(plan) for plan in plans.values()})
    asked = [plan.toml().replace(str(terms.folder), "") for plan in plans.values()]
    trained = [recipe_fields(each) for setting in settings for each in setting_at_scale(setting, terms).weights]
    reading = [sources_in(HERE), code_digest(item.read.__module__)]
    whole = json.dumps([item.name, terms.name, sorted(asked), methods, trained, reading])
    return hashlib.sha256(whole.encode()).hexdigest()


@cache
def sources_in(folder: Path) -> str:
    """A checksum of all code here that can change a result; code that only presents it does not count."""
    files = [path for path in sorted(folder.rglob("*.py")) if path.name not in PRESENTATION_FILES]
    return hashlib.sha256(b"".join(path.name.encode() + path.read_bytes() for path in files)).hexdigest()


def command(item: Item, terms: Terms) -> str:
    """The command that makes it again."""
    return f"fedclade reproduce {item.name} --scale {terms.scale}" + (" --as-published" if terms.published else "")
