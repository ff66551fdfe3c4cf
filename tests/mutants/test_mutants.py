"""Published defects, put into a copy of fedclade: for each, some test must fail.

A mutant is a named defect, as changes of source lines, and the tests that are meant to see it. The tests run in a
process of their own against the changed copy; they must fail there, and pass where nothing was changed. `make mutants`
runs them all, and so does CI every time: with tests that are named one by one it takes about a minute.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = [pytest.mark.mutant, pytest.mark.slow]

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
            ("core/assignment.py", "rows.flags.writeable = False", "pass"),
            ("fleet/fleet.py", "rows = np.array(starts.rows)", "rows = starts.rows"),
        ),
        (f"{CONFORMANCE}::test_conforms[fedavg-leaves_its_state_alone]",),
    ),
    # CFL's published notebook keeps positions in a sub-matrix as if they were clients.
    "positions used as ids": Mutant(
        (
            (
                "methods/local.py",
                "state.models.with_own_rows(updates.clients, updates.rows)",
                "state.models.with_own_rows(fleet.clients()[: len(updates.clients)], updates.rows)",
            ),
        ),
        ("tests/methods/test_fedavg.py::test_local_equals_plain_torch",),
    ),
    # FLT's published code takes the number of k-means centres from the true clusters.
    "truth read by a method": Mutant(
        (
            (
                "fleet/simulated.py",
                "self._federation, self._wire = known, wire",
                "self._federation, self._wire, self.truth = known, wire, federation.truth",
            ),
            (
                "methods/fedavg.py",
                "OneModel(first(0),",
                "OneModel(first(fleet.transport.inner.truth.labels['client-02']),",
            ),
        ),
        (f"{CONFORMANCE}::test_conforms[fedavg-never_sees_the_truth]",),
    ),
    # PFLlib and others seed once, globally: another number of workers, or a resume, gives other batches.
    "batch order from a global generator": Mutant(
        (
            ("client/kernel.py", 'part.labels, now.generator("batches", client)', "part.labels, ORDER"),
            ("client/kernel.py", "class Kernel:", "ORDER = np.random.default_rng(0)\n\n\nclass Kernel:"),
            ("client/batched.py", 'each.now.generator("batches", each.client)', "ORDER"),  # where no kernel is built
            (
                "client/batched.py",
                "class Batched:",
                "import numpy\nORDER = numpy.random.default_rng(0)\n\n\nclass Batched:",
            ),
        ),
        (
            f"{CONFORMANCE}::test_conforms[fedavg-agrees_across_workers]",
            f"{CONFORMANCE}::test_conforms[fedavg-resumes_byte_for_byte]",
        ),
    ),
    # felisat's eval_op leaves the module in training mode.
    "evaluation in training mode": Mutant(
        (("client/general.py", "module.eval()", "module.train()"),),
        ("tests/client/test_general.py::test_evaluating_changes_nothing_and_training_before_it_neither",),
    ),
    # Flower's FedAvg trusts whatever arrives.
    "replies are not checked": Mutant(
        (
            (
                "fleet/gate.py",
                'return fault(reply, request, enrolment.train if request.verb.part == "train" else enrolment.test)',
                'return ""',
            ),
        ),
        (f"{CONFORMANCE}::test_conforms[fedavg-takes_a_liar_for_silent]",),
    ),
    # FLT's published code weighs a cluster's members with the sample counts of others.
    "means without weights": Mutant(
        (
            (
                "fleet/fleet.py",
                'add_weighted(sums[number], np.asarray(reply.arrays["row"], np.float32), reply.examples)',
                'add_weighted(sums[number], np.asarray(reply.arrays["row"], np.float32), 1)',
            ),
            ("fleet/fleet.py", "examples[number] += reply.examples", "examples[number] += 1"),
        ),
        ("tests/methods/test_fedavg.py::test_fedavg_equals_plain_torch",),
    ),
    # The same in FLT's mixing step: W <- A W over the rows that are being overwritten.
    "mixing in place": Mutant(
        (("methods/flt/training.py", "new = np.array(old, np.float32)", "new = old"),),
        ("tests/methods/flt/test_training.py::test_mixing_is_that_of_the_loop",),
    ),
    # FLT's published code takes members in client order from an index in the order of the dendrogram's leaves.
    "leaf order for client order": Mutant(
        (
            (
                "clustering/cuts.py",
                "parted = Groups.from_labels(dict(zip(clients, best.tolist(), strict=True)))",
                "parted = Groups.from_labels({clients[i]: int(n) for i, n in zip(leaves_list(tree), best)})",
            ),
        ),
        ("tests/clustering/test_cuts.py::test_heaps_are_found_with_their_number",),
    ),
    # FLT's published code uses a member's position in its cluster as if it were its number among all clients.
    "positions in a cluster as columns of A": Mutant(
        (
            (
                "methods/flt/training.py",
                "spoke = self.weights[:, [columns[client] for client in heard]]",
                "spoke = self.weights[:, list(range(len(heard)))]",
            ),
        ),
        ("tests/methods/flt/test_training.py::test_mixing_is_that_of_the_loop",),
    ),
    # FLT's paper prints Sign(A - gamma): those who are far would be related.
    "far is related": Mutant(
        (("methods/flt/training.py", "(squared < reach)", "(squared > reach)"),),
        ("tests/methods/flt/test_training.py::test_near_is_related_and_far_is_not",),
    ),
    # The same where points are compared.
    "far points are related": Mutant(
        (("methods/flt/encoder.py", "near = (distances.squared < reach)", "near = (distances.squared > reach)"),),
        ("tests/methods/flt/test_encoder.py::test_planted_groups_are_found[components-nearest]",),
    ),
    # FLT's published code sketches a client with whatever encoder the client before it left behind.
    "clients hand their encoder on": Mutant(
        (
            (
                "client/encoder_tuning.py",
                "return tuning_path(kind).train(Training(weights, images, how, client))",
                "start = LEFT[-1][0] if LEFT else weights\n"
                "    LEFT.append(tuning_path(kind).train(Training(start, images, how, client)))\n"
                "    return LEFT[-1]",
            ),
            ("client/encoder_tuning.py", "@lru_cache", "LEFT: list[tuple[Row, float]] = []\n\n\n@lru_cache"),
        ),
        ("tests/client/test_encoder_tuning.py::test_the_error_falls_and_who_trains_matters",),
    ),
    # CFLA starts all clusters of IFCA from one model: everybody chooses the first, for ever.
    "identical starts of IFCA": Mutant(
        (("methods/ifca.py", "np.stack([first(number) for number in", "np.stack([first(0) for number in"),),
        ("tests/methods/test_ifca.py::test_every_start_and_every_cluster_begins_elsewhere",),
    ),
    # FedLab's IFCA reads `payload[1:0]`, which is always empty: no model ever reaches anybody.
    "an empty payload": Mutant(
        (("fleet/fleet.py", "models.rows[row : row + 1]", "models.rows[1:0]"),),
        ("tests/methods/test_ifca.py::test_a_round_is_the_papers",),
    ),
    # CFL's published code and its copies: after the first split, positions in a part are taken for clients.
    "positions in a part of the clients as ids": Mutant(
        (
            (
                "methods/fedsem/fedsem.py",
                "clients = [client for client, is_one in zip(updates.clients, these, strict=True) if is_one]",
                "clients = list(updates.clients[: int(these.sum())])",
            ),
        ),
        ("tests/methods/fedsem/test_fedsem.py::test_late_and_known_clients_keep_their_names",),
    ),
    "positions in a part of a matrix as ids": Mutant(
        (
            (
                "clustering/group_number.py",
                "tuple(distances.clients[each] for each in some)",
                "distances.clients[: len(some)]",
            ),
        ),
        ("tests/clustering/test_group_number.py::test_heaps_are_counted[0-2]",),
    ),
    # FLT's FedSEM clusters everybody's models in every round, also those that were never trained.
    "untrained clients in FedSEM's k-means": Mutant(
        (
            (
                "methods/fedsem/fedsem.py",
                "gathered = {**state.gathered,",
                "gathered = {**dict.fromkeys(fleet.clients(), state.initial), **state.gathered,",
            ),
            (
                "methods/fedsem/fedsem.py",
                "examples = {**state.examples,",
                "examples = {**dict.fromkeys(fleet.clients(), 1), **state.examples,",
            ),
        ),
        ("tests/methods/fedsem/test_fedsem.py::test_only_who_has_trained_is_clustered[all]",),
    ),
    # FLT's published code fits principal components at each client, and compares places in them.
    "a basis for each client": Mutant(
        (("methods/pca_kmeans_hc.py", 'if self.basis == "own":\n            how', "if True:\n            how"),),
        ("tests/methods/test_pca_kmeans_hc.py::test_groups_of_classes_are_found_in_one_basis[nearest]",),
    ),
    # CFL's notebook, FL-bench and PACFL: positions in a cluster become client ids, and the second split loses some.
    "positions in a cluster as clients": Mutant(
        (
            (
                "methods/cfl/cfl.py",
                "heard = {client: counted[client] for client in members if client in counted}",
                "heard = dict(zip(tree.node_by_client, (counted[client] for client in members if client in counted)))",
            ),
        ),
        ("tests/methods/cfl/test_cfl.py::test_nobody_is_lost_or_doubled_in_six_successive_splits[0]",),
    ),
    # CFL's published notebook cuts by complete linkage, which is not the minimiser of equation 23.
    "complete linkage": Mutant(
        (
            (
                "clustering/bipartition.py",
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
        ("tests/clustering/test_bipartition.py::test_equals_brute_force_and_the_paper_on_a_thousand_matrices",),
    ),
    # Inflorescence takes the mean of the clients' norms, which is not small at a stationary point.
    "the mean of norms": Mutant(
        (
            (
                "methods/cfl/cluster_signs.py",
                "mean = float(np.linalg.norm(weighted_mean(rows, [update.examples for update in heard.values()])))",
                "mean = float(np.linalg.norm(rows, axis=1).mean())",
            ),
        ),
        ("tests/methods/cfl/test_cfl.py::test_the_norm_of_the_mean_and_not_the_mean_of_the_norms",),
    ),
    # No published CFL looks at gamma_max.
    "gamma_max is not checked": Mutant(
        (("methods/cfl/split_rule.py", " and is_sure(signs.cross, self.gamma_max)", ""),),
        ("tests/methods/cfl/test_cfl.py::test_gamma_max_refuses_a_split_that_is_not_sure",),
    ),
    # A checkpoint that does not say how far the log was good doubles facts after a kill.
    "checkpoints are not verified": Mutant(
        (("store/manifest.py", "if digest(content) != checksum:", "if False:"),),
        ("tests/store/test_run_folder.py::test_one_flipped_bit_anywhere_is_found[state.json]",),
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


class Warm:
    """The process that tests run in a fork of."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process

    def outcome(self, source: Path, tests: tuple[str, ...]) -> tuple[int, str]:
        """The exit code of pytest for these tests against those sources, and what it printed."""
        log = source.parent / "log"
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"source": str(source), "tests": tests, "log": str(log)}) + "\n")
        self.process.stdin.flush()
        code = int(self.process.stdout.readline())
        return code, log.read_text()


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    words = [sys.executable, str(Path(__file__).with_name("warm.py"))]
    with subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Warm(process)


@pytest.mark.parametrize("name", MUTANTS)
def test_the_mutant_dies(name: str, warm: Warm, tmp_path: Path) -> None:
    mutant = MUTANTS[name]
    code, said = warm.outcome(copy_with(mutant.changes, tmp_path), mutant.tests)
    # 1: tests ran and some failed. Anything else (no test found, no import) would prove nothing.
    assert code == 1, said[-3000:]
    assert " failed" in said
    assert "error" not in said.splitlines()[-1], said[-3000:]


def test_without_a_change_all_of_these_tests_pass(warm: Warm, tmp_path: Path) -> None:
    """What kills a mutant is its change, and not how its tests are run."""
    tests = tuple(dict.fromkeys(test for mutant in MUTANTS.values() for test in mutant.tests))
    code, said = warm.outcome(copy_with((), tmp_path), tests)
    assert code == 0, said[-3000:]
