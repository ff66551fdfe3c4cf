"""FLT, table 5: clients, participation, epochs and rounds, on scenario 2 with CIFAR-10."""

import numpy as np

from fedclade_papers.flt import FEW_ROUNDS_LOCAL, LOCAL, PAPER, both_encoders, momentum, rivals
from fedclade_papers.flt_table2 import CONSTANT
from fedclade_papers.item import Claim, Item, Outcome, PlanTable, ResultLine, Setting, Terms
from fedclade_papers.run_results import ItemRuns, seed_statistics
from fedclade_papers.verdicts import EQUAL_POINTS

# (clients, share of them in a round, epochs): accuracies of FedSEM, FLT (Enc1), FLT (Enc2) after 50 and 100 rounds.
METHODS = ("FedSEM", "FLT (Enc1)", "FLT (Enc2)")
PRINTED: dict[tuple[int, float, int], tuple[tuple[float, float, float], tuple[float, float, float]]] = {
    (100, 0.2, 1): ((64.32, 66.23, 65.93), (69.33, 72.44, 72.62)),
    (100, 0.2, 5): ((71.85, 79.45, 78.64), (73.42, 79.95, 79.62)),
    (100, 0.5, 1): ((72.94, 73.78, 73.17), (77.37, 79.30, 78.23)),
    (100, 0.5, 5): ((74.29, 80.02, 79.22), (74.15, 79.72, 79.45)),
    (500, 0.2, 1): ((64.88, 66.69, 66.74), (70.65, 72.55, 72.84)),
    (500, 0.2, 5): ((71.24, 80.27, 79.77), (73.21, 81.77, 81.00)),
    (500, 0.5, 1): ((72.26, 73.80, 73.88), (76.82, 79.66, 79.01)),
    (500, 0.5, 5): ((76.79, 81.97, 81.08), (76.75, 81.57, 81.22)),
}
SMALL_CLIENTS = {100: 10, 500: 20}


def name_of(clients: int, share: float, epochs: int) -> str:
    """The setting of one block of the table."""
    return f"s2-cifar10-M{clients}-rho{share:g}-E{epochs}"


def settings(terms: Terms) -> tuple[Setting, ...]:
    """One for each number of clients, participation and epochs; one run gives both numbers of rounds."""
    flt, needed = both_encoders(terms, "cifar10", groups=5)
    methods: dict[str, PlanTable] = {"FedSEM": rivals(terms, 5, with_local=False)["FedSEM"], **flt}
    rounds = 100 if terms.is_full_scale else 8
    return tuple(
        Setting(
            name=name_of(clients, share, epochs),
            data={
                "source": "cifar10",
                "world": "overlap",
                "groups": 5,
                "test_on": "group",
                "shared": "same" if terms.published else "halves",
                **({"clients": clients} if terms.is_full_scale else small(clients)),
            },
            net={"name": "lenet"},
            local={**LOCAL, **({} if terms.is_full_scale else FEW_ROUNDS_LOCAL), "epochs": epochs, **momentum(terms)},
            run={"rounds": rounds, "evaluate_every": rounds // 2, "participation": share},
            methods=methods,
            minutes=(22.0 * epochs * share * 5 if terms.is_full_scale else 0.036 * epochs * share * 5),
            encoders=needed,
        )
        for clients, share, epochs in PRINTED
    )


def small(clients: int) -> PlanTable:
    """The clients and images of small scale."""
    return {"clients": SMALL_CLIENTS[clients], "fewer": {"examples": 60}}


def read(found: ItemRuns) -> Outcome:
    """Every number of the table, and what section 4.7 says of them."""
    ours = {key: halves(found, name_of(*key)) for key in PRINTED}
    lines = [
        ResultLine(
            row=f"M={clients}, rho={share:g}, E={epochs}, T={(50, 100)[half]}",
            column=f"{method} accuracy",
            printed=PRINTED[clients, share, epochs][half][place],
            ours=ours[clients, share, epochs][half][place],
        )
        for clients, share, epochs in PRINTED
        for half in (0, 1)
        for place, method in enumerate(METHODS)
    ]
    unlearned = sum(value <= CONSTANT + EQUAL_POINTS for both in ours.values() for half in both for value in half)
    note = f"{unlearned} of {len(lines)} numbers are no better than the same answer to everything ({CONSTANT:.1f} %)."
    return Outcome(tuple(lines), claims(ours), notes=(note,) if unlearned else ())


def halves(found: ItemRuns, name: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The methods' accuracies in the middle and at the end."""
    curves = [found.curve(name, method) for method in METHODS]
    return tuple(curve["y"][0] for curve in curves), tuple(curve["y"][-1] for curve in curves)


def claims(ours: dict[tuple[int, float, int], tuple[tuple[float, ...], tuple[float, ...]]]) -> tuple[Claim, ...]:
    """More rounds, more participants and more epochs help on average, and FLT is ahead of FedSEM."""
    ends = {key: both[1] for key, both in ours.items()}
    gains = [values[place] - values[0] for both in ours.values() for values in both for place in (1, 2)]
    fewer = seed_statistics(
        [abs(ends[500, r, e][place] - ends[100, r, e][place]) for m, r, e in ends if m == 100 for place in (1, 2)]
    )
    rounds = seed_statistics([end - begin for both in ours.values() for begin, end in zip(*both, strict=True)])
    more = seed_statistics(
        [ends[m, 0.5, e][place] - ends[m, 0.2, e][place] for m, r, e in ends if r == 0.2 for place in range(3)]
    )
    epochs = seed_statistics(
        [ends[m, r, 5][place] - ends[m, r, 1][place] for m, r, e in ends if e == 1 for place in range(3)]
    )
    return (
        Claim(
            "FLT is ahead of FedSEM without exception",
            all(each > 0 for each in gains),
            f"in {sum(each > 0 for each in gains)} of {len(gains)} cases, by {np.mean(gains):.1f} points on average",
        ),
        Claim("more rounds help", rounds.mean > 0, f"{rounds.mean:+.1f} points on average"),
        Claim("more participants help", more.mean > 0, f"{more.mean:+.1f} points on average", main=False),
        Claim("more local epochs help", epochs.mean > 0, f"{epochs.mean:+.1f} points on average", main=False),
        Claim(
            "the number of clients hardly matters to FLT: within 3 points",
            fewer.mean <= 3,
            f"{fewer.mean:.1f} points apart on average",
            main=False,
        ),
    )


ITEM = Item(
    name="flt-table5",
    paper=PAPER,
    title="Scenario 2 on CIFAR-10 with other numbers of clients, participants, epochs and rounds",
    differences=(
        "As table 2. At small scale 100 and 500 clients are 10 and 20 with 60 images each, T is 4 and 8, the step size "
        "0.05; one seed."
    ),
    settings=settings,
    read=read,
)
