"""Parquet files as texts that the library reads, where pyarrow is installed."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["is_parquet", "parquet_as_text"]


def is_parquet(path: Path) -> bool:
    """Whether the file begins as Parquet files do."""
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


@contextmanager
def parquet_as_text(path: Path) -> Iterator[Path]:
    """A temporary ``.csv`` of a Parquet table, or a ``.jsonl`` where one of its columns holds lists."""
    try:
        import pyarrow as pa
        import pyarrow.csv
        import pyarrow.parquet as pq
    except ImportError:
        raise ImportError(f"{path}: reading Parquet needs pyarrow: pip install pyarrow") from None
    table = pq.read_table(path)
    with tempfile.TemporaryDirectory(prefix="vargate-") as folder:
        if any(pa.types.is_nested(field.type) for field in table.schema):
            text = Path(folder) / f"{path.name}.jsonl"
            with text.open("w", encoding="utf-8") as file:
                for batch in table.to_batches(max_chunksize=1024):
                    file.writelines(json.dumps(row, default=str) + "\n" for row in batch.to_pylist())
        else:
            # float32 in full: its shortest decimal is another float64.
            wide = [
                field.with_type(pa.float64()) if pa.types.is_floating(field.type) else field
                for field in table.schema.remove_metadata()
            ]
            text = Path(folder) / f"{path.name}.csv"
            pyarrow.csv.write_csv(table.cast(pa.schema(wide)), os.fspath(text))
        yield text
