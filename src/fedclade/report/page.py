"""Pages that work offline: a template, plotly once, and the plots as data that nothing can break out of."""

from collections.abc import Iterable
from pathlib import Path

from fedclade.core import InputError
from fedclade.report.palette import css_properties
from fedclade.report.plots import Plot
from fedclade.store.durable_files import write_file

# One of plotly's own buttons uploads the plot: only these buttons are shown, and there is no address to upload to.
CONFIG: dict[str, object] = {
    "responsive": True,
    "displaylogo": False,
    "modeBarButtons": [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
    "plotlyServerURL": "",
}


def render_page(template: str, plots: Iterable[Plot], **facts: object) -> str:
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
        for each in plots
    ]
    return page.render(figures=shown, plotly=get_plotlyjs(), config=CONFIG, colours=css_properties(), **facts)


def script_safe(json: str) -> str:
    """JSON that can stand inside a script element, whatever a client is called."""
    return json.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def write_page(page: str, path: Path) -> Path:
    """Write the page as a file: there as a whole, or as it was before."""
    try:
        write_file(path, page.encode())
    except OSError as error:
        raise InputError("the page cannot be written", where=str(path), got=error.strerror or str(error)) from None
    return path
