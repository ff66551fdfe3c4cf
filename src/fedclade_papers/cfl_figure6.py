"""CFL, figure 6: the separation gap against the number of data points of a client."""

from itertools import chain

from fedclade_papers.cfl import PAPER, label_swap_setting, separation_gaps
from fedclade_papers.item import Claim, Item, Outcome, ResultLine, Terms
from fedclade_papers.run_results import ItemRuns

NAMES = {"mnist": "MNIST", "cifar10": "CIFAR-10"}
MIN_GROWTH = 0.02  # a gap that is larger by less has not grown
SUFFICIENT_POINTS = {"mnist": 20, "cifar10": 500}  # data points that suffice for weight-updates (section V-A)


def sizes(terms: Terms, source: str) -> tuple[int, ...]:
    """Data points of each client."""
    if terms.is_full_scale:
        return (10, 20, 50, 100, 200) if source == "mnist" else (100, 500, 1000, 1500, 2400)
    return (10, 20, 50, 100) if source == "mnist" else (100, 500)


def read(found: ItemRuns) -> Outcome:
    """The gap after the last round, by updates and by gradients."""
    lines, claims, series = [], [], {}
    for source in (each for each in NAMES if found.has(f"swap-{each}-100")):
        counts = sizes(found.terms, source)
        last = {
            kind: [separation_gaps(found, f"swap-{source}-{count}", kind)["y"][-1] for count in counts]
            for kind in ("updates", "gradients")
        }
        series.update(
            {f"{NAMES[source]}, {kind}": {"x": [float(n) for n in counts], "y": row} for kind, row in last.items()}
        )
        gaps_seen = list(zip(counts, last["updates"], strict=True))
        enough = [count for place, (count, _) in enumerate(gaps_seen) if all(gap > 0 for _, gap in gaps_seen[place:])]
        lines.append(
            ResultLine(
                row=NAMES[source],
                column="data points from which the gap of updates is over 0",
                printed=float(SUFFICIENT_POINTS[source]),
                ours=float(enough[0]) if enough else float("inf"),
            )
        )
        claims.append(
            Claim(
                f"{NAMES[source]}: {SUFFICIENT_POINTS[source]} data points suffice for a gap of updates over 0",
                bool(enough) and enough[0] <= SUFFICIENT_POINTS[source],
                ", ".join(f"{gap:.2f} with {count}" for count, gap in gaps_seen),
            )
        )
        claims.append(
            Claim(
                f"{NAMES[source]}: with {counts[-1]} data points the gap of updates is over 0",
                last["updates"][-1] > 0,
                f"{last['updates'][-1]:.2f}",
            )
        )
        claims.append(
            Claim(
                f"{NAMES[source]}: the gap grows with the data points",
                last["updates"][-1] > last["updates"][0] + MIN_GROWTH,
                f"{last['updates'][0]:.2f} with {counts[0]}, {last['updates'][-1]:.2f} with {counts[-1]}",
            )
        )
        better = sum(u > g for u, g in zip(last["updates"], last["gradients"], strict=True))
        claims.append(
            Claim(
                f"{NAMES[source]}: updates separate better than gradients",
                better > len(counts) / 2,
                f"in {better} of {len(counts)} cases",
                main=False,
            )
        )
    return Outcome(tuple(lines), tuple(claims), series)


ITEM = Item(
    name="cfl-figure6",
    paper=PAPER,
    title="Separation gap against the data points of each client, label-swap, by updates and by gradients",
    differences=(
        "The paper names no net, step size or batch for this: a net of three convolutions, 0.1, and 20. Small scale "
        "has 12,000 parameters, 20 rounds instead of 50, fewer sizes, and on CIFAR-10 12 clients."
    ),
    rule=f"A gap has grown if it is larger by more than {MIN_GROWTH:g}.",
    settings=lambda terms: tuple(
        chain(*([label_swap_setting(terms, source, count) for count in sizes(terms, source)] for source in NAMES))
    ),
    parts=tuple(NAMES),
    read=read,
)
