"""The form of a stored result; one that lacks anything of it counts as missing."""

from dataclasses import dataclass

from pydantic import TypeAdapter

StoredNumber = float | str | None
"""`never`: a number that is not reached."""


@dataclass(frozen=True)
class StoredLine:
    """One number: printed, and ours."""

    row: str
    column: str
    printed: StoredNumber
    ours: StoredNumber
    deviation: StoredNumber


@dataclass(frozen=True)
class StoredClaim:
    """A statement of the paper."""

    claim: str
    holds: bool
    seen: str
    main: bool
    by_paper: bool


@dataclass(frozen=True)
class StoredCurve:
    """One line of a figure."""

    x: list[float]
    y: list[float | None]


@dataclass(frozen=True)
class StoredMatrix:
    """One matrix of a figure."""

    matrix: list[list[float]]


@dataclass(frozen=True)
class StoredResult:
    """One item."""

    item: str
    paper: str
    title: str
    rule: str
    differs: str
    missing: str
    lines: list[StoredLine]
    claims: list[StoredClaim]
    series: dict[str, StoredCurve | StoredMatrix]
    notes: list[str]
    scale: str
    as_published: bool
    command: str
    seeds: list[int]
    run_cpu_seconds: float
    seconds: float
    cpu_seconds_here: float


RESULT_ADAPTER: TypeAdapter[StoredResult] = TypeAdapter(StoredResult)
