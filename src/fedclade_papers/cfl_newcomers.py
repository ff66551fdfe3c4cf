"""CFL, section IV-C: newcomers walk down the parameter tree to the group that they belong to (Algorithm 4)."""

from fedclade_papers.cfl import FULL_PARTICIPATION, MNIST_LOCAL, PAPER, SMALL_MLP, exact_by_seed, share_placed_right
from fedclade_papers.item import Claim, Item, Outcome, ResultLine, Setting, Terms
from fedclade_papers.run_results import ItemRuns, seed_statistics

WORLDS = ("label-permutation", "label-swap")


def settings(terms: Terms) -> tuple[Setting, ...]:
    """20 clients from the start, 20 more ten rounds before the end."""
    rounds = 60
    return tuple(
        Setting(
            name=f"newcomers-{world}",
            data={
                "source": "mnist",
                "world": world,
                "clients": 40,
                "groups": 4,
                "fewer": {"examples": 500},
                "newcomers": {"share": 0.5, "rounds": [rounds - 10]},
            },
            net=SMALL_MLP,
            local=MNIST_LOCAL,
            run={**FULL_PARTICIPATION, "rounds": rounds, "evaluate_every": 10},
            methods={"CFL": {"name": "cfl"}},
            seeds=5 if terms.is_full_scale else 3,
            minutes=1.0 if terms.is_full_scale else 0.6,
        )
        for world in WORLDS
    )


def read(found: ItemRuns) -> Outcome:
    """How many newcomers are with their own group."""
    lines, claims = [], []
    for setting in found.settings:
        runs = found.runs(setting.name, "CFL")
        shares = [share_placed_right(setting, run.models().row_by_client, seed) for seed, run in enumerate(runs)]
        seen = seed_statistics([100 * share for share in shares])
        world = setting.name.removeprefix("newcomers-")
        right = exact_by_seed(found, setting.name, "CFL")
        lines.append(
            ResultLine(
                row=world,
                column="% of newcomers placed with their group",
                printed=None,
                ours=seen.mean,
                deviation=seen.deviation,
            )
        )
        claims.append(
            Claim(
                f"{world}: every newcomer walks to its own group",
                all(share == 1 for share in shares),
                f"{seen.mean:.0f} % of them; exactly the planted groups in {sum(right)} of {len(right)} runs",
            )
        )
    return Outcome(tuple(lines), tuple(claims))


ITEM = Item(
    name="cfl-newcomers",
    paper=PAPER,
    title="Newcomers walk down the parameter tree to their own group",
    differences="The paper describes it and prints no figure for it; "
    "worlds, net, numbers and the rule of splits are ours.",
    settings=settings,
    read=read,
)
