"""BabyAI (PyPI `minigrid`): 40 levels of instructions in rooms of a grid, in the words of AgentGym's server."""

from __future__ import annotations

import copy
import importlib.metadata
from collections.abc import Sequence
from typing import Any

from ..environment import Environment, Opening, Step
from .agentgym import Dialect
from .babyai_words import Sight

LEVELS = (
    "GoToRedBallGrey GoToRedBall GoToRedBallNoDists GoToObjS6 GoToLocalS8N7 GoToObjMazeS7 GoToImpUnlock GoToSeqS5R2 GoToRedBlueBall GoToDoor "
    "GoToObjDoor Open OpenRedDoor OpenDoorLoc OpenRedBlueDoorsDebug OpenDoorsOrderN4Debug Pickup UnblockPickup PickupLoc PickupDistDebug "
    "PickupAbove PutNextLocalS6N4 PutNextS7N4Carrying Unlock UnlockLocalDist KeyInBox UnlockPickupDist BlockedUnlockPickup UnlockToUnlock "
    "ActionObjDoor FindObjS7 KeyCorridorS6R3 OneRoomS20 MoveTwoAcrossS8N9 SynthS5R2 SynthLoc SynthSeq MiniBossLevel BossLevel BossLevelNoUnlock"
).split()  # in AgentGym's order: task N is level N % 40 with seed N // 40

INSTRUCTION = """You are in a building of rooms and reach the goal that you are given.

Actions: turn left, turn right, move forward, go to THING NUMBER, pickup THING NUMBER, go through DOOR NUMBER (an open door), toggle and go through DOOR NUMBER (a closed door; a locked one needs that you carry the key of its colour), toggle (the door right in front of you), drop, check available actions.
What you can do at the moment is listed below each observation.

Answer each time with one thought and one action, and nothing after it:
Thought: what you know, and what to do next
Action: the action"""


def babyai(*, levels: str | None = None, seeds: str = "1000", limit: str = "64") -> type[Environment]:
    """Returns the environment. `levels` are names with commas between them (all 40 when None), `seeds` how many worlds of each, `limit`
    the actions of an episode."""
    chosen = list(LEVELS) if levels is None else levels.split(",")
    for level in chosen:
        if level not in LEVELS:
            raise ValueError(f"BabyAI has no level {level!r}; it has {', '.join(LEVELS)}")

    class BabyAI(_BabyAI):
        tasks = [{"task": f"{level}/{seed}", "kind": level} for seed in range(int(seeds)) for level in chosen]

    BabyAI.limit = int(limit)
    return BabyAI


class _AgentGym(Dialect):
    liveness = "This is environment BabyAI."

    @staticmethod
    def alias(number: int) -> str:
        return f"{LEVELS[number % 40]}/{number // 40}"

    @staticmethod
    def opened(world: Any, opening: Opening) -> dict[str, Any]:
        return {"observation": opening.observation, "reward": 0, "score": 0, "deleted": False, "done": False}

    @staticmethod
    def stepped(world: Any, step: Step) -> dict[str, Any]:
        # the server adds the last reward to the score at every action, that of an action which changed nothing too
        world.total = getattr(world, "total", 0) + world.last_reward
        return {"observation": step.observation, "reward": world.last_reward, "score": world.total, "done": step.terminated}


class _BabyAI(Environment):
    name = "babyai"
    instruction = INSTRUCTION
    reward = {"kind": "final", "scale": 1}
    deterministic = True  # a level draws its world from the task's seed when it begins, and nothing afterwards
    dialect = _AgentGym
    limit: int  # of the one that `babyai` returns

    def reset(self, task: str, seed: int) -> Opening:
        level, _, number = task.rpartition("/")
        self.grid = _make(level)
        # a task has one opening: its number is the seed of its world
        seen, _ = self.grid.reset(seed=int(number))
        self.taken, self.last_reward = 0, 0.0
        self.around = Sight(self.grid.unwrapped, seen)
        goal = self.grid.unwrapped.mission.replace("then", "and").replace("after you", "and")
        return Opening(f"Your goal: {goal}\n{self._shown(self.around.text)}", goal=goal, actions=list(self.around.actions))

    def step(self, action: str) -> Step:
        action = action.strip().lower()
        self.taken += 1
        truncated = self.taken >= self.limit
        if "check" in action:
            return self._unchanged("You can take the following actions: " + ", ".join(self.around.actions), True, truncated)
        if action not in self.around.actions:
            said = self.around.refusals.get(action, "The action is not recognized. Please check valid actions.")
            return self._unchanged(said if action else "No change in state.", False, truncated)
        if not self.around.actions[action]:
            return self._unchanged("No change in state.", False, truncated)
        return self._moved(self.around.actions[action], truncated)

    def _moved(self, moves: Sequence[int], truncated: bool) -> Step:
        image = self.around.image
        for move in moves:
            seen, reward, done, _, _ = self.grid.step(move)
            if (seen["image"] == image).all():
                break  # it did not work: what was to follow is left out
            image = seen["image"]
        self.around = Sight(self.grid.unwrapped, seen)
        self.last_reward = float(reward)
        # the grid ends an episode in failure too (a wrong object was picked up): as on AgentGym's server, the player may go on
        won = done and self.last_reward > 0.5
        text = self.around.text + ("\n The task is completed." if done else "")
        return Step(
            self._shown(text),
            reward=self.last_reward if won else 0.0,
            terminated=won,
            truncated=truncated and not won,
            success=won if won or truncated else None,
            actions=None if won or truncated else list(self.around.actions),
        )

    def _unchanged(self, text: str, executable: bool, truncated: bool) -> Step:
        actions = None if truncated else list(self.around.actions)
        return Step(self._shown(text), truncated=truncated, success=False if truncated else None, executable=executable, actions=actions)

    def _shown(self, text: str) -> str:
        return f"{text}\nAvailable actions: [" + ", ".join(f'"{action}"' for action in self.around.actions) + "]"

    def fork(self) -> _BabyAI:
        return copy.deepcopy(self)

    @classmethod
    def fingerprint(cls) -> str:
        return f"minigrid {importlib.metadata.version('minigrid')} words 1 limit={cls.limit}"


def _make(level: str) -> Any:
    import gymnasium
    import minigrid  # registers its environments where Gymnasium has not found them by itself

    names = [f"BabyAI-{level}-v{version}" for version in (0, 1)]  # AgentGym's v0, and v1 where minigrid has nothing else left
    if not any(name in gymnasium.registry for name in names):
        minigrid.register_minigrid_envs()
    name = next(name for name in names if name in gymnasium.registry)
    # what its own limit says is not looked at: the actions are counted here
    return gymnasium.make(name, disable_env_checker=True)
