"""Parquet: a table with typed columns."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from fedclade.data.files.open_file import check_column_count, check_unpacked, kind_of, open_checked, wrong_format_error
from fedclade.data.raw_table import is_text


def read_parquet(path: Path) -> pa.Table:
    """The table of a parquet file; text stays in its dictionary, where a long value counts once."""
    with open_checked(path) as (file, size):
        kind = kind_of(file.read(8))
        if kind != "a parquet file":
            raise wrong_format_error("parquet", path, kind)
        file.seek(0)
        try:
            known = pq.ParquetFile(file)
            facts = known.metadata
            encoded = sum(facts.row_group(n).total_byte_size for n in range(facts.num_row_groups))
            check_unpacked(path, max(encoded, 8 * facts.num_rows * facts.num_columns), size)
            check_column_count(path, facts.num_columns)
            words = [field.name for field in known.schema_arrow if is_text(field.type)]
            file.seek(0)
            table = pq.ParquetFile(file, read_dictionary=words).read(use_threads=False)
            table.validate(full=True)  # a damaged file can point beyond its own dictionary
            return table
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise wrong_format_error("parquet", path, str(error)) from None
