"""A table for a notebook. Names are text, never markup."""

from collections.abc import Sequence
from html import escape


def html_table(caption: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A small HTML table; the first column is text, the others numbers or text as they come."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{escape(cell)}</td>' for cell in row) + "</tr>" for row in rows
    )
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def name_list(names: Sequence[str], max_names: int = 12) -> str:
    """Names in a row; of many, the first ones and how many more there are."""
    more = f" and {len(names) - max_names} more" if len(names) > max_names else ""
    return ", ".join(names[:max_names]) + more
