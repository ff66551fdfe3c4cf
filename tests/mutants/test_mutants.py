"""Published defects, put into a copy of fedclade: for each, some test must fail.

A mutant is a named defect, as changes of source lines, and the tests that are meant to see it. The tests run in a
process of their own against the changed copy; they must fail there, and pass where nothing was changed.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Mutant:
    """A defect: in each file, these words are replaced by those."""

    changes: tuple[tuple[str, str, str], ...]
    tests: tuple[str, ...]


CONFORMANCE = "tests/conformance/test_methods.py"

MUTANTS = {
    # FLT's published code writes each mean into the models that it is still averaging.
    "in-place averaging": Mutant(
        (
            ("nouns/assignment.py", "rows.flags.writeable = False", "pass"),
            ("fleet/server.py", "rows = np.array(starts.rows)", "rows = starts.rows"),
        ),
        (f"{CONFORMANCE}::test_leaves_its_state_alone", "tests/fleet/test_simulated.py"),
    ),
    # CFL's published notebook keeps positions in a sub-matrix as if they were clients.
    "positions used as ids": Mutant(
        (
            (
                "methods/local.py",
                "state.models.replaced(updates.clients, updates.rows)",
                "state.models.replaced(fleet.clients()[: len(updates.clients)], updates.rows)",
            ),
        ),
        ("tests/methods/test_fedavg.py",),
    ),
    # FLT's published code takes the number of k-means centres from the true clusters.
    "truth read by a method": Mutant(
        (
            ("fleet/simulated.py", "self._wire = wire", "self._wire = wire; self.truth = federation.truth"),
            ("methods/fedavg.py", "OneModel(first(0),", "OneModel(first(fleet._fleet.truth.labels['client-02']),"),
        ),
        (f"{CONFORMANCE}::test_never_sees_the_truth",),
    ),
    # PFLlib and others seed once, globally: another number of workers, or a resume, gives other batches.
    "batch order from a global generator": Mutant(
        (
            ("local/kernel.py", 'part.labels, now.generator("batches", client)', "part.labels, ORDER"),
            ("local/kernel.py", "class Kernel:", "ORDER = np.random.default_rng(0)\n\n\nclass Kernel:"),
            ("local/batched.py", 'each.now.generator("batches", each.client)', "ORDER"),  # where no kernel is built
            (
                "local/batched.py",
                "class Batched:",
                "import numpy\nORDER = numpy.random.default_rng(0)\n\n\nclass Batched:",
            ),
        ),
        (f"{CONFORMANCE}::test_agrees_across_workers", f"{CONFORMANCE}::test_resumes_byte_for_byte"),
    ),
    # felisat's eval_op leaves the module in training mode.
    "evaluation in training mode": Mutant(
        (("local/evaluate.py", "bench.module.eval()", "bench.module.train()"),),
        ("tests/local/test_evaluate.py",),
    ),
    # Flower's FedAvg trusts whatever arrives.
    "replies are not checked": Mutant(
        (
            (
                "fleet/gate.py",
                "return fault(reply, self._asks[reply.client], self._enrolled[reply.client])",
                'return ""',
            ),
        ),
        (f"{CONFORMANCE}::test_takes_a_liar_for_silent",),
    ),
    # FLT's published code weighs a cluster's members with the sample counts of others.
    "means without weights": Mutant(
        (
            (
                "fleet/server.py",
                'add_weighted(sums[home], np.asarray(reply.arrays["row"], np.float32), reply.examples)',
                'add_weighted(sums[home], np.asarray(reply.arrays["row"], np.float32), 1)',
            ),
            ("fleet/server.py", "examples[home] += reply.examples", "examples[home] += 1"),
        ),
        ("tests/methods/test_fedavg.py",),
    ),
    # The same in FLT's mixing step: W <- A W over the rows that are being overwritten.
    "mixing in place": Mutant(
        (("relate/graph.py", "new = np.array(old, np.float32)", "new = old"),),
        ("tests/relate/test_graph.py",),
    ),
    # FLT's published code takes members in client order from an index in the order of the dendrogram's leaves.
    "leaf order for client order": Mutant(
        (
            (
                "relate/cut.py",
                "parted = Groups.from_labels(dict(zip(clients, best.tolist(), strict=True)))",
                "parted = Groups.from_labels({clients[i]: int(n) for i, n in zip(leaves_list(tree), best)})",
            ),
        ),
        ("tests/relate/test_cut.py",),
    ),
    # FLT's published code uses a member's position in its cluster as if it were its number among all clients.
    "positions in a cluster as columns of A": Mutant(
        (
            (
                "relate/graph.py",
                "spoke = self.weights[:, [columns[client] for client in heard]]",
                "spoke = self.weights[:, list(range(len(heard)))]",
            ),
        ),
        ("tests/relate/test_graph.py",),
    ),
    # FLT's paper prints Sign(A - gamma): those who are far would be related.
    "far is related": Mutant(
        (("relate/graph.py", "(squared < reach)", "(squared > reach)"),),
        ("tests/relate/test_graph.py", "tests/methods/test_flt.py"),
    ),
    # The same where points are compared.
    "far points are related": Mutant(
        (("relate/points.py", "near = (apart.squared < reach)", "near = (apart.squared > reach)"),),
        ("tests/relate/test_points.py",),
    ),
    # FLT's published code sketches a client with whatever encoder the client before it left behind.
    "clients hand their encoder on": Mutant(
        (
            (
                "local/tuning.py",
                "return path(kind).train(weights, images, how, client)",
                "LEFT.append(path(kind).train(LEFT[-1][0] if LEFT else weights, images, how, client)); return LEFT[-1]",
            ),
            ("local/tuning.py", "@lru_cache", "LEFT: list[tuple[Row, float]] = []\n\n\n@lru_cache"),
        ),
        ("tests/local/test_tuning.py",),
    ),
    # CFLA starts all clusters of IFCA from one model: everybody chooses the first, for ever.
    "identical starts of IFCA": Mutant(
        (("methods/ifca.py", "np.stack([first(number) for number in", "np.stack([first(0) for number in"),),
        ("tests/methods/test_ifca.py",),
    ),
    # FedLab's IFCA reads `payload[1:0]`, which is always empty: no model ever reaches anybody.
    "an empty payload": Mutant(
        (("fleet/server.py", "models.rows[row : row + 1]", "models.rows[1:0]"),),
        ("tests/methods/test_ifca.py",),
    ),
    # CFL's published code and its copies: after the first split, positions in a part are taken for clients.
    "positions in a part of the clients as ids": Mutant(
        (
            (
                "methods/fedsem.py",
                "clients = [client for client, is_one in zip(updates.clients, these, strict=True) if is_one]",
                "clients = list(updates.clients[: int(these.sum())])",
            ),
        ),
        ("tests/methods/test_fedsem.py",),
    ),
    "positions in a part of a matrix as ids": Mutant(
        (
            (
                "relate/number.py",
                "tuple(distances.clients[each] for each in some)",
                "distances.clients[: len(some)]",
            ),
        ),
        ("tests/relate/test_number.py",),
    ),
    # FLT's FedSEM clusters everybody's models in every round, also those that were never trained.
    "untrained clients in FedSEM's k-means": Mutant(
        (
            (
                "methods/fedsem.py",
                "gathered = {**state.gathered,",
                "gathered = {**dict.fromkeys(fleet.clients(), state.initial), **state.gathered,",
            ),
            (
                "methods/fedsem.py",
                "examples = {**state.examples,",
                "examples = {**dict.fromkeys(fleet.clients(), 1), **state.examples,",
            ),
        ),
        ("tests/methods/test_fedsem.py",),
    ),
    # FLT's published code fits principal components at each client, and compares places in them.
    "a basis for each client": Mutant(
        (
            (
                "methods/pca.py",
                'if self.basis == "own":\n            how',
                "if True:\n            how",
            ),
        ),
        ("tests/methods/test_pca.py",),
    ),
    # CFL's notebook, FL-bench and PACFL: positions in a cluster become client ids, and the second split loses some.
    "positions in a cluster as clients": Mutant(
        (
            (
                "methods/cfl.py",
                "heard = {client: counted[client] for client in members if client in counted}",
                "heard = dict(zip(tree.home, (counted[client] for client in members if client in counted)))",
            ),
        ),
        ("tests/methods/test_cfl.py::test_nobody_is_lost_or_doubled_in_six_successive_splits",),
    ),
    # CFL's published notebook cuts by complete linkage, which is not the minimiser of equation 23.
    "complete linkage": Mutant(
        (
            (
                "relate/bipartition.py",
                "    order = np.argsort(",
                "    from scipy.cluster.hierarchy import fcluster, linkage\n"
                "    upper = 1 - alike.values[np.triu_indices(count, 1)].astype(np.float64)\n"
                "    side = fcluster(linkage(upper, 'complete'), 2, 'maxclust')\n"
                "    if count > 2 and len(set(side)) == 2:\n"
                "        a, b = (tuple(c for c, s in zip(alike.clients, side) if s == one) for one in (1, 2))\n"
                "        return Bipartition((a, b), float(alike.values[np.ix_(side == 1, side == 2)].max()))\n"
                "    order = np.argsort(",
            ),
        ),
        ("tests/relate/test_bipartition.py",),
    ),
    # Inflorescence takes the mean of the clients' norms, which is not small at a stationary point.
    "the mean of norms": Mutant(
        (
            (
                "methods/signs.py",
                "mean = float(np.linalg.norm(weighted_mean(rows, [update.examples for update in heard.values()])))",
                "mean = float(np.linalg.norm(rows, axis=1).mean())",
            ),
        ),
        ("tests/methods/test_cfl.py::test_the_norm_of_the_mean_and_not_the_mean_of_the_norms",),
    ),
    # No published CFL looks at gamma_max.
    "gamma_max is not checked": Mutant(
        (("methods/criteria.py", " and is_sure(signs.cross, self.gamma_max)", ""),),
        ("tests/methods/test_cfl.py::test_gamma_max_refuses_a_split_that_is_not_sure",),
    ),
    # A checkpoint that does not say how far the log was good doubles facts after a kill.
    "checkpoints are not verified": Mutant(
        (("runs/manifest.py", "if digest(content) != checksum:", "if False:"),),
        ("tests/runs/test_folder.py",),
    ),
}


def copy_with(changes: tuple[tuple[str, str, str], ...], to: Path) -> Path:
    shutil.copytree(ROOT / "src", to / "src")
    for name, old, new in changes:
        path = to / "src" / "fedclade" / name
        text = path.read_text()
        assert text.count(old) == 1, f"{name}: the line to change stands there {text.count(old)} times: {old}"
        path.write_text(text.replace(old, new))
    return to / "src"


def outcome(source: Path, tests: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    # Without explanations: where CI is set pytest compares whole arrays of 50,000 numbers in words, for minutes.
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--assert=plain", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTEST_ADDOPTS": "", "PYTEST_XDIST_WORKER": ""}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_the_mutant_dies(name: str, tmp_path: Path) -> None:
    mutant = MUTANTS[name]
    ran = outcome(copy_with(mutant.changes, tmp_path), mutant.tests)
    # 1: tests ran and some failed. Anything else (no test found, no import) would prove nothing.
    assert ran.returncode == 1, ran.stdout[-3000:] + ran.stderr[-1000:]
    assert " failed" in ran.stdout
    assert "error" not in ran.stdout.splitlines()[-1], ran.stdout[-3000:]


@pytest.mark.slow
def test_the_harness_runs_the_copy(tmp_path: Path) -> None:
    """Without a change the same tests pass, and it is the copy that they run."""
    source = copy_with((), tmp_path)
    ran = outcome(source, (f"{CONFORMANCE}::test_says_what_it_is",))
    assert ran.returncode == 0, ran.stdout[-3000:]
    where = subprocess.run(
        [sys.executable, "-c", "import fedclade; print(fedclade.__file__)"],
        env={**os.environ, "PYTHONPATH": str(source)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert where.stdout.strip().startswith(str(source))
