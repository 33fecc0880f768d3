"""Serves an environment class by the protocol `espalier-environment/1`, with Python's standard library alone."""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
import time
import uuid
from dataclasses import asdict
from http.server import ThreadingHTTPServer
from types import ModuleType
from typing import TYPE_CHECKING, Any, overload

from .environment import BackendAway, Environment, UnknownTask, alias_of, describe, opening_of, step_of
from .json_server import Refused, json_server, text_of, texts_of
from .pictures import picture_texts

if TYPE_CHECKING:
    from .server import Server


class _Episode:
    """An episode and what was answered last: a step of the same number is answered again and not executed again."""

    def __init__(self, world: Any) -> None:
        self.world = world
        self.steps: int | None = None
        self.last: dict[str, Any] | None = None
        self.opening: dict[str, Any] | None = None
        self.lock, self.used = threading.Lock(), time.monotonic()


class Episodes:
    """The episodes of one environment class, by id. One that was not used for `idle_s` seconds is closed."""

    def __init__(self, kind: type[Environment], *, idle_s: float = 3600, limit: int = 10_000) -> None:
        self.description = describe(kind)
        self._kind, self._idle_s, self._limit = kind, idle_s, limit
        self._episodes: dict[str, _Episode] = {}
        self._lock = threading.Lock()
        self._resets = threading.Lock() if self.description["resets"] == "alone" else None

    def create(self, _: Any) -> dict[str, Any]:
        self._close_idle()
        return {"episode": self._add(_Episode(self._kind()))}

    def reset(self, asked: dict[str, Any]) -> dict[str, Any]:
        episode = self._of(asked)
        task, seed = text_of(asked, "task"), asked.get("seed", 0)
        if task not in self._tasks:
            raise Refused(422, "unknown-task", f"there is no task {task[:200]!r}; GET / lists {len(self._tasks)}")
        with episode.lock:
            with self._resets or threading.Lock():
                try:
                    opening = opening_of(episode.world.reset(task, seed))
                except UnknownTask as error:
                    raise Refused(422, "unknown-task", str(error)) from error
                except BackendAway as away:
                    raise Refused(500, "backend", str(away)) from away
            episode.steps, episode.last, episode.opening = 0, None, _clean(asdict(opening))
            return episode.opening

    def step(self, asked: dict[str, Any]) -> dict[str, Any]:
        episode = self._of(asked)
        number, action = asked.get("n"), text_of(asked, "action")
        with episode.lock:
            if episode.steps is None:
                raise Refused(409, "invalid", "no task was begun: POST /reset first")
            if episode.last and number == episode.last["n"] and action == episode.last["action"]:
                answered: dict[str, Any] = episode.last["answer"]
                return answered
            if number != episode.steps:
                raise Refused(409, "invalid", f"n must be {episode.steps}, the number of steps taken, not {number!r}")
            if episode.last and (episode.last["answer"]["terminated"] or episode.last["answer"]["truncated"]):
                raise Refused(409, "invalid", "the episode has ended: POST /reset first")
            try:
                answer = _clean(asdict(step_of(episode.world.step(action))))
            except BackendAway as away:
                raise Refused(500, "backend", str(away)) from away
            episode.steps, episode.last = number + 1, {"n": number, "action": action, "answer": answer}
            return answer

    def observe(self, asked: dict[str, Any]) -> dict[str, Any]:
        episode = self._of(asked)
        with episode.lock:
            if episode.opening is None:
                raise Refused(409, "invalid", "no task was begun: POST /reset first")
            return {"steps": episode.steps, "last": episode.last["answer"] if episode.last else episode.opening}

    def fork(self, asked: dict[str, Any]) -> dict[str, Any]:
        episode = self._of(asked)
        with episode.lock:
            world = episode.world.fork()
            if world is episode.world:
                raise Refused(500, "invalid", "fork returned the episode itself: return a copy, as copy.deepcopy(self) does")
            copied = _Episode(world)
            copied.steps, copied.last, copied.opening = episode.steps, episode.last, episode.opening
        return {"episode": self._add(copied)}

    def hints(self, asked: dict[str, Any]) -> dict[str, Any]:
        episode = self._of(asked)
        with episode.lock:
            actions = episode.world.hints()
        return {"actions": list(actions)}

    def expert(self, asked: dict[str, Any]) -> dict[str, Any]:
        episode = self._of(asked)
        with episode.lock:
            said = episode.world.expert()
        action, length = said if isinstance(said, tuple) else (said, None)
        return {"action": action, "length": length}

    def replay(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Creates an episode, begins its task and takes steps until it ends: one request in place of one for each."""
        actions = texts_of(asked, "actions")
        named = self.create({})
        try:
            opening = self.reset({**asked, **named})
            steps = []
            for number, action in enumerate(actions):
                steps.append(self.step({**named, "n": number, "action": action}))
                if steps[-1]["terminated"] or steps[-1]["truncated"]:
                    break
        except BaseException:
            self.close(named)
            raise
        return {**named, "opening": opening, "steps": steps}

    def close(self, asked: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            episode = self._episodes.pop(str(asked.get("episode")), None)
        if episode:
            episode.world.close()
        return {}

    @property
    def _tasks(self) -> frozenset[str]:
        if not hasattr(self, "_known"):
            self._known = frozenset(alias_of(task) for task in self.description["tasks"])
        return self._known

    def _add(self, episode: _Episode) -> str:
        with self._lock:
            if len(self._episodes) >= self._limit:
                raise Refused(429, "backend", f"{self._limit} episodes are open: close some")
            name = uuid.uuid4().hex
            self._episodes[name] = episode
            return name

    def _of(self, asked: dict[str, Any]) -> _Episode:
        name = asked.get("episode")
        with self._lock:
            episode = self._episodes.get(name) if isinstance(name, str) else None
        if episode is None:
            raise Refused(404, "gone", f"there is no episode {str(name)[:80]!r}: it was closed, or the server was started again")
        episode.used = time.monotonic()
        return episode

    def _close_idle(self) -> None:
        before = time.monotonic() - self._idle_s
        with self._lock:
            idle = [name for name, episode in self._episodes.items() if episode.used < before]
        for name in idle:
            self.close({"episode": name})


def _clean(answer: dict[str, Any]) -> dict[str, Any]:
    """Leaves out what is None where the protocol has the field optional, and refuses numbers that JSON cannot hold."""
    answer = dict(answer)
    pictures = picture_texts(answer.pop("pictures", []))
    answer |= {"pictures": pictures} if pictures else {}
    return {name: value for name, value in answer.items() if not (value is None and name in ("instruction", "goal", "reason"))}


def make_server(kind: type[Environment], *, host: str = "127.0.0.1", port: int = 0, idle_s: float = 3600) -> ThreadingHTTPServer:
    """Returns an HTTP server of an environment class, bound and not running yet; `server_address[1]` is its port."""
    episodes = Episodes(kind, idle_s=idle_s)
    requests = ("create", "reset", "step", "observe", "fork", "hints", "expert", "replay", "close")
    routes = {f"/{name}": getattr(episodes, name) for name in requests}
    return json_server({"/": episodes.description}, routes, name=kind.__name__, host=host, port=port)


@overload
def serve(kind: None = None, *, host: str = "127.0.0.1", port: int | None = None, idle_s: float = 3600, home: str | None = None) -> Server: ...


@overload
def serve(kind: type[Environment], *, host: str = "127.0.0.1", port: int | None = None, idle_s: float = 3600, home: str | None = None) -> None: ...


def serve(
    kind: type[Environment] | None = None, *, host: str = "127.0.0.1", port: int | None = None, idle_s: float = 3600, home: str | None = None
) -> Server | None:
    """Serves an environment class until it is interrupted, on port 8900 unless given; prints `listening on URL` to standard error.
    Without a class it starts an installation, as `espalier up` does, and returns its handle (`url`, `close`): see `espalier_rl.server`."""
    if kind is None:
        from .server import start_server

        return start_server(port=4000 if port is None else port, home=home)
    port = 8900 if port is None else port
    server = make_server(kind, host=host, port=port, idle_s=idle_s)
    print(f"listening on http://{host}:{server.server_address[1]}", file=sys.stderr, flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
    return None


def load_module(place: str) -> tuple[ModuleType, str, str]:
    """Imports the file of `FILE.py[#NAME]`. Returns the module, the file and the name, which may be empty. Raises ValueError."""
    path, _, name = place.partition("#")
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(path))[0], path)
    if spec is None or spec.loader is None or not os.path.isfile(path):
        raise ValueError(f"there is no Python file {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec.loader.exec_module(module)
    return module, path, name


def load(place: str) -> type[Environment]:
    """Returns the environment class of `FILE.py#NAME`; without a name the only one that the file defines. Raises ValueError."""
    module, path, name = load_module(place)
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
