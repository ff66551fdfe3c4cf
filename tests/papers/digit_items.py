"""Two items that are made in seconds, on scikit-learn's digits, and who watches them being made."""

from dataclasses import replace
from pathlib import Path

from fedclade.papers.accuracy import accuracy_lines, at_least
from fedclade.papers.found import Found
from fedclade.papers.item import Attending, Claim, Item, Outcome, Pretrained, Setting
from fedclade.papers.runner import Watching
from fedclade.runs.loop import Progress, Watch

SETTING = Setting(
    name="digits",
    data={"source": "digits", "world": "classes", "clients": 8, "groups": 4},
    net={"name": "logistic"},
    local={"lr": 0.1},
    run={"rounds": 4, "evaluate_every": 2, "participation": 1.0},
    methods={"FedAvg": {"name": "fedavg"}, "Local": {"name": "local"}},
    others={"Local": {"local": {"epochs": 2}, "run": {"rounds": 2}}},
    seeds=2,
    minutes=0.1,
)


def read(found: Found) -> Outcome:
    lines = accuracy_lines(found, "digits", {"Local": (95.0, 1.0), "FedAvg": (50.0, 9.0)}, "Local")
    claim = at_least(found, "digits", "Local", "FedAvg", 0, "Local is ahead")
    return Outcome(lines, (claim,), {"FedAvg": found.curve("digits", "FedAvg")})


def shortly(found: Found) -> Outcome:
    return Outcome(claims=(Claim("Local was run", len(found.runs("digits", "Local")) == 2, ""),))


TABLE = Item(name="a-table1", paper="A", title="", differs="", rule="", settings=lambda _: (SETTING,), read=read)
FIGURE = replace(TABLE, name="a-figure1", read=shortly)
NOTHING = Outcome()


ENCODER = Pretrained("enc", ("digits",), 1, 40)
NETWORK = Attending(name="net", source="digits", clients=4, examples=50, steps=2, rounds=4, epochs=1)


class Seen:
    """Who was run, and what was told."""

    def __init__(self) -> None:
        self.runs: list[str] = []
        self.told: list[str] = []

    def watching(self) -> Watching:
        return Watching(tell=self.told.append, watch=self.watch)

    def watch(self, path: Path) -> Watch:
        def move(now: Progress) -> None:
            self.runs.append(f"{path.name} {now.round}")

        return move
