"""Shared by the items of ABC's paper: its data sets, mixes and sessions.

Assadi, Ahn, Esmailzadeh: Accelerating federated learning through attention on local model updates (2023). N clients, K
of them in a round, five batches of ten between two communications; a session ends at a target accuracy. By the letter
of Algorithm 1 every client goes on training its own model, and only those that were picked have the mean: FedAvg is the
same with participants drawn at random. The appendix with the hyper-parameters is not available: net, step size and
mixes are ours. How far apart the clusters are decides how much there is to gain, so the first mix is run twice: with
nine tenths of a client's examples from its own half of the classes, and with 99 of 100. Step size and shares were
chosen on seeds that are not reported, so that FedAvg needs about a hundred rounds, which two cores can do.
"""

from fedclade_papers.item import NetworkRecipe, PlanTable, Setting, Terms
from fedclade_papers.weights import file_of

PAPER = "ABC"
SOURCES = {"EMNIST": "mnist", "FMNIST": "fashion-mnist", "CIFAR10": "cifar10"}
"""Its EMNIST has ten classes, like MNIST, which its abstract names instead."""
TARGETS = {"EMNIST": 75.0, "FMNIST": 70.0, "CIFAR10": 45.0}
MIXES = ("2C-1", "2C-2", "5C")
SHARP = "2C-1 sharp"  # the first mix with clusters that have hardly a class in common
SHARP_DOMINANCE = 0.99
SESSIONS = ((10, 2), (50, 2), (50, 10))
"""Clients, and how many of them take part in a round."""
SMALL_SCALE_DATA = ("EMNIST", "FMNIST")
FEDAVG, LEAST_USED = "FedAvg", "least used"  # the least used have no scores: what taking turns gains by itself
OURS = "ABC, groups of drifts"  # fedclade's default score
ORACLE = "ABC, told the clusters"  # what scores can gain at best
EMNIST_NETWORK = "ABC, network of EMNIST"  # FMNIST* in the paper
ROUNDS = {"EMNIST": 150, "FMNIST": 300, "CIFAR10": 1500}  # as many as FedAvg needs, and more
LR = 0.01
MINUTES_PER_MILLION_BATCHES = 25.0  # of ten grey images, on two cores
PARTS = tuple(f"{data.lower()}_N{clients}" for data in SOURCES for clients in (10, 50))


def part_of(data: str, clients: int) -> str:
    """The word in the names of settings by which a part of an item can be asked for."""
    return f"{data.lower()}_N{clients}"


def world(data: str, mix: str, clients: int) -> PlanTable:
    """One of its mixes of a data set."""
    each = examples(data, clients)
    table: PlanTable = {"source": SOURCES[data], "world": "dominant", "clients": clients, "examples": each}
    if mix == SHARP:
        return {**table, "mix": planted_mix(mix), "dominance": SHARP_DOMINANCE}
    return {**table, "mix": mix}


def planted_mix(mix: str) -> str:
    """Which of the world's mixes this is: by it the clusters are known."""
    return MIXES[0] if mix == SHARP else mix


def examples(data: str, clients: int) -> int:
    """500 for training for each client, 1,000 of CIFAR-10, and a quarter as many to be tested on."""
    # 50 clients with 1,250 examples have 62,500, more than CIFAR-10's 50,000; and 5C needs 7.2 of a class for each.
    return 625 if data != "CIFAR10" else 1250 if clients <= 10 else 690


def local(terms: Terms) -> PlanTable:
    """How clients train between two communications."""
    return {"batch": 10, "lr": LR, "steps": steps(terms)}


def network(terms: Terms, data: str, clients: int) -> NetworkRecipe:
    """The network of a data set, trained under 2C-1 on as many clients as it will be used for, but on other ones."""
    rounds, epochs = (300, 100) if terms.is_full_scale else (60, 20)
    return NetworkRecipe(
        name=f"attention-{part_of(data, clients)}",
        source=SOURCES[data],
        clients=clients,
        examples=examples(data, clients),
        steps=steps(terms),
        lr=LR,
        rounds=rounds,
        epochs=epochs,
    )


def steps(terms: Terms) -> int:
    """Batches between two communications: ten communications in an epoch of 500 examples, or five at small scale."""
    return 5 if terms.is_full_scale else 10


def session(terms: Terms, data: str, mix: str, clients: int, chosen: int) -> Setting:
    """One federated learning session, with every method; the network scores in every round, as Algorithm 1 has it."""
    rounds = ROUNDS[data] if terms.is_full_scale else 40
    networks = [network(terms, data, clients)]
    picked: PlanTable = {"name": "abc", "receivers": "picked"}
    scored = {**picked, "score": "attention", "check_in": 1}
    methods: dict[str, PlanTable] = {
        FEDAVG: {**picked, "score": "random"},
        LEAST_USED: {**picked, "score": "balanced"},
        "ABC": {**scored, "network": str(file_of(networks[0], terms))},
        OURS: picked,
        ORACLE: {"name": "abc-oracle", "mix": planted_mix(mix)},
    }
    if data == "FMNIST":
        networks.append(network(terms, "EMNIST", clients))
        methods[EMNIST_NETWORK] = {**scored, "network": str(file_of(networks[1], terms))}
    seeds = 3 if terms.is_full_scale else 1
    work = rounds * clients * steps(terms) * len(methods) * seeds / 1e6  # millions of batches
    return Setting(
        name=f"abc-{part_of(data, clients)}-{mix.replace(' ', '_')}-K{chosen}",
        data=world(data, mix, clients),
        net={"name": "abc_cnn", "start": "he"},
        local=local(terms),
        run={"rounds": rounds, "participation": chosen / clients, "evaluate_every": 5 if terms.is_full_scale else 1},
        methods=methods,
        seeds=seeds,
        minutes=work * MINUTES_PER_MILLION_BATCHES * (2.0 if data == "CIFAR10" else 1.0),
        networks=tuple(networks),
    )


def sessions(terms: Terms) -> dict[tuple[str, str, int, int], Setting]:
    """All of table 1; at small scale two data sets with ten clients, two of them in a round."""
    return {
        (data, mix, clients, chosen): session(terms, data, mix, clients, chosen)
        for data in (SOURCES if terms.is_full_scale else SMALL_SCALE_DATA)
        for mix in (*MIXES, SHARP)
        for clients, chosen in SESSIONS
        if (clients, chosen) == SESSIONS[0] or (terms.is_full_scale and mix != SHARP)
    }
