"""What a stored result must have to be shown; one that lacks anything of it is as good as not there."""

from dataclasses import dataclass

from pydantic import TypeAdapter

Number = float | str | None
"""`never` stands for one that is not reached."""


@dataclass(frozen=True)
class StoredLine:
    """One number: printed, and ours."""

    row: str
    column: str
    printed: Number
    ours: Number
    deviation: Number
    difference: Number
    verdict: str
    counts: bool = True


@dataclass(frozen=True)
class StoredClaim:
    """Something that the paper says."""

    claim: str
    holds: bool
    seen: str
    main: bool


@dataclass(frozen=True)
class Curve:
    """One line of a figure."""

    x: list[float]
    y: list[float | None]


@dataclass(frozen=True)
class Picture:
    """One matrix of a figure."""

    matrix: list[list[float]]


@dataclass(frozen=True)
class Stored:
    """One item."""

    item: str
    paper: str
    title: str
    verdict: str
    rule: str
    differs: str
    lines: list[StoredLine]
    claims: list[StoredClaim]
    series: dict[str, Curve | Picture]
    notes: list[str]
    scale: str
    as_published: bool
    command: str
    seeds: list[int]
    run_cpu_seconds: float
    seconds: float
    cpu_seconds_here: float


check: TypeAdapter[Stored] = TypeAdapter(Stored)
