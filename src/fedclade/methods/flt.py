"""FLT: federated learning with taskonomy (Jamali-Rad, Abdizadeh, Singh, 2022).

Before training, once, the server finds out which clients are related (FCR, the paper's Algorithm 2), from what their
data look like and not from their models. Then it trains a model for each group of relatives, or for each client from
its own relatives (Algorithm 3, case II and case I). Who is away at first is sketched and placed when it comes; when
data change the groups may be found again.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator
from pydantic_core import ArgsKwargs

from fedclade.fleet import Fleet
from fedclade.methods.contradictions import LARGEST, check_number, check_settings
from fedclade.methods.mixing import Absent, mixed
from fedclade.methods.needs import Needs
from fedclade.methods.presets import Preset, with_preset
from fedclade.methods.protocol import Fact, Facts, First
from fedclade.methods.signature import Looks, Tuning, needs_of_signature, signature_of
from fedclade.methods.taskonomy import ALL, Taskonomy
from fedclade.methods.watching import astray, watched_mean
from fedclade.nouns import Assignment, ClientId, Round, Rows, settings
from fedclade.relate.discovery import Found
from fedclade.relate.discovery_facts import discovery_facts
from fedclade.relate.graph import automatic_reach, full_graph
from fedclade.relate.points import CutRule, Distance

PAUSE = 10  # rounds between two flags of a client, and between two clusterings: flags can lie


@settings
class FLT:
    """Finds related clients once, from sketches of their data, and trains a model for each group of them."""

    preset: Preset = "none"
    """FLT as the paper prints it or as its code was published: sets other settings, see `presets`."""
    case: Literal["groups", "graph"] = "groups"
    """A model for each group (case II), or for each client from its own relatives (case I)."""
    soft: bool = False
    """Case I: relatedness falls with distance instead of being 0 or 1."""
    gamma: Annotated[float, Field(ge=0, le=LARGEST)] = 0.0
    """Clients nearer than this are related (case I, and cuts `ward` and `components`); 0: found from the groups."""
    gate: Annotated[float, Field(ge=0, le=1)] = 0.0
    """How far groups must stand apart to be groups; below it the answer is one group. 0: the signature's own."""
    most: Annotated[int, Field(ge=2, le=10_000)] = 50
    """Groups that are looked for at the most."""
    groups: Annotated[int, Field(ge=0, le=10_000)] = 0
    """How many groups there are (C); 0: found."""
    signature: Literal["class-moments", "encoder"] = "class-moments"
    """What a client tells of its data."""
    fewest: Annotated[int, Field(ge=1)] = 1
    """Class moments: a client does not tell of labels with fewer examples."""
    noise: Annotated[float, Field(ge=0, le=100)] = 0.0
    """Class moments: a client adds so many standard errors of noise to what it tells of each label; 0: none."""
    encoder: str = "fashion-mnist"
    """Signature `encoder`, as all below: its name, or its file."""
    points: Annotated[int, Field(ge=1, le=1000)] = 5
    """What a client sends (k)."""
    tuning: Tuning = "none"
    """Who fine-tunes the encoder: nobody, every client for itself, or all together by FedAvg."""
    tuning_epochs: Annotated[int, Field(ge=1, le=1000)] = 5
    """Epochs of every client (J), or rounds of one epoch together."""
    embedding: Literal["none", "umap"] = "none"
    """Whether the server embeds all points before it compares them."""
    dimensions: Literal[2, 3] = 2
    """Of the embedding."""
    distance: Distance = "nearest"
    """Between sets of points: mean of nearest both ways, smallest (the paper), or matched (its code)."""
    cut: CutRule = "average"
    """How distances become groups: see `fedclade.relate.points`."""
    strangers: Literal["own", "global"] = "own"
    """A newcomer unlike anybody begins a group of its own, or has the model of all."""
    tau: Annotated[int, Field(ge=0)] = 0
    """Look again at everybody every so many rounds, and cluster again if anybody has moved; 0: never."""
    flags: Annotated[int, Field(ge=0)] = 0
    """Ask participants whether their data changed, and cluster again when so many really have; 0: do not ask."""
    watch: bool = False
    """Look at who sends an update unlike its group's, and cluster again when data really have changed."""
    absent: Absent = "participants"
    """As in FedAvg."""

    @model_validator(mode="before")
    @classmethod
    def preset_filled_in(cls, given: ArgsKwargs) -> ArgsKwargs:
        return ArgsKwargs(given.args, with_preset(given.kwargs or {}))

    @model_validator(mode="after")
    def nothing_idle(self) -> Self:
        check_settings(self)
        return self

    def needs(self) -> Needs:
        return needs_of_signature(self)

    def find(self, fleet: Fleet, now: Round) -> Found:
        """The one-shot step alone."""
        check_number(self.groups, len(fleet.clients()))
        looking = signature_of(self, now)
        return looking.found(looking.looks(fleet, fleet.clients(), now, looking.prepared(fleet, now)).told)

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[Taskonomy, Facts]:
        check_number(self.groups, len(fleet.clients()))
        encoder = signature_of(self, now).prepared(fleet, now)
        nobody = Taskonomy(Assignment.of_one(first(0), fleet.clients()), {}, {}, {}, encoder=encoder)
        return self.clustered(nobody, self.looks(nobody, fleet, fleet.clients(), now), now)

    def round(self, state: Taskonomy, fleet: Fleet, now: Round) -> tuple[Taskonomy, Facts]:
        chosen = now.sample(fleet.clients())
        state, news = self.settled(state, [client for client in chosen if client not in state.group], fleet, now)
        heard, loss, rows, strays = self.trained(state, state.active(chosen), fleet, now)
        state = replace(state, models=Assignment(rows, state.models.home)).with_overall()
        state, changes = self.watched(state, heard, strays, fleet, now)
        return state, {"asked": len(chosen), "heard": len(heard), "loss": loss, **news, **changes}

    def assignment(self, state: Taskonomy) -> Assignment:
        return state.models

    def place(
        self, state: Taskonomy, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round
    ) -> tuple[Taskonomy, Facts]:
        joined = replace(state, models=state.models.joined(dict.fromkeys(newcomers, ALL)))
        return self.settled(joined.with_overall(), newcomers, fleet, now)

    def looks(self, state: Taskonomy, fleet: Fleet, clients: Sequence[ClientId], now: Round) -> Looks:
        """What these clients' data look like, of those who answer."""
        return signature_of(self, now).looks(fleet, clients, now, state.encoder)

    def clustered(self, state: Taskonomy, looks: Looks, now: Round) -> tuple[Taskonomy, Facts]:
        """Groups, and for case I the graph, from what clients look like now."""
        if not looks.told.clients:
            return state, {}
        found = signature_of(self, now).found(looks.told)
        graph = None
        if self.case == "graph":
            reach = self.gamma**2 if self.gamma else automatic_reach(found.squared, found.clients, found.partition)
            graph = full_graph(found.clients, found.squared, reach, soft=self.soft)
        state = state.regrouped(found, graph, looks.told, now.number).with_tokens(looks.tokens)
        return state, {"discovery": discovery_facts(found, state.graph)}

    def settled(self, state: Taskonomy, whom: Sequence[ClientId], fleet: Fleet, now: Round) -> tuple[Taskonomy, Facts]:
        """These clients where they belong, one after the other; those who do not answer wait."""
        if not whom:
            return state, {}
        looks = self.looks(state, fleet, whom, now)
        if state.atlas is None:
            return self.clustered(state, looks, now)
        state = state.with_clients(looks.told, strangers_begin_groups=self.strangers == "own")
        return state.with_tokens(looks.tokens), {}

    def trained(
        self, state: Taskonomy, active: Sequence[ClientId], fleet: Fleet, now: Round
    ) -> tuple[Sequence[ClientId], float, Rows, Sequence[ClientId]]:
        """One round of training: who was heard, the loss, the new rows, who strayed. Old rows stay as they are."""
        models, graph, starts = state.models, state.graph, state.models.only(active)
        strays: Sequence[ClientId] = ()
        if graph is None:  # case II: FedAvg in each group
            if self.watch:
                means, strays = watched_mean(fleet, starts, state.group, now)
            else:
                means = fleet.train_mean(starts, now)
            there = models.only(state.active(fleet.clients()))
            return means.heard, means.loss, mixed(there, means, fleet.examples(there.clients), self.absent), strays
        updates = fleet.train(starts, now)  # case I: W <- A W
        strays = astray(starts, state.group, updates) if self.watch else ()
        stale = fleet.examples(fleet.clients()) if self.absent == "stale" else {}
        rows = graph.mixed(models.rows[1:], updates.clients, updates.rows, updates.examples, stale)
        return updates.clients, updates.loss, np.concatenate([models.rows[:1], rows]), strays

    def watched(
        self, state: Taskonomy, heard: Sequence[ClientId], strays: Sequence[ClientId], fleet: Fleet, now: Round
    ) -> tuple[Taskonomy, Facts]:
        """Dynamic clustering: again, when enough clients no longer look like their group. A flag alone moves nobody."""
        due = self.tau > 0 and now.number % self.tau == 0
        if not (due or self.flags or self.watch) or state.atlas is None:
            return state, {}
        quiet = {each: state.tokens[each] for each in heard if now.number - state.raised.get(each, -PAUSE) >= PAUSE}
        flags = fleet.changed(quiet, now).raised if self.flags else {}
        raised = [client for client in quiet if flags.get(client) or client in strays]
        suspects = fleet.clients() if due else raised
        looked = self.looks(state, fleet, suspects, now) if suspects else None
        if looked is not None:
            state = state.looked_at(looked.told, looked.tokens)
        state = replace(state.among(fleet.clients()), raised={**state.raised, **dict.fromkeys(raised, now.number)})
        enough = 1 if due else max(self.flags, 1)
        again = len(state.moved) >= enough and now.number - state.clustered >= PAUSE
        facts: dict[str, Fact] = {"flags": sum(flags.values()), "looked": len(raised), "moved": list(state.moved)}
        facts["clustered_again"] = again
        if again:
            whole = looked if due and looked is not None else self.looks(state, fleet, fleet.clients(), now)
            state, news = self.clustered(state, whole, now)
            facts |= news
        return state, facts
