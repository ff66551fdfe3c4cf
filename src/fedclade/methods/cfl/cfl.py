"""CFL: clustered federated learning (Sattler, Mueller, Samek, 2021).

One model is trained for all until it stalls. If single clients still want to move it, and against each other, their
data contradict: the cluster is split in two by the angles between their updates, and each part goes on alone, split
again when it stalls (Algorithms 2, 3 and 5). Clusters, models and updates are kept as a tree; a newcomer walks down the
tree to its cluster (Algorithm 4).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from fedclade.clustering.bipartition import Bipartition
from fedclade.core import Assignment, ClientId, InputError, LocalTraining, Round, Rows, settings
from fedclade.fleet import Fleet, Updates
from fedclade.methods.cfl.cluster_signs import Linkage, Update, compute_signs, mean_model
from fedclade.methods.cfl.parameter_tree import ROOT, CFLState
from fedclade.methods.cfl.split_rule import CONSECUTIVE_ROUNDS, Rule, SplitRule
from fedclade.methods.cfl.trial import best_of_paths, judge_splits, train_undivided
from fedclade.methods.needs import Needs
from fedclade.methods.protocol import Fact, Facts, First

FULL_GRADIENT_STEP = LocalTraining(epochs=1, batch=10**9, lr=1.0)  # it moves a model by minus its full gradient


@settings
class CFL:
    """Splits clients that pull one model apart in two, again and again, and trains a model for each group."""

    rule: Rule = "automatic"
    """How thresholds are set: see `fedclade.methods.cfl.split_rule`."""
    eps1: Annotated[float, Field(ge=0)] = 0.0
    """absolute: a cluster whose mean update is shorter has stalled."""
    eps2: Annotated[float, Field(ge=0)] = 0.0
    """absolute: a client whose update is longer has not."""
    eps1_share: Annotated[float, Field(gt=0)] = 0.1
    """paper: eps1 as a share of the longest mean update so far."""
    eps2_times: Annotated[float, Field(ge=0)] = 6.0
    """paper: eps2 in units of eps1."""
    gamma_max: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """How far a client's gradient may be from that of its group; a split that is not sure under this is not made."""
    similarity: Literal["updates", "gradients"] = "updates"
    """What is compared: how far training moved a model, or full gradients, for which every client is asked twice."""
    linkage: Linkage = "single"
    """How a cluster is cut in two: by Algorithm 1, which is single linkage; or complete, as in the published code."""
    fresh: Annotated[int, Field(ge=0)] = 5
    """With less than full participation: rounds for which a client's update still counts."""
    cached: Annotated[int, Field(ge=1)] = 20
    """Updates that are kept on each edge of the tree for newcomers, at most."""
    validation: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """The share of its training examples by which a client judges splits; 0: no split is undone."""
    trial: Annotated[int, Field(ge=1)] = 5
    """With a validation share: rounds after which a split is kept or undone."""

    def __post_init__(self) -> None:
        self.split_rule.check()
        if self.rule == "tried" and not self.validation:
            message = 'rule "tried" has nothing to try by'
            raise InputError(message, where="CFL.validation", got="0", need="a share over 0")

    def needs(self) -> Needs:
        reason = (
            'method.rule "paper" compares the updates of all clients from one model' if self.rule == "paper" else ""
        )
        return Needs(validation=self.validation, all_take_part=reason, model_path=model_path)

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[CFLState, Facts]:
        return CFLState.one_cluster(first(0), fleet.clients()), {}

    def round(self, state: CFLState, fleet: Fleet, now: Round) -> tuple[CFLState, Facts]:
        chosen = now.sample(fleet.clients())
        tree = self.walk_down(state, chosen, fleet, now)
        waiting = set(tree.waiting(chosen))
        sent = tree.cluster_models([client for client in chosen if client not in waiting])
        trained = fleet.train(sent, now)
        tree = train_undivided(tree, chosen, fleet, now)
        counted = {**self.fresh_updates(tree, now), **self.directions(sent, fleet, now, trained)}
        tree = replace(tree, latest=counted if now.participation < 1 else {})
        facts: dict[str, Fact] = {"asked": len(chosen), "heard": len(trained.clients), "loss": trained.loss}
        tree, splitting = self.update_clusters(tree, counted, trained, fleet, now)
        facts |= splitting
        if self.validation:
            tree, undone = judge_splits(tree, self.trial, fleet, now)
            facts["undone"] = list(undone)
        if now.evaluated and now.participation < 1:
            tree = self.walk_down(tree, fleet.clients(), fleet, now)
        if self.validation and now.number % self.trial == 0:
            facts["best"] = dict(best_of_paths(tree, fleet, now))
        return tree, facts

    def assignment(self, state: CFLState) -> Assignment:
        return state.models_in_use()

    def place(
        self, state: CFLState, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round
    ) -> tuple[CFLState, Facts]:
        joined = replace(state, node_by_client={**state.node_by_client, **dict.fromkeys(newcomers, ROOT)})
        return self.walk_down(joined, newcomers, fleet, now), {}

    def walk_down(self, tree: CFLState, clients: Sequence[ClientId], fleet: Fleet, now: Round) -> CFLState:
        """Algorithm 4: clients that are not in a leaf walk down the tree, a step for each answer."""
        while clients := tree.waiting(clients):
            heard = self.directions(tree.cluster_models(clients), fleet, now)
            nodes = tree.node_by_client
            tree = tree.move_clients({each: tree.nearer_child(nodes[each], heard[each].row) for each in heard})
            clients = list(heard)
        return tree

    def directions(
        self, sent: Assignment, fleet: Fleet, now: Round, trained: Updates | None = None
    ) -> dict[ClientId, Update]:
        """What is compared of each client: its update (equation 40), or its full gradient with the sign of one.

        An update is divided by what the schedule has made of the step size: that its norm falls must mean that the
        client has come to rest, and not that it takes smaller steps.
        """
        scale = 1.0 if self.similarity == "gradients" else now.lr_scale
        if self.similarity == "gradients":
            full = replace(FULL_GRADIENT_STEP, class_weights=now.local.class_weights, blind=now.local.blind)
            trained = fleet.train(sent, replace(now, local=full, dropout=False))
        elif trained is None:
            trained = fleet.train(sent, now)
        return {
            client: Update((row - sent.row_of(client)) / np.float32(scale), int(examples), now.number)
            for client, row, examples in zip(trained.clients, trained.rows, trained.examples, strict=True)
        }

    def fresh_updates(self, tree: CFLState, now: Round) -> dict[ClientId, Update]:
        """The updates of earlier rounds that still count."""
        return {client: each for client, each in tree.latest.items() if now.number - each.round <= self.fresh}

    def update_clusters(
        self, tree: CFLState, counted: Mapping[ClientId, Update], trained: Updates, fleet: Fleet, now: Round
    ) -> tuple[CFLState, Facts]:
        """Give every cluster its new model, split those that ask for it, and report what each one showed."""
        clusters: list[Fact] = []
        splits: list[Fact] = []
        present, trials = set(fleet.clients()), set(tree.on_trial())
        for leaf in tree.leaves():
            members = [client for client in tree.members(leaf) if client in present]
            heard = {client: counted[client] for client in members if client in counted}
            model = mean_model(tree.nodes[leaf].model, members, trained)
            if not heard:
                tree = tree.with_node(leaf, replace(tree.nodes[leaf], model=model))
                continue
            signs, found, alike = compute_signs(
                heard, tree.nodes[leaf].mean_seen, tree.nodes[leaf].usual_seen, self.linkage
            )
            eps1, eps2 = self.split_rule.levels(signs)
            levels = {"eps1": eps1, "eps2": eps2, "restless_norm": self.split_rule.restless_norm(signs)}
            clusters.append({"node": leaf, "members": len(members), **asdict(signs), **levels})
            fleet.show_similarities(alike.clients, alike.values)
            enough = found is not None and 2 * len(heard) >= len(members)
            node = tree.nodes[leaf].after_round(signs, found if enough and self.split_rule.wants_split(signs) else None)
            ready = node.consecutive_rounds >= CONSECUTIVE_ROUNDS[self.rule] and now.number >= node.no_split_before
            if ready and found is not None and not trials & set(tree.path(leaf)):
                tree = tree.with_node(leaf, node)
                tree = tree.split(leaf, found, heard, model, now.number, self.cached, self.validation > 0)
                splits.append(split_fact(leaf, found, tree))
            else:
                tree = tree.with_node(leaf, replace(node, model=model))
        return tree, {"clusters": clusters, "splits": splits}

    @property
    def split_rule(self) -> SplitRule:
        return SplitRule(self.rule, self.eps1, self.eps2, self.eps1_share, self.eps2_times, self.gamma_max)


def model_path(state: CFLState, client: ClientId) -> Rows:
    """The models on a client's path, general to special: (models, parameters)."""
    return np.stack([state.nodes[number].model for number in state.path(state.node_by_client[client])])


def split_fact(node: int, found: Bipartition, tree: CFLState) -> Fact:
    """A split as a fact."""
    split = tree.nodes[node].split
    assert split is not None
    parts: list[Fact] = [list(part) for part in found.parts]
    return {"node": node, "children": list(split.children), "parts": parts, "cross": found.cross}
