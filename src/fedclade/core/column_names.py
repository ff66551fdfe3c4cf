"""Names of columns, classes and categories in settings, with their bounds."""

from typing import Annotated

from pydantic import BeforeValidator, Field

MAX_TEXT = 10_000  # characters of a column's name, or of a category's
MAX_COLUMNS = 100_000
MAX_NAMES = 10_000  # categories of one column, or words

ColumnName = Annotated[str, Field(max_length=MAX_TEXT)]
Names = Annotated[tuple[ColumnName, ...], Field(max_length=MAX_NAMES)]
ColumnNames = Annotated[tuple[ColumnName, ...], Field(max_length=MAX_COLUMNS)]


def join_names(value: object) -> object:
    """A list of names as one text, with commas between."""
    names = value if isinstance(value, list | tuple) else ()
    return ",".join(names) if names and all(isinstance(name, str) for name in names) else value


LabelName = Annotated[ColumnName, BeforeValidator(join_names)]
"""One column, or several with commas between; a list of them is taken too."""
