"""CFL, section IV-C: newcomers walk down the parameter tree to the group that they belong to (Algorithm 4)."""

from fedclade.papers.cfl import EVERYBODY, MNIST_LOCAL, PAPER, SMALL_MLP, exactly, share_placed
from fedclade.papers.found import Found, over
from fedclade.papers.item import Claim, Item, Line, Outcome, Setting, Terms
from fedclade.papers.verdicts import CLAIMS_RULE

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
            run={**EVERYBODY, "rounds": rounds, "evaluate_every": 10},
            methods={"CFL": {"name": "cfl"}},
            seeds=5 if terms.whole else 3,
            minutes=1.0 if terms.whole else 0.6,
        )
        for world in WORLDS
    )


def read(found: Found) -> Outcome:
    """How many of the late ones are with their own group."""
    lines, claims = [], []
    for setting in found.settings:
        runs = found.runs(setting.name, "CFL")
        shares = [share_placed(setting, run.models().home, seed) for seed, run in enumerate(runs)]
        seen = over([100 * share for share in shares])
        world = setting.name.removeprefix("newcomers-")
        right = exactly(found, setting.name, "CFL")
        lines.append(
            Line(
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
    differs="The paper describes it and prints no figure for it; worlds, net, numbers and the rule of splits are ours.",
    rule=CLAIMS_RULE,
    settings=settings,
    read=read,
)
