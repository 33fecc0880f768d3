"""Makes games of ALFWorld from what its package holds (domain, grammar, the 120 floor plans), without a download: a room is furnished by a
seeded draw, under the package's own rules of what may lie where. They are not the published games, whose rooms come from a simulator."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import random
from collections.abc import Callable, Sequence
from typing import Any

KINDS = (
    "pick_and_place_simple",
    "look_at_obj_in_light",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_two_obj_and_place",
)
SPLITS = ("train", "valid_seen", "valid_unseen")
# as in ALFRED: the rooms of the unseen splits are in no other
UNSEEN = {10, 219, 308, 424}
LEFT_OUT = {9, 29, 215, 226, 315, 325, 404, 425}  # those of its unseen test split
REVISION = 1  # raised when equal seeds make other games
NEEDS = {
    "pick_clean_then_place_in_recep": ("Cleanable", "SinkBasin"),
    "pick_heat_then_place_in_recep": ("Heatable", "Microwave"),
    "pick_cool_then_place_in_recep": ("Coolable", "Fridge"),
}
LAMP_STANDS_ON = {"Desk", "SideTable", "Dresser", "Shelf", "CoffeeTable", "DiningTable", "TVStand"}
OPENABLE = {"Fridge", "Cabinet", "Microwave", "Drawer", "Safe"}


def make_game(split: str, kind: str, number: int) -> tuple[Any, Any]:
    """Returns a game as `game.tw-pddl` holds it, and its `traj_data`. Equal arguments make equal games."""
    digest = hashlib.sha256(f"{REVISION} {split} {kind} {number}".encode()).digest()
    draw = random.Random(int.from_bytes(digest[:8], "big"))
    rooms = _rooms(split, kind)
    room, target, place = draw.choice([(room, *choice) for room in draw.sample(rooms, min(4, len(rooms))) for choice in _choices(room, kind)])
    plan = _Room(room, draw)
    plan.furnish(target, place, copies=2 if kind == "pick_two_obj_and_place" else 1, lit=kind == "look_at_obj_in_light")
    constants, goals = _package()
    params = {"object_target": target, "parent_target": place or "", "toggle_target": "DeskLamp" if place is None else ""}
    params |= {"mrecep_target": "", "object_sliced": False}
    texts = {"obj": target, "recep": place or "", "toggle": "DeskLamp", "mrecep": ""}
    task = draw.choice(goals[kind]["templates"]).format(**{name: text.lower() for name, text in texts.items()})
    goal = goals[kind]["pddl"].format(**texts).replace("#", "-").strip()
    trial = f"trial_{split}_{number}"
    domain, grammar = _logic()
    game = {
        "pddl_domain": domain,
        "grammar": grammar.replace("UNKNOWN GOAL", task),
        "pddl_problem": plan.problem(trial, goal),
        "solvable": True,
        "walkthrough": None,
    }
    scene = {"floor_plan": f"FloorPlan{room}", "scene_num": room}
    return game, {"task_id": trial, "task_type": kind, "pddl_params": params, "scene": scene, "split": split}


def write_games(folder: str, games: int, splits: Sequence[str], kinds: Sequence[str], solve: Callable[[Any], Any]) -> int:
    """Writes games where ALFWorld's own programs look for them, `games` for each split and kind, with the walkthrough that `solve(game)`
    returns. Returns how many."""
    written = 0
    for split in splits:
        for kind in kinds:
            for number in range(games):
                game, data = make_game(split, kind, number)
                game["walkthrough"] = solve(game)
                if not game["walkthrough"]:
                    raise ValueError(f"the planner finds no way through {split}/{kind}/{number}")
                params = data["pddl_params"]
                name = f"{kind}-{params['object_target']}-None-{params['parent_target'] or params['toggle_target']}-{data['scene']['scene_num']}"
                place = os.path.join(folder, "json_2.1.1", split, name, data["task_id"])
                os.makedirs(place, exist_ok=True)
                for file, content in (("game.tw-pddl", game), ("traj_data.json", data)):
                    with open(os.path.join(place, file), "w") as out:
                        json.dump(content, out)
                written += 1
    return written


class _Room:
    """A floor plan with its furniture, and what lies on that."""

    def __init__(self, number: int, draw: Any) -> None:
        self._number, self._draw = number, draw
        self._homes = _furniture(number)  # [(id, type)]
        self._lies: list[tuple[str, str, str]] = []  # [(id, type, id of what it lies on)]

    def furnish(self, target: Any, place: Any, *, copies: int, lit: bool) -> None:
        constants, _ = _package()
        for kind in _things(self._number):
            count = max(copies, self._draw.randint(1, 2)) if kind == target else self._draw.choice((0, 1, 1, 1, 2))
            # what is asked for does not lie where it is to be put
            homes = [stand for stand, type in self._homes if _holds(type, kind) and not (kind == target and type == place)]
            self._lies += [(f"{kind}_bar_{number + 1}", kind, self._draw.choice(homes)) for number in range(count) if homes]
        if lit:
            places = [stand for stand, type in self._homes if type in LAMP_STANDS_ON]
            self._lies.append(("DeskLamp_bar_1", "DeskLamp", self._draw.choice(places)))

    def problem(self, name: str, goal: Any) -> str:
        constants, _ = _package()
        able = constants.VAL_ACTION_OBJECTS
        places = {stand: f"loc_bar_{number + 1}" for number, (stand, _) in enumerate(self._homes)}
        rtypes = sorted({type for _, type in self._homes})
        otypes = sorted({type for _, type, _ in self._lies})
        objects = ["agent1 - agent", "loc_bar_0 - location", *(f"{place} - location" for place in places.values())]
        objects += [f"{stand} - receptacle" for stand, _ in self._homes] + [f"{thing} - object" for thing, _, _ in self._lies]
        objects += [f"{type}Type - rtype" for type in rtypes] + [f"{type}Type - otype" for type in otypes]
        # the domain and the goals name these, in whatever room
        objects += [f"{type}Type - rtype" for type in ("SinkBasin", "Microwave", "Fridge") if type not in rtypes]
        objects += [f"{type}Type - otype" for type in ("Knife", "ButterKnife") if type not in otypes]
        init = ["(= (total-cost) 0)", "(atLocation agent1 loc_bar_0)"]
        for stand, type in self._homes:
            init += [f"(receptacleType {stand} {type}Type)", f"(receptacleAtLocation {stand} {places[stand]})"]
            init += [f"(openable {stand})"] if type in OPENABLE else []
        for thing, type, stand in self._lies:
            init += [f"(objectType {thing} {type}Type)", f"(inReceptacle {thing} {stand})", f"(objectAtLocation {thing} {places[stand]})"]
            init += [f"(toggleable {thing})"] if type == "DeskLamp" else [f"(pickupable {thing})"]
            init += [f"({verb} {thing})" for verb in ("cleanable", "heatable", "coolable", "sliceable") if type in able[verb.capitalize()]]
            init += [f"(isReceptacleObject {thing})"] if type in constants.MOVABLE_RECEPTACLES_SET else []
        init += [f"(canContain {rtype}Type {otype}Type)" for rtype in rtypes for otype in otypes if _holds(rtype, otype)]
        lines = "\n        ".join
        return f"(define (problem {name})\n    (:domain alfred)\n    (:objects\n        {lines(objects)}\n    )\n    (:init\n        {lines(init)}\n    )\n    {goal}\n"


def _choices(room: int, kind: str) -> list[Any]:
    """What can be asked for in a room: a thing, and where it is to be put (None under the lamp)."""
    constants, _ = _package()
    types = {type for _, type in _furniture(room)}
    things = [thing for thing in _things(room) if any(_holds(type, thing) for type in types)]
    if kind == "look_at_obj_in_light":
        return [(thing, None) for thing in things]
    able = constants.VAL_ACTION_OBJECTS[NEEDS[kind][0]] if kind in NEEDS else None
    taken = NEEDS[kind][1] if kind in NEEDS else None
    return [
        (thing, place)
        for thing in things
        if able is None or thing in able
        for place in sorted(types)
        # there is another place that it can lie on before
        if place != taken and _holds(place, thing) and any(_holds(other, thing) for other in types - {place})
    ]


@functools.cache
def _rooms(split: str, kind: str) -> list[int]:
    constants, _ = _package()
    numbers = [number for room in sorted(constants.GOALS_VALID[kind]) for number in constants.SCENE_TYPE[room]]
    chosen = [number for number in numbers if (number in UNSEEN if split == "valid_unseen" else number not in UNSEEN | LEFT_OUT)]
    return [number for number in chosen if _suits(number, kind) and _choices(number, kind)]


def _suits(room: int, kind: str) -> bool:
    types = {type for _, type in _furniture(room)}
    if kind == "look_at_obj_in_light":
        return "DeskLamp" in _plan(room)[0] and bool(types & LAMP_STANDS_ON)
    return kind not in NEEDS or NEEDS[kind][1] in types


@functools.cache
def _furniture(room: int) -> tuple[Any, ...]:
    """Lists what is in a room for things to lie on, as (id, type): what the floor plan lists a place for, and one of each other kind that it names."""
    constants, _ = _package()
    named, placed = _plan(room)
    counts: dict[str, int] = {}
    for key in placed:
        parts = key.split("|")
        type = f"{parts[0]}Basin" if parts[-1].endswith("Basin") else parts[0]
        counts[type] = counts.get(type, 0) + 1
    for type in named:
        if type in constants.RECEPTACLES and type not in constants.MOVABLE_RECEPTACLES_SET and type in constants.VAL_RECEPTACLE_OBJECTS:
            counts.setdefault(type, 4 if type == "StoveBurner" else 1)
    return tuple((_stand(type, number + 1), type) for type in sorted(counts) for number in range(counts[type]))


def _stand(type: str, number: int) -> str:
    # ALFWorld reads the name before the first bar, and adds "basin" where the id has it
    return f"{type.removesuffix('Basin')}_bar_{number}_bar_{type}" if type.endswith("Basin") else f"{type}_bar_{number}"


@functools.cache
def _things(room: int) -> tuple[str, ...]:
    """Lists the kinds of things in a room that can be carried."""
    constants, _ = _package()
    carried = set().union(*(constants.VAL_RECEPTACLE_OBJECTS[type] for type in constants.VAL_RECEPTACLE_OBJECTS))
    return tuple(sorted(thing for thing in set(_plan(room)[0]) if thing in carried and not thing.endswith("Sliced")))


def _holds(type: str, thing: str) -> bool:
    constants, _ = _package()
    return thing in constants.VAL_RECEPTACLE_OBJECTS.get(type, ())


@functools.cache
def _plan(room: int) -> Any:
    folder = os.path.join(os.path.dirname(_package()[0].__file__), "layouts")
    read = []
    for part in ("objects", "openable"):
        with open(os.path.join(folder, f"FloorPlan{room}-{part}.json")) as file:
            read.append(json.load(file))
    return tuple(read)


@functools.cache
def _logic() -> tuple[str, str]:
    import alfworld.info

    with open(alfworld.info.ALFRED_PDDL_PATH) as domain, open(alfworld.info.ALFRED_TWL2_PATH) as grammar:
        return domain.read(), grammar.read()


@functools.cache
def _package() -> tuple[Any, Any]:
    import alfworld.gen.constants as constants
    import alfworld.gen.goal_library as goals

    return constants, goals.gdict
