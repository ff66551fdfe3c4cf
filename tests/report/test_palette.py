"""One palette: every colour stands in `fedclade.report.palette`, and pages get theirs from it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from matplotlib.colors import CSS4_COLORS

import fedclade
from fedclade.report import palette
from fedclade.report.palette import OWN_METHODS, PAGE_COLOURS, css_properties, method_colours, method_marks

SOURCE = Path(fedclade.__file__).parents[1]
SCALES = {palette.COLOUR_SCALE, palette.SHARE_SCALE, palette.DEVIATION_SCALE, palette.EXAMPLE_SCALE}
NAMED = {name.lower() for name in {*CSS4_COLORS, *SCALES}}
LITERAL = re.compile(r"#(?:[0-9a-f]{8}|[0-9a-f]{6}|[0-9a-f]{3,4})\b|\b(?:rgb|hsl)a?\(", re.IGNORECASE)
CSS_VALUE = re.compile(r"(?:color|background|border[a-z-]*)\s*:([^;}\"']*)")
PAGES = [path for end in ("css", "html", "js") for path in sorted(SOURCE.glob(f"fedclade*/**/*.{end}"))]
STYLED = [path for path in PAGES if not path.name.endswith(".min.js")]


def colours_in_python(text: str) -> Iterator[str]:
    """Strings that are a colour or have one in them, and names of colours as strings; docstrings count too."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from LITERAL.findall(node.value)
            if node.value.lower() in NAMED:
                yield node.value


def colours_on_pages(text: str) -> Iterator[str]:
    """Colours in CSS, HTML or a script; a name counts where it is the value of a property or a string of its own."""
    yield from LITERAL.findall(text)
    words = [word for value in CSS_VALUE.findall(text) for word in value.split()]
    words += re.findall(r"""["'](\w+)["']""", text)
    yield from (word for word in words if word.lower() in NAMED)


def test_no_colour_stands_outside_the_palette() -> None:
    found = {
        str(path.relative_to(SOURCE)): colours
        for path in sorted(SOURCE.glob("fedclade*/**/*.py"))
        if path != Path(palette.__file__) and (colours := list(colours_in_python(path.read_text(encoding="utf-8"))))
    }
    found |= {path.name: colours for path in STYLED if (colours := list(colours_on_pages(path.read_text("utf-8"))))}
    assert not found


def test_a_colour_is_seen() -> None:
    for text in ('line = {"color": "#0072B2"}', 'fill("white")', 'x = "a{color:#fff}"', "'rgba(0,0,0,0)'"):
        assert list(colours_in_python(text))
    for text in ("a { color: white; }", "p { border: 1px solid #d7dce1; }", 'bgcolor: "white"'):
        assert list(colours_on_pages(text))


def test_pages_use_only_colours_that_the_palette_has() -> None:
    used = {name for path in STYLED for name in re.findall(r"var\(--([\w-]+)\)", path.read_text("utf-8"))}
    used |= set(re.findall(r'colours?\("([\w-]+)"\)', (SOURCE / "fedclade/dashboard/static/dash.js").read_text()))
    assert used == set(PAGE_COLOURS)
    assert dict(re.findall(r"--([\w-]+): ([^;]+);", css_properties())) == PAGE_COLOURS


def test_a_method_has_one_colour_everywhere() -> None:
    everybody = method_colours([*OWN_METHODS, "mine"])
    assert len(set(everybody.values())) == len(everybody)
    for method in OWN_METHODS:
        assert method_colours([method])[method] == everybody[method]
        assert method_marks([method])[method] == method_marks([*OWN_METHODS])[method]
