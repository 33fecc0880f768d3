"""Serves an environment class by the protocol `espalier-environment/1`, with Python's standard library alone."""

import importlib.util
import json
import os
import sys
import threading
import time
import traceback
import uuid
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .environment import BackendAway, Environment, UnknownTask, describe, opening_of, step_of

BODY_LIMIT = 16 * 1024 * 1024  # bytes of a request


class _Refused(Exception):
    def __init__(self, status, error, message):
        super().__init__(message)
        self.status, self.error, self.message = status, error, message


class _Episode:
    """An episode and what was answered last: a step of the same number is answered again and not executed again."""

    def __init__(self, world):
        self.world, self.steps, self.last, self.opening = world, None, None, None
        self.lock, self.used = threading.Lock(), time.monotonic()


class Episodes:
    """The episodes of one environment class, by id. One that was not used for `idle_s` seconds is closed."""

    def __init__(self, kind, *, idle_s=3600, limit=10_000):
        self.description = describe(kind)
        self._kind, self._idle_s, self._limit = kind, idle_s, limit
        self._episodes, self._lock = {}, threading.Lock()
        self._resets = threading.Lock() if self.description["resets"] == "alone" else None

    def create(self, _):
        self._close_idle()
        return {"episode": self._add(_Episode(self._kind()))}

    def reset(self, asked):
        episode = self._of(asked)
        task, seed = _text(asked, "task"), asked.get("seed", 0)
        if task not in self._tasks:
            raise _Refused(422, "unknown-task", f"there is no task {task[:200]!r}; GET / lists {len(self._tasks)}")
        with episode.lock:
            with self._resets or threading.Lock():
                try:
                    opening = opening_of(episode.world.reset(task, seed))
                except UnknownTask as error:
                    raise _Refused(422, "unknown-task", str(error)) from error
            episode.steps, episode.last, episode.opening = 0, None, _clean(asdict(opening))
            return episode.opening

    def step(self, asked):
        episode = self._of(asked)
        number, action = asked.get("n"), _text(asked, "action")
        with episode.lock:
            if episode.steps is None:
                raise _Refused(409, "invalid", "no task was begun: POST /reset first")
            if episode.last and number == episode.last["n"] and action == episode.last["action"]:
                return episode.last["answer"]
            if number != episode.steps:
                raise _Refused(409, "invalid", f"n must be {episode.steps}, the number of steps taken, not {number!r}")
            if episode.last and (episode.last["answer"]["terminated"] or episode.last["answer"]["truncated"]):
                raise _Refused(409, "invalid", "the episode has ended: POST /reset first")
            answer = _clean(asdict(step_of(episode.world.step(action))))
            episode.steps, episode.last = number + 1, {"n": number, "action": action, "answer": answer}
            return answer

    def observe(self, asked):
        episode = self._of(asked)
        with episode.lock:
            if episode.opening is None:
                raise _Refused(409, "invalid", "no task was begun: POST /reset first")
            return {"steps": episode.steps, "last": episode.last["answer"] if episode.last else episode.opening}

    def fork(self, asked):
        episode = self._of(asked)
        with episode.lock:
            copied = _Episode(episode.world.fork())
            copied.steps, copied.last, copied.opening = episode.steps, episode.last, episode.opening
        return {"episode": self._add(copied)}

    def expert(self, asked):
        episode = self._of(asked)
        with episode.lock:
            said = episode.world.expert()
        action, length = said if isinstance(said, tuple) else (said, None)
        return {"action": action, "length": length}

    def close(self, asked):
        with self._lock:
            episode = self._episodes.pop(asked.get("episode"), None)
        if episode:
            episode.world.close()
        return {}

    @property
    def _tasks(self):
        if not hasattr(self, "_known"):
            self._known = frozenset(self.description["tasks"])
        return self._known

    def _add(self, episode):
        with self._lock:
            if len(self._episodes) >= self._limit:
                raise _Refused(429, "backend", f"{self._limit} episodes are open: close some")
            name = uuid.uuid4().hex
            self._episodes[name] = episode
            return name

    def _of(self, asked):
        name = asked.get("episode")
        with self._lock:
            episode = self._episodes.get(name) if isinstance(name, str) else None
        if episode is None:
            raise _Refused(404, "gone", f"there is no episode {str(name)[:80]!r}: it was closed, or the server was started again")
        episode.used = time.monotonic()
        return episode

    def _close_idle(self):
        before = time.monotonic() - self._idle_s
        with self._lock:
            idle = [name for name, episode in self._episodes.items() if episode.used < before]
        for name in idle:
            self.close({"episode": name})


def _text(asked, field):
    value = asked.get(field)
    if not isinstance(value, str):
        raise _Refused(400, "invalid", f"{field} must be a text")
    return value


def _clean(answer):
    """Leaves out what is None where the protocol has the field optional, and refuses numbers that JSON cannot hold."""
    return {name: value for name, value in answer.items() if not (value is None and name in ("instruction", "goal", "reason"))}


def make_server(kind, *, host="127.0.0.1", port=0, idle_s=3600):
    """Returns an HTTP server of an environment class, bound and not running yet; `server_address[1]` is its port."""
    episodes = Episodes(kind, idle_s=idle_s)
    routes = {f"/{name}": getattr(episodes, name) for name in ("create", "reset", "step", "observe", "fork", "expert", "close")}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self):
            if self.path == "/":
                return self._answer(200, episodes.description)
            self._answer(404, {"error": "invalid", "message": f"there is no GET {self.path[:200]}"})

        def do_POST(self):
            try:
                self._answer(200, self._handle())
            except _Refused as refused:
                self._answer(refused.status, {"error": refused.error, "message": refused.message})
            except BackendAway as away:
                self._answer(500, {"error": "backend", "message": str(away)})
            except Exception as error:
                traceback.print_exc()
                said = f"{kind.__name__} raised {type(error).__name__}: {error}"
                self._answer(500, {"error": "backend", "message": said[:5000]})

        def _handle(self):
            length = int(self.headers.get("content-length") or 0)
            if length > BODY_LIMIT:
                self.close_connection = True
                raise _Refused(413, "invalid", f"a request has at most {BODY_LIMIT} bytes")
            body = self.rfile.read(length)
            # a page of the browser cannot send this type without asking, and nobody answers it
            if not (self.headers.get("content-type") or "").startswith("application/json"):
                raise _Refused(415, "invalid", "Content-Type must be application/json")
            route = routes.get(self.path)
            if route is None:
                raise _Refused(404, "invalid", f"there is no POST {self.path[:200]}; there are {', '.join(routes)}")
            try:
                asked = json.loads(body)
            except ValueError as error:
                raise _Refused(400, "invalid", f"the body is no JSON: {error}") from error
            if not isinstance(asked, dict):
                raise _Refused(400, "invalid", "the body must be a JSON object")
            return route(asked)

        def _answer(self, status, value):
            try:
                body = json.dumps(value, allow_nan=False).encode()
            except ValueError as error:
                status, body = 500, json.dumps({"error": "backend", "message": f"the answer is no JSON: {error}"}).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return ThreadingHTTPServer((host, port), Handler)


def serve(kind, *, host="127.0.0.1", port=8900, idle_s=3600):
    """Serves an environment class until it is interrupted. Prints `listening on URL` to standard error."""
    server = make_server(kind, host=host, port=port, idle_s=idle_s)
    print(f"listening on http://{host}:{server.server_address[1]}", file=sys.stderr, flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


def load(place):
    """Returns the environment class of `FILE.py#NAME`; without a name the only one that the file defines. Raises ValueError."""
    path, _, name = place.partition("#")
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(path))[0], path)
    if spec is None or not os.path.isfile(path):
        raise ValueError(f"there is no Python file {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec.loader.exec_module(module)
    kinds = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Environment) and value.__module__ == module.__name__
    }
    if name == "" and len(kinds) == 1:
        return next(iter(kinds.values()))
    if name in kinds:
        return kinds[name]
    known = ", ".join(kinds) or "none"
    raise ValueError(f"{path} defines {known}; name one that is a subclass of espalier_rl.Environment: {path}#NAME")

