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
    from fedclade.papers.found import Found

Scale = Literal["tiny", "small", "paper"]
"""tiny: two rounds, to see that everything runs; small: under 45 minutes in all; paper: the printed settings."""
Table = Mapping[str, object]
Verdict = Literal["reproduced", "same direction", "not reproduced", ""]
"""Empty: there is nothing printed to compare with."""


@dataclass(frozen=True)
class Terms:
    """How a reproduction is asked for."""

    folder: Path
    """Where runs, encoders and results go."""
    scale: Scale = "small"
    published: bool = False
    """As the authors' code does it, where that is not what the paper says."""

    @property
    def whole(self) -> bool:
        """Whether the printed settings are asked for."""
        return self.scale == "paper"

    @property
    def name(self) -> str:
        """The folder of such runs, and what a result is called."""
        return f"{self.scale}-as-published" if self.published else self.scale


@dataclass(frozen=True)
class Pretrained:
    """An encoder that must be there before runs begin."""

    name: str
    """Of its file, without the suffix."""
    sources: tuple[str, ...]
    """Whose training images it learns to restore."""
    epochs: int
    images: int = 0
    """So many of them, drawn at random; 0: all."""
    classes: Mapping[str, tuple[int, ...]] = field(default_factory=dict, hash=False)
    """Of a source only these classes; all where nothing is said."""
    minutes: float = 0.0
    """What training takes on two cores; 0: by its images and epochs."""


@dataclass(frozen=True, kw_only=True)
class Attending:
    """An attention network of ABC that must be there before runs begin; it watches clients under the mix 2C-1."""

    name: str
    """Of its file, without the suffix."""
    source: str
    clients: int
    examples: int
    """Of each client, its test part included, as the world of a session counts them: both learn from as many."""
    steps: int
    """Between two communications."""
    rounds: int
    epochs: int
    seed: int = 1000
    """Of the clients that it watches. Sessions begin at 0: it is never judged on clients that it has watched."""
    minutes: float = 0.0
    """What training takes on two cores; 0: by what it watches and its epochs."""


def described(made: Pretrained | Attending) -> dict[str, object]:
    """Everything that its weights depend on."""
    return {name: value for name, value in asdict(made).items() if name != "minutes"}


def keyed(made: Pretrained | Attending) -> str:
    """Its name, and eight letters by which a file of another recipe is known to be another one."""
    whole = json.dumps(described(made), sort_keys=True)
    return f"{made.name}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One experiment, and the methods that are run on it."""

    name: str
    """Its folder; another setting has another name."""
    data: Table
    net: Table
    local: Table
    run: Table
    methods: Mapping[str, Table]
    """What the paper calls each one, and its [method]."""
    others: Mapping[str, Mapping[str, Table]] = field(default_factory=dict)
    """Where a method is not run like the others: other values of [local] and [run], by what it is called."""
    seeds: int = 1
    minutes: float = 0.0
    """What all of its runs take on two cores that nobody else uses."""
    encoders: tuple[Pretrained, ...] = ()
    networks: tuple[Attending, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Line:
    """One number of an item: printed, and ours."""

    row: str
    column: str
    printed: float | None
    """None: the paper does not print it; infinity: it prints that there is none ("not converged")."""
    ours: float | None
    deviation: float = 0.0
    """Standard deviation of ours over seeds."""
    tolerance: float = 0.0
    """Reproduced if it is no further from the printed one."""
    other: tuple[float, float] | None = None
    """The number that this one is to be compared with, printed and ours: for its direction."""
    equal: float = 0.0
    """Two numbers that are no further apart have no direction."""
    aside: bool = False
    """Whether it is left out of the item's verdict."""


@dataclass(frozen=True)
class Claim:
    """Something that the paper says of its numbers, in one sentence."""

    text: str
    holds: bool
    told: str
    """What we saw."""
    main: bool = True
    """Whether the item stands or falls with it."""


Series = Mapping[str, Mapping[str, object]]
"""What a figure draws: for each curve its "x" and "y", for each picture its "matrix" and the "order" of its clients."""


@dataclass(frozen=True)
class Outcome:
    """What an item came to."""

    lines: tuple[Line, ...] = ()
    claims: tuple[Claim, ...] = ()
    series: Series = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What a reader should know beside it."""


def no_settings(_: Terms) -> tuple[Setting, ...]:
    """Of an item that is computed, and needs no run."""
    return ()


@dataclass(frozen=True, kw_only=True)
class Item:
    """One table or figure."""

    name: str
    """`flt-table1`"""
    paper: str
    title: str
    """What it shows, in one sentence."""
    differs: str
    """What is otherwise in our data or recipe than in the paper."""
    rule: str
    """How its verdict is found; what was changed after a result was seen is listed on the page of results."""
    read: "Callable[[Found], Outcome]"
    settings: Callable[[Terms], tuple[Setting, ...]] = no_settings
    parts: tuple[str, ...] = ()
    """Words in its settings' names, by which a part of it can be asked for: `flt-table1:mnist`."""
    minutes: Mapping[Scale, float] = field(default_factory=dict)
    """What reading takes on two cores, beside the runs; where it is more than a few seconds."""
