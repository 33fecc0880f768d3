"""`er.view`: the page of the studio in a notebook, in a frame that reads nothing of it, and what cannot be shown."""

import json
import os
import tempfile
import threading
import unittest
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from unittest import mock
from urllib.parse import parse_qs, urlsplit

try:
    import httpx

    import espalier_rl as er
except ImportError:
    httpx = None

ID = "01890000-0000-7000-8000-000000000001"
PAGE = "<!doctype html><title>\u2028 é \"</iframe><script>alert(1)</script></title>&amp;"


class Answering(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append((self.path, self.headers["authorization"]))
        found = parse_qs(urlsplit(self.path).query)["id"] == [ID]
        refusal = {"error": {"code": "not-on-record", "message": "nothing of this id is on record", "remedy": "look in the list of runs"}}
        body = (PAGE if found else json.dumps(refusal)).encode()
        self.send_response(200 if found else 404)
        self.send_header("content-type", "text/html; charset=utf-8" if found else "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Frames(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.tags = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))


@unittest.skipIf(httpx is None, "httpx is not installed")
class View(unittest.TestCase):
    def setUp(self):
        self.server = HTTPServer(("127.0.0.1", 0), Answering)
        self.server.asked = []
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.db = er.connect(self.url, token="key", spool=self.folder.name)
        self.addCleanup(self.db.close)

    def test_a_page_is_one_frame_without_an_origin_whose_text_is_the_page(self):
        [(tag, attributes)] = Frames(er.view(ID, db=self.db)._repr_html_()).tags
        self.assertEqual((tag, attributes["sandbox"], attributes["srcdoc"]), ("iframe", "allow-scripts", PAGE))
        self.assertEqual(self.server.asked, [(f"/v1/pages?id={ID}", "Bearer key")])

    def test_what_has_an_id_is_viewed_by_it_and_the_page_is_saved_as_it_came(self):
        for what in (ID, SimpleNamespace(data={"id": ID}), SimpleNamespace(id=ID)):
            page = self.db.view(what)
            file = Path(self.folder.name, "page.html")
            page.save(file)
            self.assertEqual(file.read_bytes(), PAGE.encode())
            self.assertIn(f"{len(PAGE)} characters", repr(page))

    def test_an_installation_is_found_where_none_is_named(self):
        with mock.patch.dict(os.environ, {"ESPALIER_URL": self.url, "ESPALIER_TOKEN": "other"}):
            self.assertEqual(er.view(ID).html, PAGE)
        self.assertEqual(self.server.asked[-1][1], "Bearer other")

    def test_what_is_not_on_record_is_refused_with_the_remedy(self):
        with self.assertRaisesRegex(er.EspalierError, "nothing of this id is on record") as error:
            self.db.view(ID.replace("1", "2"))
        self.assertEqual((error.exception.code, error.exception.remedy), ("not-on-record", "look in the list of runs"))


if __name__ == "__main__":
    unittest.main()
