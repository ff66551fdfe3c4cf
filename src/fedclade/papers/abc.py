"""What the items of ABC's paper share: its data sets, mixes and sessions.

Assadi, Ahn, Esmailzadeh: Accelerating federated learning through attention on local model updates (2023). N clients, K
of them in a round, five batches of ten between two communications; a session ends at a target accuracy. The appendix
with its hyper-parameters is not available: net, step size, momentum and mixes are ours.
"""

from fedclade.papers.attention import file_of
from fedclade.papers.item import Attending, Setting, Table, Terms

PAPER = "ABC"
SOURCES = {"EMNIST": "mnist", "FMNIST": "fashion-mnist", "CIFAR10": "cifar10"}
"""Its EMNIST has ten classes, like MNIST, which its abstract names instead."""
TARGETS = {"EMNIST": 75.0, "FMNIST": 70.0, "CIFAR10": 45.0}
MIXES = ("2C-1", "2C-2", "5C")
SESSIONS = ((10, 2), (50, 2), (50, 10))
"""Clients, and how many of them take part in a round."""
SMALL = ("EMNIST", "FMNIST")
OURS = "ABC, groups"  # fedclade's default: groups of drifts instead of a network's attention
STAR = "ABC, network of EMNIST"  # FMNIST* in the paper
# "least used" has no scores: it shows what is owed to asking everybody equally often.
LOCAL: Table = {"batch": 10, "lr": 0.01, "momentum": 0.9}


def world(data: str, mix: str, clients: int) -> Table:
    """One of its mixes of a data set."""
    each = examples(data, clients)
    return {"source": SOURCES[data], "world": "dominant", "mix": mix, "clients": clients, "examples": each}


def examples(data: str, clients: int) -> int:
    """500 for training for each client, 1,000 of CIFAR-10, and a quarter as many to be tested on."""
    # 50 clients with 1,250 examples have 62,500, more than CIFAR-10's 50,000; and 5C needs 7.2 of a class for each.
    return 625 if data != "CIFAR10" else 1250 if clients <= 10 else 690


def network(terms: Terms, data: str, clients: int) -> Attending:
    """The network of a data set, trained under 2C-1 on as many clients as it will be used for, but on other ones."""
    rounds, epochs = (300, 100) if terms.whole else (60, 20)
    name = f"attention-{data.lower()}-N{clients}"
    return Attending(
        name=name,
        source=SOURCES[data],
        clients=clients,
        examples=examples(data, clients),
        steps=steps(terms),
        rounds=rounds,
        epochs=epochs,
    )


def steps(terms: Terms) -> int:
    """Batches between two communications: ten communications in an epoch of 500 examples, or two at small scale."""
    return 5 if terms.whole else 25


def session(terms: Terms, data: str, mix: str, clients: int, chosen: int) -> Setting:
    """One federated learning session, with every method."""
    rounds = (5000 if data == "CIFAR10" else 3500) if terms.whole else 40
    networks = [network(terms, data, clients)]
    methods: dict[str, Table] = {
        "FedAvg": {"name": "fedavg"},
        "FedAvg, least used": {"name": "fedavg", "selection": "balanced"},
        "ABC": {"name": "abc", "score": "attention", "network": str(file_of(networks[0], terms))},
        OURS: {"name": "abc"},
    }
    if data == "FMNIST":
        networks.append(network(terms, "EMNIST", clients))
        methods[STAR] = {"name": "abc", "score": "attention", "network": str(file_of(networks[1], terms))}
    return Setting(
        name=f"abc-{data.lower()}-{mix}-N{clients}-K{chosen}",
        data=world(data, mix, clients),
        net={"name": "abc_cnn", "start": "he"},
        local={**LOCAL, "steps": steps(terms)},
        run={"rounds": rounds, "participation": chosen / clients, "evaluate_every": 10 if terms.whole else 1},
        methods=methods,
        seeds=1 if terms.whole else 3,
        minutes=rounds * (0.0006 + 0.0003 * chosen if terms.whole else 0.015),
        networks=tuple(networks),
    )


def sessions(terms: Terms) -> dict[tuple[str, str, int, int], Setting]:
    """All of table 1; at small scale two data sets with ten clients, of whom two take part in a round."""
    return {
        (data, mix, clients, chosen): session(terms, data, mix, clients, chosen)
        for data in (SOURCES if terms.whole else SMALL)
        for mix in MIXES
        for clients, chosen in SESSIONS
        if terms.whole or (clients, chosen) == SESSIONS[0]
    }
