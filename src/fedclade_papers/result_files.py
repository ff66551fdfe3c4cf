"""Results as files: plain data, Markdown, and one HTML page that works offline."""

import base64
import html
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from fedclade.report.palette import css_properties
from fedclade.store.durable_files import write_file
from fedclade_papers.item import Claim, Item, Outcome, ResultLine

Result = Mapping[str, object]
HOLDS = {True: "holds", False: "<b>does not hold</b>"}
PICTURES = {"svg": "svg+xml", "png": "png"}  # by the ends of their files
HEADINGS = ("method or case", "measured", "printed", "ours", "difference")
REMARKS = {"missing": "Not testable here for want of", "differs": "What differs from the paper", "rule": "Words"}
STYLE = (
    css_properties()
    + "body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);max-width:1000px;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "th,td{padding:.3rem .8rem;text-align:right;border-bottom:1px solid var(--line)}"
    "th:first-child,td:first-child,th:nth-child(2),td:nth-child(2){text-align:left}"
    "td:last-child{white-space:nowrap}img{max-width:100%}"
    ".small{color:var(--soft);font-size:.875rem}"
)


def as_data(item: Item, outcome: Outcome) -> dict[str, object]:
    """An item and its outcome as plain data."""
    return {
        "item": item.name,
        "paper": item.paper,
        "title": item.title,
        "rule": item.rule,
        "differs": item.differences,
        "missing": item.missing,
        "lines": [line_data(line) for line in outcome.lines],
        "claims": [claim_data(claim) for claim in outcome.claims],
        "series": {name: dict(curve) for name, curve in outcome.series.items()},
        "notes": list(outcome.notes),
    }


def line_data(line: ResultLine) -> dict[str, object]:
    """One number. `never` stands for a number that is not reached."""
    return {
        "row": line.row,
        "column": line.column,
        "printed": json_number(line.printed),
        "ours": json_number(line.ours),
        "deviation": json_number(line.deviation),
    }


def claim_data(claim: Claim) -> dict[str, object]:
    """One claim."""
    return {
        "claim": claim.text,
        "holds": claim.holds,
        "seen": claim.evidence,
        "main": claim.main,
        "by_paper": claim.by_paper,
    }


def outcome_text(result: Result) -> str:
    """How many of its main claims hold; below the printed size that is no verdict."""
    held = [bool(claim["holds"]) for claim in as_tables(result["claims"]) if claim["main"]]
    if not held:
        return "no claims"
    said = f"{sum(held)} of {len(held)} main claims hold"
    if result["scale"] != "paper":
        return f"{said}; no verdict at this scale"
    return said + (", by the authors' code" if result["as_published"] else "")


def difference(line: Mapping[str, object]) -> float | None:
    """Ours less the printed number, where both are numbers."""
    printed, ours = line["printed"], line["ours"]
    return ours - printed if isinstance(printed, int | float) and isinstance(ours, int | float) else None


def json_number(value: float | None) -> float | str | None:
    """A number for JSON."""
    if value is None or math.isnan(value):
        return None
    return "never" if math.isinf(value) else value


def write_all(results: Sequence[Result], folder: Path) -> None:
    """Write all results as results.md, results.json and results.html."""
    folder.mkdir(parents=True, exist_ok=True)
    sections = "\n".join(markdown(result) for result in results)
    text = f"# The papers' tables and figures, printed and ours\n\n{overview(results)}\n{sections}"
    write_file(folder / "results.md", text.encode())
    write_file(folder / "results.json", json.dumps({"items": list(results)}, allow_nan=False).encode())
    body = "\n".join(
        [contents(results), *(section(result, pictures_html(folder / "results", result)) for result in results)]
    )
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>fedclade: the papers, printed and ours'
        f"</title><style>{STYLE}</style></head><body>\n<h1>The papers' tables and figures, printed and ours</h1>\n"
        f"{body}\n</body></html>\n"
    )
    write_file(folder / "results.html", page.encode())


def overview(results: Sequence[Result]) -> str:
    """One line for each item, as Markdown."""
    rows = [
        (f"`{each['item']}`", str(each["title"]), str(each["scale"]), f"**{outcome_text(each)}**") for each in results
    ]
    return table(("item", "what it shows", "scale", "outcome"), rows)


def markdown(result: Result) -> str:
    """One item as a section of Markdown."""
    parts = [f"## {result['item']}: {result['title']}\n", f"**{outcome_text(result)}**\n", findings_markdown(result)]
    parts += [f"{words}: {result[key]}\n" for key, words in REMARKS.items() if result[key]]
    return "\n".join([*parts, command_note(result)])


def findings_markdown(result: Result) -> str:
    """Its numbers, claims and notes as Markdown."""
    parts: list[str] = []
    if lines := as_tables(result["lines"]):
        parts.append(table(HEADINGS, [cells(line) for line in lines]))
    for claim in as_tables(result["claims"]):
        sign = "holds" if claim["holds"] else "**does not hold**"
        parts.append(f"- {claim_kind(claim)}, {sign}: {claim['claim']} ({claim['seen']})")
    notes = [f"\nNote: {note}" for note in as_list(result["notes"])]
    return "\n".join([*parts, *notes]) + "\n"


def command_note(result: Result) -> str:
    """The command that makes it again, and its cost."""
    return f"Made by `{result['command']}`, {cost_text(result)}.\n"


def stem_of(result: Result) -> str:
    """The name of a result's files, without the suffix."""
    return str(result["item"]).replace(":", "-")


def pictures_html(folder: Path, result: Result) -> str:
    """The plots of a result, embedded in the page so that it works offline."""
    files = {kind: folder / f"{stem_of(result)}.{end}" for end, kind in PICTURES.items()}
    return "".join(
        f'<p><img alt="{safe(result["title"])}" src="data:image/{kind};base64,'
        f'{base64.b64encode(path.read_bytes()).decode()}"></p>'
        for kind, path in files.items()
        if path.is_file()
    )


def safe(value: object) -> str:
    """The value as text of a page, escaped."""
    return html.escape(str(value))


def contents(results: Sequence[Result]) -> str:
    """One line for each item, as HTML."""
    rows = "".join(
        f'<tr><td><a href="#{safe(each["item"])}">{safe(each["item"])}</a></td><td>{safe(each["title"])}</td>'
        f"<td><b>{safe(outcome_text(each))}</b></td></tr>"
        for each in results
    )
    head = "<tr><th>item</th><th>what it shows</th><th>outcome</th></tr>"
    return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"


def section(result: Result, pictures: str = "") -> str:
    """One item as a section of HTML."""
    rows = "".join(
        "<tr>" + "".join(f"<td>{safe(cell)}</td>" for cell in cells(line)) + "</tr>"
        for line in as_tables(result["lines"])
    )
    head = "".join(f"<th>{heading}</th>" for heading in HEADINGS)
    shown = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>" if rows else ""
    claims = "".join(
        f"<li>{claim_kind(claim)}, {HOLDS[bool(claim['holds'])]}: {safe(claim['claim'])} ({safe(claim['seen'])})</li>"
        for claim in as_tables(result["claims"])
    )
    notes = "".join(f"<p>Note: {safe(note)}</p>" for note in as_list(result["notes"]))
    remarks = "".join(f"<p>{words}: {safe(result[key])}</p>" for key, words in REMARKS.items() if result[key])
    return (
        f'<section id="{safe(result["item"])}"><h2>{safe(result["item"])}: {safe(result["title"])}</h2>'
        f"<p><b>{safe(outcome_text(result))}</b></p>{shown}{pictures}<ul>{claims}</ul>{notes}{remarks}"
        f'<p class="small"><code>{safe(result["command"])}</code>, {safe(cost_text(result))}</p></section>'
    )


def claim_kind(claim: Mapping[str, object]) -> str:
    """Whose claim it is, and whether the item stands or falls with it."""
    if not claim["by_paper"]:
        return "fedclade's own"
    return "main claim" if claim["main"] else "beside it"


def cost_text(result: Result) -> str:
    """Its seeds and its cost."""
    seconds = result["run_cpu_seconds"]
    here = result["cpu_seconds_here"]
    assert isinstance(seconds, int | float)
    assert isinstance(here, int | float)
    wall = result["seconds"]
    assert isinstance(wall, int | float)
    seeds = as_list(result["seeds"])
    text = f"seeds {', '.join(str(seed) for seed in seeds)}, {max(seconds, here):.0f} s of processor time"
    whole = here >= max(seconds, 1.0)  # otherwise some of its runs were made for another item, or before
    return text + (f", {wall:.0f} s in all" if whole else "")


def cells(line: Mapping[str, object]) -> tuple[str, ...]:
    """One number of an item, under HEADINGS."""
    spread = line["deviation"]
    ours = number_text(line["ours"])
    if isinstance(spread, float) and spread > 0:
        ours += f" ± {number_text(spread)}"
    apart = difference(line)
    return (
        str(line["row"]),
        str(line["column"]),
        number_text(line["printed"]),
        ours,
        "-" if apart is None else f"{apart:+.2f}",
    )


def number_text(value: object) -> str:
    """A number with as many digits as it needs."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "-" if value is None else str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.2f}"


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = ["| " + " | ".join(headings) + " |", "| " + " | ".join("---" for _ in headings) + " |"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def as_tables(value: object) -> list[dict[str, object]]:
    """A list of tables."""
    assert isinstance(value, list)
    return value


def as_list(value: object) -> list[object]:
    """A list of plain values."""
    assert isinstance(value, list)
    return value
