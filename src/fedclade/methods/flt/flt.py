"""FLT: federated learning with taskonomy (Jamali-Rad, Abdizadeh, Singh, 2022).

Before training, once, the server finds out which clients are related (the paper's Algorithm 2), from what their data
look like and not from their models. Then it trains a model for each group of related clients, or for each client from
its own relatives (Algorithm 3, case II and case I). A client that is away at first is placed when it comes; when data
change the groups may be found again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import ArgsKwargs

from fedclade.core import Assignment, ClientId, InputError, Round, settings
from fedclade.core.settings import nested_settings
from fedclade.fleet import Fleet
from fedclade.methods.flt.class_moments import ClassMoments
from fedclade.methods.flt.encoder import Encoder
from fedclade.methods.flt.found_groups import FoundGroups, GroupSearch, SketchedClients, discovery_facts
from fedclade.methods.flt.state import NO_GROUP, OVERALL_ROW, FLTState
from fedclade.methods.flt.training import automatic_reach, mean_by_model, outlying_clients, relatedness_graph
from fedclade.methods.mixing import Absent, mix_rows
from fedclade.methods.needs import Needs
from fedclade.methods.protocol import Fact, Facts, First

MAX_LONE_MODELS = 100  # clients without a group that have a copy of the model of all; more of them share one
PAUSE = 10  # rounds between two flags of a client, and between two clusterings: flags can lie

PRESETS: dict[str, dict[str, object]] = {
    # Algorithm 2 as printed, but for the sign of its threshold: near clients are related, not far ones.
    "paper": {
        "signature": {
            "kind": "encoder",
            "own_tuning_epochs": 5,
            "umap_dimensions": 2,
            "distance": "smallest",
            "cut": "ward",
        },
        "gamma": 1.0,
    },
    # The short paper: two points each, and the whole graph, which is not cut into groups.
    "workshop": {
        "signature": {
            "kind": "encoder",
            "points": 2,
            "own_tuning_epochs": 5,
            "umap_dimensions": 2,
            "distance": "smallest",
            "cut": "components",
        },
        "gamma": 1.0,
        "case": "graph",
    },
    # What the authors' code does, but for its defects: k is not read from the truth, clients keep one encoder instead
    # of handing one on, and averaging does not change what it is still averaging.
    "published": {
        "signature": {
            "kind": "encoder",
            "joint_tuning_rounds": 5,
            "umap_dimensions": 2,
            "umap_start": "spectral",
            "distance": "matched",
            "cut": "components",
        },
        "gamma": 1.0,
        "case": "graph",
        "absent": "stale",
    },
}


@settings
class FLT:
    """Finds related clients once, from sketches of their data, and trains a model for each group of them."""

    preset: Literal["none", "paper", "published", "workshop"] = "none"
    """Where the other settings start: FLT as the paper prints it, as its code was published, or as in the short paper.

    Any may be changed.
    """
    signature: Annotated[ClassMoments | Encoder, nested_settings(ClassMoments, Encoder)] = ClassMoments()
    """What a client tells of its data."""
    case: Literal["groups", "graph", "soft-graph"] = "groups"
    """A model for each group (case II), or for each client from its relatives (case I), equally or by distance."""
    gamma: Annotated[float, Field(ge=0, le=1e9)] = 0.0
    """Clients nearer than this are related (case I, and cuts `ward` and `components`); 0: found from the groups."""
    groups: Annotated[int, Field(ge=0, le=10_000)] = 0
    """How many groups there are (C); 0: found, with the next two settings."""
    max_groups: Annotated[int, Field(ge=2, le=10_000)] = 50
    """The largest number of groups that is tried."""
    min_separation: Annotated[float, Field(ge=0, le=1)] = 0.0
    """How far groups must stand apart to be groups; below it the answer is one group. 0: the signature's own."""
    outlying_newcomers: Literal["own", "global"] = "own"
    """A newcomer unlike all groups begins a group of its own, or has the model of all until groups are found again."""
    tau: Annotated[int, Field(ge=0)] = 0
    """Ask all clients for their signature every so many rounds, and cluster again if any has moved; 0: never."""
    flags: Annotated[int, Field(ge=0)] = 0
    """Ask participants whether their data changed, and cluster again when so many really have; 0: do not ask."""
    watch_updates: bool = False
    """Look for updates unlike their group's, and cluster again when data really have changed."""
    reclustering: Literal["checked", "paper"] = "checked"
    """Again only if clients really have moved; or Algorithm 3 as printed: every tau rounds, or at over `flags` flags.

    As printed, the encoder is fine-tuned only when groups are found again, and newcomers wait for that.
    """
    absent: Absent = "participants"
    """As in FedAvg."""

    @model_validator(mode="before")
    @classmethod
    def fill_in_preset(cls, given: ArgsKwargs) -> ArgsKwargs:
        return ArgsKwargs(given.args, with_preset(given.kwargs or {}))

    @model_validator(mode="after")
    def check_combinations(self) -> Self:
        cut = self.signature.cut if isinstance(self.signature, Encoder) else "average"
        if self.gamma and self.case == "groups" and cut == "average":
            need = 'case "graph", or cut "ward" or "components"'
            got = f'{self.gamma:g} with case "groups" and cut "average"'
            raise InputError(
                "gamma does nothing", where="FLT.gamma", got=got, need=need, do="change one of them, or leave gamma out"
            )
        if self.reclustering == "paper" and (self.watch_updates or not (self.tau or self.flags)):
            got = "watch_updates" if self.watch_updates else "neither tau nor flags"
            need, where = "tau, flags or both, which Algorithm 3 has", "FLT.reclustering"
            raise InputError('reclustering "paper" needs a reason to cluster again', where=where, got=got, need=need)
        if self.outlying_newcomers == "global" and not (self.tau or self.flags or self.watch_updates):
            raise InputError(
                "clients with the model of all would never train, since groups are not found again",
                where="FLT.outlying_newcomers",
                got='"global" alone',
                need="tau, flags or watch_updates beside it",
                do='set one of them, or outlying_newcomers = "own"',
            )
        if self.groups and cut == "components":
            got, need = f'{self.groups} with cut "components"', 'cut "average" or "ward"'
            raise InputError(
                "groups does nothing", where="FLT.groups", got=got, need=need, do="change the cut, or leave groups out"
            )
        return self

    def needs(self) -> Needs:
        return self.signature.needs()

    def find(self, fleet: Fleet, now: Round) -> FoundGroups:
        """The one-shot step alone (Algorithm 2)."""
        self.check_group_count(len(fleet.clients()))
        encoder = self.first_signature.prepare(fleet, now)
        sketched = self.first_signature.ask(fleet, fleet.clients(), now, encoder)
        return self.signature.find_groups(sketched.summaries, self.search(now))

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[FLTState, Facts]:
        self.check_group_count(len(fleet.clients()))
        signature = self.first_signature
        encoder = signature.prepare(fleet, now)
        state = FLTState(Assignment.of_one(first(0), fleet.clients()), {}, {}, {}, encoder=encoder)
        return self.cluster(state, signature.ask(fleet, fleet.clients(), now, encoder), now)

    def round(self, state: FLTState, fleet: Fleet, now: Round) -> tuple[FLTState, Facts]:
        chosen = now.sample(fleet.clients())
        unknown = [client for client in chosen if client not in state.group_by_client]
        state, placing = self.place_clients(state, unknown, fleet, now)
        heard, loss, models, outliers = self.train(state, state.active(chosen), fleet, now)
        state = replace(state, models=models).with_overall()
        state, changes = self.check_changes(state, heard, outliers, fleet, now)
        return state, {"asked": len(chosen), "heard": len(heard), "loss": loss, **placing, **changes}

    def assignment(self, state: FLTState) -> Assignment:
        alone = [client for client in state.models.clients if state.group_by_client.get(client, NO_GROUP) == NO_GROUP]
        if not alone or state.places is None:
            return state.models
        # They have the model of all, which they do not train: that makes no group of them.
        alone = alone[:MAX_LONE_MODELS]
        return state.models.with_own_rows(alone, state.models.models([OVERALL_ROW] * len(alone)))

    def place(
        self, state: FLTState, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round
    ) -> tuple[FLTState, Facts]:
        joined = replace(state, models=state.models.with_clients(dict.fromkeys(newcomers, OVERALL_ROW))).with_overall()
        if self.reclustering == "paper":
            waiting = dict.fromkeys(newcomers, NO_GROUP)
            return replace(joined, group_by_client={**joined.group_by_client, **waiting}), {}
        return self.place_clients(joined, newcomers, fleet, now)

    def check_group_count(self, clients: int) -> None:
        """An error if more groups are asked for than there are clients."""
        if self.groups > clients:
            got = f"{self.groups} groups, {clients} clients at the start"
            need, do = f"at most {clients} groups", "give fewer, or 0: they are found"
            raise InputError("there are fewer clients than groups", where="FLT.groups", got=got, need=need, do=do)

    def search(self, now: Round) -> GroupSearch:
        """What is asked of the search for groups."""
        return GroupSearch(
            min_separation=self.min_separation,
            max_groups=self.max_groups,
            groups=self.groups,
            gamma=self.gamma,
            seed=now.seed % 2**32,
        )

    @property
    def first_signature(self) -> ClassMoments | Encoder:
        """The signature of the first clustering; Algorithm 3 has MODE = normal there."""
        return self.signature if self.reclustering == "checked" else self.signature.without_tuning()

    def ask(self, state: FLTState, fleet: Fleet, clients: Sequence[ClientId], now: Round) -> SketchedClients:
        """The signatures of those of these clients that answer."""
        return self.signature.ask(fleet, clients, now, state.encoder)

    def cluster(self, state: FLTState, sketched: SketchedClients, now: Round) -> tuple[FLTState, Facts]:
        """Groups, and for case I the graph, from what clients' data look like now."""
        if not sketched.summaries.clients:
            return state, {}
        found = self.signature.find_groups(sketched.summaries, self.search(now))
        graph = None
        if self.case != "groups":
            reach = self.gamma**2 if self.gamma else automatic_reach(found.squared, found.clients, found.partition)
            graph = relatedness_graph(found.clients, found.squared, reach, soft=self.case == "soft-graph")
        places = self.signature.places(found, sketched.summaries)
        state = state.regroup(found, graph, places, now.number).with_tokens(sketched.tokens)
        return state, {"discovery": discovery_facts(found, state.graph)}

    def place_clients(
        self, state: FLTState, clients: Sequence[ClientId], fleet: Fleet, now: Round
    ) -> tuple[FLTState, Facts]:
        """These clients where they belong, one after the other; those that do not answer wait."""
        if not clients:
            return state, {}
        signature = self.signature if state.last_clustering else self.first_signature  # as the others were asked
        sketched = signature.ask(fleet, clients, now, state.encoder)
        if state.places is None:
            return self.cluster(state, sketched, now)
        return state.place_clients(sketched, outliers_begin_groups=self.outlying_newcomers == "own"), {}

    def train(
        self, state: FLTState, active: Sequence[ClientId], fleet: Fleet, now: Round
    ) -> tuple[Sequence[ClientId], float, Assignment, Sequence[ClientId]]:
        """One round of training: the clients that answered, their loss, new models, and clients with odd updates."""
        models, graph, starts = state.models, state.graph, state.models.restrict(active)
        if graph is not None:  # case I: W <- A W
            updates = fleet.train(starts, now)
            outliers = outlying_clients(starts, state.group_by_client, updates) if self.watch_updates else ()
            stale = fleet.examples(fleet.clients()) if self.absent == "stale" else {}
            models = graph.mix(models, updates.clients, updates.rows, updates.examples, stale)
            return updates.clients, updates.loss, models, outliers
        if self.watch_updates:  # case II: FedAvg in each group
            updates = fleet.train(starts, now)
            means, outliers = mean_by_model(starts, updates), outlying_clients(starts, state.group_by_client, updates)
        else:
            means, outliers = fleet.train_mean(starts, now), ()
        rows = mix_rows(means, self.absent, lambda: models.restrict(state.active(fleet.clients())), fleet)
        return means.heard, means.loss, Assignment(rows, models.row_by_client), outliers

    def check_changes(
        self, state: FLTState, heard: Sequence[ClientId], outliers: Sequence[ClientId], fleet: Fleet, now: Round
    ) -> tuple[FLTState, Facts]:
        """Dynamic clustering: again, when enough clients no longer look like their group. A flag alone moves nobody."""
        if self.reclustering == "paper":
            return self.follow_algorithm_3(state, heard, fleet, now)
        due = self.tau > 0 and now.number % self.tau == 0
        if not (due or self.flags or self.watch_updates) or state.places is None:
            return state, {}
        quiet = {each: state.tokens[each] for each in heard if now.number - state.last_flag.get(each, -PAUSE) >= PAUSE}
        flags = fleet.data_changed(quiet, now).changed if self.flags else {}
        suspects = [client for client in quiet if flags.get(client) or client in outliers]
        suspects += self.waiting_clients(state, fleet, now)
        asked = fleet.clients() if due else suspects
        sketched = self.ask(state, fleet, asked, now) if asked else None
        if sketched is not None:
            state = state.update_moved(sketched)
        last_flag = {**state.last_flag, **dict.fromkeys(suspects, now.number)}
        state = replace(state.without_absent(fleet.clients()), last_flag=last_flag)
        enough = 1 if due else max(self.flags, 1)
        again = len(state.moved) >= enough and now.number - state.last_clustering >= PAUSE
        facts: dict[str, Fact] = {"flags": sum(flags.values()), "looked": len(suspects), "moved": list(state.moved)}
        facts["clustered_again"] = again
        if again:
            everybody = sketched if due and sketched is not None else self.ask(state, fleet, fleet.clients(), now)
            state, discovery = self.cluster(state, everybody, now)
            facts |= discovery
        return state, facts

    def waiting_clients(self, state: FLTState, fleet: Fleet, now: Round) -> list[ClientId]:
        """Clients unlike all groups, which do not train: asked again after a pause, until they have a group."""
        alone = [client for client in fleet.clients() if state.group_by_client.get(client) == NO_GROUP]
        return [client for client in alone if now.number - state.last_flag.get(client, -PAUSE) >= PAUSE]

    def follow_algorithm_3(
        self, state: FLTState, heard: Sequence[ClientId], fleet: Fleet, now: Round
    ) -> tuple[FLTState, Facts]:
        """Lines 24 to 31: again when over lambda clients have raised their delta, or every tau rounds.

        A client raises its delta when its data have changed or it is a newcomer, and it stays up until then.
        """
        present = fleet.clients()
        newcomers = [client for client in present if state.group_by_client.get(client) == NO_GROUP]
        flags: dict[ClientId, bool] = {}
        if self.flags:
            flags.update(fleet.data_changed({client: state.tokens[client] for client in heard}, now).changed)
        raised = {*state.moved, *newcomers, *(client for client, is_up in flags.items() if is_up)}
        state = replace(state, moved=tuple(sorted(raised & set(present))))
        due = self.tau > 0 and now.number % self.tau == 0
        again = due or (self.flags > 0 and len(state.moved) > self.flags)
        facts: dict[str, Fact] = {"flags": sum(flags.values()), "moved": list(state.moved), "clustered_again": again}
        if again:
            encoder = self.signature.prepare(fleet, now, state.encoder)  # MODE = fine-tune, from the latest state
            sketched = self.signature.ask(fleet, present, now, encoder)
            state, discovery = self.cluster(replace(state, encoder=encoder), sketched, now)
            facts |= {**discovery, "clustered_again": bool(discovery)}
        return state, facts


def with_preset(given: Mapping[str, object]) -> dict[str, object]:
    """The settings that were given, over those of their preset; a table of a signature lies over the preset's own.

    A preset's gamma or start of UMAP that would do nothing beside what was given is left out.
    """
    start = PRESETS.get(str(given.get("preset")), {})
    merged = {**start, **given}
    mine, its = given.get("signature"), start.get("signature")
    mine = {"kind": mine} if isinstance(mine, str) else mine
    if isinstance(mine, Mapping) and isinstance(its, Mapping) and mine.get("kind", its["kind"]) == its["kind"]:
        both = {**its, **mine}
        if not both["umap_dimensions"] and "umap_start" not in mine:
            both.pop("umap_start", None)
        merged["signature"] = both
    signature = merged.get("signature")
    cut = signature.get("cut") if isinstance(signature, Mapping) else getattr(signature, "cut", None)
    if "gamma" not in given and merged.get("case", "groups") == "groups" and cut in (None, "average"):
        merged.pop("gamma", None)
    return merged
