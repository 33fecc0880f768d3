"""Tables of an installation, read as Arrow: `db.trajectories(run=…).pandas()`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..connection import Connection
from ..coroutines import for_coroutines, iterated_by_coroutines
from ..errors import EspalierError, Unreachable
from ..progress import progress
from .body import Body, Cut
from .filters import parameters
from .missing import package
from .page import page, text

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

LONGEST_PAUSE_S = 10.0
SHOWN = 20  # rows in a notebook


class Table:
    """Rows that a filter chooses; nothing is read until one of its methods is called, and each call reads again.

    A reading sees one moment of the record: `position` says below which position of the log everything is in it. Where the
    connection breaks it goes on behind the last whole batch, without a row lost or read twice; what had not been sent then is read
    as of the moment at which it goes on, so name one by `as_of` where rewards are being revised. Rows come run by run, in each tree by
    tree as these were opened. Columns have the same types whatever the data: ids are texts, rewards float64, times have microseconds
    in UTC, token ids are list<int32>, log-probs list<float32>; all may be null."""

    def __init__(self, connection: Connection, name: str, filters: Mapping[str, Any]) -> None:
        self.name = name
        self.position: str | None = None
        self._connection = connection
        self._parameters = parameters(filters)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yields record batches of at most 4,096 rows as they arrive, in bounded memory: the next one is asked for when this one is
        done with. Raises EspalierError where the server refuses or cannot read a row, Unreachable where it stays away."""
        return (batch for batch, _ in self._read() if batch.num_rows > 0)

    def arrow(self) -> pa.Table:
        """Reads all rows as a `pyarrow.Table`."""
        arrow = package("pyarrow")
        batches = []  # the last one is empty, and has the schema
        with progress(f"reading {self.name}", " rows") as show:
            rows = 0
            for batch, _ in self._read():
                batches.append(batch)
                rows += batch.num_rows
                show(rows)
        return arrow.Table.from_batches(batches, schema=batches[-1].schema).replace_schema_metadata(self._metadata())

    def pandas(self, *, types: str = "numpy", **options: Any) -> pd.DataFrame:
        """Reads all rows as a DataFrame. With `types="arrow"` its columns are pandas' Arrow types, where whole numbers and flags
        with nulls stay what they are (numpy makes floats and objects of them). `options` are those of `pyarrow.Table.to_pandas`."""
        pandas_types = package("pandas").ArrowDtype
        if types not in ("numpy", "arrow"):
            raise EspalierError(f"types is {types!r}", remedy="give 'numpy' or 'arrow'", field="types")
        table = self.arrow()
        if types == "arrow":
            options = {"types_mapper": pandas_types, **options}
        frame: pd.DataFrame = table.to_pandas(**options)
        frame.attrs.update({"espalier.table": self.name, "espalier.position": self.position or ""})
        return frame

    def polars(self) -> pl.DataFrame:
        """Reads all rows as a polars DataFrame."""
        from_arrow = package("polars").from_arrow
        frame: pl.DataFrame = from_arrow(self.arrow())
        return frame

    def reader(self) -> pa.RecordBatchReader:
        """Returns a reader that duckdb, polars (`scan`) or a Parquet writer takes, which reads while it is read."""
        arrow = package("pyarrow")
        rows = self._read()
        first, _ = next(rows)
        return arrow.RecordBatchReader.from_batches(first.schema, _behind(first, rows))

    def parquet(self, path: str | Path) -> int:
        """Writes a Parquet file, batch by batch, and returns its rows. It is written next to its name and moved when whole."""
        parquet = package("pyarrow.parquet")
        path = Path(path)
        part = path.with_name(path.name + ".part")
        written = 0
        try:
            reader = self.reader()
            with parquet.ParquetWriter(part, reader.schema, compression="zstd") as writer, progress(f"writing {path.name}", " rows") as show:
                for batch in reader:
                    writer.write_batch(batch)
                    written += batch.num_rows
                    show(written)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        return written

    aarrow, apandas, apolars, aparquet = for_coroutines(arrow), for_coroutines(pandas), for_coroutines(polars), for_coroutines(parquet)
    abatches = iterated_by_coroutines(batches)

    def __repr__(self) -> str:
        chosen = ", ".join(f"{name}={value!r}" for name, value in self._parameters.items())
        return f"Table({self.name}{': ' if chosen else ''}{chosen}; read it by .pandas(), .polars() or .arrow())"

    def _repr_html_(self) -> str:
        """Reads the first rows: a notebook shows what there is."""
        limit = min(SHOWN, int(self._parameters.get("limit", SHOWN)))
        first = Table(self._connection, self.name, {})
        first._parameters = {**self._parameters, "limit": str(limit)}
        table = first.arrow()
        head = "".join(f"<th>{text(name)}</th>" for name in table.column_names)
        rows = ("".join(f"<td>{text('' if each is None else str(each)[:200])}</td>" for each in row.values()) for row in table.to_pylist())
        more = f"<p>the first {limit:,} rows; read all by .pandas(), .polars() or .arrow()</p>" if table.num_rows == limit else ""
        return page(self.name, [f"<table style='table-layout:auto'><tr>{head}</tr>", *(f"<tr>{row}</tr>" for row in rows), f"</table>{more}"])

    def _metadata(self) -> dict[str, str]:
        return {"espalier.table": self.name, "espalier.position": self.position or ""}

    def _read(self) -> Iterator[tuple[pa.RecordBatch, dict[str, str]]]:
        """Yields batches with their metadata, the last one empty; goes on behind a break while anything arrives."""
        package("pyarrow")
        after: str | None = None
        limit = int(self._parameters["limit"]) if "limit" in self._parameters else None
        patience = self._connection.retry_s
        until, pause = time.monotonic() + patience, 0.1
        while True:
            asked = {**self._parameters, **({} if after is None else {"after": after}), **({} if limit is None else {"limit": str(limit)})}
            try:
                for batch, metadata in self._response(asked):
                    after = metadata.get("espalier.after", after)
                    limit = None if limit is None else limit - batch.num_rows
                    yield batch, metadata
                    until, pause = time.monotonic() + patience, 0.1
                return
            except (Cut, Unreachable) as fault:
                if time.monotonic() + pause > until:
                    if isinstance(fault, Unreachable):
                        raise  # it names the server, and what to do
                    raise Unreachable(
                        f"{self.name}: the answer broke off again and again", remedy="look at the log of the server, and read again", code="unreachable"
                    ) from fault
            time.sleep(pause)
            pause = min(LONGEST_PAUSE_S, pause * 2)

    def _response(self, asked: Mapping[str, str]) -> Iterator[tuple[pa.RecordBatch, dict[str, str]]]:
        arrow = package("pyarrow")
        headers = {"accept": "application/vnd.apache.arrow.stream", "accept-encoding": self._encoding()}
        with self._connection.stream("GET", f"/v1/tables/{self.name}", params=dict(asked), headers=headers) as answer:
            position = answer.headers.get("espalier-position")
            self.position = self.position if "after" in asked and self.position is not None else position
            body = Body(answer.iter_bytes())
            try:
                reader = arrow.ipc.open_stream(body)
                while True:
                    batch, custom = reader.read_next_batch_with_custom_metadata()
                    metadata = _texts(custom)
                    if "espalier.error" in metadata:
                        raise _unreadable(self.name, metadata["espalier.error"])
                    yield batch, metadata
                    if "espalier.end" in metadata:
                        return
            except (StopIteration, arrow.ArrowException, OSError, EOFError) as fault:
                raise body.fault or Cut("the stream ended before its end") from fault

    def _encoding(self) -> str:
        """Compressing costs more than it saves where nothing goes over a network."""
        return "identity" if urlsplit(self._connection.url).hostname in ("127.0.0.1", "::1", "localhost") else "gzip"


def _behind(first: Any, rows: Iterator[tuple[Any, dict[str, str]]]) -> Iterator[Any]:
    yield first
    for batch, _ in rows:
        yield batch


def _texts(custom: Any) -> dict[str, str]:
    return {} if custom is None else {bytes(key).decode(): bytes(value).decode() for key, value in custom.items()}


def _unreadable(table: str, said: str) -> EspalierError:
    error = json.loads(said)
    return EspalierError(f"{table}: {error['message']}", remedy=error["remedy"], status=200, code=error["code"])
