"""A server that keeps events by their ids and is away, busy or refuses on demand; and the test case that records into it."""

import gzip
import json
import tempfile
import threading
import unittest
from pathlib import Path

try:
    import httpx

    import espalier_rl as er
except ImportError:
    httpx = None

from .answering import Answering


class Installation(Answering):
    """Keeps what is appended, in order and once; `refuses` answers in its place. A request with a step that says `forbidden` is refused."""

    def __init__(self, port=0):
        self.events, self.lock, self.refuses, self.requests = {}, threading.Lock(), [], 0
        self.forbidden, self.limit, self.name, self.key = None, 2**30, None, None
        super().__init__(port)

    def respond(self, method, path, raw, headers):
        status, more, body = self.read(path, raw, headers)
        return status, {**more, **({"espalier-installation": self.name} if self.name else {})}, body

    def read(self, path, raw, headers):
        if self.key is not None and headers.get("authorization") != f"Bearer {self.key}":
            return 401, {}, {"error": {"code": "unauthorized", "message": "the key is unknown", "remedy": "show another"}}
        if path == "/graphql":  # what all recorded of one run
            totals = {name: len(self.of(kind)) for name, kind in (("trees", "TreeOpened"), ("rollouts", "RolloutStarted"), ("steps", "StepTaken"))}
            reached = {"query": {"position": "trees.0:1"}}
            return 200, {}, {"data": {"position": "trees.0:1", "waitFor": reached, "run": {"totals": {**totals, "failed": 0}}}}
        return self.answer(gzip.decompress(raw) if headers.get("content-encoding") == "gzip" else raw)

    def answer(self, body):
        with self.lock:
            self.requests += 1
            if len(body) > self.limit:
                return 413, {}, {"error": {"code": "too-large", "message": "it is too-large", "remedy": "repair it"}}
            if self.refuses:
                status, headers, code = self.refuses[0]
                if status < 500 or len(self.refuses) > 1:
                    self.refuses.pop(0)
                error = {"code": code, "message": f"it is {code}", "remedy": "repair it"}
                return status, headers, {"error": error}
            events = [json.loads(line) for line in body.splitlines()]
            wrong = [{"index": i, "id": e["id"], "path": "data.response", "message": "is forbidden"} for i, e in enumerate(events) if self.forbids(e)]
            if wrong:
                return 422, {}, {"error": {"code": "unprocessable", "message": "it does not fit", "remedy": "repair it", "problems": wrong}}
            for event in events:
                before = self.events.setdefault((event["stream"], event["id"]), event)
                if before["data"] != event["data"]:
                    return 409, {}, {"error": {"code": "conflict", "message": "an id belongs to another event", "remedy": "a new id"}}
            return 200, {}, {"accepted": len(events), "position": "trees.0:1"}

    def forbids(self, event):
        return self.forbidden is not None and event["data"].get("response") == self.forbidden

    def of(self, kind):
        with self.lock:
            return [event["data"] for event in self.events.values() if event["type"] == kind]


@unittest.skipIf(httpx is None, "httpx is not installed")
class RecordingCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.installation = Installation()
        self.addCleanup(lambda: self.installation.close())
        self.db = self.connect()

    def connect(self, token="key"):
        db = er.connect(self.installation.url, token=token, spool=self.folder)
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
