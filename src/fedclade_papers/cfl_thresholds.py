"""CFL, section V-B: which thresholds eps1 and eps2 split incongruent clients, and leave congruent ones together.

Up to its first split CFL is federated averaging, whatever the thresholds are. So one run that never splits has the
norms by which any pair of thresholds would have split it first: all of them are tried on the same runs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from fedclade_papers.cfl import FULL_PARTICIPATION, MNIST_LOCAL, NEVER_SPLIT, PAPER, SMALL_MLP, cluster_norms
from fedclade_papers.item import Claim, Item, Outcome, PlanTable, ResultLine, Setting, Terms
from fedclade_papers.run_results import ItemRuns

WATCHED = "watched"
WORLDS: dict[str, PlanTable] = {
    "incongruent": {"world": "label-permutation", "groups": 4},
    "congruent": {"world": "congruent"},
}
SHARES = (0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
"""eps1 as shares of the largest mean update."""
ABOUT_A_TENTH = (0.08, 0.1, 0.12)
TIMES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
"""eps2 in units of eps1."""
SHOWN_SHARE, SHOWN_TIMES = 0.1, (1, 2, 6, 10)
NEVER = math.inf


def settings(terms: Terms) -> tuple[Setting, ...]:
    """20 clients with 500 images of MNIST each, watched for a long time and never split."""
    rounds = 1000 if terms.is_full_scale else 60  # as many as figure 8 of the same section shows
    return tuple(
        Setting(
            name=f"thresholds-{name}",
            data={"source": "mnist", "clients": 20, "fewer": {"examples": 500}, **world},
            net=SMALL_MLP,
            local=MNIST_LOCAL,
            run={**FULL_PARTICIPATION, "rounds": rounds, "evaluate_every": rounds},
            methods={WATCHED: NEVER_SPLIT},
            seeds=3,
            minutes=3.0 if terms.is_full_scale else 0.3,
        )
        for name, world in WORLDS.items()
    )


def first_split(mean_norms: Sequence[float], largest_norms: Sequence[float], eps1: float, eps2: float) -> int | None:
    """The place of the first round with a mean under eps1 and a client over eps2 (Algorithm 5, line 14), or None."""
    pairs = zip(mean_norms, largest_norms, strict=True)
    return next((place for place, (mean, largest) in enumerate(pairs) if mean < eps1 and largest > eps2), None)


@dataclass(frozen=True)
class WatchedRun:
    """What a run that never splits shows of its one cluster, round by round."""

    rounds: tuple[int, ...]
    mean_norms: tuple[float, ...]
    largest_norms: tuple[float, ...]
    gaps: tuple[float | None, ...]
    """The separation gaps."""

    @property
    def largest_mean(self) -> float:
        """The largest norm of a mean update: section V-B's max over t."""
        return max(self.mean_norms)

    def split(self, share: float, times: float) -> tuple[float, bool]:
        """The round of the first split by these thresholds, or `NEVER`; and whether a gap over 0 makes it right."""
        eps1 = share * self.largest_mean
        place = first_split(self.mean_norms, self.largest_norms, eps1, times * eps1)
        if place is None:
            return NEVER, False
        gap = self.gaps[place]
        return float(self.rounds[place]), gap is not None and gap > 0


def watched_runs(found: ItemRuns, world: str) -> list[WatchedRun]:
    """The runs of a world, one for each seed."""
    name = f"thresholds-{world}"
    runs = []
    for seed in range(found.setting(name).seeds):
        facts = found.facts(name, WATCHED, seed)
        gaps = [values.get("separation_gaps") for _, values in facts]
        runs.append(
            WatchedRun(
                tuple(number for number, _ in facts),
                tuple(cluster_norms(facts, "mean_norm")),
                tuple(cluster_norms(facts, "largest_norm")),
                tuple(each[0] if isinstance(each, Sequence) and each else None for each in gaps),
            )
        )
    return runs


@dataclass(frozen=True)
class Tried:
    """One pair of thresholds in all runs of both worlds."""

    share: float
    times: int
    rounds: dict[str, list[float]]
    """By world: the round of the first split in each run, or `NEVER`."""
    right: int
    """Incongruent runs whose first split is right."""

    @property
    def tells_apart(self) -> bool:
        """Every incongruent run is split right, and no congruent one is split."""
        return self.right == len(self.rounds["incongruent"]) and set(self.rounds["congruent"]) <= {NEVER}

    @property
    def words(self) -> str:
        """Its result in a few words."""
        rows = self.rounds
        split = sum(each < NEVER for each in rows["congruent"])
        return (
            f"eps1 {self.share:g}, eps2 {self.times} eps1: {self.right} of {len(rows['incongruent'])} incongruent runs "
            f"split right (rounds {round_words(rows['incongruent'])}), {split} of {len(rows['congruent'])} congruent "
            f"ones split (rounds {round_words(rows['congruent'])})"
        )


def try_thresholds(runs: dict[str, list[WatchedRun]], share: float, times: int) -> Tried:
    """What these thresholds would do first in every run."""
    splits = {world: [run.split(share, times) for run in each] for world, each in runs.items()}
    rounds = {world: [number for number, _ in each] for world, each in splits.items()}
    return Tried(share, times, rounds, sum(is_right for _, is_right in splits["incongruent"]))


def round_words(rounds: Sequence[float]) -> str:
    """Rounds, and a dash for a run that is not split."""
    return ", ".join("-" if each == NEVER else f"{each:g}" for each in rounds)


def pair_words(tried: Sequence[Tried]) -> str:
    """Thresholds by share: the multiples of eps1 that do."""
    by_share: dict[float, list[str]] = {}
    for each in tried:
        by_share.setdefault(each.share, []).append(str(each.times))
    return "; ".join(f"eps1 {share:g}: eps2 {', '.join(times)} eps1" for share, times in by_share.items()) or "none"


def read(found: ItemRuns) -> Outcome:
    """Every pair of thresholds on the runs that were watched."""
    runs = {world: watched_runs(found, world) for world in WORLDS}
    grid = {(share, times): try_thresholds(runs, share, times) for share in SHARES for times in TIMES}
    recommended = [each for each in grid.values() if each.share in ABOUT_A_TENTH]
    apart = [each for each in grid.values() if each.tells_apart]
    series: dict[str, dict[str, object]] = {}
    for world, (first, *_) in runs.items():
        xs = [float(number) for number in first.rounds]
        series[f"{world}, norm of the mean update"] = {"x": xs, "y": list(first.mean_norms)}
        series[f"{world}, largest norm of a client"] = {"x": xs, "y": list(first.largest_norms)}
    shown = [grid[SHOWN_SHARE, times] for times in SHOWN_TIMES]
    lowest = {
        world: ", ".join(f"{100 * min(run.mean_norms) / run.largest_mean:.0f}" for run in each)
        for world, each in runs.items()
    }
    return Outcome(
        lines=tuple(
            ResultLine(
                row=f"eps2 = {each.times} eps1",
                column=f"{world}: round of the first split",
                printed=None,
                ours=median(each.rounds[world]),
            )
            for each in shown
            for world in WORLDS
        ),
        claims=(
            Claim(
                "with eps1 about a tenth of the largest mean update and an eps2 from one to ten times eps1 incongruent "
                "clients are split right and congruent ones are not",
                any(each.tells_apart for each in recommended),
                f"{sum(each.tells_apart for each in recommended)} of {len(recommended)} pairs do. "
                + ". ".join(each.words for each in shown)
                + f". The mean update of incongruent clients comes down to {lowest['incongruent']} % of its largest",
            ),
            Claim(
                "with eps1 about a tenth any eps2 from one to ten times eps1 does",
                all(each.tells_apart for each in recommended),
                f"those that do: {pair_words([each for each in recommended if each.tells_apart])}",
                main=False,
            ),
            Claim(
                "there are thresholds that split incongruent clients right and leave congruent ones together",
                bool(apart),
                f"{len(apart)} of {len(grid)} pairs, eps1 from {min(SHARES):g} to {max(SHARES):g} of the largest mean "
                f"update, do: {pair_words(apart)}",
                main=False,
            ),
        ),
        series=series,
        notes=(
            "The mean update comes down to these percentages of its largest, run by run: "
            + "; ".join(f"{world} {words}" for world, words in lowest.items())
            + ". It is largest in rounds "
            + ", ".join(
                str(run.rounds[run.mean_norms.index(run.largest_mean)]) for each in runs.values() for run in each
            )
            + ": over the run or so far is the same from then on.",
        ),
    )


ITEM = Item(
    name="cfl-thresholds",
    paper=PAPER,
    title="Section V-B's thresholds eps1 and eps2: which of them tell incongruent from congruent clients",
    differences=(
        "The paper recommends thresholds after two clients were watched, and says nothing of others. Ours are 20 "
        "clients with 500 images of MNIST each, incongruent by permuted labels in four groups or congruent, a "
        "perceptron with 32 units, 1,000 rounds as in figure 8 (small scale: 60), three seeds; every pair of "
        "thresholds is tried on the same runs, up to the first split. A first result had 300 rounds, after which the "
        "mean update of incongruent clients was at 12 to 15 % of its largest: eps1 at a tenth had split none of them."
    ),
    rule=(
        "About a tenth: 0.08, 0.1 or 0.12. A pair of thresholds does it if it does in all runs of both worlds. A split "
        "is right if the separation gap is over 0 then; congruent clients are not split if that holds to the run's end."
    ),
    settings=settings,
    read=read,
)
