"""Gymnasium's environments of text as environments of an installation.

    lake = from_gymnasium(
        lambda task: gymnasium.make("FrozenLake-v1", desc=generate_random_map(seed=int(task)), render_mode="ansi"),
        actions=["left", "down", "right", "up"],
    )

    espalier collect --environment python:./lake.py --policy random
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..environment import Environment, Opening, Step

LISTS = ("admissible_commands", "admissible_actions", "valid_actions", "available_actions")  # of an info: what is possible now
SUCCESS = ("success", "is_success", "won")  # of an info: whether the task was done
COLOURS = dict(enumerate(("gray", "red", "green", "yellow", "blue", "magenta", "cyan", "white"), 30))
COLOURED = re.compile(r"\x1b\[([\d;]*)m(.*?)\x1b\[0m", re.DOTALL)
ESCAPE = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")


def from_gymnasium(
    make: Callable[[str], Any],
    *,
    tasks: Sequence[Any] | None = None,
    seeds: int = 32,
    actions: Any = None,
    admissible: Callable[[Any, Any], Any] | None = None,
    observe: Callable[[Any, Any], Any] | None = None,
    success: Callable[[float, bool, Any], Any] | None = None,
    copies: bool = True,
    instruction: str | None = None,
    name: str | None = None,
    reward: Mapping[str, Any] | None = None,
) -> type[GymnasiumEpisode]:
    """Returns an Environment class of what `make(task)` makes, a `gymnasium.Env`.

    `tasks` are the aliases of tasks, or objects `{"task", "split", "depth"}`; left out, the tasks are `seeds` seeds, "0" and so on, by
    which the environment is reset. `actions` are the names of discrete actions in their order, values of any space by name, or `str` where
    the environment takes the text as it is; a Text space needs none. `admissible(info, env)` lists what is possible now, where the info
    holds no list of it and no `action_mask`. `observe(observation, env)` makes a text of an observation that is none; where the environment
    is made with `render_mode="ansi"`, what it draws is shown. `success(reward, terminated, info)` says whether an episode that ends was one;
    left out, the info's `success`, `is_success` or `won`, else whether it was ended with a reward above 0. `copies=False`: a copy of an
    episode is played again, where `copy.deepcopy` would not copy all of it.

    Raises TypeError where observations are no texts or actions have no names."""
    given = list(tasks) if tasks is not None else [str(seed) for seed in range(seeds)]
    first = given[0] if given else "0"
    env = make(first["task"] if isinstance(first, dict) else first)
    try:
        observation, info = _begun(env, 0)
        read = observe or _reader_of(env, observation)
        values = _values_of(env, actions)
        spec, world = getattr(env, "spec", None), type(getattr(env, "unwrapped", env))
        members = {
            "tasks": given,
            "name": name or re.sub(r"[^\w.-]", "-", spec.id.split("/")[-1] if spec else world.__name__)[:64],
            "instruction": _instruction_of(values) if instruction is None else instruction,
            "reward": {**Environment.reward, **(reward or {})},
            "make_env": staticmethod(make),
            "read": staticmethod(read),
            "values": values,
            "listed": staticmethod(admissible) if admissible else None,
            "judged": staticmethod(success) if success else None,
            "seeded": tasks is None,
            "copies": copies,
            "world": _hash_of(world),
            "__module__": sys._getframe(1).f_globals.get("__name__", __name__),  # the file that is served
        }
        kind = type(world.__name__, (GymnasiumEpisode,), members)
        kind().shown(observation, env)  # refused now rather than in an episode
        return kind
    finally:
        env.close()


class GymnasiumEpisode(Environment):
    """An episode of an environment of Gymnasium. Made by `from_gymnasium`."""

    env: Any = None
    # by `from_gymnasium`
    make_env: Callable[[str], Any]
    read: Callable[[Any, Any], Any]
    values: Mapping[str, Any] | None
    listed: Callable[[Any, Any], Any] | None
    judged: Callable[[float, bool, Any], Any] | None
    seeded: bool
    copies: bool
    world: str

    def reset(self, task: str, seed: int) -> Opening:
        self.close()
        self.task, self.seed = task, int(task) if self.seeded else seed
        self.taken: list[str] = []
        self.env = self.make_env(task)
        observation, info = _begun(self.env, self.seed)
        self.seen, self.possible = self.shown(observation, self.env), self.listing(info)
        return Opening(self.seen, actions=self.possible)

    def step(self, action: str) -> Step:
        if self.values is not None and action not in self.values:
            return Step(f"There is no action {action!r}; there are {', '.join(self.values)}.", executable=False, actions=self.possible)
        said = self.env.step(action if self.values is None else self.values[action])
        if len(said) != 5:
            raise TypeError(f"step of {self.env} returned {len(said)} values, where Gymnasium's environments return five")
        observation, reward, terminated, truncated, info = said
        self.taken.append(action)
        self.seen, self.possible = self.shown(observation, self.env), self.listing(info)
        ended = bool(terminated or truncated)
        return Step(
            self.seen,
            float(reward),
            bool(terminated),
            bool(truncated) and not terminated,
            success=self.succeeded(float(reward), bool(terminated), info) if ended else None,
            actions=self.possible,
        )

    def fork(self) -> GymnasiumEpisode:
        if self.copies:
            with contextlib.suppress(Exception):  # of a handle to something outside of Python, say: it is played again
                return copy.deepcopy(self)
        other = type(self)()
        other.reset(self.task, self.seed)
        for action in self.taken:
            other.step(action)
        if other.seen != self.seen:
            other.close()
            raise RuntimeError(f"task {self.task} played again shows {other.seen[:200]!r} and not {self.seen[:200]!r}: seed it in reset")
        return other

    def close(self) -> None:
        if self.env is not None:
            self.env.close()
            self.env = None

    def shown(self, observation: Any, env: Any) -> str:
        text = self.read(observation, env)
        if isinstance(text, str):
            return text
        raise TypeError(f"the observation of {env} is no text but {type(text).__name__}: observe(observation, env) must return a text")

    def listing(self, info: Any) -> list[str] | None:
        """Returns the actions that are possible now, or None."""
        if self.listed:
            return list(self.listed(info, self.env))
        for field in LISTS:
            if isinstance(info.get(field), (list, tuple)) and all(isinstance(each, str) for each in info[field]):
                return list(info[field])
        if self.values is None:
            return None
        mask = info.get("action_mask")
        names = list(self.values)
        if mask is None or len(mask) != len(names):
            return names
        return [action for action, possible in zip(names, mask) if possible] or names

    def succeeded(self, reward: float, terminated: bool, info: Any) -> bool:
        if self.judged:
            return bool(self.judged(reward, terminated, info))
        said = [bool(info[field]) for field in SUCCESS if field in info]
        return said[0] if said else terminated and reward > 0

    @classmethod
    def fingerprint(cls) -> str:
        import gymnasium

        parts = (super().fingerprint(), gymnasium.__version__, cls.world)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _begun(env: Any, seed: int) -> Any:
    said = env.reset(seed=seed)
    if isinstance(said, tuple) and len(said) == 2 and isinstance(said[1], dict):
        return said
    raise TypeError(f"reset of {env} returned no (observation, info), as Gymnasium's environments do")


def _reader_of(env: Any, observation: Any) -> Callable[[Any, Any], Any]:
    if isinstance(observation, str):
        return lambda observation, env: observation
    if getattr(env, "render_mode", None) == "ansi":
        return lambda observation, env: text_of_ansi(env.render())
    modes = (getattr(env, "metadata", None) or {}).get("render_modes") or []
    remedy = "make it with render_mode='ansi', or pass" if "ansi" in modes else "pass"
    raise TypeError(f"{env} observes {env.observation_space}, which is no text: {remedy} observe=lambda observation, env: TEXT")


def _values_of(env: Any, actions: Any) -> dict[str, Any] | None:
    """Returns the values of actions by name, or None where an action is passed as the text that it is."""
    from gymnasium import spaces

    space = env.action_space
    if actions is str or (actions is None and isinstance(space, spaces.Text)):
        return None
    if isinstance(actions, dict):
        return dict(actions)
    if not isinstance(space, spaces.Discrete):
        raise TypeError(f"{env} takes actions of {space}: name them, actions={{'NAME': VALUE, …}}, or pass actions=str where it takes texts")
    numbers = range(int(space.start), int(space.start + space.n))
    names = list(actions) if actions is not None else _names_of(env.unwrapped, numbers)
    if len(set(names)) != len(numbers) or not all(isinstance(each, str) and each for each in names):
        raise TypeError(f"{env} has {len(numbers)} actions: actions must name each of them once, in their order, not {names!r}")
    return dict(zip(names, numbers))


def _names_of(world: Any, numbers: Sequence[int]) -> list[str]:
    """Returns the names that an environment has for its discrete actions, else their numbers."""
    said = getattr(world, "get_action_meanings", None)
    if callable(said):
        return [str(each).lower() for each in said()]
    listed: Any = getattr(world, "actions", None)  # as MiniGrid: an enumeration
    if inspect.isclass(listed) and len(getattr(listed, "__members__", ())) == len(numbers):
        return [each.lower() for each in getattr(listed, "__members__", ())]
    return [str(number) for number in numbers]


def _instruction_of(values: Mapping[str, Any] | None) -> str:
    return "" if values is None else f"Answer each time by one action. Actions: {', '.join(values)}.\nAction: the action"


def _hash_of(world: Any) -> str:
    try:
        with open(inspect.getfile(world), "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except (OSError, TypeError):
        return str(world.__qualname__)


def text_of_ansi(drawn: str) -> str:
    """Returns a drawing for terminals as a text: `<red>S</red>` for what is coloured, which is often where the player is."""
    if not isinstance(drawn, str):
        raise TypeError(f"render() returned {type(drawn).__name__} and no text: make the environment with render_mode='ansi'")

    def named(found: re.Match[str]) -> str:
        codes = [int(code) for code in found[1].split(";") if code]
        colour = next((COLOURS[code - 10 * (code >= 40)] for code in codes if code - 10 * (code >= 40) in COLOURS), None)
        return f"<{colour}>{found[2]}</{colour}>" if colour else found[2]

    return ESCAPE.sub("", COLOURED.sub(named, drawn)).strip("\n")
