"""Whether FLT's encoder sees the groups of CIFAR-10, read from links made up by hand; and once on real images."""

from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fedclade.core import Groups
from fedclade.data import SOURCES, Federation, build
from fedclade_papers import flt_cifar10_groups
from fedclade_papers.item import PlanTable, Setting, Terms
from fedclade_papers.registry import items_named
from fedclade_papers.run_results import ItemRuns
from fedclade_papers.runner import reproduce
from papers.doubles import check, shown

FIRST, SECOND = "ARI 0.9", "scenario 2"


@pytest.mark.parametrize(
    ("found_right", "fails"),
    [((True, True), []), ((True, False), [SECOND]), ((False, True), [FIRST]), ((False, False), [FIRST, SECOND])],
)
def test_groups_and_links(
    found_right: tuple[bool, bool], fails: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six clients in two groups of three: six pairs are inside the groups, nine are across.

    Right: the groups are the planted ones, and all six pairs are linked. Wrong: one client is in the other group; of
    the pairs inside, five are linked, and of those across, three. The groups of three and three and those of two and
    four agree in 3 + 1 of the 6 and 7 pairs that are together: ARI (4 - 6 x 7 / 15) / ((6 + 7) / 2 - 6 x 7 / 15).
    """
    federation = build(source="digits", world="classes", clients=6, groups=2, seed=0)
    assert federation.truth is not None
    one, other = federation.truth.members
    trained: list[str] = []
    right = dict(zip(("classes", "overlap"), found_right, strict=True))

    def setting_of(_: Terms, scenario: int, __: str) -> Setting:
        world = "classes" if scenario == 1 else "overlap"
        return Setting(
            name=world, data={"world": world}, net={}, local={}, run={}, methods={"FLT (Enc1)": {"n": world}}
        )

    def see(_: Federation, method: PlanTable) -> tuple[SimpleNamespace, np.ndarray]:
        links, place = np.eye(6, dtype=bool), {client: number for number, client in enumerate(federation.clients)}
        inside = [pair for part in (one, other) for pair in combinations(part, 2)]
        pairs, members = inside, (one, other)
        if not right[str(method["n"])]:
            pairs, members = inside[1:] + [(one[0], each) for each in other], (one[1:], (*other, one[0]))
        for a, b in pairs:
            links[place[a], place[b]] = links[place[b], place[a]] = True
        return SimpleNamespace(clients=federation.clients, partition=Groups(members)), links

    monkeypatch.setattr(flt_cifar10_groups, "make_weights", lambda recipe, _: trained.append(recipe.name))
    monkeypatch.setattr(flt_cifar10_groups, "scenario_setting", setting_of)
    monkeypatch.setattr(flt_cifar10_groups, "experiment_from", lambda _: SimpleNamespace(federation=lambda: federation))
    monkeypatch.setattr(flt_cifar10_groups, "groups_and_links", see)
    outcome = flt_cifar10_groups.ITEM.read(ItemRuns(Terms(tmp_path), ()))
    assert trained == ["enc1-cifar"]
    check(outcome, *fails)
    assert [claim.main for claim in outcome.claims] == [True, False]
    expected_pairs = 6 * 7 / 15
    for row, is_right in zip(("scenario 1", "scenario 2"), found_right, strict=True):
        expected = (1.0, 100.0, 0.0) if is_right else ((4 - expected_pairs) / (6.5 - expected_pairs), 500 / 6, 300 / 9)
        for column, value in zip(
            ("ARI", "% of pairs of a group linked", "% of other pairs linked"), expected, strict=True
        ):
            assert shown(outcome, row, column) == (None, round(value, 9))
        assert shown(outcome, row, "groups") == (None, 2)
        if is_right:
            matrix = [[1, 1, 1, 0, 0, 0]] * 3 + [[0, 0, 0, 1, 1, 1]] * 3
            assert outcome.series[row] == {"order": [*one, *other], "matrix": matrix}


@pytest.mark.slow
@pytest.mark.skipif(
    not all(SOURCES[name].is_available() for name in ("cifar10", "tiny-imagenet-10")),
    reason="CIFAR-10 or Tiny-ImageNet-10 is not here",
)
@pytest.mark.parametrize("published", [False, True])
def test_it_runs_on_real_images(published: bool, tmp_path: Path) -> None:
    """At tiny scale: it trains the encoder that its methods name, and gives five told groups, or those of the graph."""
    terms = Terms(tmp_path, "tiny", published=published)
    result = reproduce(items_named(["flt-cifar10-groups"]), terms, jobs=1)[0]
    assert len(list((tmp_path / terms.name / "encoders").glob("enc1-cifar-*.safetensors"))) == 1
    counts = [line["ours"] for line in result["lines"] if line["column"] == "groups"]  # type: ignore[attr-defined]
    assert len(counts) == 2
    if not published:
        assert counts == [5, 5]
