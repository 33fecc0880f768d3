"""One call of a model as it passes through the HTTP client of the program: what is asked for besides, what is taken out of the answer
again, and the line that records it."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ..recording.ids import new_id
from .conversations import Opening, replies
from .extras import ASKS, PLAIN_HOSTS, Added, read_reply, with_extras, without_extras, written_as

if TYPE_CHECKING:
    from .session import Rollout, Session

APIS = {"/chat/completions": "chat.completions", "/responses": "responses", "/v1/messages": "messages", "/embeddings": "embeddings"}
PROXY, RECORDED = "/v1/proxy/", ("/chat/completions", "/responses")  # whose calls the server records
REFUSALS = (400, 403, 422)
LAST = ("response.completed", "response.incomplete", "response.failed", "message_stop")


def api_of(request: Any) -> str | None:
    """Returns the protocol of a request that asks a model; None for any other."""
    if request.method != "POST":
        return None
    path = request.url.path.rstrip("/")
    if PROXY in path and path.endswith(RECORDED):
        return None
    return next((api for ending, api in APIS.items() if path.endswith(ending)), None)


class Exchange:
    """From `Session.begin` to `finish`. Nothing of it raises but what `on_error="raise"` asks for."""

    def __init__(self, session: Session, api: str, request: Any, body: dict[str, Any], raw: bytes) -> None:
        self.session, self.api, self.id = session, api, new_id()
        self.body, self.raw = body, raw
        self.opening = Opening(api, body)
        self.host = f"{request.url.host} {body.get('model')}"
        self.ask = session.refusing.get(self.host, "none" if request.url.host in PLAIN_HOSTS else "all")
        url = request.url
        self.url = f"{url.scheme}://{url.netloc.decode('ascii')}{url.raw_path.decode('ascii').partition('?')[0]}"  # without secrets
        self.began, self._clock = time.time(), time.perf_counter()
        self.first: float | None = None
        self.attempts, self.sent, self.added = 0, raw, Added()
        self.rollout: Rollout
        self.overlaps = False
        self.line: bytes | None = None  # once it has ended
        self._finishing = threading.Lock()
        self._refused_by: list[int] = []  # statuses: one of 403 may be of the key, or of the moment
        self._status: int | None = None
        self._sse = self._clean = False
        self._chunks: list[bytes] = []
        self._buffer = b""
        self._parts: list[bytes] = []
        self._parsed: list[dict[str, Any]] = []
        self._done = self._said_done = False
        self._reply: Any = None  # of an answer that came whole
        self._set_length: Callable[[int], None] = lambda _: None
        self._decode: Callable[[bytes], bytes] = lambda raw: raw

    # ---- the request

    def next_body(self) -> bytes:
        """Returns the body of the next try."""
        self.attempts += 1
        self.sent, self.added = with_extras(self.api, self.body, self.raw, self.ask)
        return self.sent

    def asks_again(self, status: int) -> bool:
        """Whether the answer refuses what was asked for besides; then the next try asks for less."""
        if status in REFUSALS and any(self.added):
            self.ask = ASKS[ASKS.index(self.ask) + 1]
            self._refused_by.append(status)
            return True
        if status < 300 and self.attempts > 1 and 403 not in self._refused_by and len(self.session.refusing) < 1_000:
            self.session.refusing[self.host] = self.ask
        return False

    # ---- the answer

    def answered(self, response: Any, decode: Callable[[bytes], bytes]) -> bool:
        """Takes the head of the answer into account; returns whether something is to be taken out of its body, which then must come decoded."""
        self._status, self._decode = response.status_code, decode
        self._sse = "text/event-stream" in response.headers.get("content-type", "")
        self._clean = response.is_success and any(self.added)
        if self._clean and "content-length" in response.headers:
            self._set_length = lambda length: response.headers.update({"content-length": str(length)})
        return self._clean

    def read(self, response: Any) -> None:
        """Takes an answer that is read already."""
        self.answered(response, lambda raw: raw)
        self._clean, self._done = False, True
        self._chunks.append(response.content)
        self.finish()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Takes bytes of the answer; yields those for the program."""
        if self.first is None and self._sse:
            self.first = time.perf_counter() - self._clock
        if not self._clean:
            self._chunks.append(chunk)
            yield chunk
        elif self._sse:
            self._buffer += chunk
            *events, self._buffer = self._buffer.replace(b"\r\n", b"\n").split(b"\n\n")
            for event in events:
                yield from self._event(event, b"\n\n")
        else:
            self._chunks.append(chunk)

    def rest(self) -> Iterator[bytes]:
        """Yields what of the answer was held back until its end."""
        self._done = True
        if self._clean and self._sse and self._buffer:
            yield from self._event(self._buffer, b"")
        elif self._clean and not self._sse:
            raw = b"".join(self._chunks)
            out = raw
            try:
                self._reply = read_reply(raw, self.added)
                kept = without_extras(self._reply, self.added, part=False)
                out = raw if kept is self._reply else written_as(kept, raw)
            except Exception:  # noqa: BLE001
                pass  # not of the protocol: the program has it as it came
            self._set_length(len(out))
            yield out

    def _event(self, event: bytes, end: bytes) -> Iterator[bytes]:
        data = _data_of(event)
        part = self._read(data)
        if part is None:
            yield event + end
            return
        try:
            kept = without_extras(part, self.added, part=True)
            out = event if kept is part else None if kept is None else b"data: " + written_as(kept, data)
        except Exception:  # noqa: BLE001
            out = event  # not of the protocol: the program has it as it came
        if out is not None:
            yield out + end

    def _read(self, data: bytes) -> dict[str, Any] | None:
        """Keeps a part of a stream; returns it parsed, None where it is no object."""
        if data.strip() == b"[DONE]":
            self._done = self._said_done = True
            return None
        try:
            part = read_reply(data, self.added)
        except ValueError:
            return None
        if not isinstance(part, dict):
            return None
        self._parts.append(_exact(data, part))
        self._parsed.append(part)
        self._done = self._done or part.get("type") in LAST
        return part

    # ---- the end

    def finish(self, outcome: str = "answered", message: str = "") -> None:
        """Records the call, once: `answered` is what came whole."""
        with self._finishing:
            if self.line is not None:
                return
            try:
                said, response_id, failed = self._take_down(outcome, message)
            except Exception as error:  # noqa: BLE001 - the program has its answer whatever it looks like
                head = self._head("failed", f"the answer could not be recorded: {error!r}")
                self.line, said, response_id, failed = head + b"}\n", [], None, True
        self.session.ended(self, said, response_id, failed=failed)

    def _take_down(self, outcome: str, message: str) -> tuple[list[list[Any]], str | None, bool]:
        """Makes the line; returns what the model said, the id of its answer, and whether the call failed."""
        parsed: Any = None
        reply = b""
        if self._sse and not self._clean:
            for event in self._whole().replace(b"\r\n", b"\n").split(b"\n\n"):
                self._read(_data_of(event))
        elif not self._sse:
            raw = self._whole()
            try:
                parsed = self._reply if self._reply is not None else json.loads(raw) if raw else None
                reply = _exact(raw, parsed) if raw else b""
            except ValueError:
                parsed, message = None, message or raw[:1_000].decode("utf-8", "replace")
        if outcome == "answered" and not self._done:
            outcome, message = "cancelled", "the program went away"
        if self._status is not None and not 200 <= self._status < 300:
            outcome, message = "failed", message or _fault_in(parsed)
        elif outcome == "answered" and parsed is None and not self._parts:
            outcome, message = "failed", message or "the answer of the model server is no JSON"
        line = self._head(outcome, message)
        if self._sse:
            line += b',"parts":[' + b",".join(self._parts) + b"]" + (b',"isDone":true' if self._said_done else b"")
        elif reply:
            line += b',"reply":' + reply
        self.line = line + b"}\n"
        said: list[list[Any]] = []
        if outcome != "failed" and self.api != "embeddings":  # what a program has that went away it may go on with
            try:
                said = replies(self.api, parsed, self._parsed if self._sse else None)
            except Exception:  # noqa: BLE001
                pass  # no reply of the protocol; the server says so
        response = parsed if parsed is not None else next((part["response"] for part in self._parsed if isinstance(part.get("response"), dict)), {})
        response_id = response.get("id") if isinstance(response, dict) else None
        return said, response_id if isinstance(response_id, str) else None, outcome == "failed"

    def _head(self, outcome: str, message: str) -> bytes:
        """Returns the line up to the answer."""
        total = time.perf_counter() - self._clock
        head = {
            **{"kind": "call", "id": self.id, **self.rollout.place, "api": self.api, "beganMs": self.began * 1_000},
            "firstMs": None if self.first is None else self.first * 1_000,
            **{"totalMs": total * 1_000, "overlaps": self.overlaps, "policy": self.rollout.policy},
            **{"server": self.url[: -len(self.ending)][:500], "requestHash": hashlib.sha256(self.sent).hexdigest()},
            **{"attempts": self.attempts, "outcome": outcome, "status": self._status, "message": message[:10_000]},
        }
        return json.dumps(head).encode()[:-1] + b',"request":' + _exact(self.raw, self.body)

    @property
    def asked(self) -> bytes:
        """What tells a request that is sent again."""
        return hashlib.sha256(self.raw).digest()

    @property
    def ending(self) -> str:
        return next(ending for ending, api in APIS.items() if api == self.api)

    def _whole(self) -> bytes:
        raw = b"".join(self._chunks)
        self._chunks = []
        return raw if self._clean else self._decode(raw)


def _data_of(event: bytes) -> bytes:
    return b"\n".join(line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:"))


def _exact(raw: bytes, value: Any) -> bytes:
    """Returns JSON as it came, in one line; numbers that JSON does not have are null."""
    if b"NaN" in raw or b"Infinity" in raw:
        raw = json.dumps(json.loads(raw, parse_constant=lambda _: None)).encode()
    return raw.replace(b"\r", b" ").replace(b"\n", b" ")


def _fault_in(body: Any) -> str:
    error = body.get("error", body) if isinstance(body, dict) else body
    said = error.get("message") if isinstance(error, dict) else error
    return str(said if said is not None else "the model server refused the call")[:1_000]
