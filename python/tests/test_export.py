"""`db.export` and `db.dataset`: a file that is whole or not there, and what a broken connection, another file and a refusal lead to."""

import asyncio
import hashlib
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest import mock
from urllib.parse import parse_qsl, urlsplit

from .answering import Answering

try:
    import httpx

    import espalier_rl as er
except ImportError:
    httpx = None

RUN = "01890000-0000-7000-8000-000000000001"
LINES = b'{"prompt": "a", "completion": "b"}\n' * 50
LATER = LINES + b'{"prompt": "c", "completion": "d"}\n'


class Exports(Answering):
    """Has one file, and another one when it was asked for the manifest often enough; cuts answers as it is told."""

    def __init__(self):
        self.files, self.asked, self.cuts, self.refusal, self.damaged = [LINES], [], [], None, False
        self.writing_s, self.hold = 0.0, None
        super().__init__()

    def respond(self, method, path, raw, headers):
        query = dict(parse_qsl(urlsplit(path).query))
        self.asked.append((query, headers.get("range")))
        if self.refusal:
            return self.refusal
        if query.pop("manifest", None):
            data = self.files[0]
            time.sleep(self.writing_s)
            return 200, {}, {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data), "counts": {"lines": data.count(b"\n")}}
        if len(self.files) > 1:
            self.files.pop(0)
        data = self.files[0]
        tag = f'"{hashlib.sha256(data).hexdigest()}"'
        if headers["if-range"] != tag:
            return 200, {"etag": tag}, data
        begin = int(headers["range"].removeprefix("bytes=").removesuffix("-"))
        cut = {"cut": self.cuts.pop(0), "hold": self.hold} if self.cuts else {}
        return 206, {"etag": tag, **cut}, b"x" * len(data[begin:]) if self.damaged else data[begin:]


@unittest.skipIf(httpx is None, "httpx is not installed")
class Export(unittest.TestCase):
    def setUp(self):
        self.server = Exports()
        self.addCleanup(self.server.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.db = er.connect(self.server.url, token="key", spool=str(self.folder / "spool"), retry_s=5)
        self.addCleanup(self.db.close)
        self.path = self.folder / "data.jsonl"

    def test_a_file_has_the_bytes_of_its_manifest_and_the_options_are_those_of_the_command(self):
        manifest = self.db.export(RUN, format="trl", path=self.path, without_label=["a", "b"], success=True, return_min=0.5, finished=("2026-01-31", None))
        self.assertEqual((self.path.read_bytes(), manifest["counts"]), (LINES, {"lines": 50}))
        wanted = {"format": "trl", "run": RUN, "withoutLabel": "a,b", "success": "true", "returnMin": "0.5", "from": "2026-01-31"}
        self.assertEqual(self.server.asked, [(wanted, None), (wanted, "bytes=0-")])

    def test_a_connection_that_breaks_is_opened_again_behind_the_last_byte(self):
        self.server.cuts = [1_000, 200]
        asyncio.run(self.db.aexport(RUN, format="trl", path=self.path))
        self.assertEqual(self.path.read_bytes(), LINES)
        size = len(LINES)
        self.assertEqual([begin for _, begin in self.server.asked[1:]], ["bytes=0-", f"bytes={size - 1_000}-", f"bytes={size - 200}-"])

    def test_an_export_that_is_written_for_longer_than_a_fault_may_last_survives_a_break(self):
        self.server.writing_s, self.server.cuts = 0.6, [len(LINES)]
        with er.connect(self.server.url, token="key", spool=str(self.folder / "patient"), retry_s=0.5) as db:
            db.export(RUN, format="trl", path=self.path)
        self.assertEqual(self.path.read_bytes(), LINES)

    def test_a_body_that_stops_is_asked_for_again_while_the_headers_are_waited_for(self):
        self.server.writing_s, self.server.cuts, self.server.hold = 0.5, [200], threading.Event()
        self.addCleanup(self.server.hold.set)
        began = time.monotonic()
        with er.connect(self.server.url, token="key", spool=str(self.folder / "held"), timeout_s=0.2, retry_s=5) as db:
            db.export(RUN, format="trl", path=self.path)
        self.assertEqual(self.path.read_bytes(), LINES)
        self.assertLess(time.monotonic() - began, 8)  # the server holds on for 10

    def test_a_file_that_is_gone_because_the_record_went_on_is_read_anew(self):
        self.server.files = [LINES, LATER]
        manifest = self.db.export(RUN, format="trl", path=self.path)
        self.assertEqual((self.path.read_bytes(), manifest["bytes"]), (LATER, len(LATER)))

    def test_nothing_is_written_where_the_server_refuses_or_the_digest_is_another(self):
        self.server.damaged = True
        with self.assertRaisesRegex(er.EspalierError, "not that of its manifest"):
            self.db.export(RUN, format="trl", path=self.path)
        error = {"code": "unclear", "message": "2 trajectories have captured calls next to their path", "remedy": "leave them out by unclear drop"}
        self.server.refusal = (422, {}, {"error": error})
        with self.assertRaisesRegex(er.EspalierError, "2 trajectories") as raised:
            self.db.export(RUN, format="trl", path=self.path)
        self.assertEqual((raised.exception.code, raised.exception.remedy), ("unclear", "leave them out by unclear drop"))
        self.assertEqual([each.name for each in self.folder.iterdir() if each.is_file()], [])

    def test_a_data_set_needs_its_package_and_says_how_to_install_it(self):
        with mock.patch.dict("sys.modules", {"datasets": None}), self.assertRaisesRegex(er.EspalierError, "datasets is not installed") as raised:
            self.db.dataset(RUN)
        self.assertEqual(raised.exception.remedy, "pip install 'espalier-rl[hf]'")

    def test_a_data_set_has_the_rows_of_the_export(self):
        try:
            import datasets  # noqa: F401
        except ImportError:
            self.skipTest("datasets is not installed")
        rows = self.db.dataset(RUN, format="trl")
        self.assertEqual((rows.num_rows, rows[0]), (50, {"prompt": "a", "completion": "b"}))


if __name__ == "__main__":
    unittest.main()
