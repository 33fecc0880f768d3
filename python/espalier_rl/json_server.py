"""A small HTTP server whose requests and answers are JSON objects, with Python's standard library alone."""

from __future__ import annotations

import json
import traceback
import urllib.parse
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WAITING = 1024  # connections that are not accepted yet: with the 5 of http.server many clients at once are reset
BODY_LIMIT = 16 * 1024 * 1024  # bytes of a request


class HttpServer(ThreadingHTTPServer):
    """Answers each connection in a thread."""

    request_queue_size = WAITING


class Refused(Exception):
    """A request that is answered by an error: an HTTP status, a code, and a message for people."""

    def __init__(self, status: int, error: str, message: str) -> None:
        super().__init__(message)
        self.status, self.error, self.message = status, error, message


def text_of(asked: dict[str, Any], field: str) -> str:
    """Returns a field of a request that must be a text. Raises Refused."""
    value = asked.get(field)
    if not isinstance(value, str):
        raise Refused(400, "invalid", f"{field} must be a text")
    return value


def texts_of(asked: dict[str, Any], field: str) -> list[str]:
    """Returns a field of a request that must be a list of texts. Raises Refused."""
    value = asked.get(field)
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise Refused(400, "invalid", f"{field} must be a list of texts")
    return value


def encoded(value: Any) -> bytes:
    """Returns JSON in UTF-8, in which a letter of any alphabet takes 1 to 4 bytes and not 6; lone surrogates, which UTF-8 lacks, as escapes."""
    try:
        return json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False).encode()


def plain_error(error: str, message: str) -> dict[str, Any]:
    return {"error": error, "message": message}


def json_server(shown: Mapping[str, Any], routes: Mapping[str, Callable[[dict[str, Any]], Any]], *, name: str, host: str, port: int, headers: Mapping[str, str] | None = None, worded: Callable[[str, str], Any] = plain_error) -> ThreadingHTTPServer:
    """Returns an HTTP server, bound and not running yet: `shown` are answers of GET by path, or functions of what the query holds, `routes`
    functions of POST by path, from the object that was sent to what is answered. What they raise is answered as the error `failed`, in the
    words of `name`. `headers` go with every answer; `worded` makes the body of an error from its code and message."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            if path in shown:
                answer = shown[path]
                return self._answer(200, answer(dict(urllib.parse.parse_qsl(query))) if callable(answer) else answer)
            status = 405 if path in routes else 404
            self._answer(status, worded("invalid", f"there is no GET {self.path[:200]}"))

        def do_POST(self) -> None:
            try:
                self._answer(200, self._handle())
            except Refused as refused:
                self._answer(refused.status, worded(refused.error, refused.message))
            except (Exception, SystemExit) as error:  # sys.exit() would end the thread, and the client would wait
                traceback.print_exc()
                said = f"{name} raised {type(error).__name__}: {error}"
                self._answer(500, worded("failed", said[:5000]))

        def _handle(self) -> Any:
            length = int(self.headers.get("content-length") or 0)
            if length > BODY_LIMIT:
                self.close_connection = True
                raise Refused(413, "invalid", f"a request has at most {BODY_LIMIT} bytes")
            body = self.rfile.read(length)
            # a page in a browser cannot send this type without asking first, and nobody answers that
            if length and not (self.headers.get("content-type") or "").startswith("application/json"):
                raise Refused(415, "invalid", "Content-Type must be application/json")
            route = routes.get(self.path)
            if route is None:
                raise Refused(404, "invalid", f"there is no POST {self.path[:200]}; there are {', '.join(routes)}")
            try:
                asked = json.loads(body or b"{}")  # AgentGym's clients create with no body
            except ValueError as error:
                raise Refused(400, "invalid", f"the body is no JSON: {error}") from error
            if not isinstance(asked, dict):
                raise Refused(400, "invalid", "the body must be a JSON object")
            return route(asked)

        def _answer(self, status: int, value: Any) -> None:
            try:
                body = encoded(value)
            except (TypeError, ValueError) as error:
                said = f"the answer of {name} is no JSON: {error}"
                status, body = 500, json.dumps({"error": "failed", "message": said}).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            for key, value in (headers or {}).items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    return HttpServer((host, port), Handler)
