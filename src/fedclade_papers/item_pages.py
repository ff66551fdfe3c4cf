"""One short page for each item: its verdict, its claims, its numbers by the text and by the authors' code."""

from collections.abc import Mapping, Sequence

from fedclade_papers.expected_times import duration_text
from fedclade_papers.registry import ITEMS
from fedclade_papers.result_files import as_list, as_tables, cost_text, number_text, table
from fedclade_papers.verdict_units import READINGS, JudgedClaim, Unit
from fedclade_papers.verdicts import Reading

READING_NAMES: dict[Reading, str] = {"text": "by the text", "code": "by the authors' code"}


def item_page(units: Sequence[Unit]) -> str:
    """The page of one item, from all of its parts."""
    item = ITEMS[units[0].whole_name]
    parts = [f"# {item.name}: {item.title}\n", "[All results](../results.md)\n"]
    parts += [part_section(unit, alone=len(units) == 1) for unit in units]
    if item.missing:
        parts.append(f"## What is missing\n\n{capital(item.missing)}.\n")
    parts.append(f"## What differs from the paper\n\n{item.differences}\n")
    if item.rule:
        parts.append(f"Words: {item.rule}\n")
    return "\n".join(parts)


def part_section(unit: Unit, *, alone: bool) -> str:
    """One part: its verdict, claims, numbers and pictures, and how it was made."""
    head = "" if alone else f"## {unit.name.partition(':')[2]}\n\n"
    parts = [f"{head}**{verdict_text(unit)}**\n"]
    if not unit.results:
        command = f"fedclade reproduce {unit.name} --scale paper"
        return "\n".join([*parts, f"Not run at the printed size yet: `{command}`, about {hours_text(unit)}.\n"])
    readings = [reading for reading in READINGS if reading in unit.results]
    names = [READING_NAMES[reading] for reading in readings]
    if unit.claims:
        rows = [
            (claim_text(each), each.verdict, *(each.seen.get(one, "-") for one in readings)) for each in unit.claims
        ]
        parts.append(table(("claim", "verdict", *names), rows))
    if rows := number_rows(unit, readings):
        parts.append(table(("method or case", "measured", "printed", *names), rows))
    for reading in readings:
        result = unit.results[reading]
        parts += [f"![{result['title']}, {READING_NAMES[reading]}]({name})\n" for name in as_list(result["pictures"])]
        parts += [f"Note: {note}\n" for note in as_list(result["notes"])]
        parts.append(f"{capital(READING_NAMES[reading])}: `{result['command']}`, {cost_text(result)}.\n")
    return "\n".join(parts)


def verdict_text(unit: Unit) -> str:
    """Its verdict; of an open one with the hours that it takes."""
    return f"{unit.verdict}, {hours_text(unit)}" if unit.verdict == "open" else unit.verdict


def hours_text(unit: Unit) -> str:
    """How long it takes on two cores."""
    return f"{duration_text(60 * unit.hours)} on two cores"


def claim_text(claim: JudgedClaim) -> str:
    """The claim, and whether the item stands or falls with it."""
    if not claim.is_by_paper:
        return f"fedclade's own: {claim.text}"
    return f"**{claim.text}**" if claim.is_main else claim.text


def number_rows(unit: Unit, readings: Sequence[Reading]) -> list[tuple[str, ...]]:
    """Every number: printed, and ours in each reading."""
    found: dict[tuple[str, str], dict[Reading, Mapping[str, object]]] = {}
    for reading in readings:
        for line in as_tables(unit.results[reading]["lines"]):
            found.setdefault((str(line["row"]), str(line["column"])), {})[reading] = line
    return [
        (
            row,
            column,
            number_text(next(iter(seen.values()))["printed"]),
            *(with_deviation(seen.get(reading)) for reading in readings),
        )
        for (row, column), seen in found.items()
    ]


def with_deviation(line: Mapping[str, object] | None) -> str:
    """Our number, and its standard deviation over seeds."""
    if line is None:
        return "-"
    spread = line["deviation"]
    more = f" ± {number_text(spread)}" if isinstance(spread, float) and spread > 0 else ""
    return number_text(line["ours"]) + more


def capital(text: str) -> str:
    """The text with a capital letter at its beginning."""
    return text[:1].upper() + text[1:]
