"""A result depends on the code of its methods, wherever that stands."""

import pytest

from fedclade_papers import code_digest as digests
from fedclade_papers.code_digest import code_digest, home_of, source_of


@pytest.mark.parametrize(
    ("changed", "depend", "do_not"),
    [
        ("fedclade.methods.flt.encoder", ["flt.flt", "item:flt_figure2"], ["abc.abc", "oracle", "fedavg"]),
        ("fedclade.clustering.cuts", ["flt.flt"], ["fedavg"]),
        ("fedclade.methods.mixing", ["flt.flt", "fedavg", "fedsem.fedsem"], []),
        ("fedclade.methods.abc.selection", ["abc.abc", "oracle"], ["flt.flt"]),
        ("fedclade_papers.worlds.dominant", ["oracle"], ["flt.flt"]),
    ],
)
def test_what_is_imported_counts(
    changed: str, depend: list[str], do_not: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def module(name: str) -> str:
        kind, _, item = name.partition(":")
        special = {"oracle": "fedclade_papers.methods.abc_oracle", "item": f"fedclade_papers.{item}"}
        return special.get(kind, f"fedclade.methods.{name}")

    def read(name: str) -> bytes:
        return source_of(name) + (b"# changed" if name == changed else b"")

    before = {name: code_digest.__wrapped__(module(name)) for name in (*depend, *do_not)}
    monkeypatch.setattr(digests, "source_of", read)
    after = {name: code_digest.__wrapped__(module(name)) for name in before}
    assert {name for name in before if before[name] != after[name]} == set(depend)


def test_a_name_that_a_package_passes_on_is_where_it_comes_from() -> None:
    assert home_of("fedclade.methods", "ABC") == "fedclade.methods.abc.abc"
    assert home_of("fedclade.methods", "flt") == "fedclade.methods.flt"
