"""ALFWorld in text (PyPI `alfworld`): six kinds of household tasks, in games that are made from what the package holds, or in those of a
folder, such as the published ones."""

from __future__ import annotations

import functools
import glob
import hashlib
import importlib.metadata
import json
import os
import threading
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from ..environment import Environment, Opening, Step
from .alfworld_games import KINDS, REVISION, SPLITS, make_game, write_games
from .courses import Simulators, asked_alone

INSTRUCTION = """You are in a home and carry out the household task that you are given. What you can do at the moment are actions such as: go to PLACE, open PLACE, close PLACE, take THING from PLACE, move THING to PLACE, clean THING with PLACE, heat THING with PLACE, cool THING with PLACE, use LAMP, examine THING, look, inventory. Places and things have a name and a number, as in "go to shelf 2".

Answer each time with one thought and one action, and nothing after it:
Thought: what you know, and what to do next
Action: the action"""


def alfworld(*, games: str = "100", kinds: str | None = None, splits: str | None = None, folder: str | None = None, limit: str = "50") -> type[Environment]:
    """Returns the environment. `games` are made for each kind of task and split, `kinds` and `splits` are names with commas between them (all
    when None), `folder` has games as ALFWorld keeps them (`json_2.1.1`) in place of made ones, `limit` the actions of an episode."""
    all_kinds, all_splits = _chosen("kind of task", kinds, KINDS), _chosen("split", splits, SPLITS)
    if folder is None:
        sources: dict[str, Any] = {f"{split}/{kind}/{number}": None for split in all_splits for kind in all_kinds for number in range(int(games))}
    else:
        sources = _games_of(folder, all_kinds, all_splits)

    class AlfWorld(_AlfWorld):
        tasks = [{"task": alias, "split": alias.split("/")[0], "kind": published_kind(alias)} for alias in sources]
        simulators = Simulators(lambda: _Simulator(sources), limit=8)

    AlfWorld.limit, AlfWorld.sources = int(limit), sources
    return AlfWorld


def write_alfworld(folder: str, *, games: str = "10", kinds: str | None = None, splits: str | None = None) -> str:
    """Writes the first `games` of those that `alfworld(games=…)` makes of each kind and split into a folder, as ALFWorld keeps its own, each
    with a walkthrough of the planner. Returns what was written, in words. Raises ValueError."""
    all_kinds, all_splits = _chosen("kind of task", kinds, KINDS), _chosen("split", splits, SPLITS)
    if not games.isdecimal() or int(games) < 1:
        raise ValueError(f"games={games} must be a whole number from 1 on")
    player = _Simulator({})
    written = write_games(folder, int(games), all_splits, all_kinds, player.solve)
    return f"{written} games of ALFWorld in {os.path.join(folder, 'json_2.1.1')}"


def _chosen(what: str, given: str | None, known: Sequence[str]) -> list[str]:
    chosen = list(known) if given is None else given.split(",")
    for name in chosen:
        if name not in known:
            raise ValueError(f"ALFWorld has no {what} {name!r}; it has {', '.join(known)}")
    return chosen


def _games_of(folder: str, kinds: Sequence[str], splits: Sequence[str]) -> dict[str, Any]:
    root = os.path.join(folder, "json_2.1.1") if os.path.isdir(os.path.join(folder, "json_2.1.1")) else folder
    found = sorted(glob.glob(os.path.join(root, "*", "*", "*", "game.tw-pddl")))
    aliases = {os.path.relpath(os.path.dirname(path), root).replace(os.sep, "/"): path for path in found}
    chosen = {alias: path for alias, path in aliases.items() if alias.split("/")[0] in splits and kind_of(alias) in kinds}
    if not chosen:
        raise ValueError(f"{folder} holds no games SPLIT/KIND-…/TRIAL/game.tw-pddl of {', '.join(splits)} and {', '.join(kinds)}")
    return chosen


def kind_of(alias: str) -> str:
    """Returns the kind of task in an alias: the second part, or what it begins with."""
    return alias.split("/")[1].split("-")[0]


def published_kind(alias: str) -> str:
    """Returns the kind of task by the name that published tables have for it."""
    return kind_of(alias).removesuffix("_simple")


class _AlfWorld(Environment):
    name = "alfworld"
    instruction = INSTRUCTION
    # of those that `alfworld` returns
    simulators: Simulators
    limit: int
    sources: dict[str, Any]
    reward = {"kind": "final", "scale": 1}

    def reset(self, task: str, seed: int) -> Opening:
        # a game has one opening: the seed changes nothing
        self.course, self.seen, simulator = self.simulators.begin(task, 0)
        goal = self.seen.rpartition("Your task is to: ")[2].strip().rstrip(".")
        opening = Opening(self.seen, goal=goal, actions=simulator.actions(), state=simulator.state())
        self.simulators.keep(self.course, self.seen, simulator)
        return opening

    def step(self, action: str) -> Step:
        self.course, self.seen, simulator = self.simulators.act(self.course, self.seen, action.strip())
        won = simulator.is_won()
        truncated = not won and len(self.course.actions) >= self.limit
        over = won or truncated
        step = Step(
            self.seen,
            reward=float(won),
            terminated=won,
            truncated=truncated,
            success=won if over else None,
            executable=self.seen != "Nothing happens.",
            actions=None if over else simulator.actions(),
            state=simulator.state(),
        )
        self.simulators.keep(self.course, self.seen, simulator)
        return step

    def fork(self) -> _AlfWorld:
        copy = type(self)()
        copy.course, copy.seen = self.course, self.seen
        self.simulators.ahead(self.course)
        return copy

    def expert(self) -> tuple[Any, Any]:
        """Follows a plan of Fast Downward, made from here."""
        plan = self.simulators.ask(self.course, _Simulator.plan)
        return (plan[0], len(plan)) if plan else (None, None)

    @classmethod
    def fingerprint(cls) -> str:
        versions = " ".join(f"{name} {importlib.metadata.version(name)}" for name in ("alfworld", "textworld"))
        made = [alias for alias, path in cls.sources.items() if path is None]
        games = f"made by revision {REVISION}" if made else _digest_of(cls.sources)
        return f"{versions} {games} limit={cls.limit}"


# TextWorld has one parser for the whole process
_alone = asked_alone(threading.RLock())


GAMES_KEPT = 32  # translated ones: some megabytes each


@functools.cache
def _remember() -> None:
    """Has TextWorld keep what it computes again and again: the translation of a game and its grammar, which a new simulator and each reset
    made twice (a second of work), and each sentence and query, which every step parsed for every action."""
    import fast_downward
    from textworld import logic
    from textworld.envs.pddl import logic as games, textgen

    # neither is changed by those who use it
    fast_downward.pddl2sas = functools.lru_cache(maxsize=2 * GAMES_KEPT)(fast_downward.pddl2sas)
    games._parse_and_convert = functools.lru_cache(maxsize=GAMES_KEPT)(games._parse_and_convert)
    for module in (textgen, logic):
        parse = functools.lru_cache(maxsize=10_000)(module._parse_and_convert)
        module._parse_and_convert = lambda *texts, parse=parse, **options: deepcopy(parse(*texts, **options))
    # what is copied for each symbol of a sentence is only added to
    textgen.copy_context = lambda context: {**context, "variables": dict(context["variables"]), "mapping": dict(context["mapping"])}


class _Simulator:
    """One game at a time in TextWorld. One is never closed: each has a copy of the planner's library, and the copies share symbols, so that
    what was loaded later fails when an earlier one is unloaded."""

    @_alone
    def __init__(self, sources: Any) -> None:
        import textworld
        from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
        from textworld.envs import PddlEnv

        _remember()
        self._sources, self._inner = sources, PddlEnv(textworld.EnvInfos(admissible_commands=True))
        self._game = AlfredDemangler(self._inner, shuffle=False)
        self._loaded: str | None = None

    @_alone
    def begin(self, task: str, _seed: int) -> str:
        if self._loaded != task:
            self._game.load(self._sources[task] or _made(task))
            self._loaded = task
        self._state = self._game.reset()
        # without the welcome, as published agents see it
        return "\n".join(self._state.feedback.split("\n\n")[1:])

    @_alone
    def solve(self, game: Any) -> Any:
        """Returns the actions by which the planner wins a game, or none."""
        self._game.load(game)
        self._game.reset()
        return self.plan()

    @_alone
    def act(self, action: str) -> str:
        self._state, _, _ = self._game.step(action)
        return str(self._state.feedback)

    @_alone
    def is_won(self) -> bool:
        return bool(self._state["won"])

    @_alone
    def actions(self) -> list[str]:
        return [command for command in self._state["admissible_commands"] if command != "help"]

    @_alone
    def state(self) -> str:
        facts = sorted(map(str, self._state["_facts"]))
        return hashlib.sha256("\n".join(facts).encode()).hexdigest()

    @_alone
    def plan(self) -> Any:
        return self._inner._pddl_state.replan(self._inner._entity_infos)


@functools.lru_cache(maxsize=GAMES_KEPT)
def _made(task: str) -> Any:
    split, kind, number = task.split("/")
    game, _ = make_game(split, kind, int(number))
    return game


def _digest_of(sources: Any) -> str:
    digest = hashlib.sha256()
    for alias, path in sources.items():
        with open(path) as file:
            game = json.load(file)
        digest.update(f"{alias}\n{game['pddl_problem']}\n{game['grammar']}\n".encode())
    return digest.hexdigest()
