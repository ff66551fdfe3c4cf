"""The page of results: what was measured is kept as JSON beside it, and the page is made from that alone.

python -m fedclade_papers.results_page docs                            make docs/results.md from docs/results/*.json
python -m fedclade_papers.results_page docs --add reproduced/small     take these results in first
"""

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from fedclade.store.durable_files import write_file
from fedclade_papers.glossary import glossary
from fedclade_papers.pictures import draw_pictures
from fedclade_papers.registry import item_order
from fedclade_papers.result_files import Result, attempts_for, command_note, findings_markdown, table, verdict_of
from fedclade_papers.verdicts import ACCURACY_RULE, CLAIMS_RULE

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
- `-` in a list of items: not run. At `paper` that is an item that takes more than 90 minutes on two cores as a whole;
  as published, one for which there was no time, or whose authors' code does nothing else.
- A verdict in (brackets) does not count for that of the item.
- Accuracies are percentages of test images, as a mean over clients; the variance is that over clients. ± is the
  standard deviation over seeds.

[Words](#words) are explained at the end. [Rules](#rules) were written down before the first runs; [what was
changed](#changed-after-a-result-was-seen) after a result was seen is listed. Where authors' code does something else
than their paper says (`--as-published`) the result says so.

The same command gives the same numbers on the same processor. On another model of processor torch may round otherwise,
and training makes points of that: between two machines the accuracies of CNNs and of FLT's encoders moved by up to nine
points at small scale, single claims changed, and of 28 verdicts one did, by a tie (before the last changes of rules and
recipes).
"""
RULES = {"accuracies": ACCURACY_RULE, "claims": CLAIMS_RULE}
"""Those that several items share."""
SUMMARY = """\
What it comes to:

- FLT on digits and letters: where clients fall into groups, a model for each group is far better than one for all, as
  the paper says. The paper's own way to find them (encoders, UMAP, the smallest distance) is near them in scenario 1,
  and has the printed accuracy there. In scenario 2 it stays ahead of FedAvg and falls behind FedSEM, and at the
  printed size behind clients that train alone. In scenario 4 it must be told how many groups there are; otherwise it
  ends with FedAvg's one model, with 240 clients of small scale as with 2,400. Class moments, which are fedclade's and
  not the paper's, find all planted groups: what is said of "FLT, class moments" is not said of the paper's FLT.
- Its rivals do better than printed. On MNIST PCA+kM+HC with one basis for all finds all groups, and FedSEM most. In
  scenario 4, where clients differ in size, FedSEM does not find them, as the paper says. As published, with a basis
  of each client's own and stale models in all means, PCA+kM+HC has no more than FedAvg in scenario 1 (printed: a
  point more); and FLT as their code has it finds the groups of scenario 2, with the printed accuracy at the printed
  size. FedSEM finds them there too and is level with it; at small scale FLT is ahead. Those printed numbers come from
  the code, not from the text.
- FLT on CIFAR-10, at small scale only: its encoders do not see the groups; class moments do. On writers it hardly
  gains on FedAvg left to itself. At small scale disjoint groups gain one to two points with the MLP and cost with the
  CNN; IFCA, with twice the rounds, leads. At the printed size, MLP and one seed only, all methods end within a point
  of each other on writers of MNIST, an easier task than the paper's, and IFCA, with half as many rounds again, leads.
  FLT's disjoint groups are within half a point of the whole graph (printed: one to two points below it): figure 12
  holds because all are level.
- CFL: its theory holds in every instance, figure 3's frontier is there, and newcomers find their groups. At small
  scale permuted labels are parted into exactly the four groups and congruent clients are not split, by fedclade's
  automatic rule; with eps2 six times eps1 section V-B's thresholds split nobody. On CIFAR-10 accuracy does not double
  (figure 9), and at small scale the gap of updates between swapped labels is hardly over 0, under it at the end, and
  does not grow with the rounds (figures 6 and 7). At the printed size CIFAR-10's groups are told apart from round 2
  on, sooner than printed, but the gap of updates shrinks from 0.11 to 0.01, while that of gradients grows to 0.7
  (figure 7). On MNIST the gap of updates grows: at the printed size it is over 0 after as many rounds as printed
  (figure 7), and from 50 data points on instead of 20 (figure 6), where gradients have the larger gap. Incongruent
  clients' updates shrink to a third instead of staying long (figure 8); AG-News' topics are not found, though
  perplexity falls (figure 10).
- ABC: groups of clients' drifts are the planted ones almost always; the scores of its network are not. At small scale
  its curves are much steadier than FedAvg's, and than those of the least used clients; the target is reached in fewer
  rounds in three of six sessions. At the printed size, with hyper-parameters of ours for want of the paper's, they
  are steadier on EMNIST only, and hardly steadier than those of the least used clients; with ten clients ABC saves 15
  to 24 % of FedAvg's rounds in all three mixes of CIFAR10, where asking the least used clients alone saves 5 to 26 %.
"""
CHANGES = """\
## Changed after a result was seen

- Small scale, for more learning, less time or more exact answers: rounds of FLT's CIFAR-10 (12 to 20), of its
  writers' CNN (8 to 12), of CFL's AG-News (20, 50, then 40); clients of FLT's MNIST (100, 50, then 100 again); ABC
  has ten clients only, and is evaluated in every round instead of every fourth.
- Added beside what was there: FLT (C=10), which is told the number of groups; CFL's splits on trial; ABC by groups of
  drifts; ARIs; parts of items that two cores can do at the printed size.
- What decides: no longer every line, but what the paper claims of its own method. Perplexities of other texts do not
  count; ABC's gains are judged by their median instead of their mean, of which less than a tenth is none; a target
  that small scale does not reach is no number; what is no better than the same answer to everything does not count
  (FLT's tables), and nobody is far ahead of it.
- Sizes in scenario 4 of FLT: at small scale everybody had the same number of images, now a share of its own, so that
  sizes differ as they do at the printed one. Clients of figure 2 have 2,400 images at the printed size; before, a
  fifth of theirs was kept for tests.
- Of writers of MNIST, which the paper does not have, no accuracy is called reproduced, and being ahead begins with
  half a point (table 3). Who learned nothing does not count with its training accuracy either (tables 7 to 10). As
  published there is no FLT by class moments: nobody has published it.
- Claims that were beside and are main ones, as they are in the papers: FLT improves upon FedSEM (tables 1 and 2),
  whose groups are far from the planted ones (FLT's figure 6); CFL's accuracy is more than doubled (figure 9; it was a
  main claim, was put beside, and is one again); it finds the four topics (figure 10).
- Claims that the papers' own numbers do not bear out were left out or made weaker: that FLT's accuracy varies least
  over clients (tables 1, 2 and 4), that it is ahead of FedSEM on MNIST in scenario 1 (table 1).
- Claims that could not fail, or failed by a hair, are others now: figure 2 of FLT counts links; its figure 3 is
  compared with one cloud of clients that goes through UMAP as well; who comes as soon as another is not the fastest,
  nor is whoever puts everybody into one group (figures 4 and 5), who is ahead of nobody else either (FLT's tables);
  figure 7 asks whether a tenth of the clients change their group, over all seeds; two claims on CFL's pairs of
  clients (figure 8) are one; a gap that grows by less than 0.02 has not grown (figures 6 and 7); CFL's theory is
  counted where its bounds say something only; IFCA's factor in FLT's table 6 may be 10 % away, not 0.5, which is
  where ours is; ABC's curves are wiggly as far as they fall, and less so by a tenth (figure 6).
"""


def load_results(folder: Path) -> list[Result]:
    """The stored results in the order of the papers; those of small scale first."""
    found = [json.loads(path.read_bytes()) for path in sorted(folder.glob("*.json"))]

    def sort_key(result: Result) -> tuple[int, bool, bool, str]:
        number, part = item_order(str(result["item"]))
        return number, result["scale"] == "paper", bool(result["as_published"]), part

    return sorted(found, key=sort_key)


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
    after = [rules(results), *([f"## Words\n\n{words}\n"] if words else []), CHANGES]
    return "\n".join([INTRODUCTION, verdict_table(results), SUMMARY, text, *after]).rstrip() + "\n"


def rules(results: Sequence[Result]) -> str:
    """The rules that several items share, under a heading that they link to."""
    used = [
        f"- Of **{name}**: {rule}"
        for name, rule in RULES.items()
        if any(str(each["rule"]).startswith(rule) for each in results)
    ]
    return "\n".join(["## Rules\n", *used]) + "\n" if used else ""


def rule_text(result: Result) -> str:
    """The rule of an item; for a shared rule a link to it, and what the item adds."""
    phrase = str(result["rule"])
    for name, rule in RULES.items():
        if phrase.startswith(rule):
            return f"that of [{name}](#rules).{phrase.removeprefix(rule)}"
    return phrase


def verdict_table(results: Sequence[Result]) -> str:
    """How many results of each kind have which verdict."""
    counts = Counter((kind(each), verdict_of(each)) for each in results)
    verdicts = dict.fromkeys(verdict for _, verdict in counts)
    rows = [
        (scale, *(str(counts[scale, verdict]) for verdict in verdicts)) for scale in dict.fromkeys(map(kind, results))
    ]
    return "In short:\n\n" + table(("scale", *verdicts), rows)


def row(mine: Sequence[Result], kinds: Sequence[str]) -> tuple[str, ...]:
    """An item's title, and its verdict at each scale as a link, with the part if it is not the whole item."""
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
    """The anchor of a heading: small letters, no punctuation except - and _."""
    kept = "".join(letter for letter in title(result).lower() if letter.isalnum() or letter in " -_")
    return kept.replace(" ", "-")


def section(name: str, results: Sequence[Result]) -> str:
    """One item: all of its results, and once all that they have in common."""
    parts = [f"### {name}\n", f"{results[0]['title']}.\n"]
    parts += [
        f"What differs from the paper: {phrase}\n" for phrase in dict.fromkeys(str(each["differs"]) for each in results)
    ]
    parts += [f"Rule: {phrase}\n" for phrase in dict.fromkeys(map(rule_text, results))]
    parts += [outcome(each) for each in results]
    tried: dict[str, list[str]] = {}
    for each in results:
        if text := attempts_for(each):
            tried.setdefault(text, []).append(title(each))
    for text, where in tried.items():
        phrase = f" ({'; '.join(where)})" if len(results) > 1 else ""
        parts.append(f"What was tried{phrase}: {text}\n")
    return "\n".join(parts)


def outcome(result: Result) -> str:
    """One result, under a heading of its own."""
    names = result.get("pictures", [])
    assert isinstance(names, list)
    shown = "".join(f"![{result['title']}](results/{name})\n\n" for name in names)
    head = f"#### {title(result)}\n\n**{verdict_of(result)}**\n\n"
    return f"{head}{shown}{findings_markdown(result)}\n{command_note(result)}"


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
    """Take results in, and make the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docs", type=Path, help="the folder of results.md and results/")
    parser.add_argument("--add", type=Path, action="append", default=[], help="a folder that reproduce has written")
    asked = parser.parse_args()
    folder = asked.docs / "results"
    folder.mkdir(exist_ok=True)
    for source in asked.add:
        import_results(source, folder)
    write_file(asked.docs / "results.md", page(load_results(folder)).encode())


if __name__ == "__main__":
    main()
