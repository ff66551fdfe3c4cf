"""The multiply-add peak of one core of this machine, by which workloads are measured."""

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Literal

import torch

from fedclade.client import one_thread
from fedclade.client.native.build import compiler

PROGRAM = Path(__file__).with_name("fma.c")
NATIVE = ("-march=native", "-mcpu=native")  # the first that the compiler knows: not all have both
SIDE = 1536  # of the square matrices; larger ones are no faster


@dataclass(frozen=True)
class Peak:
    """Float32 operations per second of processor time on one core, in units of 10^9."""

    gflops: float
    by: Literal["fma", "gemm"]
    """How it was measured: a compiled loop of multiply-adds, or without a compiler the best large matrix product."""
    gemm_gflops: float
    """The best large matrix product, beside it in any case."""


def measure_peak() -> Peak:
    """Measure it: under two seconds."""
    gemm = best_product()
    fma = best_loop()
    return Peak(gemm, "gemm", gemm) if fma is None else Peak(fma, "fma", gemm)


def best_loop() -> float | None:
    """The compiled loop; None where there is no compiler, or its program does not run here."""
    command = compiler()
    if not command:
        return None
    with tempfile.TemporaryDirectory(prefix="fedclade-") as folder:
        program = Path(folder, "fma")
        for native in NATIVE:
            words = [*command, "-O3", native, "-ffp-contract=fast", str(PROGRAM), "-o", str(program)]
            try:
                subprocess.run(words, capture_output=True, timeout=60, check=True)
                ran = subprocess.run([str(program)], capture_output=True, text=True, timeout=60, check=True)
                return float(ran.stdout)
            except (OSError, subprocess.SubprocessError, ValueError):
                continue
    return None


def best_product() -> float:
    """The best of several products of large square matrices, on one thread."""
    with one_thread():
        left, right = torch.rand(SIDE, SIDE), torch.rand(SIDE, SIDE)
        into = torch.empty(SIDE, SIDE)
        taken = []
        for _ in range(6):
            start = process_time()
            torch.mm(left, right, out=into)
            taken.append(process_time() - start)
    return 2 * SIDE**3 / min(taken) / 1e9
