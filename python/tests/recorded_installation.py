"""A server that keeps events by their ids and is away, busy or refuses on demand; and the test case that records into it."""

import gzip
import json
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

try:
    import httpx

    import espalier_rl as er
except ImportError:
    httpx = None


class Installation:
    """Keeps what is appended, in order and once; `refuses` answers in its place."""

    def __init__(self, port=0):
        self.events, self.lock, self.refuses, self.requests = {}, threading.Lock(), [], 0
        installation = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                status, headers, said = installation.answer(body)
                data = json.dumps(said).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.port}"

    def answer(self, body):
        with self.lock:
            self.requests += 1
            if self.refuses:
                status, headers, code = self.refuses[0]
                if status < 500 or len(self.refuses) > 1:
                    self.refuses.pop(0)
                error = {"code": code, "message": f"it is {code}", "remedy": "repair it"}
                return status, headers, {"error": error}
            events = [json.loads(line) for line in body.splitlines()]
            for event in events:
                before = self.events.setdefault((event["stream"], event["id"]), event)
                if before["data"] != event["data"]:
                    return 409, {}, {"error": {"code": "conflict", "message": "an id belongs to another event", "remedy": "a new id"}}
            return 200, {}, {"accepted": len(events), "position": "trees.0:1"}

    def of(self, kind):
        with self.lock:
            return [event["data"] for event in self.events.values() if event["type"] == kind]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@unittest.skipIf(httpx is None, "httpx is not installed")
class RecordingCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.installation = Installation()
        self.addCleanup(lambda: self.installation.close())
        self.db = self.connect()

    def connect(self):
        db = er.connect(self.installation.url, token="key", spool=self.folder)
        self.addCleanup(db.close)
        return db

    def refused(self, field, pattern, call):
        with self.assertRaisesRegex(er.EspalierError, pattern) as error:
            call()
        self.assertEqual(error.exception.field, field)
        self.assertTrue(error.exception.remedy)
        return error.exception

    def spools(self):
        return sorted(each.name for each in Path(self.folder).glob("*/*"))
