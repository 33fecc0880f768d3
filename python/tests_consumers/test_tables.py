"""Tables against a server whose answers break: every row once, in bounded requests, and what is wrong as one exception."""

import asyncio
import io
import json
import threading
import unittest
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest import mock
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pyarrow as pa

import espalier_rl as er
from espalier_rl.analysis.body import Body

SCHEMA = pa.schema([("rollout_id", pa.utf8()), ("return", pa.float64()), ("finished_at", pa.timestamp("us", "UTC")), ("token_ids", pa.list_(pa.int32()))])
ROWS = 40
OF_A_BATCH = 7


def rows(first, last):
    column = range(first, last)
    times = [datetime(2026, 1, 1, tzinfo=timezone.utc)] * len(column)
    return pa.record_batch([[f"r{i:03}" for i in column], [float(i) for i in column], times, [[i, i + 1] for i in column]], schema=SCHEMA)


def stream(first, last, end="end"):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, SCHEMA) as writer:
        for at in range(first, last, OF_A_BATCH):
            upto = min(at + OF_A_BATCH, last)
            writer.write_batch(rows(at, upto), custom_metadata={"espalier.after": str(upto)})
        said = {"espalier.end": end} if isinstance(end, str) else {"espalier.error": json.dumps(end)}
        writer.write_batch(rows(0, 0), custom_metadata=said)
    return sink.getvalue()


class Breaking:
    """Serves ROWS rows; an answer breaks after as many bytes as `cuts` says next, and is whole when nothing is left of them."""

    def __init__(self, cuts=(), end="end", statuses=()):
        self.cuts, self.seen, self.statuses = list(cuts), [], list(statuses)
        serving = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
                serving.seen.append((urlsplit(self.path).path, query))
                if serving.statuses:
                    status, after = serving.statuses.pop(0)
                    body = json.dumps({"error": {"code": "busy", "message": "no", "remedy": "wait"}}).encode()
                    self.send_response(status)
                    self.send_header("retry-after", after)
                    self.send_header("content-length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                    return
                first = int(query.get("after", 0))
                limit = int(query["limit"]) if "limit" in query else None
                last = ROWS if limit is None else min(ROWS, first + limit)
                whole = stream(first, last, "limit" if limit is not None and last == first + limit else end)
                cut = serving.cuts.pop(0) if serving.cuts else None
                self.send_response(200)
                self.send_header("espalier-position", f"trees.0:{len(serving.seen)}")
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                sent = whole if cut is None else whole[: int(len(whole) * cut)]
                for at in range(0, len(sent), 1_000):
                    part = sent[at : at + 1_000]
                    self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
                if cut is None:
                    self.wfile.write(b"0\r\n\r\n")
                else:
                    self.close_connection = True

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Tables(unittest.TestCase):
    def serving(self, *args, **options):
        server = Breaking(*args, **options)
        self.addCleanup(server.close)
        db = er.connect(server.url, token="t", retry_s=options.get("retry_s", 30))
        self.addCleanup(db.close)
        return server, db

    def test_an_answer_that_breaks_anywhere_is_gone_on_with_and_has_every_row_once(self):
        expected = [f"r{i:03}" for i in range(ROWS)]
        for cuts in ([0.0], [0.05, 0.3], [0.5], [0.9, 0.9, 0.9], [0.99], [0.2, 0.0, 0.6]):
            server, db = self.serving(cuts)
            table = db.trajectories(run="x")
            self.assertEqual(table.arrow()["rollout_id"].to_pylist(), expected, cuts)
            self.assertEqual(len(server.seen), len(cuts) + 1)
            if cuts[0] >= 0.5:
                self.assertEqual(table.position, "trees.0:1")  # of the answer that the first rows came with

    def test_a_limit_counts_the_rows_of_all_answers(self):
        _, db = self.serving([0.5])
        self.assertEqual(db.steps(limit=23).arrow().num_rows, 23)

    def test_types_are_the_same_in_arrow_pandas_polars_and_parquet(self):
        import pandas
        import polars

        _, db = self.serving()
        table = db.trajectories()
        self.assertEqual(table.arrow().schema.types, SCHEMA.types)
        frame = table.pandas()
        self.assertEqual((str(frame["return"].dtype), str(frame["finished_at"].dt.tz)), ("float64", "UTC"))
        self.assertEqual(frame.attrs["espalier.position"], "trees.0:2")
        self.assertIsInstance(table.pandas(types="arrow")["return"].dtype, pandas.ArrowDtype)
        self.assertEqual(table.polars().schema["token_ids"], polars.List(polars.Int32))
        self.assertEqual(sum(batch.num_rows for batch in table.batches()), ROWS)
        self.assertEqual(asyncio.run(table.apandas()).shape, frame.shape)

        async def in_parts():
            return [batch.num_rows async for batch in table.abatches()]

        self.assertEqual(sum(asyncio.run(in_parts())), ROWS)

    def test_a_parquet_file_appears_whole_or_not_at_all(self):
        import tempfile
        from pathlib import Path

        import pyarrow.parquet

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.parquet"
            _, db = self.serving([0.4])
            self.assertEqual(db.trajectories().parquet(path), ROWS)
            self.assertEqual(pyarrow.parquet.read_table(path).num_rows, ROWS)
            _, db = self.serving(end={"code": "unreadable", "message": "gone", "remedy": "restore it"})
            with self.assertRaises(er.EspalierError):
                db.trajectories().parquet(Path(folder) / "u.parquet")
            self.assertEqual([each.name for each in Path(folder).iterdir()], ["t.parquet"])

    def test_a_row_that_cannot_be_read_raises_with_the_remedy(self):
        _, db = self.serving(end={"code": "unreadable", "message": "the blob store does not hold it", "remedy": "restore it"})
        with self.assertRaises(er.EspalierError) as raised:
            db.steps().arrow()
        self.assertEqual((raised.exception.code, raised.exception.remedy), ("unreadable", "restore it"))

    def test_a_busy_server_is_asked_again_and_a_refusal_is_raised(self):
        server, db = self.serving(statuses=[(429, "0")])
        self.assertEqual(db.rewards().arrow().num_rows, ROWS)
        self.assertEqual(len(server.seen), 2)
        _, db = self.serving(statuses=[(400, "0")])
        with self.assertRaises(er.EspalierError) as raised:
            db.rewards().arrow()
        self.assertEqual(raised.exception.status, 400)

    def test_a_server_whose_answers_always_break_is_given_up(self):
        server = Breaking([0.0] * 1_000)
        self.addCleanup(server.close)
        with er.connect(server.url, token="t", retry_s=0.3) as db, self.assertRaises(er.Unreachable):
            db.rewards().arrow()

    def test_a_server_that_is_away_is_named_with_the_remedy(self):
        server = Breaking([0.0])
        server.close()
        with er.connect(server.url, token="t", retry_s=0.1) as db, self.assertRaises(er.Unreachable) as away:
            db.rewards().arrow()
        self.assertEqual(away.exception.field, "url")
        self.assertIn("start the server", away.exception.remedy)

    def test_filters_are_the_parameters_of_the_server(self):
        server, db = self.serving()

        class Run:
            id = "b"

        moment = datetime(2026, 1, 1, tzinfo=timezone.utc)
        table = db.trajectories(run=["a", Run()], policy="qwen@3", success=np.False_, outcome=["failed"], returns=(np.float32(0.5), None), finished=(None, moment), task_depth=np.int64(2))
        table.arrow()
        db.steps(run="a", depth=(1, 3), well_formatted=True, columns=["step_id", "action"], as_of=moment).arrow()
        db.samples(policy="qwen", version=2, as_of="trees.0:1").arrow()
        self.assertEqual(
            server.seen,
            [
                (
                    "/v1/tables/trajectories",
                    {
                        **{"run": "a,b", "policy": "qwen", "policyVersion": "3", "success": "false", "outcome": "failed", "returnFrom": "0.5"},
                        **{"finishedUntil": "2026-01-01T00:00:00+00:00", "taskDepth": "2"},
                    },
                ),
                (
                    "/v1/tables/steps",
                    {
                        **{"run": "a", "depthFrom": "1", "depthUntil": "3", "wellFormatted": "true", "columns": "step_id,action"},
                        "asOfTime": "2026-01-01T00:00:00+00:00",
                    },
                ),
                ("/v1/tables/samples", {"policy": "qwen", "version": "2", "asOf": "trees.0:1"}),
            ],
        )

    def test_a_wrong_argument_is_named_before_anything_is_asked(self):
        server, db = self.serving()
        for given, field in [({"returns": 0.5}, "returns"), ({"as_of": datetime(2026, 1, 1)}, "as_of"), ({"run": []}, "run"), ({"task": object()}, "task")]:
            with self.assertRaises(er.EspalierError) as raised:
                db.trajectories(**given)
            self.assertEqual(raised.exception.field, field)
        self.assertEqual(server.seen, [])

    def test_a_missing_package_is_named_with_the_command_that_installs_it(self):
        _, db = self.serving()
        with mock.patch.dict("sys.modules", {"polars": None}), self.assertRaises(er.EspalierError) as raised:
            db.trajectories().polars()
        self.assertEqual(raised.exception.remedy, "pip install 'espalier-rl[arrow]' polars")

    def test_a_body_returns_as_many_bytes_as_were_asked_for_whatever_the_parts(self):
        body = Body(iter([b"ab", b"", b"cdef", b"g"]))
        self.assertEqual([body.read(1), body.read(4), body.read(9), body.read(1)], [b"a", b"bcde", b"fg", b""])
        self.assertEqual(Body(iter([b"ab", b"c"])).read(), b"abc")


if __name__ == "__main__":
    unittest.main()
