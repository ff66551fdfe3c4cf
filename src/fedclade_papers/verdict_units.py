"""What came of every item, or part of one, from its stored results in both readings at the printed size."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fedclade_papers.expected_times import minutes_of
from fedclade_papers.item import Item, Terms
from fedclade_papers.published_readings import differs_as_published
from fedclade_papers.registry import ITEMS, item_named
from fedclade_papers.result_files import Result, as_tables
from fedclade_papers.verdicts import Reading, Verdict, claim_verdict, worst

PRINTED_SIZE = Terms(Path(), "paper")
READINGS: tuple[Reading, ...] = ("text", "code")


@dataclass(frozen=True)
class JudgedClaim:
    """A claim, its verdict, and what was seen in each reading."""

    text: str
    is_main: bool
    is_by_paper: bool
    verdict: Verdict
    seen: Mapping[Reading, str]


@dataclass(frozen=True)
class Unit:
    """An item that is in one piece, or one part of an item, and its results."""

    item: Item
    results: Mapping[Reading, Result]

    @property
    def name(self) -> str:
        """`flt-table1:mnist`"""
        return self.item.name

    @property
    def whole_name(self) -> str:
        """`flt-table1`"""
        return self.name.partition(":")[0]

    @cached_property
    def claims(self) -> tuple[JudgedClaim, ...]:
        """Every claim once, the main ones first; none if nothing was run."""
        found: dict[str, dict[Reading, Mapping[str, object]]] = {}
        for reading, result in self.results.items():
            for claim in as_tables(result["claims"]):
                found.setdefault(str(claim["claim"]), {})[reading] = claim
        claims = [
            JudgedClaim(
                text,
                bool(first["main"]),
                bool(first["by_paper"]),
                claim_verdict(
                    {reading: bool(claim["holds"]) for reading, claim in seen.items()},
                    self.readings if first["by_paper"] else seen,
                    self.item.missing,
                ),
                {reading: str(claim["seen"]) for reading, claim in seen.items()},
            )
            for text, seen in found.items()
            for first in (next(iter(seen.values())),)
        ]
        return tuple(sorted(claims, key=lambda claim: (not claim.is_by_paper, not claim.is_main)))

    @cached_property
    def verdict(self) -> Verdict:
        """Its verdict: that of the worst of the paper's main claims."""
        if self.item.missing:
            return "not testable here"
        return worst(claim.verdict for claim in self.claims if claim.is_main and claim.is_by_paper)

    @cached_property
    def readings(self) -> tuple[Reading, ...]:
        """The readings that there are: that of the text, and the authors' code's where it does something else."""
        has_runs = bool(self.item.settings(PRINTED_SIZE))
        two = differs_as_published(self.item, PRINTED_SIZE) if has_runs else "code" in self.results
        return READINGS if two else READINGS[:1]

    @property
    def hours(self) -> float:
        """Hours on two cores for all of it at the printed size."""
        return minutes_of(self.item, PRINTED_SIZE) / 60


def units_of(results: Sequence[Result]) -> tuple[Unit, ...]:
    """All items in the order of the papers, each in its parts unless it was run as a whole."""
    found: dict[str, dict[Reading, Result]] = {}
    for result in results:
        if result["scale"] == "paper":
            found.setdefault(str(result["item"]), {})["code" if result["as_published"] else "text"] = result
    names = [
        name
        for item in ITEMS.values()
        for name in ([item.name] if item.name in found or not item.parts else part_names(item))
    ]
    return tuple(
        Unit(
            item_named(name), {reading: found[name][reading] for reading in READINGS if reading in found.get(name, {})}
        )
        for name in names
    )


def part_names(item: Item) -> Iterable[str]:
    """The names of all parts of an item."""
    return [f"{item.name}:{part}" for part in item.parts]
