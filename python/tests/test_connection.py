"""A connection against a server that answers from a script: refusals, pauses, tokens and what it says when nobody answers."""

import asyncio
import json
import os
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

try:
    import httpx

    import espalier_rl as er
    from espalier_rl.connection import Connection
except ImportError:
    httpx = None

from .answering import Answering


def refusal(code, message="no", remedy="do otherwise", **more):
    return {"error": {"code": code, "message": message, "remedy": remedy, **more}}


class Scripted(Answering):
    """Answers what it is given, one after the other: (status, headers, body); 200 with what was asked when there is no more."""

    def __init__(self, *answers):
        self.answers, self.seen = list(answers), []
        super().__init__()

    def respond(self, method, path, raw, headers):
        self.seen.append((method, path, raw, headers))
        return self.answers.pop(0) if self.answers else (200, {}, {"path": path})


@unittest.skipIf(httpx is None, "httpx is not installed")
class Connections(unittest.TestCase):
    def scripted(self, *answers):
        server = Scripted(*answers)
        self.addCleanup(server.close)
        return server

    def connect(self, server, **options):
        connection = Connection(server.url, token="key", **{"retry_s": 20, **options})
        self.addCleanup(connection.close)
        return connection

    def test_a_request_shows_its_token_and_returns_what_was_answered(self):
        server = self.scripted()
        self.assertEqual(self.connect(server).json("POST", "/v1/x", {"a": 1}), {"path": "/v1/x"})
        [(method, path, body, headers)] = server.seen
        self.assertEqual((method, path, json.loads(body), headers["authorization"]), ("POST", "/v1/x", {"a": 1}, "Bearer key"))
        self.assertEqual(headers["content-type"], "application/json")

    def test_requests_name_the_span_in_which_they_are_made_where_the_program_uses_opentelemetry(self):
        server = self.scripted()
        connection = self.connect(server)
        context = mock.Mock(trace_id=0xA1, span_id=0xB2, trace_flags=1, is_valid=True)
        api = mock.Mock(**{"get_current_span.return_value.get_span_context.return_value": context})
        with mock.patch.dict(sys.modules, {"opentelemetry.trace": api}):
            connection.json("GET", "/v1/x")
            context.is_valid = False  # no span is current
            connection.json("GET", "/v1/x")
        connection.json("GET", "/v1/x")
        self.assertEqual([headers.get("traceparent") for *_, headers in server.seen], [f"00-{0xA1:032x}-{0xB2:016x}-01", None, None])

    def test_a_server_of_another_release_is_named_once_and_one_of_the_same_never(self):
        server = self.scripted(*[(200, {"espalier-version": version}, {}) for version in (er.__version__, "9.9.9", "9.9.9")])
        connection = self.connect(server)
        with self.assertNoLogs("espalier_rl"):
            connection.json("GET", "/v1/x")
        with self.assertLogs("espalier_rl", "WARNING") as said:
            connection.json("GET", "/v1/x")
        self.assertRegex(said.output[0], f"is Espalier 9.9.9, this client is {er.__version__}; .*pip install 'espalier-rl==9.9.9'")
        with self.assertNoLogs("espalier_rl"):
            connection.json("GET", "/v1/x")

    def test_what_a_server_of_another_release_does_not_know_is_said_with_both_releases(self):
        other = {"espalier-version": "0.0.9"}
        unknown = {"errors": [{"message": 'Cannot query field "new" on type "Query".', "extensions": {"code": "GRAPHQL_VALIDATION_FAILED"}}]}
        connection = self.connect(self.scripted((404, other, refusal("not-found", "no such path")), (200, other, unknown), (409, other, refusal("conflict", "it is taken"))))
        ask = [lambda: connection.json("POST", "/v1/new", {}), lambda: connection.graphql("{ new }"), lambda: connection.json("POST", "/v1/x", {})]
        for each, is_of_release in zip(ask, (True, True, False), strict=True):
            with self.assertRaises(er.EspalierError) as refused:
                each()
            self.assertEqual(f"the server is Espalier 0.0.9, this client is {er.__version__}" in str(refused.exception), is_of_release)

    def test_a_refusal_names_the_field_the_reason_and_the_remedy_and_is_not_repeated(self):
        problems = [{"index": 0, "id": "x", "path": "data.depth", "message": "must be an integer from 1"}]
        server = self.scripted((400, {}, refusal("invalid", "some events do not fit", "correct them", problems=problems)))
        with self.assertRaises(er.EspalierError) as refused:
            self.connect(server).json("POST", "/v1/events", [])
        error = refused.exception
        self.assertEqual((error.status, error.code, error.field, error.remedy), (400, "invalid", "data.depth", "correct them"))
        self.assertEqual(str(error), "some events do not fit: data.depth must be an integer from 1; correct them")
        self.assertEqual((error.problems, len(server.seen)), (problems, 1))

    def test_a_refusal_that_is_no_json_shows_what_was_answered(self):
        server = self.scripted((418, {}, b"<h1>a proxy</h1>"))
        with self.assertRaisesRegex(er.EspalierError, "GET http.*/v1/x: 418 <h1>a proxy</h1>"):
            self.connect(server).request("GET", "/v1/x")

    def test_a_busy_server_is_asked_again_and_not_before_it_said(self):
        for status in (429, 503):
            server = self.scripted((status, {"retry-after": "7"}, refusal("busy")), (status, {}, b""))
            pauses = []
            own, sleep = threading.get_ident(), time.sleep  # a connection that an earlier test left to a thread sleeps as well
            with mock.patch("time.sleep", lambda s: pauses.append(s) if threading.get_ident() == own else sleep(s)):
                self.assertEqual(self.connect(server).json("GET", "/v1/x"), {"path": "/v1/x"})
            self.assertEqual(pauses[0], 7)
            self.assertTrue(0 < pauses[1] < 1, pauses)

    def test_a_server_that_asks_for_more_time_than_there_is_is_refused_with_its_words(self):
        server = self.scripted((503, {"retry-after": "3600"}, refusal("unavailable", "the log is away", "wait for it")))
        with self.assertRaisesRegex(er.EspalierError, "the log is away; wait for it") as refused:
            self.connect(server).request("GET", "/v1/x")
        self.assertEqual(refused.exception.status, 503)

    def test_a_server_that_does_not_answer_is_named_with_the_remedy_after_the_time_to_try(self):
        gone = Scripted()
        gone.close()
        with self.assertRaisesRegex(er.Unreachable, f"GET {gone.url}/v1/x: .*start the server") as away:
            Connection(gone.url, retry_s=0).request("GET", "/v1/x")
        self.assertEqual((away.exception.field, away.exception.status, away.exception.code), ("url", 0, "unreachable"))

    def test_an_error_of_graphql_with_a_status_is_raised_as_its_message(self):
        message = 'the limit "cost" is 150000, and this is 251001; most of it is runs.nodes: ask for fewer items'
        said = {"errors": [{"message": message, "extensions": {"code": "LIMIT_EXCEEDED", "limit": "cost"}}]}
        with self.assertRaises(er.EspalierError) as refused:
            self.connect(self.scripted((400, {}, said))).graphql("{ runs }")
        self.assertEqual((str(refused.exception), refused.exception.code, refused.exception.status), (message, "LIMIT_EXCEEDED", 400))

    def test_an_error_of_graphql_is_raised_with_its_path(self):
        said = {"errors": [{"message": "there is no such run", "path": ["run"], "extensions": {"code": "NOT_FOUND"}}]}
        connection = self.connect(self.scripted((200, {}, said), (200, {}, {"data": {"runs": []}})))
        with self.assertRaises(er.EspalierError) as refused:
            connection.graphql("{ run }")
        self.assertEqual((refused.exception.field, refused.exception.code), ("run", "NOT_FOUND"))
        self.assertEqual(connection.graphql("{ runs }"), {"runs": []})

    def test_a_question_that_is_none_is_named_with_where_to_look(self):
        said = {"errors": [{"message": 'Cannot query field "no" on type "Query".', "extensions": {"code": "GRAPHQL_VALIDATION_FAILED"}}]}
        with self.assertRaises(er.EspalierError) as refused:
            self.connect(self.scripted((200, {}, said))).graphql("{ no }")
        self.assertEqual(refused.exception.field, "query")
        self.assertIn("GET /graphql", refused.exception.remedy)

    def test_a_stream_is_read_while_it_arrives_and_refused_as_any_request(self):
        connection = self.connect(self.scripted((200, {}, b"x" * 100_000), (404, {}, refusal("not-found", "no run", "name one"))))
        with connection.stream("GET", "/v1/x") as answer:
            self.assertEqual(sum(map(len, answer.iter_bytes())), 100_000)
        with self.assertRaisesRegex(er.EspalierError, "no run; name one"):
            with connection.stream("GET", "/v1/x"):
                self.fail("a refusal is no answer")

    def test_coroutines_have_the_same_requests_in_any_event_loop(self):
        server = self.scripted((503, {}, refusal("busy")), (200, {}, {"data": {"a": 1}}), (200, {}, b"abc"))
        connection = self.connect(server)

        async def ask():
            asked = await connection.agraphql("{ a }")
            async with connection.astream("GET", "/v1/x") as answer:
                body = b"".join([part async for part in answer.aiter_bytes()])
            await connection.aclose()
            return asked, body

        async def again():
            said = await connection.ajson("GET", "/v1/y")
            await connection.aclose()
            return said

        self.assertEqual(asyncio.run(ask()), ({"a": 1}, b"abc"))
        self.assertEqual(asyncio.run(again()), {"path": "/v1/y"})

    def test_url_and_token_are_found_as_the_command_line_finds_them(self):
        with tempfile.TemporaryDirectory() as home:
            Path(home, "token").write_text("of this machine\n")
            with mock.patch.dict(os.environ, {"ESPALIER_HOME": home}):
                for name in ("ESPALIER_URL", "ESPALIER_TOKEN"):
                    os.environ.pop(name, None)
                self.assertEqual((er.connect().url, er.connect().connection.token), ("http://127.0.0.1:4000", "of this machine"))
                self.assertIsNone(er.connect("http://elsewhere:4000").connection.token)
                with mock.patch.dict(os.environ, {"ESPALIER_URL": "http://elsewhere:4000/", "ESPALIER_TOKEN": "key"}):
                    self.assertEqual((er.connect().url, er.connect().connection.token), ("http://elsewhere:4000", "key"))

    def test_an_address_that_is_none_is_refused_before_any_request(self):
        for wrong in ("127.0.0.1:4000", "ftp://x", "http://", "http://a:b"):
            with self.assertRaisesRegex(er.EspalierError, "url is .*give http://HOST:PORT") as refused:
                er.connect(wrong)
            self.assertEqual(refused.exception.field, "url")


class WithoutHttpx(unittest.TestCase):
    def test_what_serves_environments_is_imported_without_httpx(self):
        import subprocess
        import sys

        script = "import sys; sys.modules['httpx'] = None; import espalier_rl, espalier_rl.leases; espalier_rl.Environment, espalier_rl.EspalierError"
        subprocess.run([sys.executable, "-c", script], check=True)


if __name__ == "__main__":
    unittest.main()
