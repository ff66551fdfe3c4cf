"""The five verdicts, on claims made up by hand."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from fedclade_papers.flt_table2 import ITEM
from fedclade_papers.registry import ITEMS, item_named
from fedclade_papers.result_files import Result
from fedclade_papers.verdict_units import Unit, units_of
from fedclade_papers.verdicts import MEANINGS, VERDICTS, WORST_FIRST, Reading, Verdict, claim_verdict, worst

BY_CODE: Verdict = "reproduced by the authors' code"


@pytest.mark.parametrize(
    ("holds", "missing", "verdict"),
    [
        ({"text": True}, "", "reproduced"),
        ({"text": True, "code": False}, "", "reproduced"),
        ({"text": False, "code": True}, "", BY_CODE),
        ({"text": False, "code": False}, "", "refuted"),
        ({"code": True}, "", "open"),  # that the text does not do it was not tried
        ({"text": False}, "", "open"),  # the other reading was not tried with this claim
        ({}, "", "open"),
        ({"text": True, "code": True}, "LEAF's files", "not testable here"),
    ],
)
def test_a_claim(holds: Mapping[Reading, bool], missing: str, verdict: Verdict) -> None:
    assert claim_verdict(holds, ("text", "code"), missing) == verdict


def test_an_item_stands_where_its_worst_claim_stands() -> None:
    assert worst(["reproduced", "refuted", "open"]) == "refuted"
    assert worst(["reproduced", BY_CODE]) == BY_CODE
    assert worst(["reproduced", "reproduced"]) == "reproduced"
    assert worst([]) == "open"
    assert set(MEANINGS) == set(VERDICTS) == set(WORST_FIRST)


def result(claims: Mapping[str, bool], *, published: bool = False, item: str = "flt-table2:mnist") -> Result:
    """A stored result: a claim that begins with + is a main one, with - one beside it, with o fedclade's own."""
    rows = [
        {"claim": text, "holds": holds, "seen": "", "main": text[0] == "+", "by_paper": text[0] != "o"}
        for text, holds in claims.items()
    ]
    return {"item": item, "scale": "paper", "as_published": published, "claims": rows, "lines": [], "notes": []}


@pytest.mark.parametrize(
    ("text", "code", "verdict"),
    [
        ({"+a": True, "+b": True}, {"+a": True, "+b": False}, "reproduced"),
        ({"+a": False, "+b": True}, {"+a": True, "+b": False}, BY_CODE),
        ({"+a": False, "+b": True}, {"+a": False, "+b": True}, "refuted"),
        ({"+a": True, "-b": False, "oc": False}, {"+a": True, "-b": False}, "reproduced"),  # rivals decide nothing
        ({"+a": False}, None, "open"),  # the authors' code does something else, and was not tried
        ({"+a": True}, None, "reproduced"),
        (None, None, "open"),
    ],
)
def test_a_part_of_an_item(text: dict[str, bool] | None, code: dict[str, bool] | None, verdict: Verdict) -> None:
    both = [*([result(text)] if text else []), *([result(code, published=True)] if code else [])]
    (unit,) = (each for each in units_of(both) if each.name == "flt-table2:mnist")
    assert unit.verdict == verdict


def test_an_item_with_one_reading_is_refuted_by_it() -> None:
    (unit,) = (each for each in units_of([result({"+a": False}, item="cfl-newcomers")]) if each.name == "cfl-newcomers")
    assert unit.verdict == "refuted"


def test_every_claim_is_there_once_and_the_main_ones_first() -> None:
    both = [result({"oc": True, "-b": False, "+a": True}), result({"+a": True, "-b": True}, published=True)]
    (unit,) = (each for each in units_of(both) if each.name == "flt-table2:mnist")
    assert [(claim.text, claim.verdict) for claim in unit.claims] == [
        ("+a", "reproduced"),
        ("-b", BY_CODE),
        ("oc", "reproduced"),
    ]


def test_items_are_there_once_in_parts_or_as_a_whole() -> None:
    """Small scale gives no verdict. An item that was run as a whole has no parts; all others have all of theirs."""
    small = {**result({"+a": True}), "scale": "small"}
    names = [unit.name for unit in units_of([small, result({"+a": True}, item="flt-table2")])]
    assert len(names) == len(set(names))
    assert {name.partition(":")[0] for name in names} == set(ITEMS)
    assert "flt-table2" in names
    assert not {f"flt-table2:{part}" for part in ITEM.parts} & set(names)
    assert {f"flt-table1:{part}" for part in ITEMS["flt-table1"].parts} <= set(names)


def test_what_is_open_takes_hours_and_what_is_missing_is_said() -> None:
    assert Unit(item_named("flt-table1:cifar10"), {}).hours > 1
    lacking = replace(ITEM, missing="the data")
    assert Unit(lacking, {"text": result({"+a": True})}).verdict == "not testable here"
