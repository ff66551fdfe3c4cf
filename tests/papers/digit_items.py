"""Two items that are made in seconds, on scikit-learn's digits, and a display that records what it is shown."""

from dataclasses import replace
from pathlib import Path

from fedclade.runs.loop import ProgressCallback
from fedclade_papers.accuracy import accuracy_lines, ahead_claim
from fedclade_papers.item import Claim, EncoderRecipe, Item, NetworkRecipe, Outcome, Setting
from fedclade_papers.run_results import ItemRuns
from fedclade_papers.runner import ProgressDisplay

SETTING = Setting(
    name="digits",
    data={"source": "digits", "world": "classes", "clients": 8, "groups": 4},
    net={"name": "logistic"},
    local={"lr": 0.1},
    run={"rounds": 4, "evaluate_every": 2, "participation": 1.0},
    methods={"FedAvg": {"name": "fedavg"}, "Local": {"name": "local"}},
    overrides={"Local": {"local": {"epochs": 2}, "run": {"rounds": 2}}},
    seeds=2,
    minutes=0.1,
)
ENCODER = EncoderRecipe("enc", ("digits",), 1, 40)
NETWORK = NetworkRecipe(name="net", source="digits", clients=4, examples=50, steps=2, lr=0.01, rounds=4, epochs=1)


def read(found: ItemRuns) -> Outcome:
    lines = accuracy_lines(found, "digits", {"Local": (95.0, 1.0), "FedAvg": (50.0, 9.0)})
    claim = ahead_claim(found, "digits", "Local", "FedAvg", 0, "Local is ahead")
    return Outcome(lines, (claim,), {"FedAvg": found.curve("digits", "FedAvg")})


def read_shortly(found: ItemRuns) -> Outcome:
    return Outcome(claims=(Claim("Local was run", len(found.runs("digits", "Local")) == 2, ""),))


TABLE = Item(name="a-table1", paper="A", title="", differences="", rule="", settings=lambda _: (SETTING,), read=read)
FIGURE = replace(TABLE, name="a-figure1", read=read_shortly)


def of_setting(item: Item, **changes: object) -> Item:
    """The item with another setting, and the others of it as they are."""
    setting = replace(SETTING, **changes)  # type: ignore[arg-type]  # fields of a setting
    return replace(item, settings=lambda _: (setting,))


class Seen:
    """The rounds that were run, and the lines that were shown."""

    def __init__(self) -> None:
        self.runs: list[str] = []
        self.messages: list[str] = []
        self.display = ProgressDisplay(show=self.messages.append, progress_of=self.watch)

    def watch(self, path: Path) -> ProgressCallback:
        return lambda now: self.runs.append(f"{path.name} {now.round}")
