"""Rewards in Python: a function of an episode, served to an Espalier installation.

    def exact(episode):
        return 1.0 if episode["answer"] in episode["golds"] else 0.0

    espalier collect --environment 'tool-env:reward=./my_reward.py#exact;tasks=tasks.jsonl' …
    espalier score --run RUN --scorer ./my_reward.py#exact
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import inspect
import json
import multiprocessing
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import ThreadingHTTPServer
from multiprocessing.connection import Connection
from typing import Any

from .json_server import Refused, json_server
from .own_code import digest_of
from .serving import load_module
from .tools import ToolUnavailable

PROTOCOL = "espalier-reward/1"
MATH_VERIFY = "math-verify"
MATH_LIMIT_S = 20.0


@dataclass(frozen=True)
class Reward:
    """A reward function with the name and the revision that its rewards are recorded under."""

    name: str
    revision: str
    function: Callable[[dict[str, Any]], Any]


def load_reward(place: str) -> Reward:
    """Returns the function of `FILE.py[#NAME]`, `reward` without a name, or `math-verify`. Raises ValueError."""
    if place == MATH_VERIFY:
        if importlib.util.find_spec("math_verify") is None:
            raise ValueError("math-verify is not installed: pip install 'espalier-rl[math]'")
        return Reward(MATH_VERIFY, importlib.metadata.version(MATH_VERIFY), MathVerify())
    module, path, name = load_module(place)
    function = getattr(module, name or "reward", None)
    if not inspect.isfunction(function):
        defined = [key for key, value in vars(module).items() if inspect.isfunction(value) and value.__module__ == module.__name__]
        raise ValueError(f"{path} defines no function {name or 'reward'}; it defines {', '.join(defined) or 'none'}")
    return Reward(f"{path}#{name or 'reward'}", digest_of([path])[:16], function)


def make_reward_server(reward: Reward, *, host: str = "127.0.0.1", port: int = 0) -> ThreadingHTTPServer:
    """Returns an HTTP server of a reward by the protocol `espalier-reward/1`, bound and not running yet. The function returns a number
    (from 1 on the task was done), or {"value", "success", "parts"}; what it raises is recorded as the reason why the episode has no reward, except `ToolUnavailable`."""

    def score(request: dict[str, Any]) -> Any:
        episode = request.get("episode")
        if not isinstance(episode, dict):
            raise Refused(400, "invalid", "episode must be an object")
        try:
            result = reward.function(episode)
            json.dumps(result, allow_nan=False)
        except ToolUnavailable as away:
            raise Refused(503, "backend", str(away)) from away
        except Exception as error:
            raise Refused(422, "refused", f"{type(error).__name__}: {error}") from error
        return result if isinstance(result, dict) else {"value": result, "success": isinstance(result, (int, float)) and result >= 1}

    described = {"protocol": PROTOCOL, "name": reward.name, "revision": reward.revision}
    return json_server({"/reward": described}, {"/score": score}, name="the reward", host=host, port=port)


class MathVerify:
    """Rewards the last response with 1 where its answer equals a gold answer as mathematics, by the package math-verify. It computes in a
    process of its own: SymPy may take hours for an answer such as 9^9^9^9, and then the process is killed."""

    def __init__(self, limit_s: float = MATH_LIMIT_S) -> None:
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._worker: tuple[Any, Connection] | None = None

    def __call__(self, episode: dict[str, Any]) -> float:
        responses, golds = episode["responses"], episode["golds"]
        with self._lock:
            process, pipe = self._worker = self._worker or start_worker()
            try:
                pipe.send((responses[-1] if responses else "", golds))
                if not pipe.poll(self._limit_s):
                    raise TimeoutError(f"math-verify took longer than {self._limit_s:g} s")
                return 1.0 if pipe.recv() else 0.0
            except (OSError, EOFError):
                process.kill()
                self._worker = None
                raise


def start_worker() -> tuple[Any, Connection]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=compare_answers, args=(theirs,), daemon=True)
    process.start()
    theirs.close()  # the worker ends when our end is closed, by a kill too
    return process, ours


def compare_answers(pipe: Connection) -> None:
    from math_verify import parse, verify

    while True:
        try:
            response, golds = pipe.recv()
        except EOFError:
            return
        answer = parse(response)
        pipe.send(any(verify(parse(gold if "$" in gold or "\\boxed" in gold else f"${gold}$"), answer) for gold in golds))
