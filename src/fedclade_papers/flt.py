"""Shared by the items of FLT's paper: its methods as it names them, and its four scenarios.

Jamali-Rad, Abdizadeh, Singh: Federated learning with taskonomy for non-IID data (2022). Batch 10, step size 0.01, a
fifth of the clients in a round, E = 5 and T = 100 unless said otherwise (section 4.1).
"""

from collections.abc import Mapping
from typing import Literal

from fedclade.runs.experiment import without_keys
from fedclade_papers.encoders import first_available
from fedclade_papers.item import EncoderRecipe, PlanTable, Setting, Terms
from fedclade_papers.run_results import ItemRuns
from fedclade_papers.weights import file_of

PAPER = "FLT"
OURS = "FLT, class moments"  # what fedclade does by default; the paper does not have it
LOCAL: PlanTable = {"batch": 10, "lr": 0.01}
FEW_ROUNDS_LOCAL: PlanTable = {
    "lr": 0.05
}  # small scale: with 0.01 a convolutional net has learned nothing after a dozen rounds
LEAF = ("emnist", "emnist47")
COLOUR_SOURCES = ("cifar100", "tiny-imagenet-10")
# Classes of CIFAR-100 that stand beside CIFAR-10 for Enc1, and alone for Enc2.
ENC1_CLASSES = (11, 20, 22, 31, 37, 51, 54, 65, 86, 90)
ENC2_CLASSES = (3, 8, 13, 15, 20, 22, 25, 29, 31, 37, 43, 46, 51, 54, 65, 84, 85, 86, 90, 92)


def encoder_method(
    terms: Terms, encoder: str, *, tuned: bool, points: int | Literal["classes"], groups: int
) -> PlanTable:
    """FLT by its encoder: Algorithm 2 as printed, with C among its inputs, or as its authors' code has it.

    As printed: the smallest distance, Ward's cut into `groups` (0: their number is found) and a model for each (case
    II). Their code: matched points, and the whole graph (case I). `points` is k; "classes": as many as the client has
    classes, which section 4.1 allows, and which their code reads from the truth. They tune one encoder that goes from
    client to client at a rate that halves with every second one: nearly all clients have an encoder that is not tuned.
    """
    signature: dict[str, object] = {"kind": "encoder", "name": encoder, "umap_dimensions": 2, "points": points}
    if terms.published:
        signature |= {"distance": "matched", "cut": "components"}
        return {"name": "flt", "gamma": 1.0, "case": "graph", "absent": "stale", "signature": signature}
    signature |= {"distance": "smallest", "cut": "ward"}
    if tuned:
        signature |= {"own_tuning_epochs": 5 if terms.is_full_scale else 1}
    number = {"groups": groups} if groups else {}
    return {"name": "flt", "gamma": 1.0, "case": "groups", "signature": signature, **number}


def enc1(terms: Terms, source: str) -> EncoderRecipe:
    """An encoder that has seen the clients' classes, among others."""
    images, epochs = (30_000, 10) if terms.is_full_scale else (10_000, 3)
    if source == "mnist":
        return EncoderRecipe("enc1-emnist", (first_available(*LEAF),), epochs, images)
    return EncoderRecipe(
        "enc1-cifar", ("cifar10", first_available(*COLOUR_SOURCES)), epochs, images, {"cifar100": ENC1_CLASSES}
    )


def enc2(terms: Terms) -> EncoderRecipe:
    """An encoder for CIFAR-10 that has not; that for digits is shipped."""
    return EncoderRecipe(
        "enc2-cifar",
        (first_available(*COLOUR_SOURCES),),
        30 if terms.is_full_scale else 10,
        0,
        {"cifar100": ENC2_CLASSES},
    )


def rivals(terms: Terms, groups: int, *, with_local: bool) -> dict[str, PlanTable]:
    """FedAvg, Local, PCA+kM+HC, and FedSEM with the true number of groups, as in tables 1 to 4."""
    stale = {"absent": "stale"} if terms.published else {}
    own = {"basis": "own", "distance": "matched"} if terms.published else {}
    methods: dict[str, PlanTable] = {"FedAvg": {"name": "fedavg", **stale}}
    if with_local:
        methods["Local"] = {"name": "local"}
    methods["PCA+kM+HC"] = {"name": "pca-km-hc", **own, **stale}
    methods["FedSEM"] = {"name": "fedsem", "clusters": groups, **({"absent": "clustered"} if terms.published else {})}
    return methods


def class_moments_method(terms: Terms, **settings: object) -> dict[str, PlanTable]:
    """FLT by class moments, which is fedclade's and not published."""
    return {} if terms.published else {OURS: {"name": "flt", **settings}}


def class_moments_labels(found: ItemRuns, setting: str) -> tuple[str, ...]:
    """Its label, if it was run."""
    return (OURS,) if OURS in found.labels(setting) else ()


def momentum(terms: Terms) -> PlanTable:
    """The paper has plain SGD, its code 0.5."""
    return {"momentum": 0.5} if terms.published else {}


def both_encoders(terms: Terms, source: str, groups: int) -> tuple[dict[str, PlanTable], tuple[EncoderRecipe, ...]]:
    """FLT (Enc1) and FLT (Enc2) for this source, told the number of groups, and what must be trained for them."""
    first = enc1(terms, source)
    needed: tuple[EncoderRecipe, ...] = (first,)
    second = "fashion-mnist"
    if source != "mnist":
        needed = (first, enc2(terms))
        second = str(file_of(needed[1], terms))
    methods = {
        "FLT (Enc1)": encoder_method(terms, str(file_of(first, terms)), tuned=False, points="classes", groups=groups),
        "FLT (Enc2)": encoder_method(terms, second, tuned=True, points="classes", groups=groups),
    }
    return methods, needed


def scenario_setting(terms: Terms, number: int, source: str) -> Setting:
    """Scenario 1 (two classes for each of five groups) or 2 (three, neighbours share one), 100 clients."""
    digits = source == "mnist"
    world: dict[str, object] = {"source": source, "world": "classes" if number == 1 else "overlap", "groups": 5}
    if number == 2 and terms.published:
        world["shared"] = "same"
    flt, needed = both_encoders(terms, source, groups=5)
    sizes: Mapping[str, object] = {"clients": 100}
    epochs, rounds = (1, 100) if digits else (5, 100)
    if not terms.is_full_scale:
        sizes = {"clients": 100 if digits else 25, "fewer": {"examples": 300}}
        epochs, rounds = (1, 20) if digits else (2, 20)
    minutes = ((4.0, 0.6) if digits else (260.0, 1.6))[0 if terms.is_full_scale else 1]
    return Setting(
        name=f"s{number}-{source}",
        data={**world, **sizes, "test_on": "group"},
        net={"name": "mlp" if digits else "lenet"},
        local={
            **LOCAL,
            **({} if terms.is_full_scale or digits else FEW_ROUNDS_LOCAL),
            "epochs": epochs,
            **momentum(terms),
        },
        run={"rounds": rounds, "evaluate_every": rounds // 2},
        methods={**rivals(terms, 5, with_local=True), **flt, **class_moments_method(terms)},
        minutes=minutes,
        encoders=needed,
    )


def writers_setting(terms: Terms, net: str) -> Setting:
    """Scenario 3: 200 writers, no planted groups. IFCA begins with 500 rounds of FedAvg, and has 1,500 in all."""
    mlp = net == "mlp"
    layers = 2 if mlp else 4
    rounds = (1000 if mlp else 100) if terms.is_full_scale else (30 if mlp else 12)
    if terms.published and terms.is_full_scale:
        rounds = 150
    more = 1500 if terms.is_full_scale else 2 * rounds
    flt = {
        "FLT" if not groups else f"FLT (C={groups})": {
            **encoder_method(terms, "fashion-mnist", tuned=True, points=5, groups=groups),
            **({} if groups else {"case": "graph"}),
        }
        for groups in ((0,) if terms.published else (0, 2, 3, 5))
    }
    methods = rivals(terms, 5, with_local=False)
    methods["PCA+kM+HC"] = {**methods["PCA+kM+HC"], "groups": 3}
    ifca = {"name": "ifca", "clusters": 3, "restarts": 1, "start_from": "fedavg", "warmup": more // 3}
    methods["IFCA"] = {**ifca, "shared": layers - 1} if terms.published else ifca
    if mlp:
        methods["CFL"] = {"name": "cfl"}
    every = max(rounds // 50, 1) if terms.is_full_scale else 3
    slow: dict[str, PlanTable] = {"run": {"rounds": more, "evaluate_every": every}, "local": {}}
    if terms.published:
        slow = {"run": {**slow["run"], "participation": 0.03}, "local": {"epochs": 1}}
    return Setting(
        name=f"s3-{net}",
        data={
            "source": first_available("femnist", "mnist-writers"),
            "world": "writers",
            "clients": 200 if terms.is_full_scale else 60 if mlp else 20,
        },
        net={"name": net},
        local={
            **LOCAL,
            **({} if terms.is_full_scale or mlp else FEW_ROUNDS_LOCAL),
            "epochs": 5 if terms.is_full_scale or mlp else 1,
            **momentum(terms),
        },
        run={
            "rounds": rounds,
            "evaluate_every": every,
            "participation": 1.0 if terms.published and terms.is_full_scale else 0.2,
        },
        methods={**methods, **flt, **class_moments_method(terms, case="graph")},
        overrides={"IFCA": slow},
        minutes=((45.0, 0.7) if mlp else (1500.0, 3.0))[0 if terms.is_full_scale else 1],
    )


def structured_setting(terms: Terms, net: str) -> Setting:
    """Scenario 4: ten groups of five classes, sizes by a power law; 2,400 clients for the MLP, 600 for the CNN."""
    mlp = net == "mlp"
    sizes: dict[str, object] = {"clients": 2400 if mlp else 600}
    epochs, rounds = 5, 100
    if not terms.is_full_scale:
        sizes = {"clients": 240 if mlp else 40, "fewer": {"share": 0.25 if mlp else 0.025}}
        epochs, rounds = (5, 30) if mlp else (2, 12)
    flt = {"FLT": encoder_method(terms, "fashion-mnist", tuned=True, points=5, groups=10)}
    methods = {**rivals(terms, 10, with_local=False), **flt, **class_moments_method(terms)}
    if terms.published:  # clients train as the text says: by their files, E = 1 with stale means, FedAvg has 20 %
        sizes["padded"] = True
        methods = {label: without_keys(method, "absent") for label, method in methods.items()}
    return Setting(
        name=f"s4-{net}",
        data={"source": first_available(*LEAF), "world": "structured", **sizes, "test_on": "group"},
        net={"name": net},
        local={
            **LOCAL,
            **({} if terms.is_full_scale or mlp else FEW_ROUNDS_LOCAL),
            "epochs": epochs,
        },
        run={
            "rounds": rounds,
            "evaluate_every": 10 if terms.is_full_scale else 6,
        },
        methods=methods,
        minutes=((25.0, 1.3) if mlp else (900.0, 4.5))[0 if terms.is_full_scale else 1],
    )
