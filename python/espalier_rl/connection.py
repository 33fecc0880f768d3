"""A connection to an installation: where it is, what it is shown, and requests that are repeated while it is busy or away."""

from __future__ import annotations

import asyncio
import encodings.idna
import json
import logging
import os
import random
import threading
import time
import weakref
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpcore
import httpx

from .errors import EspalierError, Unreachable
from .installation import VERSION, find_token, find_url, name_for_spools
from .tracing import trace_headers

__all__ = ["Connection", "EspalierError", "Unreachable", "plain_of", "refusal_of"]

_IMPORTED = (httpcore, encodings.idna)  # httpx imports them when it first asks, in a thread of ours: a fork meanwhile leaves the child half of a module
_making = threading.RLock()  # a client: a fork meanwhile leaves the child the locks of OpenSSL, which nobody opens
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_making.acquire, after_in_parent=_making.release, after_in_child=_making.release)

logger = logging.getLogger("espalier_rl")

BUSY = (429, 502, 503, 504)  # the server or a proxy before it asks for another try
UNKNOWN = (400, 404, 405, 415, 422)  # what a server of another release may say of what it does not know
SHORTEST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 30.0


class Connection:
    """Requests to one installation, sync and async (`request` and `arequest`, …), over connections that are kept.

    Without `url` it is that of ESPALIER_URL, else where the installation in ESPALIER_HOME (`.espalier`) is served, else
    `http://127.0.0.1:4000`. Without `token` it shows ESPALIER_TOKEN (an API key or a token), or to a server on loopback the token of
    that folder. A request that found no server, or one that is
    busy (429, 502, 503, 504), is sent again for `retry_s` seconds, not before `Retry-After`. Threads may share a connection.
    Raises EspalierError for a refusal, Unreachable where nobody answered in time."""

    def __init__(self, url: str | None = None, *, token: str | None = None, timeout_s: float = 60, retry_s: float = 60) -> None:
        self.url = (url or find_url()).rstrip("/")
        self.spools = name_for_spools(url)
        try:
            parsed = httpx.URL(self.url)
        except httpx.InvalidURL as error:
            raise _wrong_url(self.url, str(error)) from None
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise _wrong_url(self.url, "not of the form http://HOST:PORT")
        self.token: str | None = token or find_token(self.url)
        self.timeout_s, self.retry_s = timeout_s, retry_s
        self._sync: httpx.Client | None = None
        self.installation: str | None = None  # which one answered last, where it says so
        self._pid = os.getpid()
        self._warned = False
        self._async: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = weakref.WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"Connection({self.url!r})"

    def request(self, method: str, path: str, *, retry_s: float | None = None, **options: Any) -> httpx.Response:
        """Sends a request until it is answered or refused. `options` are those of `httpx.Client.request`: `json`, `content`,
        `headers`, `params`, `timeout`. `retry_s=0` sends it once: for what must not be done twice."""
        tries = _Tries(self.retry_s if retry_s is None else retry_s, f"{method} {self.url}{path}")
        while True:
            try:
                answer = self._client().request(method, path, **_traced(options))
            except httpx.TransportError as fault:
                pause = tries.after(fault)
            else:
                if answer.is_success:
                    return answer
                pause = tries.after(refusal_of(answer), answer)
            time.sleep(pause)

    async def arequest(self, method: str, path: str, *, retry_s: float | None = None, **options: Any) -> httpx.Response:
        """`request` for a coroutine."""
        tries = _Tries(self.retry_s if retry_s is None else retry_s, f"{method} {self.url}{path}")
        while True:
            try:
                answer = await self._async_client().request(method, path, **_traced(options))
            except httpx.TransportError as fault:
                pause = tries.after(fault)
            else:
                if answer.is_success:
                    return answer
                pause = tries.after(refusal_of(answer), answer)
            await asyncio.sleep(pause)

    def json(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """Sends a JSON body, or none, and returns the parsed answer; None where it is empty."""
        return _parsed(self.request(method, path, **_with(body, options)))

    async def ajson(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """`json` for a coroutine."""
        return _parsed(await self.arequest(method, path, **_with(body, options)))

    def graphql(self, query: str, variables: Mapping[str, Any] | None = None) -> Any:
        """Asks a question of GraphQL and returns its `data`. Raises EspalierError with the first error of the answer."""
        return _data_of(self.request("POST", "/graphql", **_with({"query": query, "variables": dict(variables or {})}, {})))

    async def agraphql(self, query: str, variables: Mapping[str, Any] | None = None) -> Any:
        """`graphql` for a coroutine."""
        return _data_of(await self.arequest("POST", "/graphql", **_with({"query": query, "variables": dict(variables or {})}, {})))

    @contextmanager
    def stream(self, method: str, path: str, *, retry_s: float | None = None, **options: Any) -> Iterator[httpx.Response]:
        """Opens an answer whose body is read while it arrives: `with connection.stream(…) as answer: answer.iter_bytes()`.
        Tries again until the first byte of an answer; a body that is cut raises Unreachable, and the caller decides where to resume."""
        tries = _Tries(self.retry_s if retry_s is None else retry_s, f"{method} {self.url}{path}")
        client = self._client()
        while True:
            try:
                answer = client.send(client.build_request(method, path, **_traced(options)), stream=True)
                if answer.status_code == 307:
                    answer.close()
                    answer = client.send(_elsewhere(answer), stream=True, auth=None)
            except httpx.TransportError as fault:
                time.sleep(tries.after(fault))
                continue
            try:
                if answer.is_success:
                    try:
                        yield answer
                    except httpx.TransportError as fault:
                        raise _unreachable(tries.asked, fault) from fault
                    return
                answer.read()
                pause = tries.after(refusal_of(answer), answer)
            finally:
                answer.close()
            time.sleep(pause)

    @asynccontextmanager
    async def astream(self, method: str, path: str, *, retry_s: float | None = None, **options: Any) -> AsyncIterator[httpx.Response]:
        """`stream` for a coroutine: `answer.aiter_bytes()`."""
        tries = _Tries(self.retry_s if retry_s is None else retry_s, f"{method} {self.url}{path}")
        client = self._async_client()
        while True:
            try:
                answer = await client.send(client.build_request(method, path, **_traced(options)), stream=True)
            except httpx.TransportError as fault:
                await asyncio.sleep(tries.after(fault))
                continue
            try:
                if answer.is_success:
                    try:
                        yield answer
                    except httpx.TransportError as fault:
                        raise _unreachable(tries.asked, fault) from fault
                    return
                await answer.aread()
                pause = tries.after(refusal_of(answer), answer)
            finally:
                await answer.aclose()
            await asyncio.sleep(pause)

    def close(self) -> None:
        """Closes the connections that are kept; a later request opens another. Those of coroutines are closed by `aclose`."""
        if self._sync is not None:
            self._sync.close()
            self._sync = None

    async def aclose(self) -> None:
        """Closes the connections of this event loop, and those of threads."""
        self.close()
        client = self._async.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _client(self) -> httpx.Client:
        if self._pid != os.getpid():  # what a process has open is not for one that it forked
            self._sync, self._async, self._pid = None, weakref.WeakKeyDictionary(), os.getpid()
        if self._sync is None:
            with _making:
                self._sync = self._sync or httpx.Client(base_url=self.url, headers=self._headers(), timeout=self.timeout_s, event_hooks={"response": [self._met]})
        return self._sync

    def _async_client(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()  # a connection belongs to the loop that opened it
        client = self._async.get(loop)
        if client is None:

            async def compare(answer: httpx.Response) -> None:
                self._met(answer)

            hooks = {"response": [compare]}
            with _making:
                client = self._async[loop] = httpx.AsyncClient(base_url=self.url, headers=self._headers(), timeout=self.timeout_s, event_hooks=hooks)
        return client

    def _met(self, answer: httpx.Response) -> None:
        """Takes note of who answers, and warns once where server and client are of different releases."""
        self.installation = answer.headers.get("espalier-installation")
        other = _other_release(answer)
        if other and not self._warned:
            self._warned = True
            logger.warning("%s: %s", self.url, other)

    def _headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"} if self.token else {}


class _Tries:
    """Decides after each fault whether there is another try, and how long to pause before it."""

    def __init__(self, retry_s: float, asked: str) -> None:
        self.asked = asked
        self._until, self._pause = time.monotonic() + retry_s, SHORTEST_PAUSE_S

    def after(self, fault: Exception, answer: httpx.Response | None = None) -> float:
        """Returns seconds to pause, or raises the fault where it is none to repeat, or the time is over."""
        if answer is not None and answer.status_code not in BUSY:
            raise fault
        self._pause = min(LONGEST_PAUSE_S, self._pause * 2)
        pause = max(_retry_after(answer), self._pause * (0.5 + random.random() / 2))
        if time.monotonic() + pause <= self._until:
            return pause
        if isinstance(fault, EspalierError):
            raise fault
        raise _unreachable(self.asked, fault) from None


def _other_release(answer: httpx.Response) -> str:
    """Says of a server of another release that it is one, and what to do; nothing of one that is of this release, or does not say."""
    theirs = answer.headers.get("espalier-version", VERSION)
    if theirs == VERSION:
        return ""
    return f"the server is Espalier {theirs}, this client is {VERSION}; they may not fit together: pip install 'espalier-rl=={theirs}', or start a server {VERSION}"


def refusal_of(answer: httpx.Response) -> EspalierError:
    """Reads a refusal: `{error: {code, message, remedy, problems?}}`, the errors of GraphQL, or what a proxy says instead."""
    try:
        body = answer.json()
        if "error" not in body and body.get("errors"):
            return _first_of(body["errors"], answer)
        said = body["error"]
        problems = said.get("problems") or []
        code, message, remedy = str(said.get("code", "")), str(said["message"]), str(said.get("remedy", ""))
        field = str(problems[0].get("path", "")) if problems else ""
        if problems and str(problems[0].get("message", "")) not in message:
            message = f"{message}: {problems[0].get('path') or 'the whole'} {problems[0].get('message', '')}"
    except (ValueError, KeyError, TypeError, AttributeError):
        code, message, remedy = "", f"{answer.request.method} {answer.url}: {answer.status_code} {answer.text[:200]}", ""
        field, problems = "", []
    if answer.status_code == 401:
        field = "token"
    if answer.status_code in UNKNOWN:
        remedy = "; ".join(filter(None, (remedy, _other_release(answer))))
    return EspalierError(message, remedy=remedy, field=field, status=answer.status_code, code=code, problems=problems, retry_after=_retry_after(answer))


def _retry_after(answer: httpx.Response | None) -> float:
    try:
        return max(0.0, float(answer.headers.get("retry-after", "0"))) if answer is not None else 0.0
    except ValueError:  # a date: the pause of the client is as good
        return 0.0


def _elsewhere(answer: httpx.Response) -> httpx.Request:
    """The request that an answer sends its client to, at a store that does not get the key of the server."""
    kept = {name: value for name, value in answer.request.headers.items() if name in ("range", "accept-encoding")}
    asked = httpx.Request(answer.request.method, answer.url.join(answer.headers["location"]), headers=kept)
    asked.extensions = answer.request.extensions
    return asked


def _unreachable(asked: str, fault: Exception) -> Unreachable:
    remedy = "start the server (`espalier up`), or name another by ESPALIER_URL or er.connect(url)"
    return Unreachable(f"{asked}: {fault or type(fault).__name__}", remedy=remedy, field="url", code="unreachable")


def _wrong_url(url: str, why: str) -> EspalierError:
    return EspalierError(f"url is {url!r}: {why}", remedy="give http://HOST:PORT, by ESPALIER_URL or er.connect(url)", field="url")


def plain_of(value: object) -> object:
    """Returns what JSON has in the place of a scalar or an array of numpy or torch. Raises TypeError for anything else."""
    lists = getattr(value, "tolist", None)  # of scalars too
    if not callable(lists):
        raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
    return lists()


def _traced(options: dict[str, Any]) -> dict[str, Any]:
    headers = trace_headers()
    return {**options, "headers": {**headers, **(options.get("headers") or {})}} if headers else options


def _with(body: Any, options: dict[str, Any]) -> dict[str, Any]:
    if body is None:
        return options
    content = json.dumps(body, allow_nan=False, default=plain_of).encode()
    headers = {"content-type": "application/json", **options.get("headers", {})}
    return {**options, "content": content, "headers": headers}


def _parsed(answer: httpx.Response) -> Any:
    return answer.json() if answer.content else None


def _data_of(answer: httpx.Response) -> Any:
    said = answer.json()
    errors = said.get("errors")
    if not errors:
        return said["data"]
    raise _first_of(errors, answer)


def _first_of(errors: Any, answer: httpx.Response) -> EspalierError:
    """Makes an error of the first one of an answer of GraphQL."""
    first = errors[0]
    extensions = first.get("extensions", {})
    path = ".".join(str(part) for part in first.get("path", []))
    message, remedy = str(first["message"]), str(extensions.get("remedy", ""))
    code = str(extensions.get("code", "graphql"))
    if code.startswith("GRAPHQL_"):  # the question itself is none
        path, remedy = "query", _other_release(answer) or "correct the question; GET /graphql in a browser shows what can be asked"
    return EspalierError(message, remedy=remedy, field=path, status=answer.status_code, code=code, problems=errors, retry_after=_retry_after(answer))
