"""CFL, figure 10: AG-News, the next word by an LSTM, one topic for each client."""

from fedclade.papers.cfl import EVERYBODY, PAPER, exactly, splits
from fedclade.papers.found import Found
from fedclade.papers.item import Claim, Item, Line, Outcome, Setting, Terms
from fedclade.papers.verdicts import CLAIMS_RULE

NAME = "news"
TRIED = "CFL, splits on trial"
PRINTED = {"FedAvg": 42.0, "CFL": 36.0}


def settings(terms: Terms) -> tuple[Setting, ...]:
    """20 clients, five for each topic."""
    words = {"vocabulary": 10_002, "embedding": 200, "hidden": 256}
    if not terms.whole:
        words = {"vocabulary": 1002, "embedding": 32, "hidden": 32}
    rounds = 100 if terms.whole else 40
    return (
        Setting(
            name=NAME,
            data={
                "source": "ag-news",
                "world": "topics",
                "clients": 20,
                **({} if terms.whole else {"fewer": {"examples": 150}}),
            },
            net={"name": "lstm", "predicts": "next-word", **words},
            local={"epochs": 3, "batch": 100, "lr": 1.0} if terms.whole else {"epochs": 1, "batch": 10, "lr": 1.0},
            run={**EVERYBODY, "rounds": rounds, "evaluate_every": 10 if terms.whole else 5},
            methods={
                "FedAvg": {"name": "fedavg"},
                "CFL": {"name": "cfl", "rule": "paper", "eps2_times": 2.0},
                TRIED: {"name": "cfl", "rule": "tried", "validation": 0.1},
            },
            minutes=1500.0 if terms.whole else 3.0,
        ),
    )


def read(found: Found) -> Outcome:
    """Perplexity, splits, topics."""
    ends = {label: found.figure(NAME, label, "perplexity") for label in found.labels(NAME)}
    lines = [
        Line(
            row=label,
            column="perplexity",
            printed=PRINTED.get(label),
            ours=seen.mean,
            deviation=seen.deviation,
            tolerance=3.0,
            other=(PRINTED[other], ends[other].mean) if (other := rival(label)) and label in PRINTED else None,
            equal=0.5,
            aside=True,  # other texts, other words: only their order can be compared
        )
        for label, seen in ends.items()
    ]
    return Outcome(
        tuple(lines),
        (
            Claim(
                "CFL's perplexity is below that of one model",
                ends["CFL"].mean < ends["FedAvg"].mean,
                f"{ends['CFL'].mean:.1f} and {ends['FedAvg'].mean:.1f}",
            ),
            topics(found, "CFL", "the four topics are found"),
            Claim(
                "CFL that tries its splits has a lower perplexity than one model, too",
                ends[TRIED].mean < ends["FedAvg"].mean,
                f"{ends[TRIED].mean:.1f} and {ends['FedAvg'].mean:.1f}",
                main=False,
            ),
            topics(found, TRIED, "it finds the four topics", main=False),
        ),
        {label: found.curve(NAME, label, "perplexity", 1.0) for label in ends},
    )


def topics(found: Found, label: str, text: str, *, main: bool = True) -> Claim:
    """That a run of CFL ends with one group for each topic."""
    ari = found.figure(NAME, label, "ari").mean
    rounds = splits(found.facts(NAME, label))
    told = f"ARI {ari:.2f}, splits in rounds {rounds}"
    return Claim(text, all(exactly(found, NAME, label)), told, main)


def rival(label: str) -> str:
    """Whom a perplexity is compared with."""
    return "CFL" if label == "FedAvg" else "FedAvg"


ITEM = Item(
    name="cfl-figure10",
    paper=PAPER,
    title="AG-News, one topic for each of 20 clients: perplexity of the next word",
    differs=(
        "The AG-News subset has 21,392 of 120,000 training texts, cut to 32 words; vocabulary, widths and step size "
        "are ours, so that perplexities cannot be compared but with each other. Thresholds by the paper's rule with "
        "eps2 twice eps1 (it says one to ten times). Beside it fedclade's rule that splits when updates "
        "point apart and keeps what lowers the loss on held-out texts. Small scale: 150 texts for each client, 1,000 "
        "words, 32 units, 40 rounds."
    ),
    rule=CLAIMS_RULE + " Perplexities are shown beside the printed ones and do not count.",
    settings=settings,
    read=read,
)
