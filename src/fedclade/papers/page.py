"""The page of results: what was measured is kept as JSON beside it, and the page is made from that alone.

python -m fedclade.papers.page docs                            make docs/results.md from docs/results/*.json
python -m fedclade.papers.page docs --add reproduced/small     take these results in first
"""

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from fedclade.papers.glossary import glossary
from fedclade.papers.pictures import pictures
from fedclade.papers.registry import place_of
from fedclade.papers.writing import Result, markdown, table, verdict_of
from fedclade.runs.durable import write_file

PAPERS = {
    "FLT": (
        "**FLT**, federated learning with taskonomy (Jamali-Rad, Abdizadeh, Singh, 2022): a server asks every client "
        "once what its data look like, finds out who is related, and trains a model for each group of relatives."
    ),
    "CFL": (
        "**CFL**, clustered federated learning (Sattler, Mueller, Samek, 2021): one model is trained until clients "
        "pull it apart; then they are split in two by the angles between their updates, again and again."
    ),
    "ABC": (
        "**ABC**, attention-based clustering (Assadi, Ahn, Esmaeilzadeh, 2023): an attention network scores clients by "
        "their updates, and each round asks clients whose scores balance each other, to need fewer rounds."
    ),
}
INTRODUCTION = """\
# What the papers print, and what comes out here

Three papers are implemented in fedclade. `fedclade reproduce` makes their tables and figures again, and this page shows
what came out, beside what is printed. It is made from the files in [results](results/), which hold every number, the
command, the seeds and the environment that made them.

```console
$ fedclade reproduce cfl-theory --quiet
item        verdict     what it shows
cfl-theory  reproduced  Theorem 1, Corollary 1 and Algorithm 1 on random instances
```

How to read it:

- **reproduced**: our numbers are as near to the printed ones as the item's rule asks, and what the paper says of them
  holds here too.
- **same direction**: its main claims hold; numbers, or other claims, do not all.
- **not reproduced**: a main claim of the paper does not hold here; of an item without claims, a number.
- A **main claim** is one that the item stands or falls with; what stands *beside it* does not decide alone.
- `small` has fewer clients, rounds or images, and takes under 45 minutes on two cores in all: its numbers are not those
  of the paper, its claims can be. `paper` has the printed settings.
- Accuracies are percentages of test images, as a mean over clients; the variance is that over clients. ± is the
  standard deviation over seeds.

The rules were written down before the runs; where a claim or a recipe was changed after a first result, the item says
so. Where authors' code does something else than their paper says (`--as-published`) the result says so.
"""


def stored(folder: Path) -> list[Result]:
    """The results that are kept, in the order of the papers; small ones first."""
    found = [json.loads(path.read_bytes()) for path in sorted(folder.glob("*.json"))]

    def place(result: Result) -> tuple[int, bool, bool, str]:
        number, part = place_of(str(result["item"]))
        return number, result["scale"] == "paper", bool(result["as_published"]), part

    return sorted(found, key=place)


def page(results: Sequence[Result]) -> str:
    """The whole page."""
    parts: list[str] = []
    for paper, words in PAPERS.items():
        mine = [result for result in results if result["paper"] == paper]
        if not mine:
            continue
        rows = [
            (
                f"[{each['item']}](#{anchor(each)})",
                str(each["title"]),
                kind(each),
                f"**{verdict_of(each)}**",
            )
            for each in mine
        ]
        parts += [f"## {paper}\n", f"{words}\n", table(("item", "what it shows", "scale", "verdict"), rows)]
        parts += [section(each) for each in mine]
    text = "\n".join(parts)
    words = glossary(text)
    before = [INTRODUCTION, counted(results), *([f"Words:\n\n{words}\n"] if words else [])]
    return "\n".join([*before, text]).rstrip() + "\n"


def counted(results: Sequence[Result]) -> str:
    """How many results of each kind came to what."""
    counts = Counter((kind(each), verdict_of(each)) for each in results)
    verdicts = dict.fromkeys(verdict for _, verdict in counts)
    rows = [
        (scale, *(str(counts[scale, verdict]) for verdict in verdicts)) for scale in dict.fromkeys(map(kind, results))
    ]
    return "In short:\n\n" + table(("scale", *verdicts), rows)


def kind(result: Result) -> str:
    """Its scale, and whether it is as published."""
    return f"{result['scale']}, as published" if result["as_published"] else str(result["scale"])


def title(result: Result) -> str:
    """The heading of a section."""
    return f"{result['item']}, {kind(result)}: {result['title']}"


def anchor(result: Result) -> str:
    """Where a heading's link leads: small letters, no punctuation."""
    kept = "".join(letter for letter in title(result).lower() if letter.isalnum() or letter in " -")
    return kept.replace(" ", "-")


def section(result: Result) -> str:
    """One result, under a heading of its own."""
    verdict, told = markdown(result, level=3).partition("\n")[2].lstrip("\n").split("\n", 1)
    names = result.get("pictures", [])
    assert isinstance(names, list)
    shown = "".join(f"\n![{result['title']}](results/{name})\n" for name in names)
    return f"### {title(result)}\n\n{verdict}\n{shown}{told}"


def name_of(result: Result) -> str:
    """The file of a result."""
    what = str(result["item"]).replace(":", "-")
    return f"{what}-{result['scale']}{'-as-published' if result['as_published'] else ''}.json"


def kept(result: Result) -> tuple[dict[str, object], dict[str, bytes]]:
    """A result as it is stored, and its pictures by their files: matrices are large, and are kept as pictures only."""
    series = result["series"]
    assert isinstance(series, Mapping)
    curves = {name: curve for name, curve in series.items() if "matrix" not in curve}
    stem = Path(name_of(result)).stem
    files = {f"{stem}.{end}": content for end, content in pictures(str(result["item"]), series).items()}
    return {**result, "series": curves, "pictures": list(files)}, files


def take_in(source: Path, folder: Path) -> None:
    """Store the results that reproduce has written in this folder, with their pictures."""
    for path in sorted((source / "results").glob("*.json")):
        result, files = kept(json.loads(path.read_bytes()))
        for name, content in files.items():
            write_file(folder / name, content)
        write_file(folder / name_of(result), (json.dumps(result, indent=1) + "\n").encode())


def main() -> None:
    """Take results in, and make the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docs", type=Path, help="the folder of results.md and results/")
    parser.add_argument("--add", type=Path, action="append", default=[], help="a folder that reproduce has written")
    asked = parser.parse_args()
    folder = asked.docs / "results"
    folder.mkdir(exist_ok=True)
    for source in asked.add:
        take_in(source, folder)
    write_file(asked.docs / "results.md", page(stored(folder)).encode())


if __name__ == "__main__":
    main()
