"""Results as files: plain data, Markdown, and one HTML page that works offline."""

import base64
import html
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from fedclade.report.palette import css_properties
from fedclade.store.durable_files import write_file
from fedclade_papers.attempts import ATTEMPTS
from fedclade_papers.item import Claim, Item, Outcome, ResultLine
from fedclade_papers.verdicts import line_verdict, outcome_verdict

Result = Mapping[str, object]
HOLDS = {True: "holds", False: "<b>does not hold</b>"}
MAIN = {True: "main claim", False: "beside it"}
PICTURES = {"svg": "svg+xml", "png": "png"}  # by the ends of their files
HEADINGS = ("method or case", "measured", "printed", "ours", "difference", "verdict")
STYLE = (
    css_properties()
    + "body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);max-width:1000px;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "th,td{padding:.3rem .8rem;text-align:right;border-bottom:1px solid var(--line)}"
    "th:first-child,td:first-child,th:nth-child(2),td:nth-child(2){text-align:left}"
    "td:last-child{white-space:nowrap}img{max-width:100%}"
    ".small{color:var(--soft);font-size:.875rem}"
)


def as_data(item: Item, outcome: Outcome, *, with_verdict: bool = True) -> dict[str, object]:
    """An item and its outcome as plain data."""
    return {
        "item": item.name,
        "paper": item.paper,
        "title": item.title,
        "verdict": outcome_verdict(outcome) if with_verdict else "",
        "rule": item.rule,
        "differs": item.differences,
        "lines": [line_data(line) | ({} if with_verdict else {"verdict": ""}) for line in outcome.lines],
        "claims": [claim_data(claim) for claim in outcome.claims],
        "series": {name: dict(curve) for name, curve in outcome.series.items()},
        "notes": list(outcome.notes),
    }


def line_data(line: ResultLine) -> dict[str, object]:
    """One number. `never` stands for a number that is not reached."""
    apart = None if line.printed is None or line.ours is None else line.ours - line.printed
    return {
        "row": line.row,
        "column": line.column,
        "printed": json_number(line.printed),
        "ours": json_number(line.ours),
        "deviation": json_number(line.deviation),
        "difference": apart if apart is not None and math.isfinite(apart) else None,
        "tolerance": line.tolerance,
        "verdict": line_verdict(line),
        "counts": not line.is_excluded,
    }


def claim_data(claim: Claim) -> dict[str, object]:
    """One claim."""
    return {"claim": claim.text, "holds": claim.holds, "seen": claim.evidence, "main": claim.main}


def verdict_of(result: Result) -> str:
    """Its verdict in words."""
    if result["verdict"]:
        return str(result["verdict"])
    return "no verdict at this scale" if result["scale"] == "tiny" else "no verdict"


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
        (f"`{each['item']}`", str(each["title"]), str(each["scale"]), f"**{verdict_of(each)}**") for each in results
    ]
    return table(("item", "what it shows", "scale", "verdict"), rows)


def markdown(result: Result) -> str:
    """One item as a section of Markdown."""
    parts = [f"## {result['item']}: {result['title']}\n", f"**{verdict_of(result)}**\n", findings_markdown(result)]
    if tried := attempts_for(result):
        parts.append(f"What was tried: {tried}\n")
    parts.append(f"What differs from the paper: {result['differs']}\n")
    parts.append(f"Rule: {result['rule']}\n")
    return "\n".join([*parts, command_note(result)])


def findings_markdown(result: Result) -> str:
    """Its numbers, claims and notes as Markdown."""
    parts: list[str] = []
    if lines := as_tables(result["lines"]):
        parts.append(table(HEADINGS, [cells(line) for line in lines]))
    for claim in as_tables(result["claims"]):
        sign = "holds" if claim["holds"] else "**does not hold**"
        parts.append(f"- {MAIN[bool(claim['main'])]}, {sign}: {claim['claim']} ({claim['seen']})")
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
        f"<td><b>{safe(verdict_of(each))}</b></td></tr>"
        for each in results
    )
    head = "<tr><th>item</th><th>what it shows</th><th>verdict</th></tr>"
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
        f"<li>{MAIN[bool(claim['main'])]}, {HOLDS[bool(claim['holds'])]}: "
        f"{safe(claim['claim'])} ({safe(claim['seen'])})</li>"
        for claim in as_tables(result["claims"])
    )
    notes = "".join(f"<p>Note: {safe(note)}</p>" for note in as_list(result["notes"]))
    tried = f"<p>What was tried: {safe(attempts_for(result))}</p>" if attempts_for(result) else ""
    return (
        f'<section id="{safe(result["item"])}"><h2>{safe(result["item"])}: {safe(result["title"])}</h2>'
        f"<p><b>{safe(verdict_of(result))}</b></p>{shown}{pictures}<ul>{claims}</ul>{notes}"
        f"{tried}<p>What differs from the paper: {safe(result['differs'])}</p>"
        f'<p class="small">Rule: {safe(result["rule"])}</p>'
        f'<p class="small"><code>{safe(result["command"])}</code>, {safe(cost_text(result))}</p></section>'
    )


def attempts_for(result: Result) -> str:
    """What was tried to reproduce the item; empty for one that is reproduced."""
    if result["verdict"] == "reproduced":
        return ""
    name = str(result["item"])
    whole = name.partition(":")[0]
    if result["as_published"]:
        return ATTEMPTS.get(f"{whole}, as published", "")
    return ATTEMPTS.get(name) or ATTEMPTS.get(whole, "")


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
    difference, verdict = line["difference"], str(line["verdict"]) or "-"
    apart = f"{difference:+.2f}" if isinstance(difference, int | float) else "-"
    return (
        str(line["row"]),
        str(line["column"]),
        number_text(line["printed"]),
        ours,
        apart,
        verdict if line.get("counts", True) or verdict == "-" else f"({verdict})",
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
