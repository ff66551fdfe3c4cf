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
from fedclade.papers.verdicts import ACCURACY_RULE, CLAIMS_RULE
from fedclade.papers.writing import Result, made_by, seen, table, tried_for, verdict_of
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
        "**ABC**, attention-based clustering (Assadi, Ahn, Esmailzadeh, 2023): an attention network scores clients by "
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
- **same direction**: its main claims hold; numbers, or other claims, do not all. Of a single number: it is not near the
  printed one, but above or below the number that it is compared with, as printed.
- **not reproduced**: a main claim of the paper does not hold here; of an item without claims, a number.
- A **main claim** is one that the item stands or falls with; what stands *beside it* does not decide alone.
- `small` has fewer clients, rounds or images, and takes under 45 minutes on two cores in all: its numbers are not those
  of the paper, its claims can be. `paper` has the printed settings.
- `-` in a list of items: not run. At `paper` that is an item that takes more than 90 minutes on two cores.
- A verdict in (brackets) does not count for that of the item.
- Accuracies are percentages of test images, as a mean over clients; the variance is that over clients. ± is the
  standard deviation over seeds.

Rules were written down before the first runs; what was changed after a result was seen is listed below. Where authors'
code does something else than their paper says (`--as-published`) the result says so.
"""
RULES = {"accuracies": ACCURACY_RULE, "claims": CLAIMS_RULE}
"""Those that several items have."""
SEEN = """\
What it comes to:

- FLT on digits and letters: where clients fall into groups, a model for each group is far better than one for all, as
  the paper says. The paper's own way to find them (encoders, UMAP, the smallest distance) comes near them in scenario
  1, with the printed accuracy, but is exactly right in two of six runs only, and in figure 2 it does not see the five
  groups though it is told how many there are. In scenario 2 it is ahead of FedAvg, and at the printed size behind
  clients that train alone. In scenario 4 it must be told how many groups there are: with 2,400 clients it ends with
  FedAvg's one model otherwise. Class moments, which are fedclade's and not the paper's, find all planted groups: what
  is said of "FLT, class moments" is not said of the paper's FLT.
- Its rivals: on MNIST, and in scenario 4 with 240 clients at small scale, PCA+kM+HC and FedSEM find groups that the
  paper says they do not; with 2,400 clients neither does. As published PCA+kM+HC falls far behind, as printed; FedSEM
  does not.
- FLT on CIFAR-10, at small scale only: its encoders do not see the groups; class moments do. On writers, at small
  scale only, it hardly gains on FedAvg left to itself; disjoint groups gain one to two points with the MLP and cost
  with the CNN; IFCA, with twice the rounds, leads.
- CFL: its theory holds in every instance, figure 3's frontier is there, newcomers find their groups, and permuted
  labels are parted into exactly the four groups, by fedclade's automatic rule. What does not come out (small scale):
  the thresholds that its section V-B recommends do not split; on CIFAR-10 the gap between swapped labels does not
  quite get over 0 nor grow with the rounds (figures 6 and 7); incongruent clients' updates shrink to a third instead
  of staying long (figure 8); AG-News' topics are not found, though perplexity falls (figure 10).
- ABC: groups of clients' drifts are the planted ones almost always; the scores of its network are not. It reaches a
  target in fewer rounds than FedAvg in three of six sessions, and in no fewer than the least used clients in the
  median (small scale). At the printed size, with hyper-parameters of ours for want of the paper's, its curves are
  hardly steadier than FedAvg's.

Changed after a result was seen:

- Small scale, for more learning or less time: rounds of FLT's CIFAR-10 (12 to 20), of its writers' CNN (8 to 12), of
  CFL's AG-News (20, 50, then 40); clients of FLT's MNIST (100, 50, then 100 again); ABC has ten clients only.
- Added beside what was there: FLT (C=10), which is told the number of groups; CFL's splits on trial; ABC by groups of
  drifts.
- An item is judged by what the paper claims of its own method, no longer by every line; perplexities of other texts
  do not count; ABC's gains are judged by their median; a target that small scale does not reach is no number.
- A method that comes as soon as another is not slower (FLT's figures 4 and 5), unless its curve is FedAvg's own; two
  claims on CFL's pairs of clients (figure 8) that could not fail are one that can.
- FLT's figure 3 is compared with one cloud of clients: before, its claim held for any data. What is no better than
  the same answer to everything does not count (FLT's tables), and nobody is far ahead of it. A gap that grows by less
  than 0.02 has not grown. CFL's theory is counted where its bounds say something only.
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
    kinds = tuple(dict.fromkeys(map(kind, results)))
    parts: list[str] = []
    for paper, words in PAPERS.items():
        items: dict[str, list[Result]] = {}
        for result in results:
            if result["paper"] == paper:
                items.setdefault(str(result["item"]).partition(":")[0], []).append(result)
        if items:
            rows = [(f"[{name}](#{name})", *row(mine, kinds)) for name, mine in items.items()]
            parts += [f"## {paper}\n", f"{words}\n", table(("item", "what it shows", *kinds), rows)]
            parts += [section(name, mine) for name, mine in items.items()]
    text = "\n".join(parts)
    words = glossary(text)
    before = [INTRODUCTION, counted(results), SEEN, *([f"Words:\n\n{words}\n"] if words else []), rules(results)]
    return "\n".join([*before, text]).rstrip() + "\n"


def rules(results: Sequence[Result]) -> str:
    """The rules that several items have, under a heading that they link to."""
    used = [
        f"- Of **{name}**: {rule}"
        for name, rule in RULES.items()
        if any(str(each["rule"]).startswith(rule) for each in results)
    ]
    return "\n".join(["## Rules\n", *used]) + "\n" if used else ""


def ruled(result: Result) -> str:
    """The rule of an item; of one that others have too, where that stands, and what is added to it."""
    told = str(result["rule"])
    for name, rule in RULES.items():
        if told.startswith(rule):
            return f"that of [{name}](#rules).{told.removeprefix(rule)}"
    return told


def counted(results: Sequence[Result]) -> str:
    """How many results of each kind came to what."""
    counts = Counter((kind(each), verdict_of(each)) for each in results)
    verdicts = dict.fromkeys(verdict for _, verdict in counts)
    rows = [
        (scale, *(str(counts[scale, verdict]) for verdict in verdicts)) for scale in dict.fromkeys(map(kind, results))
    ]
    return "In short:\n\n" + table(("scale", *verdicts), rows)


def row(mine: Sequence[Result], kinds: Sequence[str]) -> tuple[str, ...]:
    """What an item shows, and its verdict at each scale: a link to it, with the part if it is not the whole."""
    found: dict[str, list[str]] = {name: [] for name in kinds}
    for each in mine:
        part = str(each["item"]).partition(":")[2]
        found[kind(each)].append(f"[{verdict_of(each)}](#{anchor(each)}){f' ({part})' if part else ''}")
    return str(mine[0]["title"]), *(", ".join(found[name]) or "-" for name in kinds)


def kind(result: Result) -> str:
    """Its scale, and whether it is as published."""
    return f"{result['scale']}, as published" if result["as_published"] else str(result["scale"])


def title(result: Result) -> str:
    """The heading of a result."""
    return f"{result['item']}, {kind(result)}"


def anchor(result: Result) -> str:
    """Where a heading's link leads: small letters, no punctuation."""
    kept = "".join(letter for letter in title(result).lower() if letter.isalnum() or letter in " -")
    return kept.replace(" ", "-")


def section(name: str, results: Sequence[Result]) -> str:
    """One item: every result of it, and once what is said of all."""
    parts = [f"### {name}\n", f"{results[0]['title']}.\n"]
    parts += [
        f"What differs from the paper: {told}\n" for told in dict.fromkeys(str(each["differs"]) for each in results)
    ]
    parts += [f"Rule: {told}\n" for told in dict.fromkeys(map(ruled, results))]
    parts += [outcome(each) for each in results]
    tried: dict[str, list[str]] = {}
    for each in results:
        if text := tried_for(each):
            tried.setdefault(text, []).append(title(each))
    for text, where in tried.items():
        told = f" ({'; '.join(where)})" if len(results) > 1 else ""
        parts.append(f"What was tried{told}: {text}\n")
    return "\n".join(parts)


def outcome(result: Result) -> str:
    """One result, under a heading of its own."""
    names = result.get("pictures", [])
    assert isinstance(names, list)
    shown = "".join(f"![{result['title']}](results/{name})\n\n" for name in names)
    return f"#### {title(result)}\n\n**{verdict_of(result)}**\n\n{shown}{seen(result)}\n{made_by(result)}"


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
