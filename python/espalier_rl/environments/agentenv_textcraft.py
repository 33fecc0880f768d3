"""TextCraft by the classes of AgentGym's own server: its package `agentenv_textcraft` runs in this process. Nothing of it comes with this
package. Openings follow from that package, its recipes, the order in which its folder lists them and the order of Python's sets: the
interpreter must have been started with PYTHONHASHSEED, and the fingerprint holds how tasks open."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import importlib
import importlib.util
import os
import re
import sys
import threading
from collections.abc import Callable
from typing import Any

from ..environment import Environment, Opening, Step
from .agentgym import Dialect
from .courses import Simulators

PACKAGE = "agentenv_textcraft"
REMEDY = (
    "clone github.com/WooooDyy/AgentGym, run `pip install -e AgentGym/agentenv-textcraft` (an editable one keeps its recipes; its code needs "
    "gymnasium and numpy) in a Python of its own, and name its interpreter by ESPALIER_WORLDS_PYTHON"
)
NOT_DONE = re.compile(r"Could not |Wrong item format")
SAMPLE = 4  # tasks whose openings are part of the fingerprint

INSTRUCTION = """You make things by crafting. Each task shows a list of crafting commands and a goal; you have reached it when you have crafted the goal item.

You may give three commands:
- get <number> <item>: take any amount of a raw item, that is, an item no command makes. Example: get 2 river clay
- craft <number> <item> using <number> <ingredient>, <number> <ingredient>: make an item from what you carry. Write it as the list has it; the ingredients are used up. One command makes one batch.
- inventory: see what you carry.

Some commands name a kind of thing, such as "planks", where any one item of that kind will do: write the item that you carry in place of the kind. You may need other things first that the goal is made of, and not every command in the list is of use.

Answer each time with one thought and one command, and nothing after it:
Thought: what you have, what is missing, and what to do next
Action: the command"""

_openings = threading.Lock()  # a reset seeds and draws from the random state of the whole process


def agentenv_textcraft() -> type[Environment]:
    """Returns the environment. Raises ValueError that says what to install or how to start Python."""
    make, tree, digest = _classes()
    if os.environ.get("PYTHONHASHSEED", "random") == "random":
        raise ValueError(f"tasks of {PACKAGE} open otherwise in every process: start Python with PYTHONHASHSEED=0")
    goals = sorted(tree.item_recipes_min_depth(1), key=lambda goal: goal[1])  # in the order in which the class numbers them

    class Numbered(_AgentGym):
        count = len(goals)

    class TextCraft(_TextCraft):
        dialect = Numbered
        tasks = [{"task": str(number), "depth": depth} for number, (_, depth) in enumerate(goals)]
        world_of = staticmethod(lambda: make(crafting_tree=tree, commands=None, goal=None))
        shared = {id(tree): tree}  # what a copy has in common with its original

    try:
        copy.deepcopy(_opened(TextCraft.world_of, 0)[0], dict(TextCraft.shared))
    except Exception:
        TextCraft.simulators = Simulators(lambda: _Simulator(TextCraft.world_of))
    for number in range(min(SAMPLE, len(goals))):
        digest.update(_opened(TextCraft.world_of, number)[1].encode())
    TextCraft.digest = digest.hexdigest()
    return TextCraft


def _classes() -> tuple[Any, Any, Any]:
    """Returns the class of episodes, the recipes, and a hash of both. The package itself is not run: it would open a server, which needs
    more packages and a working folder."""
    spec = importlib.util.find_spec(PACKAGE)
    folder = next(iter(spec.submodule_search_locations or []), None) if spec else None
    if spec is None or folder is None:
        raise ValueError(f"agentenv-textcraft needs AgentGym's package {PACKAGE}, which this Python does not have: {REMEDY}")
    recipes = os.path.join(folder, "recipes")
    if not os.path.isdir(recipes):
        raise ValueError(f"{folder} has no folder recipes, which AgentGym's package has: {REMEDY}")
    if PACKAGE not in sys.modules:
        sys.modules[PACKAGE] = importlib.util.module_from_spec(spec)  # its modules are found by it; it is not executed
    digest = hashlib.sha256()
    for place in [*(os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".py")), recipes]:
        names = [place] if place.endswith(".py") else [os.path.join(place, name) for name in os.listdir(place)]
        for name in names:
            with open(name, "rb") as file:
                digest.update(os.path.basename(name).encode() + b"\0" + file.read())
    try:
        environment = importlib.import_module(f"{PACKAGE}.environment")
        tree = importlib.import_module(f"{PACKAGE}.crafting_tree").CraftingTree(minecraft_dir=folder)
        return environment.TextCraftEnv, tree, digest
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{PACKAGE} cannot be used ({type(error).__name__}: {error}): {REMEDY}") from error


def _opened(world_of: Any, number: int) -> tuple[Any, str]:
    with _openings:
        world = world_of()
        observation, _ = world.reset(data_idx=number)
    return world, observation


class _AgentGym(Dialect):
    liveness = "This is environment TextCraft."
    starts_created = True
    goes_on = True
    count = 1  # tasks: a number beyond them wraps around

    @classmethod
    def alias(cls, number: int) -> str:
        return str(number % cls.count)

    @staticmethod
    def opened(world: Any, opening: Opening) -> dict[str, Any]:
        return {"observation": opening.observation, "reward": 0}

    @staticmethod
    def stepped(world: Any, step: Step) -> dict[str, Any]:
        return {"observation": step.observation, "reward": step.reward, "done": step.terminated}


class _TextCraft(Environment):
    name = "agentenv-textcraft"
    instruction = INSTRUCTION
    reward = {"kind": "final", "scale": 1}
    resets = "alone"
    deterministic = True
    # of the one that `agentenv_textcraft` returns
    world_of: Callable[[], Any]
    shared: dict[int, Any]
    digest: str
    simulators: Simulators | None = None  # where an episode cannot be copied: it is what was done in it

    def reset(self, task: str, seed: int) -> Opening:
        # the class has one seed for all tasks, whatever a run asks for
        self.close()
        if self.simulators is None:
            self.world, self.opening = _opened(self.world_of, int(task))
            return Opening(self.opening, goal=_goal_of(self.opening))
        self.course, self.seen, simulator = self.simulators.begin(task, 0)
        self.simulators.keep(self.course, self.seen, simulator)
        self.opening = self.seen
        return Opening(self.seen, goal=_goal_of(self.seen))

    def step(self, action: str) -> Step:
        if self.simulators is None:
            observation, reward, terminated = self.world.step(action)[:3]
        else:
            self.course, observation, simulator = self.simulators.act(self.course, self.seen, action)
            reward, terminated = simulator.last
            self.seen = observation
            self.simulators.keep(self.course, self.seen, simulator)
        done = bool(terminated)
        return Step(
            observation,
            reward=float(reward),
            terminated=done,
            success=reward >= 1 if done else None,
            executable=NOT_DONE.match(observation) is None,
        )

    def fork(self) -> _TextCraft:
        other = type(self)()
        other.opening = self.opening
        if self.simulators is None:
            other.world = copy.deepcopy(self.world, dict(self.shared))
        else:
            other.course, other.seen = self.course, self.seen
            self.simulators.ahead(self.course)
        return other

    def hints(self) -> list[str]:
        """Returns the commands of the opening, what they take and no command makes, and a look at what is carried."""
        crafts: list[tuple[str, str, str]] = re.findall(r"^(craft \d+ (.+?) using (.+))$", self.opening, re.MULTILINE)
        made = {item for _, item, _ in crafts}
        taken = [use for _, _, uses in crafts for use in uses.split(", ") if re.sub(r"^\d+ ", "", use) not in made]
        return list(dict.fromkeys([*(f"get {use}" for use in taken), *(command for command, _, _ in crafts), "inventory"]))

    def close(self) -> None:
        world = self.__dict__.pop("world", None)
        if world is not None:
            with contextlib.suppress(Exception):  # what was closed is not used again
                world.close()

    @classmethod
    def fingerprint(cls) -> str:
        return f"{PACKAGE} {cls.digest}"


def _goal_of(observation: Any) -> str:
    found = re.search(r"^Goal: (.+?)\.?$", observation, re.MULTILINE)
    return str(found.group(1) if found else observation)


class _Simulator:
    """An episode that cannot be copied, for `Simulators`."""

    def __init__(self, world_of: Any) -> None:
        self._world_of, self.last = world_of, (0, False)

    def begin(self, task: str, _seed: int) -> str:
        self.world, observation = _opened(self._world_of, int(task))
        self.last = (0, False)
        return observation

    def act(self, action: str) -> str:
        observation, reward, terminated = self.world.step(action)[:3]
        self.last = (reward, terminated)
        return str(observation)
