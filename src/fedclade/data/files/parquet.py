"""Parquet: a table with typed columns."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from fedclade.data.columns import is_text
from fedclade.data.files.csv import MOST_COLUMNS
from fedclade.data.files.opening import check_unpacked, kind_of, not_a, opened
from fedclade.nouns import InputError


def read_parquet(path: Path) -> pa.Table:
    """The table of a parquet file; text stays in its dictionary, where a long value counts once."""
    with opened(path) as (file, size):
        kind = kind_of(file.read(8))
        if kind != "a parquet file":
            raise not_a("parquet", path, kind)
        file.seek(0)
        try:
            known = pq.ParquetFile(file)
            facts = known.metadata
            encoded = sum(facts.row_group(n).total_byte_size for n in range(facts.num_row_groups))
            check_unpacked(path, max(encoded, 8 * facts.num_rows * facts.num_columns), size)
            if facts.num_columns > MOST_COLUMNS:
                raise InputError(
                    "there are too many columns",
                    where=str(path),
                    got=str(facts.num_columns),
                    need=f"at most {MOST_COLUMNS}",
                )
            words = [field.name for field in known.schema_arrow if is_text(field.type)]
            file.seek(0)
            table = pq.ParquetFile(file, read_dictionary=words).read(use_threads=False)
            table.validate(full=True)  # a damaged file can point beyond its own dictionary
            return table
        except (pa.ArrowException, OSError, UnicodeDecodeError) as wrong:
            raise not_a("parquet", path, str(wrong)) from None
