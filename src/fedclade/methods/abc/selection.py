"""Selection: which clients take part in a round, by their drifts at the last check-in.

At a check-in every client trains the model it has, and sends it: that costs as many uploads as there are clients. The
result is used for many rounds. Selection is a part of its own: ABC is FedAvg with it; any other method that samples
gets it by `selection = ...`, and then clients are chosen inside the groups that share a model.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fedclade.core import Assignment, ClientId, InputError, Round, Rows, settings
from fedclade.fleet import Fleet, Updates
from fedclade.methods.abc import attention, cosine_attention
from fedclade.methods.abc.balance import SLACK, by_groups, by_scores, group_members, least_used, participants_per_group
from fedclade.methods.abc.drifts import cosine_scores, drift_groups, nearest_groups, principal_scores
from fedclade.methods.needs import Needs, Network
from fedclade.methods.protocol import Fact

ScoreKind = Literal["groups", "pca", "cosine", "attention", "attention+"]
"""What is computed from drifts: groups of similar directions, the first principal component, the cosine to the mean, or
the attention of a network, the paper's or ours."""
SelectionKind = Literal["random", "balanced", "groups", "pca", "cosine", "attention", "attention+"]
CheckIn = Annotated[int, Field(ge=1, le=10**9)] | Literal["change"]
"""When there is a check-in: every so many rounds, or when clients join or the training loss jumps."""
USUAL_ROUNDS = 10  # changes of the loss from round to round, of which the mean and the deviation are what is usual
LOSS_JUMP = (
    6.0  # standard deviations over the mean: by Student's t about one false check-in in 7,000 rounds, if changes
)
# were normal and independent. A fixed ratio does not do: a small loss varies by a quarter in most long runs.
MIN_ROUNDS_BETWEEN = 5  # check-ins for a change: a client that joins or lies in every round must not cost one each time
UNKNOWN_GROUP = -1  # the group of clients that were not heard at a check-in
MAX_REPORTED_CLIENTS = 1000  # up to these the facts hold the scores of clients


@settings
class Selection:
    """Which clients take part in a round, in any method that samples."""

    selection: SelectionKind = "random"
    """At random; the least used (`balanced`); or by the drifts of their models, compared as in ABC's `score`."""
    check_in: CheckIn = 50
    """Rounds between check-ins, in which all clients are asked; the first round is one. Or "change": as in ABC."""
    network: str = ""
    """By attention: the file of a network, see `fedclade attention train`; empty: the shipped one.

    That of `attention` fits the net `mlp` on `digits` alone; that of `attention+` fits every net.
    """

    def needs(self) -> Needs:
        """What it needs besides what the method needs."""
        return needs_of_score(self.selection, self.network)


def needs_of_score(score: str, network: str) -> Needs:
    """What a score needs; an error if a network is named that it does not use.

    All but the paper's network read angles only, which are the same in a blind run.
    """
    if score == "attention":
        seen = "each number of an update by its place, for its network"
        return Needs(network=Network(score, network or score), sees=seen)
    if score == "attention+":
        return Needs(network=Network(score, network or score))
    if network:
        need = '"attention" or "attention+"'
        raise InputError("the network does nothing", where="method.network", got=f'by "{score}"', need=need)
    return Needs()


@dataclass(frozen=True, eq=False)
class SelectionState:
    """What is known about clients: how often they took part, and the scores or groups of their drifts."""

    used: dict[ClientId, int] = field(default_factory=dict)
    scores: dict[ClientId, float] = field(default_factory=dict)
    group_by_client: dict[ClientId, int] = field(default_factory=dict)
    last_check_in: int = 0
    """The round of the last check-in; 0: there was none."""
    losses: tuple[float, ...] = ()
    """The mean training losses of the last rounds, since the last check-in, that one included."""
    has_changed: bool = False
    """Whether clients joined, or the loss jumped, since the last check-in."""

    def is_check_in_due(self, when: CheckIn, now: Round) -> bool:
        """Whether a check-in is due in this round."""
        rounds = now.number - self.last_check_in
        if not self.last_check_in:
            return True
        return self.has_changed and rounds >= MIN_ROUNDS_BETWEEN if when == "change" else rounds >= when

    def after_loss(self, loss: float) -> "SelectionState":
        """The state after a round with this mean training loss: all that the server sees of data in most rounds.

        A change that does not make the model worse, as when clients exchange data, cannot be seen in it.
        """
        if not 0 < loss < math.inf:  # nobody was heard, or somebody lies
            return self
        losses = (*self.losses, loss)[-USUAL_ROUNDS - 1 :]
        return replace(self, losses=losses, has_changed=self.has_changed or has_jumped(self.losses, loss))

    def after_participation(self, chosen: tuple[ClientId, ...]) -> "SelectionState":
        """The state after these clients have taken part."""
        return replace(self, used={**self.used, **{client: self.used[client] + 1 for client in chosen}})

    def with_clients(self, clients: tuple[ClientId, ...]) -> "SelectionState":
        """The state with these clients. One that is new or was away begins with the least used: none waits for it."""
        times = [self.used[client] for client in clients if client in self.used]
        behind = max(times, default=0) - SLACK - 1  # no client that was there all the time is further behind
        fewest = min((each for each in times if each >= behind), default=0)
        late = [client for client in clients if client not in self.used or self.used[client] < behind]
        if not late:
            return self
        joined = bool(self.last_check_in) and any(client not in self.used for client in late)
        used = {**self.used, **dict.fromkeys(late, fewest)}
        return replace(self, used=used, has_changed=self.has_changed or joined)

    def after_check_in(self, score: "Scorer", starts: Assignment, updates: Updates, now: Round) -> "SelectionState":
        """The state after a check-in: drifts, seen from `starts`, are compared among clients with the same start.

        Known groups stay until others clearly stand apart: a trained model drifts at random. The first groups need not
        be clear, since it costs nothing to take turns among groups that mean nothing.
        """
        if not updates.clients:
            return self
        place = {client: number for number, client in enumerate(updates.clients)}
        scores: dict[ClientId, float] = {}
        group = dict(self.group_by_client)
        for own in group_members({client: starts.row_by_client[client] for client in updates.clients}):
            drifts = updates.rows[[place[client] for client in own]] - starts.row_of(own[0])
            values = (score or principal_scores)(drifts)  # beside groups only to be shown
            scores |= dict(zip(own, values.tolist(), strict=True))
            if score is not None:
                continue
            known = {client: group[client] for client in own if client in group}
            found = drift_groups(own, drifts, sure=bool(known))
            if known and len(found) == 1:
                group |= nearest_groups(known, own, drifts)
                continue
            same = starts.row_by_client[own[0]]
            first = max(group.values(), default=UNKNOWN_GROUP) + 1
            group = {client: number for client, number in group.items() if starts.row_by_client.get(client) != same}
            group |= {client: first + number for client, number in found.labels.items()}
        scored = replace(self, scores=scores, group_by_client=group, last_check_in=now.number)
        return replace(scored, losses=(), has_changed=False).after_loss(updates.loss)

    def facts(self) -> dict[str, Fact]:
        """The result of a check-in as facts; with many clients only that there was one."""
        facts: dict[str, Fact] = {"check_in": True}
        if len(self.used) <= MAX_REPORTED_CLIENTS:
            facts |= {"used": dict(self.used), "scores": dict(self.scores)}
            if self.group_by_client:
                facts["drift_groups"] = dict(self.group_by_client)
        return facts


def has_jumped(before: tuple[float, ...], loss: float) -> bool:
    """Whether a loss lies higher over the last one than is usual; not before enough rounds say what is usual.

    Logarithms, because noise goes with the loss; changes from round to round, because the loss falls as models learn.
    """
    if len(before) <= USUAL_ROUNDS:
        return False
    usual = np.diff(np.log(before))
    return bool(math.log(loss / before[-1]) > usual.mean() + LOSS_JUMP * usual.std(ddof=1))


Scorer = Callable[[Rows], NDArray[np.float64]] | None
"""From drifts to scores; None: drifts are grouped."""


def scorer(score: ScoreKind, network: str, fleet: Fleet) -> Scorer:
    """The function from drifts to scores of this kind."""
    match score:
        case "groups":
            return None
        case "pca":
            return principal_scores
        case "cosine":
            return cosine_scores
        case "attention":
            return partial(attention.scores, fleet.attention(network or score, score))
        case "attention+":
            return partial(cosine_attention.scores, float(fleet.attention(network or score, score)[0]))


def participants(
    by: SelectionKind, state: SelectionState, models: Assignment, now: Round, present: int = 0
) -> tuple[ClientId, ...]:
    """The participants of this round: of the clients that share a model, as many as their number is worth.

    `present`: how many clients there are, if not all of them can be chosen.
    """
    members, rng = group_members(models.row_by_client), now.generator("selection")
    count = min(now.participant_count(present or len(models.row_by_client)), len(models.row_by_client))
    if by == "random":
        drawn = now.generator("participation").choice(len(models.clients), size=count, replace=False)
        return tuple(models.clients[number] for number in sorted(drawn))
    chosen: list[ClientId] = []
    for own, share in zip(members, participants_per_group(members, state.used, count, rng), strict=True):
        if by == "balanced":
            chosen += least_used(own, state.used, share, rng)
        elif by == "groups":
            known = {client: state.group_by_client.get(client, UNKNOWN_GROUP) for client in own}
            chosen += by_groups(known, state.used, share, rng)
        else:
            heard = [state.scores[client] for client in own if client in state.scores]
            middle = float(np.mean(heard)) if heard else 0.0
            scores = {client: state.scores.get(client, middle) for client in own}
            chosen += by_scores(scores, state.used, share, rng)
    return tuple(sorted(chosen))


def select_participants(
    how: Selection, state: SelectionState, models: Assignment, fleet: Fleet, now: Round
) -> tuple[SelectionState, Round, dict[str, Fact]]:
    """The round with its participants, after a check-in if one is due; and facts about them.

    Where every client has a model of its own, drifts cannot be compared, and the least used take part.
    """
    state, facts = state.with_clients(models.clients), dict[str, Fact]()
    has_shared_models = len(set(models.row_by_client.values())) < len(models.row_by_client)
    by = how.selection if has_shared_models else "balanced"
    if by != "random" and by != "balanced" and state.is_check_in_due(how.check_in, now):
        state = state.after_check_in(scorer(by, how.network, fleet), models, fleet.train(models, now), now)
        facts = state.facts() if state.last_check_in == now.number else facts
    chosen = participants(by, state, models, now)
    return state.after_participation(chosen), replace(now, chosen=chosen), {**facts, "chosen": list(chosen)}
