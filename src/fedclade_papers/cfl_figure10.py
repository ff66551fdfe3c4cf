"""CFL, figure 10: AG-News, the next word by an LSTM, one topic for each client."""

from fedclade_papers.cfl import FULL_PARTICIPATION, PAPER, exact_by_seed, split_rounds
from fedclade_papers.item import Claim, Item, Outcome, ResultLine, Setting, Terms
from fedclade_papers.run_results import ItemRuns

NAME = "news"
SPLITS_ON_TRIAL = "CFL, splits on trial"
PRINTED = {"FedAvg": 42.0, "CFL": 36.0}


def settings(terms: Terms) -> tuple[Setting, ...]:
    """20 clients, five for each topic."""
    words = {"vocabulary": 10_002, "embedding": 200, "hidden": 256}
    if not terms.is_full_scale:
        words = {"vocabulary": 1002, "embedding": 32, "hidden": 32}
    rounds = 100 if terms.is_full_scale else 40
    return (
        Setting(
            name=NAME,
            data={
                "source": "ag-news",
                "world": "topics",
                "clients": 20,
                **({} if terms.is_full_scale else {"fewer": {"examples": 150}}),
            },
            net={"name": "lstm", "predicts": "next-word", **words},
            local={"epochs": 3, "batch": 100, "lr": 1.0}
            if terms.is_full_scale
            else {"epochs": 1, "batch": 10, "lr": 1.0},
            run={**FULL_PARTICIPATION, "rounds": rounds, "evaluate_every": 10 if terms.is_full_scale else 5},
            methods={
                "FedAvg": {"name": "fedavg"},
                "CFL": {"name": "cfl", "rule": "paper", "eps2_times": 2.0},
                SPLITS_ON_TRIAL: {"name": "cfl", "rule": "tried", "validation": 0.1},
            },
            minutes=1500.0 if terms.is_full_scale else 3.0,
        ),
    )


def read(found: ItemRuns) -> Outcome:
    """Perplexity, splits, topics."""
    ends = {label: found.metric(NAME, label, "perplexity") for label in found.labels(NAME)}
    lines = [
        ResultLine(
            row=label,
            column="perplexity",
            printed=PRINTED.get(label),
            ours=seen.mean,
            deviation=seen.deviation,
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
            topics_claim(found, "CFL", "the four topics are found"),
            Claim(
                "CFL that tries its splits has a lower perplexity than one model, too",
                ends[SPLITS_ON_TRIAL].mean < ends["FedAvg"].mean,
                f"{ends[SPLITS_ON_TRIAL].mean:.1f} and {ends['FedAvg'].mean:.1f}",
                main=False,
            ),
            topics_claim(found, SPLITS_ON_TRIAL, "it finds the four topics", main=False),
        ),
        {label: found.curve(NAME, label, "perplexity", 1.0) for label in ends},
    )


def topics_claim(found: ItemRuns, label: str, text: str, *, main: bool = True) -> Claim:
    """That a run of CFL ends with one group for each topic."""
    ari = found.metric(NAME, label, "ari").mean
    rounds = split_rounds(found.facts(NAME, label))
    evidence = f"ARI {ari:.2f}, splits in rounds {rounds}"
    return Claim(text, all(exact_by_seed(found, NAME, label)), evidence, main)


ITEM = Item(
    name="cfl-figure10",
    paper=PAPER,
    title="AG-News, one topic for each of 20 clients: perplexity of the next word",
    differences=(
        "The AG-News subset has 21,392 of 120,000 training texts, cut to 32 words; vocabulary, widths and step size "
        "are ours, so that perplexities cannot be compared but with each other. Thresholds by the paper's rule with "
        "eps2 twice eps1 (it says one to ten times). Beside it fedclade's rule that splits when updates "
        "point apart and keeps what lowers the loss on held-out texts. Small scale: 150 texts for each client, 1,000 "
        "words, 32 units, 40 rounds."
    ),
    settings=settings,
    read=read,
)
