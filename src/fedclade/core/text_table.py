"""A table as text, for `print`."""

from collections.abc import Sequence


def text_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of one width each, the first to the left, as text, and the others to the right, as numbers."""
    lines = [headings, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )
