"""What a player of BabyAI sees and can do, in words: things by distance, walks to them, doors."""

from __future__ import annotations

from collections import deque
from typing import Any

OBJECTS = ("unseen", "empty", "wall", "floor", "door", "key", "ball", "box", "goal", "lava", "agent")
COLORS = ("red", "green", "blue", "purple", "yellow", "grey")
DOORS = ("open", "closed", "locked")
LEFT, RIGHT, FORWARD, PICKUP, DROP, TOGGLE = range(6)
STEPS = ((1, 0), (0, 1), (-1, 0), (0, -1))  # right, down, left, up, as directions are numbered
BLOCKING = ("wall", "box", "lava", "ball", "key")


class Sight:
    """What is in sight of a player. `text` describes it, `actions` are walks by their words, `refusals` say why others cannot be done."""

    def __init__(self, grid: Any, seen: Any) -> None:
        self.image = seen["image"]
        self._place, self._facing = (int(grid.agent_pos[0]), int(grid.agent_pos[1])), int(seen["direction"])
        self._carrying = grid.carrying
        self._things, self._barriers = self._look(grid)
        self._named = _numbered([thing for thing in self._things if not thing[0].endswith(" wall")])
        self.text = self._describe()
        self.actions: dict[str, list[int]] = {}
        self.refusals: dict[str, str] = {}
        self._plan()

    def _look(self, grid: Any) -> tuple[Any, Any]:
        size = grid.agent_view_size
        ahead, right = STEPS[self._facing], STEPS[(self._facing + 1) % 4]
        corner = [self._place[i] + ahead[i] * (size - 1) - right[i] * (size // 2) for i in (0, 1)]
        far = [corner[i] + size * (right[i] - ahead[i]) for i in (0, 1)]
        self._columns, self._rows = (range(far[i], corner[i] + 1) if far[i] < corner[i] else range(corner[i], far[i]) for i in (0, 1))
        things, barriers = [], []
        for down in range(size):
            for across in range(size):
                x, y = (corner[i] - ahead[i] * down + right[i] * across for i in (0, 1))
                distance = abs(self._place[0] - x) + abs(self._place[1] - y)
                if x < 0 or y < 0 or distance == 0:
                    continue
                kind, color, state = (int(number) for number in self.image[across, down])
                if OBJECTS[kind] in ("door", "key", "ball", "box", "goal", "lava", "wall"):
                    door = f"{DOORS[state]} " if OBJECTS[kind] == "door" else ""
                    things.append((f"{COLORS[color]} {door}{OBJECTS[kind]}", (x, y), distance))
                if OBJECTS[kind] in ("box", "wall"):
                    front, side = self._relative((x, y))
                    if side == 0:
                        barriers.append((OBJECTS[kind], (x, y), front))
        things.sort(key=lambda thing: thing[2])
        barriers.sort(key=lambda barrier: barrier[2])
        return things, barriers

    def _relative(self, place: tuple[int, int]) -> tuple[int, int]:
        """Returns how far a place lies in front, and to the right."""
        x, y = place[0] - self._place[0], place[1] - self._place[1]
        ahead, right = STEPS[self._facing], STEPS[(self._facing + 1) % 4]
        return x * ahead[0] + y * ahead[1], x * right[0] + y * right[1]

    def _describe(self) -> str:
        said = "In front of you in this room, you can see several objects: " if self._things else "You cannot see any objects within sight."
        for name, number, place in self._named:
            front, right = self._relative(place)
            if right == 0:
                where = f"right in front of you {front} steps away. "
            else:
                where = f"{front} steps in front of you and {abs(right)} steps to your {'right' if right > 0 else 'left'}. "
            said += f"There is a {name} {number} {where} "
        said += "The room has walls around you. "
        if self._barriers:
            said += f"You are facing a {self._barriers[0][0]} {self._barriers[0][2]} steps away. "
        if self._carrying is None:
            return said + "You are not carrying anything."
        return said + f"You are carrying a {self._carrying.color} {self._carrying.type}."

    def _plan(self) -> None:
        self.actions = {"turn left": [LEFT], "turn right": [RIGHT]}
        if not self._barriers or self._barriers[0][2] > 1:
            self.actions["move forward"] = [FORWARD]
        else:
            self.refusals["move forward"] = "There is a barrier in front of you, you can't move forward."
        if self._carrying is None:
            self._plan_walks("pickup", [PICKUP], lambda name: not name.endswith((" door", " goal")))
            self.refusals["drop"] = "You cannot drop the object, as you are not carrying anything."
        else:
            self._plan_drop()
        self._plan_doors()
        for name, _, place in self._named:
            if name.endswith(" goal"):
                self._offer("go to goal", self._walk(place, onto=True), "You cannot go to the goal, as there is no path leading to it.")
        self._plan_walks("go to", [], lambda name: not name.endswith(" goal"))
        self.actions["check available actions"] = []

    def _plan_walks(self, verb: str, then: Any, wanted: Any) -> None:
        reached: dict[str, int] = {}  # things of a name that can be reached are numbered by themselves
        for name, _, place in self._named:
            if not wanted(name):
                continue
            walk = self._walk(place)
            number = reached.get(name, 0) + 1
            if walk is None:
                self.refusals[f"{verb} {name} {number}"] = f"You cannot {verb} {name} {number}, as there is no path leading to it."
            else:
                reached[name] = number
                self.actions[f"{verb} {name} {number}"] = walk + then

    def _plan_drop(self) -> None:
        front = tuple(self._place[i] + STEPS[self._facing][i] for i in (0, 1))
        if any(place == front and name.endswith(BLOCKING) for name, place, _ in self._things):
            self.refusals["drop"] = "You cannot drop the object, as there is already an object in front of you."
        else:
            self.actions["drop"] = [DROP]

    def _plan_doors(self) -> None:
        for name, number, place in self._named:
            if not name.endswith(" door"):
                continue
            color, state, _ = name.split(" ")
            door = f"{name} {number}"
            if state == "open":
                self._offer(f"go through {door}", self._walk(place, onto=True), f"You cannot go through {door}, as there is no path leading to it.")
                continue
            action = f"toggle and go through {door}"
            if state == "closed":
                self.refusals[f"go through {door}"] = f"You cannot go through {door}, as it is closed. You should toggle it first."
            elif self._carrying is None or self._carrying.type != "key":
                self.refusals[action] = f"You cannot {action}, as you are not carrying a key."
                continue
            elif self._carrying.color != color:
                self.refusals[action] = f"You cannot {action}, as the color of the key you are carrying does not match the color of door."
                continue
            walk = self._walk(place)
            self._offer(action, None if walk is None else [*walk, TOGGLE, FORWARD], f"You cannot {action}, as there is no path leading to it.")
            if walk == []:
                self.actions["toggle"] = [TOGGLE]

    def _offer(self, action: str, walk: Any, refusal: str) -> None:
        if walk is None:
            self.refusals[action] = refusal
        else:
            self.actions[action] = walk

    def _walk(self, goal: Any, onto: bool = False) -> Any:
        """Returns a walk to where the player faces a place, or is on it; None where there is none in sight. It is the walk of AgentGym's
        server, which is not always the shortest one: a place that is found again before its turn is reached from there."""
        blocked = {place for name, place, _ in self._things if name.endswith(BLOCKING)} | {place for _, place, _ in self._barriers}
        start = (self._place, self._facing)
        came: dict[Any, Any] = {start: None}
        done, waiting = set(), deque([start])
        while waiting:
            place, facing = here = waiting.popleft()
            done.add(here)
            ahead = (place[0] + STEPS[facing][0], place[1] + STEPS[facing][1])
            if place == goal if onto else ahead == goal:
                return _back(came, here)
            for move, there in ((FORWARD, (ahead, facing)), (LEFT, (place, (facing - 1) % 4)), (RIGHT, (place, (facing + 1) % 4))):
                (x, y), _ = there
                if there not in done and x in self._columns and y in self._rows and there[0] not in blocked:
                    came[there] = (here, move)
                    waiting.append(there)
        return None


def _back(came: Any, here: Any) -> Any:
    moves = []
    while came[here] is not None:
        here, move = came[here]
        moves.append(move)
    return moves[::-1]


def _numbered(things: Any) -> Any:
    """Numbers things of one name by distance."""
    seen: dict[str, int] = {}
    named = []
    for name, place, _ in things:
        seen[name] = seen.get(name, 0) + 1
        named.append((name, seen[name], place))
    return named
