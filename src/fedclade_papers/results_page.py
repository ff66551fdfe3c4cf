"""The page of all results, docs/results.md, and a page for each item, made from the stored results.

python -m fedclade_papers.results_page docs                          # make the pages anew
python -m fedclade_papers.results_page docs --add reproduced/paper   # take in the results of a folder first
"""

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from fedclade.store.durable_files import write_file
from fedclade_papers.glossary import glossary
from fedclade_papers.headlines import HEADLINES, Headline, number_rows, truth_rows
from fedclade_papers.item_pages import item_page, verdict_text
from fedclade_papers.pictures import draw_pictures
from fedclade_papers.registry import item_order
from fedclade_papers.result_files import Result, as_list, table
from fedclade_papers.verdict_units import Unit, units_of
from fedclade_papers.verdicts import MEANINGS, VERDICTS

PAPERS = {
    "FLT": "Federated learning with taskonomy for non-IID data (Jamali-Rad, Abdizadeh, Singh, 2022).",
    "CFL": "Clustered federated learning (Sattler, Mueller, Samek, 2021).",
    "ABC": "Accelerating federated learning through attention on local model updates (Assadi, Ahn, Esmailzadeh, 2023).",
}
INTRODUCTION = """\
# Three papers: what they claim, and what we found

fedclade has run the experiments of FLT, CFL and ABC again on two cores, at the size that the papers give: clients,
rounds, data. What was not run yet is marked open, with the time that it takes. Where FLT's text and its authors' code
differ, both were run; ABC has no public code, and CFL's loses clients at the second split.

- An accuracy is reproduced if it is within 2 points of the printed one; "fewer rounds" means a tenth in the median.
- FLT's numbers are of one seed, as in the paper; ABC's and most of CFL's are of three.
- What a paper does not give is our choice: step sizes, and for ABC the net and how much the clients' classes differ.

Behind every verdict stands a page with all numbers and the command that computes them again.
"""
RULES = """\
## How it is judged

- A claim is judged at the size of the paper only. `fedclade reproduce --scale small` (under 45 minutes for everything)
  shows that every recipe runs; what it finds is no verdict.
- Two things decide: the accuracy of the paper's own method, and its lead over a rival. A rival's own accuracy, and
  variances, need not match. What fedclade has beside the paper (class moments, groups of drifts) is not counted.
- An item has the verdict of its worst main claim; main claims are bold on its page, and others may differ.
  Tables 7 to 10 of FLT's appendix are shown with tables 1 to 4.
- Every number can be computed again by the command on its page, the quickest in seconds:

```console
$ fedclade reproduce cfl-theory --scale paper --quiet
...
cfl-theory  4 of 4 main claims hold  Theorem 1, Corollary 1 and Algorithm 1 on random instances
```

- The same command gives the same numbers on the same processor. On another kind of processor PyTorch may round
  differently: between two machines single accuracies moved by up to nine points at small scale.
"""
CHANGES = """\
## Changed after a result was seen

- FLT: k, the number of points that a client sends, is the number of its classes, and the number of groups C is given to
  the method: section 4.1 and Algorithm 2 allow it. That C is found is a claim of its own. The authors' code keeps the
  graph of clients; an earlier version of these pages took its connected components. Figures 2 and 6 are judged by the
  links that they show.
- ABC: only the clients that were picked receive the new model, by the letter of Algorithm 1; an earlier version gave it
  to everybody. When its mixes of classes gave ABC hardly anything to gain, a sharper one was added. It counts for how
  much ABC saves at most, and is shown beside the others.
- CFL: section V-B's thresholds are swept over their whole range instead of one pair.
"""


def load_results(folder: Path) -> list[Result]:
    """The stored results in the order of the papers."""
    found = [json.loads(path.read_bytes()) for path in sorted(folder.glob("*.json"))]
    return sorted(found, key=lambda result: (item_order(str(result["item"])), bool(result["as_published"])))


def front_page(units: Sequence[Unit]) -> str:
    """The page of all results."""
    by_name = {unit.name: unit for unit in units}
    truths = [row for headline in HEADLINES for row in truth_rows(headline, by_name)]
    parts = [INTRODUCTION, table(("paper", "claim", "verdict", "our result"), truths), verdict_table(units)]
    parts += [paper_section(headline, units, by_name) for headline in HEADLINES]
    text = "\n".join(parts)
    words = glossary(text)
    return "\n".join([text, RULES, *([f"## Words\n\n{words}\n"] if words else []), CHANGES]).rstrip() + "\n"


def paper_section(headline: Headline, units: Sequence[Unit], by_name: Mapping[str, Unit]) -> str:
    """A paper's headline table, its figure, and its items."""
    mine = [unit for unit in units if unit.item.paper == headline.paper]
    drawn = {name for unit in mine for result in unit.results.values() for name in as_list(result["pictures"])}
    picture = f"![{headline.caption}](results/{headline.picture})\n\n{headline.caption}\n"
    return "\n".join(
        [
            f"## {headline.paper}\n\n{PAPERS[headline.paper]}\n",
            table(("", *headline.columns), number_rows(headline, by_name)),
            f"{headline.note}\n",
            *([picture] if headline.picture in drawn else []),
            table(("item", "what it shows", "verdict"), [item_row(unit) for unit in mine]),
        ]
    )


def item_row(unit: Unit) -> tuple[str, str, str]:
    """One line of a paper's list of items."""
    return f"[{unit.name}](results/{unit.whole_name}.md)", unit.item.title, verdict_text(unit)


def verdict_table(units: Sequence[Unit]) -> str:
    """How many items and claims have which verdict, and what it means."""
    items = Counter(unit.verdict for unit in units)
    claims = Counter(claim.verdict for unit in units for claim in unit.claims if claim.is_by_paper)
    rows = [(each, MEANINGS[each], str(items[each]), str(claims[each])) for each in VERDICTS]
    return table(("verdict", "what it means", "items", "claims"), rows)


def pages(results: Sequence[Result]) -> dict[str, str]:
    """All pages by their paths below docs."""
    units = units_of(results)
    names = dict.fromkeys(unit.whole_name for unit in units)
    each = {f"results/{name}.md": item_page([unit for unit in units if unit.whole_name == name]) for name in names}
    return {"results.md": front_page(units), **each}


def name_of(result: Result) -> str:
    """The file of a result."""
    what = str(result["item"]).replace(":", "-")
    return f"{what}-{result['scale']}{'-as-published' if result['as_published'] else ''}.json"


def stored_form(result: Result) -> tuple[dict[str, object], dict[str, bytes]]:
    """A result as it is stored, and its pictures by their files: matrices are large, and are kept as pictures only."""
    series = result["series"]
    assert isinstance(series, Mapping)
    curves = {name: curve for name, curve in series.items() if "matrix" not in curve}
    stem = Path(name_of(result)).stem
    files = {f"{stem}.{end}": content for end, content in draw_pictures(str(result["item"]), series).items()}
    return {**result, "series": curves, "pictures": list(files)}, files


def import_results(source: Path, folder: Path) -> None:
    """Store the results that reproduce has written in this folder, with their pictures."""
    for path in sorted((source / "results").glob("*.json")):
        result, files = stored_form(json.loads(path.read_bytes()))
        for name, content in files.items():
            write_file(folder / name, content)
        write_file(folder / name_of(result), (json.dumps(result, indent=1) + "\n").encode())


def main() -> None:
    """Take results in, and make the pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docs", type=Path, help="the folder of results.md and results/")
    parser.add_argument("--add", type=Path, action="append", default=[], help="a folder that reproduce has written")
    asked = parser.parse_args()
    folder = asked.docs / "results"
    folder.mkdir(exist_ok=True)
    for source in asked.add:
        import_results(source, folder)
    for old in folder.glob("*.md"):
        old.unlink()
    for name, text in pages(load_results(folder)).items():
        write_file(asked.docs / name, text.encode())


if __name__ == "__main__":
    main()
