"""FLT, table 6: what FLT, FedSEM and IFCA send, by formula and by a run's ledger."""

from fedclade.fleet.ledger import PARAMETER
from fedclade.nets import net_for
from fedclade.nets.convae import LATENT, encoder
from fedclade_papers.flt import LOCAL, PAPER, enc1, encoder_method
from fedclade_papers.item import Claim, Item, Outcome, ResultLine, Setting, Terms
from fedclade_papers.run_results import ItemRuns
from fedclade_papers.weights import file_of

NAME = "communication"
GROUPS, POINTS = 5, 5
MILLION = 1e6


def settings(terms: Terms) -> tuple[Setting, ...]:
    """Scenario 1 on MNIST for a few rounds: cost does not depend on what is learned."""
    needed = enc1(terms, "mnist")
    flt = encoder_method(terms, str(file_of(needed, terms)), tuned=False, points=POINTS, groups=GROUPS)
    return (
        Setting(
            name=NAME,
            data={"source": "mnist", "world": "classes", "groups": GROUPS, "clients": 100, "fewer": {"examples": 60}},
            net={"name": "mlp"},
            local={**LOCAL, "epochs": 1},
            run={"rounds": 20 if terms.is_full_scale else 10, "evaluate_every": 100},
            methods={
                "FLT": flt,
                "FedSEM": {"name": "fedsem", "clusters": GROUPS, "all_join": False},
                "IFCA": {"name": "ifca", "clusters": GROUPS, "restarts": 1, "all_choose": False},
            },
            minutes=0.5,
            encoders=(needed,),
        ),
    )


def formulas(clients: int, participants: int, rounds: int, model: int) -> dict[str, float]:
    """Table 6, in numbers that are sent: M W_enc + k M e + 2 rho M W T; 2 rho M W T; rho M W T (C + 1)."""
    once = clients * encoder("convae").size + POINTS * clients * LATENT
    return {
        "FLT": once + 2 * participants * model * rounds,
        "FedSEM": 2 * participants * model * rounds,
        "IFCA": participants * model * rounds * (GROUPS + 1),
    }


def read(found: ItemRuns) -> Outcome:
    """Millions of numbers, all rounds together."""
    setting = found.setting(NAME)
    clients, rounds = int(str(setting.data["clients"])), int(str(setting.run["rounds"]))
    model = net_for("mlp", (1, 28, 28), 10).size
    printed = formulas(clients, clients // 5, rounds, model)
    ours = {
        label: (found.metric(NAME, label, "bytes_up").mean + found.metric(NAME, label, "bytes_down").mean) / PARAMETER
        for label in printed
    }
    lines = [
        ResultLine(row=label, column="millions of numbers sent", printed=value / MILLION, ours=ours[label] / MILLION)
        for label, value in printed.items()
    ]
    return Outcome(
        tuple(lines),
        (
            Claim(
                "every method sends as much as its formula says (within 1 %)",
                all(abs(ours[label] / value - 1) <= 0.01 for label, value in printed.items()),
                ", ".join(f"{label} {ours[label] / value:.4f} times" for label, value in printed.items()),
            ),
            Claim(
                "FLT costs as much as FedSEM but for what is sent once",
                ours["FLT"] - ours["FedSEM"] <= 1.05 * (printed["FLT"] - printed["FedSEM"]),
                f"{(ours['FLT'] - ours['FedSEM']) / MILLION:.2f} million numbers more",
            ),
            Claim(
                "IFCA costs about (C + 1) / 2 times as much as FedSEM",
                abs(ours["IFCA"] / ours["FedSEM"] - (GROUPS + 1) / 2) <= 0.1 * (GROUPS + 1) / 2,
                f"{ours['IFCA'] / ours['FedSEM']:.2f} times, with C = {GROUPS}",
            ),
        ),
        notes=("Ours is what the ledger counted: 4 bytes a number, counts and losses included.",),
    )


ITEM = Item(
    name="flt-table6",
    paper=PAPER,
    title="Numbers sent by FLT, FedSEM and IFCA: the formula against the ledger of a run",
    differences=(
        "The paper prints formulas: what stands as printed is their value for these runs. Evaluation is not counted in "
        "either. FLT as printed without fine-tuning (Enc1)."
    ),
    rule=("As much but for what is sent once: at most 5 % more than that. About (C + 1) / 2: within a tenth of it."),
    settings=settings,
    read=read,
)
