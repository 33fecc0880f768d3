"""Takes what a client sends in place of a store that does not run here: store.py FOLDER PORT. It keeps the bodies of requests, each flushed to disk before
it is answered, and counts the calls in them (GET /count)."""

import gzip
import hashlib
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock

folder, port = Path(sys.argv[1]), int(sys.argv[2])
lock = Lock()
bodies, counts = (open(folder / name, "ab") for name in ("bodies", "counts"))  # noqa: SIM115 - open as long as it serves


def keep(body, calls):
    with lock:
        for file, raw in ((bodies, body), (counts, b"." * calls)):
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())


def calls_in(path, body):
    """Counts the calls that a request holds: spans of OTLP, as Langfuse sends them, or those that have ended, as Weave does."""
    if path.endswith("/traces"):
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        request = ExportTraceServiceRequest.FromString(body)
        return sum(len(scope.spans) for resource in request.resource_spans for scope in resource.scope_spans)
    if path.endswith("/calls/complete"):
        return len(json.loads(body)["batch"])
    if path.endswith("/call/upsert_batch"):
        return sum(part["mode"] == "end" for part in json.loads(body)["batch"])
    return 0


ACCOUNT = {"data": {"project": {"name": "bench"}, "viewer": {"username": "bench", "defaultEntity": {"name": "bench"}}}}
SERVER = {"min_required_weave_python_version": "0.0.1", "trace_server_version": "0.1.0"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_GET(self):
        self._answer(SERVER if self.path.endswith("/server_info") else (folder / "counts").stat().st_size)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path.endswith("/graphql"):
            return self._answer(ACCOUNT)
        plain = gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body
        keep(body, calls_in(self.path, plain))
        if self.path.endswith("/traces"):
            return self._answer(None)
        return self._answer({"digest": hashlib.sha256(body).hexdigest()})

    def _answer(self, value):
        """Answers in JSON; None is an empty message of protobuf."""
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/x-protobuf" if value is None else "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
