"""Words of the papers that a page of results uses, with their meanings."""

import re

WORDS = {
    "FedAvg": (r"FedAvg", "one model for everybody, the mean of what clients have trained."),
    "Local": (r"\bLocal\b", "every client trains alone; nothing is shared."),
    "FedSEM": (
        r"FedSEM",
        "several models; every client joins the one that its own trained model is nearest to, by k-means over models.",
    ),
    "IFCA": (r"IFCA", "several models; in every round each client joins the one with the smallest loss on its data."),
    "PCA+kM+HC": (
        r"PCA\+kM\+HC",
        "groups are found once, before training, from principal components of clients' data, summed up by k-means and "
        "cut by hierarchical clustering.",
    ),
    "Enc1, Enc2": (
        r"\bEnc[12]\b",
        "the encoders by which FLT sees clients' data. Enc1 has learnt on images of the clients' classes among others, "
        "Enc2 on images of other things.",
    ),
    "fine-tuned": (
        r"fine-tun",
        "an encoder that a client has trained on with its own images before it tells of them.",
    ),
    "smallest, nearest, matched": (
        r"\b(smallest|nearest|matched)\b.{0,40}distance|points are matched",
        "distances between two clients, each of whom is a few points: that of their two nearest points; the mean from "
        "each point to the nearest of the other client; the mean over pairs, every point in one pair. The paper has "
        "the smallest, its code the matched one.",
    ),
    "basis": (r"\b(one|own) basis\b|basis for all", "the axes, principal components, in which data are written down."),
    "silhouettes": (
        r"silhouette",
        "how much nearer clients are to their own group than to the next one; the number of groups with the best is "
        "taken.",
    ),
    "ledger": (r"\bledger\b", "what fedclade counts in a run: every number that is sent, and to whom."),
    "UMAP": (r"\bUMAP\b", "a way to draw points of many dimensions in two, neighbours near each other."),
    "C": (r"\bC ?= ?\d", "the number of groups that a method is told."),
    "M, rho, E, T": (r"\brho=", "FLT's: clients, share of them in a round, epochs of a client in a round, rounds."),
    "class moments": (
        r"class moments",
        "how fedclade's FLT tells clients apart by default: count, mean and variance of the data of each label. The "
        "papers do not have it.",
    ),
    "scenario 1": (r"[Ss]cenario 1\b", "FLT's: five groups of clients, each with two classes of its own."),
    "scenario 2": (
        r"[Ss]cenario 2\b",
        "FLT's: five groups with three classes each; one is shared with each neighbour.",
    ),
    "scenario 3": (r"[Ss]cenario 3\b", "FLT's: every client is a person who writes; no groups are planted."),
    "scenario 4": (
        r"[Ss]cenario 4\b",
        "FLT's: hundreds or thousands of clients in ten groups of five classes, their sizes by a power law.",
    ),
    "separation gap": (
        r"[Ss]eparation gap",
        "CFL's: the smallest similarity of two updates from one true group, minus the largest similarity across the "
        "best cut in two; above 0 that cut divides no true group.",
    ),
    "congruent": (r"congruent", "CFL's: all clients' data fit one model, so that nobody should be split off."),
    "eps1, eps2": (
        r"\beps[12]\b|[Tt]hresholds",
        "CFL's thresholds: a cluster is split when the norm of the mean update is below eps1 and that of some client's "
        "update above eps2. Section V-B: eps1 about a tenth of the largest mean update, eps2 one to ten times eps1.",
    ),
    "automatic rule": (
        r"automatic rule",
        "fedclade's for CFL: a cluster is split when its mean update has become short, clients still move, and they "
        "point apart in parts that are alike inside. No threshold is to be set.",
    ),
    "perplexity": (
        r"[Pp]erplexity",
        "between how many equally likely words a model would have to choose: the lower, the better.",
    ),
    "K, gamma": (
        r"\bgamma\b",
        "in CFL's figure 3 the number of distributions, and the noise in clients' gradients relative to their length; "
        "in FLT gamma is the distance up to which two clients are linked.",
    ),
    "N, K": (r"\bN=\d+, K=", "ABC's: clients, and how many of them take part in a round."),
    "drift": (r"\bdrifts?\b", "ABC's: what a client's few steps of training have changed in the common model."),
    "check-in": (r"check-in", "ABC's: a round in which everybody trains and is scored, before clients are chosen."),
    "least used": (
        r"least used",
        "the clients that were asked least often take part, without any score: what taking turns alone brings.",
    ),
    "2C-1, 2C-2, 5C": (
        r"\b(2C-[12]|5C)\b",
        "ABC's mixes: everybody has all classes; two (2C) or five (5C) kinds of clients have more of some of them.",
    ),
    "ARI": (r"\bARI\b", "the adjusted Rand index of found and true groups: 1 if they are the same, 0 for chance."),
}


def glossary(text: str) -> str:
    """The words that this text uses, as a list of Markdown; empty if it uses none."""
    return "\n".join(f"- **{word}**: {means}" for word, (sign, means) in WORDS.items() if re.search(sign, text))
