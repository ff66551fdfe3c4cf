"""CFL, figure 7: the separation gap against communication rounds."""

from fedclade_papers.cfl import PAPER, label_swap_setting, separation_gaps
from fedclade_papers.cfl_figure6 import ITEM as FIGURE_6
from fedclade_papers.cfl_figure6 import MIN_GROWTH, NAMES
from fedclade_papers.item import Claim, Item, Outcome, ResultLine, Terms
from fedclade_papers.run_results import ItemRuns

ROUNDS = 10.0  # "as little as 10 communication rounds are necessary to obtain a correct clustering"


def points(terms: Terms, source: str) -> int:
    """Data points of each client: those of the paper, or the most of figure 6's small runs."""
    return 100 if source == "mnist" else 1500 if terms.is_full_scale else 500


def read(found: ItemRuns) -> Outcome:
    """The gap after every round, by updates and by gradients."""
    lines, claims, series = [], [], {}
    for source in (each for each in NAMES if found.has(f"swap-{each}-{points(found.terms, each)}")):
        curves = {
            kind: separation_gaps(found, f"swap-{source}-{points(found.terms, source)}", kind)
            for kind in ("updates", "gradients")
        }
        series.update({f"{NAMES[source]}, {kind}": curve for kind, curve in curves.items()})
        rows = list(zip(curves["updates"]["x"], curves["updates"]["y"], strict=True))
        lasting = [x for place, (x, _) in enumerate(rows) if all(gap > 0 for _, gap in rows[place:])]
        lines.append(
            ResultLine(
                row=NAMES[source],
                column="rounds from which the gap of updates stays over 0",
                printed=ROUNDS,
                ours=lasting[0] if lasting else float("inf"),
            )
        )
        claims.append(
            Claim(
                f"{NAMES[source]}: {ROUNDS:.0f} rounds are enough for a gap of updates that stays over 0",
                bool(lasting) and lasting[0] <= ROUNDS,
                f"over 0 from round {lasting[0]:.0f} on" if lasting else "not over 0 at the end",
            )
        )
        ys = curves["updates"]["y"]
        claims.append(Claim(f"{NAMES[source]}: the gap of updates is over 0 at the end", ys[-1] > 0, f"{ys[-1]:.2f}"))
        half = max(len(ys) // 2, 1)
        early, late = sum(ys[:half]) / half, sum(ys[-half:]) / half
        claims.append(
            Claim(
                f"{NAMES[source]}: the gap grows with the rounds (second half against the first)",
                late > early + MIN_GROWTH,
                f"{early:.2f} and {late:.2f} on average",
            )
        )
    return Outcome(tuple(lines), tuple(claims), series)


ITEM = Item(
    name="cfl-figure7",
    paper=PAPER,
    title="Separation gap against communication rounds, label-swap, by updates and by gradients",
    differences=FIGURE_6.differences + " CIFAR-10 has 500 data points instead of 1,500 then.",
    rule=f"A gap has grown if it is larger by more than {MIN_GROWTH:g}.",
    settings=lambda terms: tuple(label_swap_setting(terms, source, points(terms, source)) for source in NAMES),
    parts=tuple(NAMES),
    read=read,
)
