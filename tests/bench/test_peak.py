import shutil

import pytest

from fedclade.bench import peak


@pytest.mark.slow
def test_peak_is_plausible() -> None:
    found = peak.measure_peak()
    assert 1 < found.gemm_gflops < 2000  # one core: from a small board to anything with wide vectors
    assert found.by == ("fma" if any(map(shutil.which, ("cc", "gcc", "clang"))) else "gemm")
    # A product is multiply-adds too; a neighbour or another clock rate may cost the loop a part of its lead.
    assert found.gflops > 0.7 * found.gemm_gflops


def test_without_a_compiler_a_product_is_the_peak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    found = peak.measure_peak()
    assert (found.by, found.gflops) == ("gemm", found.gemm_gflops)


def test_a_compiler_that_fails_is_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: "/bin/false")
    assert peak.best_loop() is None
