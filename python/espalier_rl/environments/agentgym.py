"""Serves an environment by the protocol of AgentGym's servers: numbers in place of names, errors as `{"error"}` with status 200. A client of
such a server asks this one unchanged."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from ..environment import opening_of, step_of
from ..json_server import json_server, texts_of

if TYPE_CHECKING:
    from ..environment import Environment, Opening, Step


class Dialect:
    """What is particular to one environment; each that can be served so has one as its attribute `dialect`."""

    liveness = ""  # what GET / answers
    task_field = "data_idx"
    starts_created = False  # whether a created environment has a task already: the one of its own number
    goes_on = False  # whether an environment takes steps after its end

    @staticmethod
    def alias(number: int) -> str:
        """Returns the task of a number. Raises IndexError where there is none."""
        raise NotImplementedError

    @staticmethod
    def refusal(asked: dict[str, Any]) -> str | None:
        """Returns what is wrong with a reset, besides its task; None where nothing is."""
        return None

    @staticmethod
    def opened(world: Any, opening: Opening) -> dict[str, Any]:
        """Returns what a reset answers."""
        raise NotImplementedError

    @staticmethod
    def stepped(world: Any, step: Step) -> dict[str, Any]:
        """Returns what a step answers."""
        raise NotImplementedError

    #: GET routes besides /observation and /detail: functions of the environment
    routes: dict[str, Callable[[Any], Any]] = {}


class _Place:
    """An environment on the server: what it answered last, and whether it was closed."""

    def __init__(self) -> None:
        self.world: Any = None
        self.last: dict[str, Any] = {"done": False}
        self.is_deleted, self.lock = False, threading.Lock()


class Places:
    def __init__(self, kind: Any) -> None:
        self._kind, self._dialect = kind, kind.dialect
        self._places: dict[int, _Place] = {}
        self._numbers = itertools.count()

    def create(self, _: Any) -> Any:
        number = self._add()
        return self.reset({"id": number, self._dialect.task_field: number}) if self._dialect.starts_created else {"id": number}

    def _add(self) -> int:
        number = next(self._numbers)
        self._places[number] = _Place()
        return number

    def reset(self, asked: dict[str, Any]) -> dict[str, Any]:
        place = self._place(asked, is_reset=True)
        refusal = self._dialect.refusal(asked)
        if refusal is not None:
            raise ValueError(refusal)
        with place.lock:
            alias = self._dialect.alias(_number(asked.get(self._dialect.task_field, 0), self._dialect.task_field))
            if place.world is not None:
                place.world.close()
            place.world = self._kind()
            opening = opening_of(place.world.reset(alias, 0))
            place.last = {"done": False, **self._dialect.opened(place.world, opening)}
            return {"id": asked["id"], **place.last} if self._dialect.starts_created else place.last

    def step(self, asked: dict[str, Any]) -> dict[str, Any]:
        place = self._place(asked)
        with place.lock:
            if place.world is None:
                raise ValueError("the environment was not reset")
            step = step_of(place.world.step(asked["action"]))
            place.last = self._dialect.stepped(place.world, step)
            return place.last

    def fork(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Copies an environment as it is: AgentGym's servers have no such request."""
        place = self._place(asked, is_reset=True)
        with place.lock:
            if place.world is None:
                raise ValueError("the environment was not reset")
            copied = _Place()
            copied.world, copied.last = place.world.fork(), place.last
        number = next(self._numbers)
        self._places[number] = copied
        return {"id": number}

    def replay(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Creates an environment, resets it and takes steps until it is done, in one request: AgentGym's servers have no such request."""
        actions = texts_of(asked, "actions")
        named = {"id": self._add()}
        try:
            opening, steps = self.reset({**asked, **named}), []
            for action in actions:
                steps.append(self.step({**named, "action": action}))
                if steps[-1]["done"]:
                    break
        except BaseException:
            self.close(named)
            raise
        return {**named, "opening": opening, "steps": steps}

    def close(self, asked: dict[str, Any]) -> bool:
        place = self._place(asked, is_reset=True)
        with place.lock:
            if place.world is not None:
                place.world.close()
            place.world, place.is_deleted = None, True
        return True

    def observation(self, asked: dict[str, Any]) -> str:
        return str(self._place(asked).last["observation"])

    def detail(self, asked: dict[str, Any]) -> dict[str, Any]:
        return self._place(asked).last

    def ask(self, question: Callable[[Any], Any], asked: dict[str, Any]) -> Any:
        place = self._place(asked)
        with place.lock:
            return question(place.world)

    def _place(self, asked: dict[str, Any], is_reset: bool = False) -> _Place:
        number = _number(asked.get("id"), "id")
        place = self._places.get(number)
        if place is None:
            raise ValueError(f"The id {number} is not valid.")
        if place.is_deleted:
            raise ValueError(f"The task with environment {number} has been deleted.")
        if not (is_reset or self._dialect.goes_on) and place.last["done"]:
            raise ValueError(f"The task with environment {number} has finished.")
        return place


def _number(given: Any, field: str) -> int:
    if isinstance(given, str) and given.isdecimal():  # of a query
        return int(given)
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    raise ValueError(f"{field} must be a number, not {given!r}")


def _said(function: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    """Answers what a function raises as AgentGym's servers do."""

    def answer(asked: dict[str, Any]) -> Any:
        try:
            return function(asked)
        except Exception as error:
            return {"error": str(error) or type(error).__name__}

    return answer


def make_agentgym_server(kind: type[Environment], *, host: str = "127.0.0.1", port: int = 0) -> ThreadingHTTPServer:
    """Returns an HTTP server that speaks AgentGym's protocol, bound and not running yet. Raises ValueError."""
    dialect = getattr(kind, "dialect", None)
    if dialect is None:
        raise ValueError(f"AgentGym has no server for {kind.name or kind.__name__}: leave --agentgym out")
    places = Places(kind)
    shown = {"/": dialect.liveness, "/observation": _said(places.observation), "/detail": _said(places.detail)}
    for route, question in dialect.routes.items():
        shown[route] = _said(functools.partial(places.ask, question))
    posted = {f"/{name}": _said(getattr(places, name)) for name in ("create", "reset", "step", "fork", "replay", "close")}
    return json_server(shown, posted, name=kind.__name__, host=host, port=port)
