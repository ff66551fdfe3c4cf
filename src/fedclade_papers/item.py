"""What an item is: one table or figure of a paper.

It names the runs that it needs as settings: a world, a net, and the methods that are run on it. Items that name the
same setting share its runs. When they are there the item reads them, and gives lines (what is printed beside what we
have), claims (what the paper says of them, true here or not) and series (what a figure draws).
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from fedclade_papers.run_results import ItemRuns

Scale = Literal["tiny", "small", "paper"]
"""tiny: two rounds, to see that everything runs; small: under 45 minutes in all; paper: the printed settings."""
PlanTable = Mapping[str, object]


@dataclass(frozen=True)
class Terms:
    """How a reproduction is asked for."""

    folder: Path
    """Where runs, encoders and results go."""
    scale: Scale = "small"
    published: bool = False
    """As the authors' code does it, where that differs from the paper."""

    @property
    def is_full_scale(self) -> bool:
        """Whether the printed settings are asked for."""
        return self.scale == "paper"

    @property
    def name(self) -> str:
        """The folder of its runs and results."""
        return f"{self.scale}-as-published" if self.published else self.scale


@dataclass(frozen=True)
class EncoderRecipe:
    """An encoder that must be there before runs begin."""

    name: str
    """Of its file, without the suffix."""
    sources: tuple[str, ...]
    """Data sets; it learns to restore their training images."""
    epochs: int
    images: int = 0
    """Number of images, drawn at random; 0: all."""
    classes: Mapping[str, tuple[int, ...]] = field(default_factory=dict, hash=False)
    """Classes to take of a source; all of a source that is not named."""
    minutes: float = 0.0
    """Training time on two cores; 0: estimated from its images and epochs."""


@dataclass(frozen=True, kw_only=True)
class NetworkRecipe:
    """An attention network of ABC that must be there before runs begin; it watches clients under the mix 2C-1."""

    name: str
    """Of its file, without the suffix."""
    source: str
    clients: int
    examples: int
    """Of each client, its test part included, as many as in a session."""
    steps: int
    """Between two communications."""
    lr: float
    rounds: int
    epochs: int
    seed: int = 1000
    """Of the clients that it watches. Sessions have seeds from 0: it is never tested on clients that it has watched."""
    minutes: float = 0.0
    """Training time on two cores; 0: estimated from clients, rounds, steps and epochs."""


WeightRecipe = EncoderRecipe | NetworkRecipe


def recipe_fields(recipe: WeightRecipe) -> dict[str, object]:
    """All that the weights depend on."""
    return {name: value for name, value in asdict(recipe).items() if name != "minutes"}


def file_stem(recipe: WeightRecipe) -> str:
    """Its name, and eight hexadecimal digits that are others for another recipe."""
    whole = json.dumps(recipe_fields(recipe), sort_keys=True)
    return f"{recipe.name}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One experiment, and the methods that are run on it."""

    name: str
    """Its folder; another setting has another name."""
    data: PlanTable
    net: PlanTable
    local: PlanTable
    run: PlanTable
    methods: Mapping[str, PlanTable]
    """The paper's name of each one, and its [method]."""
    overrides: Mapping[str, Mapping[str, PlanTable]] = field(default_factory=dict)
    """Other values of [local] and [run] for single methods, by name."""
    seeds: int = 1
    minutes: float = 0.0
    """Time of all its runs on two idle cores."""
    encoders: tuple[EncoderRecipe, ...] = ()
    networks: tuple[NetworkRecipe, ...] = ()

    @property
    def weights(self) -> tuple[WeightRecipe, ...]:
        """All weights that must be there before its runs begin."""
        return *self.encoders, *self.networks


@dataclass(frozen=True, kw_only=True)
class ResultLine:
    """One number of an item: printed, and ours. It is shown; claims decide."""

    row: str
    column: str
    printed: float | None
    """None: the paper does not print it; infinity: it prints that there is none ("not converged")."""
    ours: float | None
    deviation: float = 0.0
    """Standard deviation of ours over seeds."""


@dataclass(frozen=True)
class Claim:
    """A statement on numbers, in one sentence; the same sentence at every scale and in every reading."""

    text: str
    holds: bool
    evidence: str
    """The numbers here that show whether it holds."""
    main: bool = True
    """Whether the item stands or falls with it: the paper's own method against what is printed or FedAvg."""
    by_paper: bool = True
    """Whether the paper says it; otherwise it is said of what fedclade has beside it, and not counted."""


Series = Mapping[str, Mapping[str, object]]
"""What a figure draws: for each curve its "x" and "y", for each picture its "matrix" and the "order" of its clients."""


@dataclass(frozen=True)
class Outcome:
    """The result of reading an item's runs."""

    lines: tuple[ResultLine, ...] = ()
    claims: tuple[Claim, ...] = ()
    series: Series = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """Remarks for the reader."""


def no_settings(_: Terms) -> tuple[Setting, ...]:
    """Those of an item that is computed and needs no run."""
    return ()


@dataclass(frozen=True, kw_only=True)
class Item:
    """One table or figure."""

    name: str
    """`flt-table1`"""
    paper: str
    title: str
    """Its content, in one sentence."""
    differences: str
    """How our data and recipe differ from the paper's."""
    rule: str = ""
    """What its claims mean by "far" or "converged", where their sentences do not say."""
    read: "Callable[[ItemRuns], Outcome]"
    missing: str = ""
    """What the paper's experiment needs and is not to be had: the item cannot be tested here; empty: nothing."""
    settings: Callable[[Terms], tuple[Setting, ...]] = no_settings
    parts: tuple[str, ...] = ()
    """Words in its settings' names, by which a part of it can be asked for: `flt-table1:mnist`."""
    minutes: Mapping[Scale, float] = field(default_factory=dict)
    """Time of reading on two cores, without the runs; where it is more than a few seconds."""
