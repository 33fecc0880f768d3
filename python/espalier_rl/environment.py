"""Environments in Python: a class with `reset` and `step`, served to an Espalier installation by `serve`.

    class Guess(Environment):
        tasks = [str(number) for number in range(16)]

        def reset(self, task, seed):
            self.secret = int(task)
            return "It is from 0 to 15."

        def step(self, action):
            right = action == str(self.secret)
            return Step("Right." if right else "Wrong.", reward=float(right), terminated=right, success=right)

    serve(Guess, port=8900)  # espalier collect --environment server:http://127.0.0.1:8900
"""

from __future__ import annotations

import copy
import hashlib
import inspect
import math
import os
from dataclasses import dataclass, field
from typing import Any

from .own_code import imported_next_to


class UnknownTask(Exception):
    """`reset` was asked for a task that the environment does not have."""


class BackendAway(Exception):
    """What the environment itself asks (a retriever, a sandbox) does not answer: the rollout is left open for a resume, and its policy has no part in it."""


@dataclass(frozen=True)
class Opening:
    """How a task begins. `observation` is shown first; `goal` is what the task asks for, `actions` what is possible now (None where that
    cannot be listed), `state` any text that is equal in equal situations, `depth` the fewest steps that the task needs, `kind` what success
    is summed up by."""

    observation: str
    instruction: "str | None" = None
    goal: "str | None" = None
    depth: "float | None" = None
    split: "str | None" = None
    actions: "list[str] | None" = None
    state: "str | None" = None
    pictures: "list[Any]" = field(default_factory=list)
    kind: "str | None" = None


@dataclass(frozen=True)
class Step:
    """What follows an action. `reward` is what the step earned (see `Environment.reward`), `rewards` more of them by component,
    `success` whether the task was done, at an end; `executable` whether the action was understood."""

    observation: str
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    success: "bool | None" = None
    executable: bool = True
    actions: "list[str] | None" = None
    state: "str | None" = None
    rewards: "dict[str, float]" = field(default_factory=dict)
    reason: "str | None" = None
    pictures: "list[Any]" = field(default_factory=list)


class Environment:
    """One episode of a world; an object is made for each. Subclasses define `tasks`, `reset` and `step`, and may override the rest.

    `tasks` are the aliases of the tasks (or objects `{"task", "split", "depth", "kind"}`), `instruction` the rules that a policy is shown, `response` how an action is found in what it says
    (`react`: the line after the last `Action:`; `whole`: everything), `reward` the kind (`delta`, `cumulative` or `final`) and the scale of
    rewards, `components` the names in `Step.rewards`, `resets` `alone` where episodes share a random state, `deterministic` True where equal
    actions after equal openings are always answered alike: then a search takes such an answer from what it has seen; `compare` the share of
    its answers, besides the first at each depth, that a search compares with episodes from the opening, and of the rollouts of a
    deterministic one, besides the first, that are played again;
    `renderer` the file of a module that exports `render`, by which the studio shows steps, relative to the file of the class."""

    name: "str | None" = None
    tasks: "list[Any]" = []
    instruction = ""
    response = "react"
    reward = {"kind": "delta", "scale": 1}
    components: "list[str]" = []
    resets = "together"
    deterministic = False
    compare = 0.02
    renderer: "str | None" = None

    def reset(self, task: str, seed: int) -> Opening | str | tuple[Any, ...]:
        """Begins a task from its beginning; equal task and seed begin alike. Returns an Opening, or the first observation."""
        raise NotImplementedError

    def step(self, action: str) -> Step | str | tuple[Any, ...]:
        """Executes an action. Returns a Step, or (observation, reward, terminated), or Gymnasium's five values."""
        raise NotImplementedError

    def fork(self) -> Environment:
        """Returns a copy of the episode as it is; searches use it in place of playing an episode again."""
        return copy.deepcopy(self)

    def hints(self) -> Any:
        """Returns the list of actions that are possible now. Define it where that takes longer than a step, and leave `actions` out there:
        it is asked for policies that choose from a list, and for no other."""
        raise NotImplementedError

    def expert(self) -> Any:
        """Returns the next action of a perfect player, or None. Define it where there is one."""
        raise NotImplementedError

    def close(self) -> None:
        """Frees what the episode holds."""

    @classmethod
    def fingerprint(cls) -> str:
        """Returns what determines tasks and answers: by default a hash of the files that define the class and its bases, and of the modules
        that they have imported from their folders."""
        digest = hashlib.sha256()
        files = []
        for base in cls.__mro__:
            if issubclass(base, Environment) and base is not Environment:
                digest.update(f"{base.__qualname__}\n".encode())
                try:
                    with open(inspect.getfile(base), "rb") as file:
                        digest.update(file.read())
                    files.append(inspect.getfile(base))
                except (OSError, TypeError):
                    digest.update(repr(sorted(vars(base))).encode())
        for path in imported_next_to(files):
            with open(path, "rb") as file:
                digest.update(file.read())
        return digest.hexdigest()


def describe(kind: type[Environment], fork: bool = True) -> dict[str, Any]:
    """Returns the description of an environment class as the protocol has it. Raises ValueError that names the field."""
    tasks = kind.tasks() if callable(kind.tasks) else kind.tasks
    tasks = list(tasks)
    names = [alias_of(task) for task in tasks]
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"{kind.__name__}.tasks must be a list of texts that are not empty, one for each task")
    if len(set(names)) < len(names):
        raise ValueError(f"{kind.__name__}.tasks names a task twice")
    return {
        "protocol": "espalier-environment/1",
        "name": kind.name or kind.__name__.lower(),
        "fingerprint": kind.fingerprint(),
        "tasks": tasks,
        "instruction": kind.instruction,
        "resets": kind.resets,
        "fork": fork,
        "replay": True,
        "deterministic": kind.deterministic,
        "compare": kind.compare,
        "hints": kind.hints is not Environment.hints and callable(kind.hints),
        "expert": kind.expert is not Environment.expert,
        "response": kind.response,
        "components": list(kind.components),
        "reward": {"kind": "delta", "scale": 1, **kind.reward},
        **({} if kind.renderer is None else {"renderer": renderer_of(kind)}),
    }


def renderer_of(kind: type[Environment]) -> str | None:
    """Returns the text of the module that renders the steps of an environment class. Raises ValueError that names the file."""
    owner = next(base for base in kind.__mro__ if "renderer" in vars(base))
    path = os.path.join(os.path.dirname(os.path.abspath(inspect.getfile(owner))), kind.renderer or "")
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise ValueError(f"{kind.__name__}.renderer: cannot read {path} ({error.strerror})") from error


def alias_of(task: Any) -> Any:
    """Returns the alias of a task of `Environment.tasks`, which is a text or an object that says more of the task."""
    return task.get("task") if isinstance(task, dict) else task


def opening_of(given: Any) -> Opening:
    """Reads what `reset` returned. Raises TypeError."""
    if isinstance(given, Opening):
        return given
    if isinstance(given, str):
        return Opening(given)
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str):  # Gymnasium: (observation, info)
        return Opening(given[0])
    raise TypeError(f"reset must return an Opening or a text, not {type(given).__name__}")


def step_of(given: Any) -> Step:
    """Reads what `step` returned. Raises TypeError, or ValueError for a reward that is no finite number."""
    step = _step_of(given)
    for name, value in {"reward": step.reward, **{f"rewards.{key}": value for key, value in step.rewards.items()}}.items():
        if not math.isfinite(value):
            raise ValueError(f"step returned the {name} {value}: return a finite number, 0.0 where nothing was earned")
    return step


def _step_of(given: Any) -> Step:
    if isinstance(given, Step):
        return given
    if isinstance(given, tuple) and isinstance(given[0], str):
        if len(given) == 3:
            return Step(given[0], float(given[1]), bool(given[2]))
        if len(given) == 5:
            observation, reward, terminated, truncated, info = given
            success = info.get("success") if isinstance(info, dict) else None
            return Step(observation, float(reward), bool(terminated), bool(truncated), success)
    raise TypeError("step must return a Step, (observation, reward, terminated), or Gymnasium's five values, the observation a text")
