"""Shared by the items of ABC's paper: its data sets, mixes and sessions.

Assadi, Ahn, Esmailzadeh: Accelerating federated learning through attention on local model updates (2023). N clients, K
of them in a round, five batches of ten between two communications; a session ends at a target accuracy. The appendix
with its hyper-parameters is not available: net, step size, momentum and mixes are ours.
"""

from fedclade_papers.item import NetworkRecipe, PlanTable, Setting, Terms
from fedclade_papers.weights import file_of

PAPER = "ABC"
SOURCES = {"EMNIST": "mnist", "FMNIST": "fashion-mnist", "CIFAR10": "cifar10"}
"""Its EMNIST has ten classes, like MNIST, which its abstract names instead."""
TARGETS = {"EMNIST": 75.0, "FMNIST": 70.0, "CIFAR10": 45.0}
MIXES = ("2C-1", "2C-2", "5C")
SESSIONS = ((10, 2), (50, 2), (50, 10))
"""Clients, and how many of them take part in a round."""
SMALL_SCALE_DATA = ("EMNIST", "FMNIST")
OURS = "ABC, groups"  # fedclade's default: groups of drifts instead of a network's attention
EMNIST_NETWORK = "ABC, network of EMNIST"  # FMNIST* in the paper
# "least used" has no scores: it shows what asking all clients equally often gains by itself.
LOCAL: PlanTable = {"batch": 10, "lr": 0.01, "momentum": 0.9}


def world(data: str, mix: str, clients: int) -> PlanTable:
    """One of its mixes of a data set."""
    each = examples(data, clients)
    return {"source": SOURCES[data], "world": "dominant", "mix": mix, "clients": clients, "examples": each}


def examples(data: str, clients: int) -> int:
    """500 for training for each client, 1,000 of CIFAR-10, and a quarter as many to be tested on."""
    # 50 clients with 1,250 examples have 62,500, more than CIFAR-10's 50,000; and 5C needs 7.2 of a class for each.
    return 625 if data != "CIFAR10" else 1250 if clients <= 10 else 690


def network(terms: Terms, data: str, clients: int) -> NetworkRecipe:
    """The network of a data set, trained under 2C-1 on as many clients as it will be used for, but on other ones."""
    rounds, epochs = (300, 100) if terms.is_full_scale else (60, 20)
    name = f"attention-{data.lower()}-N{clients}"
    return NetworkRecipe(
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
    return 5 if terms.is_full_scale else 25


def session(terms: Terms, data: str, mix: str, clients: int, chosen: int) -> Setting:
    """One federated learning session, with every method."""
    rounds = (5000 if data == "CIFAR10" else 3500) if terms.is_full_scale else 40
    networks = [network(terms, data, clients)]
    methods: dict[str, PlanTable] = {
        "FedAvg": {"name": "fedavg"},
        "FedAvg, least used": {"name": "fedavg", "selection": "balanced"},
        "ABC": {"name": "abc", "score": "attention", "network": str(file_of(networks[0], terms))},
        OURS: {"name": "abc"},
    }
    if data == "FMNIST":
        networks.append(network(terms, "EMNIST", clients))
        methods[EMNIST_NETWORK] = {"name": "abc", "score": "attention", "network": str(file_of(networks[1], terms))}
    return Setting(
        name=f"abc-{data.lower()}-{mix}-N{clients}-K{chosen}",
        data=world(data, mix, clients),
        net={"name": "abc_cnn", "start": "he"},
        local={**LOCAL, "steps": steps(terms)},
        run={"rounds": rounds, "participation": chosen / clients, "evaluate_every": 10 if terms.is_full_scale else 1},
        methods=methods,
        seeds=1 if terms.is_full_scale else 3,
        minutes=rounds * (0.0006 + 0.0003 * chosen if terms.is_full_scale else 0.015),
        networks=tuple(networks),
    )


def sessions(terms: Terms) -> dict[tuple[str, str, int, int], Setting]:
    """All of table 1; at small scale two data sets with ten clients, two of them in a round."""
    return {
        (data, mix, clients, chosen): session(terms, data, mix, clients, chosen)
        for data in (SOURCES if terms.is_full_scale else SMALL_SCALE_DATA)
        for mix in MIXES
        for clients, chosen in SESSIONS
        if terms.is_full_scale or (clients, chosen) == SESSIONS[0]
    }
