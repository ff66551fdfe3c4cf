"""`help` lists every setting with its default, what it may be, and what it means."""

import dataclasses
import pydoc
import subprocess
import sys
from collections.abc import Callable
from typing import Annotated, Literal

import pytest
from pydantic import Field

import fedclade as fc
from fedclade.core import LocalTraining, settings
from fedclade.core.settings import names_of
from fedclade.core.settings_help import field_meanings, literal, settings_list
from fedclade.core.training import SGD, Adam, AdamW, BesideOptimizer, CosineSchedule, StepSchedule
from fedclade.data import WORLDS, OwnData
from fedclade.data.recipe import MODIFIERS
from fedclade.data.sites import Sites, SiteTables
from fedclade.methods import METHODS, ClassMoments, Encoder, Selection
from fedclade.nets import NETS
from fedclade.runs.experiment import EngineSettings, FlowerSettings
from fedclade.runs.run_settings import RunSettings

PARAMETERS = {"name", "start_from"}
"""The engine is always the same; the weights to start from are a parameter of their own, which takes objects too."""
OF_A_RUN = (RunSettings, LocalTraining, BesideOptimizer, Selection, EngineSettings)
PUBLIC = [
    *(
        *OF_A_RUN,
        SGD,
        Adam,
        AdamW,
        CosineSchedule,
        StepSchedule,
        FlowerSettings,
        ClassMoments,
        Encoder,
        OwnData,
        Sites,
        SiteTables,
    ),
    *(*MODIFIERS.values(), *WORLDS.values(), *NETS.values(), *(known.made for known in METHODS.values())),
]


@settings
class Oven:
    """Bakes.

    Slowly.
    """

    degrees: Annotated[int, Field(ge=50, lt=300)] = 180
    """How hot it is,
    in the middle."""
    mode: Literal["fan", "grill"] | None = "fan"
    """What is on."""
    share: Annotated[float, Field(gt=0, le=1)]
    """Of the power."""
    racks: tuple[Annotated[int, Field(ge=1, le=10**9)], ...] = (1, 2)
    is_clean: bool = False


@settings
class LargeOven(Oven):
    """Bakes more."""

    degrees: Annotated[int, Field(ge=50)] = 200
    """Hotter."""


def run_python(code: str) -> str:
    """What this code prints in a process of its own."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def help_of(asked: object) -> str:
    """What `help` shows, its lines joined."""
    return " ".join(pydoc.plain(pydoc.render_doc(asked)).replace(" |", " ").split())


def test_the_help_of_a_class_is_its_text_and_its_settings() -> None:
    assert Oven.__doc__ == (
        "Bakes.\n\nSlowly.\n\nSettings, with their defaults:\n\n"
        "    degrees = 180 (a whole number from 50, under 300)\n        How hot it is, in the middle.\n"
        '    mode = "fan" ("fan" or "grill" or None)\n        What is on.\n'
        "    share (a number over 0, up to 1)\n        Of the power.\n"
        "    racks = (1, 2) (a list, each a whole number from 1)\n"
        "    is_clean = False (True or False)\n"
    )
    assert " Oven(*, degrees=180, mode='fan', share, racks=(1, 2), is_clean=False) Bakes." in help_of(Oven)


def test_a_class_that_inherits_settings_shows_them_too() -> None:
    assert field_meanings(LargeOven) == {"degrees": "Hotter.", "mode": "What is on.", "share": "Of the power."}
    assert "degrees = 200 (a whole number from 50)" in help_of(LargeOven)


def test_a_class_of_a_shell_shows_names_and_defaults() -> None:
    """Where there is no source, there are no meanings, and that is no error."""
    typed = "from fedclade.core import settings\n@settings\nclass Typed:\n    'Typed in.'\n    size: int = 3\n"
    assert run_python(typed + "print(Typed.__doc__)") == (
        "Typed in.\n\nSettings, with their defaults:\n\n    size = 3 (a whole number)\n\n"
    )


@pytest.mark.parametrize("cls", PUBLIC, ids=lambda cls: f"{cls.__module__.partition('.')[2]}.{cls.__name__}")
def test_help_has_every_setting_with_default_and_meaning(cls: type) -> None:
    shown, meanings = help_of(cls), field_meanings(cls)
    assert dataclasses.is_dataclass(cls)
    for field in dataclasses.fields(cls):
        default = "" if field.default is dataclasses.MISSING else f" = {literal(field.default)}"
        assert f" {' '.join(f'{field.name}{default}'.split())} (" in shown
        assert len(meanings.get(field.name, "")) > 5, f"{cls.__name__}.{field.name} has no text below it"
        assert meanings[field.name] in shown


@pytest.mark.parametrize("function", [fc.train, fc.compare], ids=["train", "compare"])
def test_help_of_training_lists_the_settings_of_a_run(function: Callable[..., object]) -> None:
    shown = help_of(function)
    for name, meaning in {name: each for cls in OF_A_RUN for name, each in field_meanings(cls).items()}.items():
        if name not in PARAMETERS:
            assert f" {name} = " in shown
            assert meaning in shown
    for kind in NETS.registered_entries.values():
        assert function is fc.compare or " ".join(settings_list(kind).split()) in shown


def test_help_of_the_loaders_lists_their_options() -> None:
    options = set(names_of(OwnData)) - {"path", "client", "label", "test"}
    for function in (fc.find_groups, fc.data.from_file, fc.data.from_folder, fc.data.from_frame):
        shown = help_of(function)
        for name in options - ({"resize"} if function is fc.data.from_frame else set()):
            assert f" {name} = " in shown
            assert field_meanings(OwnData)[name] in shown
    shown = help_of(fc.data.build)
    for name, kind in {**WORLDS.registered_entries, **MODIFIERS}.items():
        assert f"Settings of {name}, " in shown
        assert " ".join(settings_list(kind).split()) in shown


def test_settings_of_train_are_all_typed() -> None:
    """A type checker knows each keyword of `train`."""
    from fedclade.api import Settings

    wanted = {name for cls in OF_A_RUN for name in names_of(cls)} - PARAMETERS
    assert set(Settings.__annotations__) == wanted


def test_importing_reads_no_source() -> None:
    """The texts of classes are read when somebody asks."""
    code = "import fedclade.methods, fedclade.nets\nfrom fedclade.core.settings_help import module_tree\n"
    assert run_python(code + "print(module_tree.cache_info().misses)") == "0\n"
