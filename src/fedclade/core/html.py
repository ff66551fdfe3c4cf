"""A table for a notebook. Names are text, never markup."""

from collections.abc import Sequence
from html import escape

NO_FORMULAS = 'class="tex2jax_ignore mathjax_ignore"'  # notebooks would set what stands between two dollar signs


def html_table(caption: str, headings: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()) -> str:
    """A small HTML table, with notes below it. It has no colours: it is readable where a notebook is, light or dark."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{escape(cell)}</td>' for cell in row) + "</tr>" for row in rows
    )
    below = "".join(f"<p {NO_FORMULAS}>{escape(note)}</p>" for note in notes)
    head, caption = f"<thead><tr>{head}</tr></thead>", f"<caption>{escape(caption)}</caption>"
    return f"<table {NO_FORMULAS}>{caption}{head}<tbody>{body}</tbody></table>{below}"


def name_list(names: Sequence[str], max_names: int = 12) -> str:
    """Names in a row; of many, the first ones and how many more there are."""
    more = f" and {len(names) - max_names} more" if len(names) > max_names else ""
    return ", ".join(names[:max_names]) + more
