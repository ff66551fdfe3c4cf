"""Pages that work offline: a template, plotly once, and the figures as data that nothing can break out of."""

from collections.abc import Iterable
from pathlib import Path

from fedclade.nouns import InputError
from fedclade.report.figures import Drawn
from fedclade.runs.durable import write_file

# Of plotly's own buttons one offers to upload the figure: only these are shown, and there is nowhere to upload to.
CONFIG: dict[str, object] = {
    "responsive": True,
    "displaylogo": False,
    "modeBarButtons": [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
    "plotlyServerURL": "",
}


def rendered(template: str, figures: Iterable[Drawn], **facts: object) -> str:
    """The page of a template, with everything that it needs inside."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from plotly.offline import get_plotlyjs

    page = Environment(
        loader=PackageLoader("fedclade.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    ).get_template(template)
    shown = [
        {
            "title": each.title,
            "caption": each.caption,
            "height": int(each.figure.layout.height),
            "json": script_safe(each.figure.to_json()),
        }
        for each in figures
    ]
    return page.render(figures=shown, plotly=get_plotlyjs(), config=CONFIG, **facts)


def script_safe(json: str) -> str:
    """JSON that can stand inside a script element, whatever a client is called."""
    return json.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def written(page: str, path: Path) -> Path:
    """The page as a file: there as a whole, or as it was before."""
    try:
        write_file(path, page.encode())
    except OSError as wrong:
        raise InputError("the page cannot be written", where=str(path), got=wrong.strerror or str(wrong)) from None
    return path
