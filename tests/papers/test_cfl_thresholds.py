"""Section V-B's thresholds: swept by hand, on norms made up by hand, and against runs of CFL that do split."""

from collections.abc import Sequence
from pathlib import Path

import pytest

import fedclade as fc
from fedclade.api import Settings
from fedclade.data import Federation
from fedclade.store.events import RoundEvent
from fedclade_papers import cfl_thresholds
from fedclade_papers.cfl import cluster_norms, split_rounds
from fedclade_papers.cfl_thresholds import NEVER, WatchedRun, first_split
from fedclade_papers.run_results import RoundFacts
from papers.doubles import Facts, check, ran, runs_of, shown

MEANS, LARGEST = [1.0, 0.5, 0.2, 0.1], [2.0, 1.5, 1.0, 1.2]


@pytest.mark.parametrize(
    ("eps1", "eps2", "place"),
    [
        (0.6, 1.4, 1),
        (0.6, 1.5, None),  # over eps2, not at it; and the last client's 1.2 is less
        (0.6, 1.1, 1),
        (0.5, 1.1, 3),  # under eps1, not at it: round 3 is the first, but 1.0 is not over 1.1
        (0.5, 0.9, 2),
        (0.1, 0.0, None),
    ],
)
def test_the_first_split(eps1: float, eps2: float, place: int | None) -> None:
    """Algorithm 5, line 14: the mean is under eps1 and a client over eps2, both in one round."""
    assert first_split(MEANS, LARGEST, eps1, eps2) == place


def test_thresholds_are_shares_of_the_largest_mean() -> None:
    """The largest mean is 2, in the second round: a tenth is 0.2, and six times that 1.2."""
    run = WatchedRun((1, 2, 3, 4), (1.0, 2.0, 0.19, 0.1), (3.0, 3.0, 1.1, 1.3), (0.5, 0.5, 0.5, -0.1))
    assert run.split(0.1, 6) == (4, False)
    assert run.split(0.1, 5) == (3, True)
    assert run.split(0.1, 7) == (NEVER, False)


SPLITTING: Settings = {"rounds": 12, "participation": 1.0, "epochs": 2, "batch": 24, "lr": 0.4, "workers": 0}


def facts_of(run: fc.Run) -> list[tuple[int, RoundFacts]]:
    return [(event.round, event.facts) for event in run.folder.events(RoundEvent)]


def test_a_run_that_never_splits_tells_when_others_would(two_groups: Federation, tmp_path: Path) -> None:
    """Each pair of thresholds is run for real: its first split is where the norms of the one watched run have it."""
    never = fc.train(two_groups, fc.CFL(rule="absolute"), net="logistic", out=tmp_path / "never", **SPLITTING)
    watched = facts_of(never)
    means, largest = cluster_norms(watched, "mean_norm"), cluster_norms(watched, "largest_norm")
    assert means.index(max(means)) == 0  # from round 1 on the largest so far is the largest of the run
    seen = set()
    for number, (share, times) in enumerate(((0.9, 1.0), (0.5, 4.0), (0.3, 2.0), (0.3, 50.0))):
        eps1 = share * max(means)
        place = first_split(means, largest, eps1, times * eps1)
        absolute = fc.CFL(rule="absolute", eps1=eps1, eps2=times * eps1)
        paper = fc.CFL(rule="paper", eps1_share=share, eps2_times=times)
        for method in (absolute, paper):
            out = tmp_path / f"{method.rule}-{number}"
            splits = split_rounds(facts_of(fc.train(two_groups, method, net="logistic", out=out, **SPLITTING)))
            assert splits[:1] == ([] if place is None else [watched[place][0]])
        seen.add(place)
    assert None in seen
    assert len(seen) > 2, "too easy: the pairs split in one round"


def watched_facts(means: Sequence[float], largest: Sequence[float], gap: float = 0.2) -> Facts:
    """Facts of one cluster in rounds 1, 2, ..."""
    return {
        number: {"clusters": [{"mean_norm": mean, "largest_norm": most}], "separation_gaps": [gap]}
        for number, (mean, most) in enumerate(zip(means, largest, strict=True), 1)
    }


RECOMMENDED, ANY, THERE_ARE = "an eps2 from one to ten", "any eps2 from one", "there are thresholds"
STAGNATES = watched_facts([4.0, 1.0, 0.3], [6.0, 6.0, 6.0])  # a tenth of 4 is 0.4: round 3, with any eps2 up to 4
GOES_DOWN = watched_facts([4.0, 1.0, 0.3], [6.0, 1.0, 0.3])  # under 0.4 with the mean: never over eps2


@pytest.mark.parametrize(
    ("incongruent", "congruent", "fails"),
    [
        (STAGNATES, GOES_DOWN, []),
        # A congruent client of 1: eps1 is 0.08 * 4 = 0.32. It is over three times that, 0.96, and under four times.
        (STAGNATES, watched_facts([4.0, 1.0, 0.3], [6.0, 1.0, 1.0]), [ANY]),
        # The mean stays at a fifth: only eps1 over that does.
        (watched_facts([4.0, 1.0, 0.8], [6.0, 6.0, 6.0]), GOES_DOWN, [RECOMMENDED, ANY]),
        # Split, and wrong.
        (watched_facts([4.0, 1.0, 0.3], [6.0, 6.0, 6.0], gap=-0.1), GOES_DOWN, [RECOMMENDED, ANY, THERE_ARE]),
        # Both worlds are the same.
        (STAGNATES, STAGNATES, [RECOMMENDED, ANY, THERE_ARE]),
    ],
)
def test_claims(incongruent: Facts, congruent: Facts, fails: list[str], tmp_path: Path) -> None:
    found = runs_of(tmp_path, cfl_thresholds.ITEM)
    for world, facts in (("incongruent", incongruent), ("congruent", congruent)):
        ran(found, f"thresholds-{world}", "watched", facts=facts)
    check(cfl_thresholds.ITEM.read(found), *fails)


def test_one_seed_that_is_split_wrong_is_enough(tmp_path: Path) -> None:
    """Pairs must do in all runs. Lines have the round in the middle; curves are those of the first seed."""
    found = runs_of(tmp_path, cfl_thresholds.ITEM)
    ran(found, "thresholds-incongruent", "watched", facts=STAGNATES)
    ran(found, "thresholds-congruent", "watched", facts=GOES_DOWN)
    ran(found, "thresholds-congruent", "watched", seeds=[2], facts=STAGNATES)
    outcome = cfl_thresholds.ITEM.read(found)
    check(outcome, RECOMMENDED, ANY, THERE_ARE)
    assert shown(outcome, "eps2 = 6 eps1", "incongruent: round of the first split") == (None, 3)
    assert shown(outcome, "eps2 = 6 eps1", "congruent: round of the first split") == (None, NEVER)
    assert "3 of 3 incongruent runs split right (rounds 3, 3, 3)" in outcome.claims[0].evidence
    assert "1 of 3 congruent ones split (rounds -, -, 3)" in outcome.claims[0].evidence
    assert outcome.series["congruent, largest norm of a client"] == {"x": [1, 2, 3], "y": [6.0, 1.0, 0.3]}
