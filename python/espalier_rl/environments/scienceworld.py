"""ScienceWorld (PyPI `scienceworld`, and Java): 30 kinds of experiments in a house with a laboratory, 7,207 variations."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import threading
from collections.abc import Callable
from typing import Any

from ..environment import BackendAway, Environment, Opening, Step
from .courses import Simulators, asked_alone

# kind: variations, and how many of them, from the first, are for training and for development; the rest is for tests. Of 1.2.3.
KINDS = {
    "boil": (30, 14, 7),
    "melt": (30, 14, 7),
    "freeze": (30, 14, 7),
    "change-the-state-of-matter-of": (30, 14, 7),
    "use-thermometer": (540, 270, 135),
    "measure-melting-point-known-substance": (436, 218, 109),
    "measure-melting-point-unknown-substance": (300, 150, 75),
    "power-component": (20, 10, 5),
    "power-component-renewable-vs-nonrenewable-energy": (20, 10, 5),
    "test-conductivity": (900, 450, 225),
    "test-conductivity-of-unknown-substances": (600, 300, 150),
    "find-living-thing": (300, 150, 75),
    "find-non-living-thing": (300, 150, 75),
    "find-plant": (300, 150, 75),
    "find-animal": (300, 150, 75),
    "grow-plant": (126, 62, 31),
    "grow-fruit": (126, 62, 31),
    "chemistry-mix": (32, 16, 8),
    "chemistry-mix-paint-secondary-color": (36, 18, 9),
    "chemistry-mix-paint-tertiary-color": (36, 18, 9),
    "lifespan-longest-lived": (125, 62, 31),
    "lifespan-shortest-lived": (125, 62, 31),
    "lifespan-longest-lived-then-shortest-lived": (125, 62, 31),
    "identify-life-stages-1": (14, 6, 3),
    "identify-life-stages-2": (10, 4, 2),
    "inclined-plane-determine-angle": (168, 84, 42),
    "inclined-plane-friction-named-surfaces": (1386, 692, 346),
    "inclined-plane-friction-unnamed-surfaces": (162, 80, 40),
    "mendelian-genetics-known-plant": (120, 60, 30),
    "mendelian-genetics-unknown-plant": (480, 240, 120),
}

INSTRUCTION = """You work in a small house with a science laboratory and carry out the experiment that the task describes. Do only what it asks: focusing on the wrong thing ends the task.

Actions (OBJ is a thing you see or carry, LOC a place):
open OBJ, close OBJ, activate OBJ, deactivate OBJ, connect OBJ to OBJ, disconnect OBJ, use OBJ, use OBJ on OBJ, look around, look at OBJ, look in OBJ, read OBJ, move OBJ to OBJ, pick up OBJ, put down OBJ, pour OBJ into OBJ, dunk OBJ into OBJ, mix OBJ, go to LOC, eat OBJ, flush OBJ, focus on OBJ, inventory, task, wait, wait1.
"focus on OBJ" marks the thing that the task is about. "wait" lets ten moments pass, "wait1" one. When asked which of several things you mean, answer with its number.

Answer each time with one thought and one action, and nothing after it:
Thought: what you know, and what to do next
Action: the action"""

NOT_UNDERSTOOD = ("No known action", "It's not clear how", "Unknown action", "Ambiguous request")


def scienceworld(*, kinds: str | None = None, simplifications: str = "", limit: int = 100, hints: str = "valid") -> type[Environment]:
    """Returns the environment. `kinds` are the kinds of experiments with commas between them (all when None), `simplifications` the simulator's own (`easy`,
    `teleportAction`, …), `limit` the actions of an episode, `hints` `valid` where every step lists what is possible, or `none`, which is
    faster: the simulator tries thousands of actions for that list, and is asked for it only where a policy chooses from it."""
    chosen = list(KINDS) if kinds is None else kinds.split(",")
    for kind in chosen:
        if kind not in KINDS:
            raise ValueError(f"ScienceWorld has no experiment {kind!r}; it has {', '.join(KINDS)}")
    _known_simplifications(simplifications)
    if hints not in ("valid", "none"):
        raise ValueError(f"hints must be valid or none, not {hints!r}")

    class ScienceWorld(_ScienceWorld):
        tasks = [_task(kind, number) for kind in chosen for number in range(KINDS[kind][0])]
        simulators = Simulators(lambda: _Simulator(simplifications))

    ScienceWorld.limit, ScienceWorld.lists = int(limit), hints == "valid"
    ScienceWorld.rules = f"simplifications={simplifications} limit={limit}"
    return ScienceWorld


def _task(kind: str, number: int) -> dict[str, Any]:
    _, train, dev = KINDS[kind]
    split = "train" if number < train else "dev" if number < train + dev else "test"
    return {"task": f"{kind}/{number}", "split": split, "kind": kind}


def _known_simplifications(given: str) -> None:
    known = {"easy", "teleportAction", "selfWateringFlowerPots", "openContainers", "openDoors", "noElectricalAction"}
    for each in filter(None, given.split(",")):
        if each not in known:
            raise ValueError(f"ScienceWorld has no simplification {each!r}; it has {', '.join(sorted(known))}")


class _ScienceWorld(Environment):
    name = "scienceworld"
    instruction = INSTRUCTION
    reward = {"kind": "cumulative", "scale": 100}
    # of those that `scienceworld` returns
    simulators: Simulators
    limit: int
    lists: bool
    rules: str

    def reset(self, task: str, seed: int) -> Opening:
        # a variation has one opening: the seed changes nothing
        self.course, self.seen, simulator = self.simulators.begin(task, 0)
        self.goal, self.score = simulator.goal, 0
        opening = Opening(self.seen, goal=self.goal, actions=self._listed(simulator))
        self.simulators.keep(self.course, self.seen, simulator)
        return opening

    def step(self, action: str) -> Step:
        self.course, self.seen, simulator = self.simulators.act(self.course, self.seen, action)
        self.score, completed = simulator.score(), simulator.is_completed()
        fatal = self.score < 0
        over = completed or fatal
        truncated = not over and len(self.course.actions) >= self.limit
        step = Step(
            self.seen,
            # a fatal act takes back what was earned: the simulator says -100, the score of the episode is 0
            reward=float(max(self.score, 0)),
            terminated=over,
            truncated=truncated,
            success=self.score == 100 if over or truncated else None,
            executable=not self.seen.startswith(NOT_UNDERSTOOD),
            actions=None if over or truncated else self._listed(simulator),
            reason="fatal act" if fatal else None,
        )
        self.simulators.keep(self.course, self.seen, simulator)
        return step

    def fork(self) -> _ScienceWorld:
        copy = type(self)()
        copy.course, copy.seen, copy.goal, copy.score = self.course, self.seen, self.goal, self.score
        self.simulators.ahead(self.course)
        return copy

    def expert(self) -> tuple[Any, Any]:
        """Follows the simulator's own solution, where every action so far did."""
        gold = _gold_actions(self.course.task)
        taken = len(self.course.actions)
        on_the_way = self.course.actions == gold[:taken] and taken < len(gold)
        return (gold[taken], len(gold) - taken) if on_the_way else (None, None)

    def ask(self, question: Callable[[Any], Any]) -> Any:
        """Asks a simulator that is where this episode is, by a question that takes no time in it."""
        return self.simulators.ask(self.course, question)

    def hints(self) -> list[str]:
        found: list[str] = self.ask(_Simulator.valid_actions)
        return found

    def _listed(self, simulator: Any) -> list[str] | None:
        return simulator.valid_actions() if self.lists else None

    @classmethod
    def fingerprint(cls) -> str:
        return f"scienceworld {importlib.metadata.version('scienceworld')} {_jar_digest()} {cls.rules}"


# One machine is asked one thing at a time: of 20 episodes that were played in four threads without this, 2 met another world.
_alone = asked_alone(threading.RLock())


class _Simulator:
    """One simulator; all of them live in one Java machine."""

    @_alone
    def __init__(self, simplifications: str) -> None:
        self._interface, self._simplifications = _java().scienceworld.runtime.pythonapi.PythonInterface(), simplifications

    @_alone
    def begin(self, task: str, _seed: int) -> str:
        kind, _, number = task.partition("/")
        self._interface.load(kind, int(number), self._simplifications, False)
        self.goal = self._interface.getTaskDescription()
        # as AgentGym's client shows it: what to do, and the first look around
        return f"{self.goal}\n{self.act('look around')}"

    @_alone
    def act(self, action: str) -> str:
        return str(self._interface.step(action))

    @_alone
    def score(self) -> int:
        return int(round(100 * self._interface.getScore()))

    @_alone
    def is_completed(self) -> bool:
        return bool(self._interface.getCompleted())

    @_alone
    def valid_actions(self) -> list[str]:
        return sorted(set(self._interface.getValidActionObjectCombinations()))


def _java() -> Any:
    return _gateway().jvm


@functools.cache
def _gateway() -> Any:
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
    from py4j.protocol import Py4JError
    from scienceworld.constants import BASEPATH, JAR_PATH

    # the machine lives for seconds to minutes: the quick compiler alone and one thread that collects garbage start sooner
    quick = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    # The simulator lists things in the order of hash tables whose keys hash by identity, which differs from episode to episode.
    # One hash for all leaves the order in which they were put there.
    ordered = ["-XX:+UnlockExperimentalVMOptions", "-XX:hashCode=2"]
    try:
        port, process = launch_gateway(classpath=JAR_PATH, die_on_exit=True, cwd=BASEPATH, javaopts=[*quick, *ordered], return_proc=True)
    except (OSError, Py4JError, ValueError) as error:
        raise BackendAway(f"ScienceWorld needs Java 8 or later on the PATH: java did not start ({error})") from error
    return JavaGateway(gateway_parameters=GatewayParameters(auto_field=True, port=port), java_process=process)


@_alone
@functools.cache
def _gold_actions(task: str) -> tuple[str, ...]:
    kind, _, number = task.partition("/")
    interface = _java().scienceworld.runtime.pythonapi.PythonInterface()
    interface.load(kind, int(number), "", True)
    return tuple(interface.getGoldActionSequence())


@functools.cache
def _jar_digest() -> str:
    from scienceworld.constants import JAR_PATH

    with open(JAR_PATH, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:16]
