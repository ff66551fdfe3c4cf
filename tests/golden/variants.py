"""What the golden file is about: worlds, methods with the settings that change their path, and tables for `groups`."""

from collections.abc import Iterator
from typing import Any

Table = dict[str, Any]

PERMUTED: Table = {"source": "digits", "world": "label-permutation", "clients": 8, "groups": 2}
ROTATED: Table = {"source": "digits", "world": "rotation", "clients": 8, "groups": 4}
WORLDS: dict[str, Table] = {
    "permuted": PERMUTED,
    "permuted-changing": {
        **PERMUTED,
        "drift": {"round": 3, "share": 0.25, "kind": "group"},
        "newcomers": {"rounds": [2, 4], "share": 0.3},
    },
    "rotated": ROTATED,
    "rotated-changing": {
        **ROTATED,
        "drift": {"round": 4, "share": 0.25, "kind": "rotate"},
        "newcomers": {"rounds": [2, 3], "origin": "new"},
    },
}
RUN: Table = {"rounds": 6, "participation": 0.6, "evaluate_every": 2, "seed": 3}
LOCAL: Table = {"epochs": 2, "batch": 24, "lr": 0.3}
NET: Table = {"name": "mlp", "hidden": 12, "dropout": 0.2}
ALL: Table = {"run": {"participation": 1.0}}
LONG: Table = {"run": {"participation": 1.0, "rounds": 13, "evaluate_every": 5}}  # FLT rests for ten rounds
LONGER: Table = {"run": {"participation": 1.0, "rounds": 40, "evaluate_every": 20}}
LOGISTIC: Table = {"net": {"name": "logistic"}}
SCORES = ("groups", "pca", "cosine", "attention+", "attention")


def encoder(**settings: Any) -> Table:
    """FLT's signature by an encoder."""
    return {"kind": "encoder", **settings}


def variants(network: str) -> dict[str, Table]:
    """Sections of an experiment to lay over the common ones, by name; `network`: a file of ABC's attention."""
    found: dict[str, Table] = {}

    def add(name: str, method: str, more: Table | None = None, /, **settings: Any) -> None:
        found[name] = {"method": {"name": method, **settings}, **(more or {})}

    add("fedavg", "fedavg")
    add("fedavg stale", "fedavg", absent="stale")
    add("fedavg momentum", "fedavg", {"local": {"momentum": 0.5, "weight_decay": 0.001}})
    add("fedavg steps", "fedavg", {"local": {"epochs": 1, "steps": 3}})
    add("fedavg blind", "fedavg", {"local": {"blind": True}})
    add("fedavg logistic", "fedavg", LOGISTIC)
    add("fedprox", "fedprox", mu=0.1)
    add("fedprox stale", "fedprox", absent="stale")
    add("local", "local")
    add("ditto", "ditto", lam=0.3)
    add("fine-tuned", "fedavg-ft", epochs=2)

    add("flt", "flt")
    add("flt all", "flt", ALL)
    add("flt stale", "flt", absent="stale")
    add("flt blind", "flt", {"local": {"blind": True}})
    add("flt graph", "flt", case="graph")
    add("flt graph soft", "flt", case="soft-graph")
    add("flt graph gamma", "flt", case="graph", gamma=0.5)
    add("flt graph stale", "flt", case="graph", absent="stale")
    add("flt groups", "flt", groups=3)
    add("flt most", "flt", max_groups=2, min_separation=0.3)
    add("flt fewest", "flt", signature={"min_label_examples": 5})
    add("flt noise", "flt", signature={"noise": 0.5})
    add("flt global", "flt", outlying_newcomers="global", tau=1000)
    add("flt tau", "flt", LONG, tau=2)
    add("flt tau graph", "flt", LONG, tau=2, case="graph")
    add("flt tau global", "flt", LONG, tau=5, outlying_newcomers="global")
    add("flt flags", "flt", LONG, flags=1)
    add("flt flags graph", "flt", LONG, flags=2, case="soft-graph")
    add("flt watch", "flt", LONG, watch_updates=True)
    add("flt watch graph", "flt", LONG, watch_updates=True, case="graph")
    add("flt encoder", "flt", signature=encoder(points=3))
    add("flt encoder smallest", "flt", signature=encoder(distance="smallest", cut="ward"), gamma=2.0)
    add("flt encoder matched", "flt", signature=encoder(distance="matched", cut="components"), gamma=3.0)
    add("flt encoder clients", "flt", signature=encoder(own_tuning_epochs=1))
    add("flt encoder together", "flt", signature=encoder(joint_tuning_rounds=2))
    add("flt encoder graph flags", "flt", LONG, signature=encoder(), case="graph", flags=1, groups=2)
    add("flt encoder groups", "flt", signature=encoder(own_tuning_epochs=1), groups=4)
    add("flt encoder ward", "flt", signature=encoder(distance="smallest", cut="ward"), groups=4)
    add("flt encoder public", "flt", signature=encoder(name="public"))
    add("flt umap", "flt", signature=encoder(umap_dimensions=2))
    add("flt paper", "flt", preset="paper")
    add("flt paper groups", "flt", preset="paper", groups=2)
    add("flt published", "flt", preset="published")

    now: Table = {"rule": "absolute", "eps1": 100.0, "eps2": 0.0}  # splits at once
    add("cfl", "cfl", ALL)
    add("cfl long", "cfl", LONGER)
    add("cfl tried long", "cfl", LONGER, rule="tried", validation=0.2, trial=2)
    add("cfl partial", "cfl")
    add("cfl absolute", "cfl", ALL, **now)
    add("cfl absolute partial", "cfl", **now)
    add("cfl paper", "cfl", ALL, rule="paper", eps1_share=0.9, eps2_times=0.5)
    add("cfl validation", "cfl", ALL, **now, validation=0.2, trial=2)
    add("cfl validation partial", "cfl", **now, validation=0.2, trial=1)
    add("cfl tried", "cfl", ALL, rule="tried", validation=0.2, trial=2)
    add("cfl gradients", "cfl", ALL, **now, similarity="gradients")
    add("cfl gradients partial", "cfl", **now, similarity="gradients", fresh=1, cached=1)
    add("cfl gamma", "cfl", ALL, **now, gamma_max=0.5)

    add("ifca", "ifca")
    add("ifca four", "ifca", clusters=4, restarts=1)
    add("ifca restarts", "ifca", clusters=3, restarts=2, trial=2)
    add("ifca shared", "ifca", shared=1, restarts=2)
    add("ifca from fedavg", "ifca", start_from="fedavg", warmup=2, restarts=2, trial=1)
    add("ifca gradients", "ifca", averaging="gradients", restarts=1)
    add("ifca some choose", "ifca", all_choose=False, restarts=1)

    add("fedsem", "fedsem")
    add("fedsem four", "fedsem", clusters=4)
    add("fedsem four stale", "fedsem", clusters=4, absent="stale")
    add("fedsem last", "fedsem", distance="last", clusters=3)
    add("fedsem some join", "fedsem", all_join=False)
    add("fedsem stale", "fedsem", absent="stale")

    add("pca", "pca-km-hc", components=8)
    add("pca groups", "pca-km-hc", components=8, groups=4)
    add("pca own", "pca-km-hc", components=4, basis="own", points=3)
    add("pca matched", "pca-km-hc", components=8, distance="matched", groups=2)
    add("pca smallest stale", "pca-km-hc", components=8, distance="smallest", absent="stale")

    for score in SCORES:
        own: Table = {"network": network} if score == "attention" else {}
        add(f"abc {score}", "abc", score=score, check_in=3, **own)
        add(f"fedavg by {score}", "fedavg", selection=score, check_in=3, **own)
    add("fedavg balanced", "fedavg", selection="balanced")
    add("flt by groups", "flt", selection="groups", check_in=2)
    add("ditto by pca", "ditto", selection="pca", check_in=2)
    add("local by cosine", "local", selection="cosine", check_in=2)
    add("ifca by attention+", "ifca", selection="attention+", check_in=2)
    return found


BROKEN = ("silent", "not a number", "too many examples")
"""What is wrong with one client's replies, for these methods."""
TRIED_BROKEN = (
    *("fedavg", "local", "ditto", "flt", "flt graph", "flt encoder together", "flt flags", "flt watch"),
    *("cfl absolute", "cfl validation", "ifca restarts", "fedsem", "pca", "abc groups"),
)


def entries(network: str) -> Iterator[tuple[str, str, str, str, Table]]:
    """Every run as (name, world, fleet, broken, sections)."""
    known = variants(network)
    for name, sections in known.items():
        for world in WORLDS:
            for fleet in ("simulated", "loopback"):
                yield name, world, fleet, "", sections
    for name in TRIED_BROKEN:
        for broken in BROKEN:
            for fleet in ("simulated", "loopback"):
                yield name, "permuted-changing", fleet, broken, known[name]
