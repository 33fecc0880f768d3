"""What an episode is about: a text, a row of a data set, or a Task that says more."""

from __future__ import annotations

import hashlib
import itertools
import json
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from ..errors import EspalierError
from .ids import derived_id
from .prompts import Message, messages_of
from .values import MOST_ACTIONS, Json, count_of, cut, json_of, name_of, refuse, shown, storable, text_of, texts_of, units_of

LONGEST_ALIAS = 500
LONGEST_GOAL = 10_000
LONGEST_TOOLS = 60_000

# of a row of a data set, in this order
OBSERVATIONS = ("observation", "prompt", "question", "problem", "query", "input", "text")
ALIASES = ("alias", "id", "task_id", "uid", "index")
TRUTHS = ("answer", "ground_truth", "solution", "target")

ROLES = {"human": "user", "gpt": "assistant", "model": "assistant", "developer": "system", "function": "tool"}  # of chats, as others name them

_TOOLS = ("tools_kwargs", "need_tools_kwargs")  # of a row for verl: the second says whether there are any

_named_unread: set[str] = set()  # fields that this process has been warned of


@dataclass(frozen=True)
class Task:
    """One problem. `observation` is what the agent is shown first, `alias` the name of the task (default: `task ` and 12 digits of the
    SHA-256 of what identifies it; a name is never sealed), `instruction` what every prompt begins with, `goal` what is to be reached,
    `depth` how deep it is where there is such a measure, `actions` what is possible at first, `pictures` what is shown with the observation
    (bytes, a path, or a PIL image), `tools_kwargs` the arguments by which tools are made for the task, by their names (verl's
    `extra_info.tools_kwargs`), `turns` chat messages between the instruction and the observation, such as examples, `truth` the
    ground truth where `goal` says something else: it is part of what identifies the task, and recorded in no other way."""

    observation: str
    alias: str = ""
    instruction: str = ""
    goal: str = ""
    split: str | None = None
    depth: int | None = None
    actions: Sequence[str] | None = None
    pictures: Sequence[Any] = field(default_factory=tuple)
    tools_kwargs: Mapping[str, Any] | None = None
    turns: Sequence[Mapping[str, Any]] = field(default_factory=tuple)
    truth: str = ""


def task_of(given: object) -> Task:
    """Reads a task: a Task, a text or number (its observation), or a row: its observation is the first of `observation`, `prompt`,
    `question`, … (a text, or chat messages: the last one; messages of the system that these begin with follow the `instruction` of the row, the
    others before it are its turns), its alias that of `alias`, `id`, …, its goal the ground truth where the row has one (`answer`, `ground_truth`, `solution`, `target`, or that of `reward_model`); `tools_kwargs`
    may be in its `extra_info`. Warns of each field that is not recorded, once in a process."""
    if isinstance(given, Task):
        return _checked(given)
    if isinstance(given, (str, int)):
        return _checked(Task(str(given)))
    if not isinstance(given, Mapping):
        remedy = "give a text, a row of a data set (a dict), or er.Task(...)"
        raise EspalierError(f"task is a {type(given).__name__}", remedy=remedy, field="task")
    found = next((name for name in OBSERVATIONS if _holds(given.get(name))), None)
    if found is None:
        remedy = f"give what the agent is shown first as one of {', '.join(OBSERVATIONS)}"
        raise EspalierError(f"task has the fields {', '.join(map(str, given)) or 'none'}", remedy=remedy, field="task")
    known = {each.name for each in fields(Task)} - {"observation", "alias", "instruction", "truth"}
    more = {name: value for name, value in given.items() if name in known and value is not None}
    truth, held_by = _truth_of(given)
    if truth is not None:
        more.setdefault("goal", truth)
        more["truth"] = "" if more["goal"] == truth else truth
    extra: Any = given.get("extra_info")
    extra_read = _TOOLS if isinstance(extra, Mapping) and _holds(extra.get("tools_kwargs")) else ()
    if extra_read:
        more.setdefault("tools_kwargs", extra["tools_kwargs"])
    before, turns, observation = _shown(given[found], f"task.{found}")
    if turns:
        more["turns"] = turns
    instruction = "\n\n".join(part for part in (str(given["instruction"]) if _holds(given.get("instruction")) else "", before) if part)
    named = next((name for name in ALIASES if _holds(given.get(name))), None)
    alias = "" if named is None else str(given[named])
    read = {found, named, "instruction", *known, *_TOOLS, *(("extra_info",) if extra_read else ())} | ({held_by} if more.get("goal") == truth else set())
    inner = _unread_in(given["reward_model"], "reward_model.", ("ground_truth",)) if "reward_model" in read else []
    inner += _unread_in(extra, "extra_info.", extra_read) if extra_read else []
    _warn_of([*_unread_in(given, "", read), *inner, *_unread_of_turns(given[found], found)])
    return _checked(Task(observation, alias=cut(alias, LONGEST_ALIAS), instruction=instruction, **more))


def digest_of(task: Task, images: Sequence[str]) -> str:
    """Returns the SHA-256 (hex) of what identifies a task, `images` the ids of its pictures: that of its first observation where it has
    nothing else, as collectors have it."""
    goal = "" if task.goal == task.observation else task.goal
    parts = [task.instruction, goal, [_plain_in(turn) for turn in task.turns], task.tools_kwargs, list(images), task.truth]
    said = json.dumps([task.observation, *parts], ensure_ascii=False, sort_keys=True, separators=(",", ":")) if any(parts) else task.observation
    return hashlib.sha256(storable(said).encode()).hexdigest()


def named(task: Task, images: Sequence[str]) -> Task:
    """Gives a task without a name one that says nothing of it, as names are never sealed."""
    return task if task.alias else replace(task, alias=f"task {digest_of(task, images)[:12]}")


def task_data(task: Task, environment: str, fingerprint: str, images: Sequence[str]) -> Json:
    """Returns what TreeOpened says of a task: with equal environment, fingerprint and digest it is the same task in every run."""
    data = {
        "taskId": derived_id("task", environment, fingerprint, digest_of(task, images)),
        "environment": environment,
        "serverFingerprint": fingerprint,
        "observationHash": hashlib.sha256(storable(task.observation).encode()).hexdigest(),
        "alias": task.alias,
        "goal": cut(task.goal or task.observation, LONGEST_GOAL),
        "depth": task.depth,
        "split": task.split,
    }
    return data if task.tools_kwargs is None else {**data, "toolsKwargs": tools_text(task)}


def turns_of(task: Task) -> list[Message]:
    """Reads the messages between the instruction and the first observation of a task, as prompts hold them."""
    return messages_of(task.turns, {}, "task.turns")


def tools_text(task: Task) -> str | None:
    """Returns the arguments of a task's tools as JSON, as the record holds them."""
    return None if task.tools_kwargs is None else json.dumps(task.tools_kwargs, ensure_ascii=False, separators=(",", ":"))


def _checked(task: Task) -> Task:
    """Raises EspalierError with the field of a task that the server would refuse."""
    for name in ("observation", "alias", "instruction", "goal"):
        text_of(getattr(task, name), f"task.{name}")
    if units_of(task.alias) > LONGEST_ALIAS:
        refuse("task.alias", f"task.alias has {units_of(task.alias)} characters", f"name the task by at most {LONGEST_ALIAS}")
    if task.split is not None:
        name_of(task.split, "task.split")
    depth = None if task.depth is None else count_of(task.depth, "task.depth")
    actions = None if task.actions is None else texts_of(task.actions, "task.actions", MOST_ACTIONS)
    turns_of(task)
    return replace(task, depth=depth, actions=actions, tools_kwargs=_checked_tools(task.tools_kwargs))


def _checked_tools(given: object) -> Json | None:
    name = "task.tools_kwargs"
    if given is None or not _holds(given):
        return None
    if not isinstance(given, Mapping):
        refuse(name, f"{name} is {shown(given)}", "give a dict: for each tool, by its name, its arguments")
    # a reader of Parquet gives tools of other rows as None
    tools: Json = json_of({str(tool): _plain_in(value) for tool, value in given.items() if value is not None}, name)
    if units_of(json.dumps(tools, ensure_ascii=False)) > LONGEST_TOOLS:
        refuse(name, f"{name} has more than {LONGEST_TOOLS} characters as JSON", "give what the tools load by a name")
    return tools or None


def _plain_in(value: Any) -> Any:
    """Returns a value whose arrays are lists, as pandas and datasets hold them."""
    if isinstance(value, Mapping):
        return {str(name): _plain_in(each) for name, each in value.items()}
    plain = _plain(value)
    return [_plain_in(each) for each in plain] if isinstance(plain, (list, tuple)) else plain


def _shown(value: object, where: str) -> tuple[str, list[Json], str]:
    """Returns what messages of the system say at the beginning of a chat, the turns behind them, and the text of the last message."""
    if isinstance(value, (str, int)):
        return "", [], str(value)
    if isinstance(value, Sequence) and value and all(isinstance(each, Mapping) for each in value):
        *before, last = value
        turns = list(itertools.dropwhile(lambda each: each.get("role") == "system", before))
        system = [_text(each.get("content")) for each in before[: len(before) - len(turns)]]
        read = [{"role": ROLES.get(str(each.get("role")), each.get("role")), "content": _text(each.get("content"))} for each in turns]
        if any(each["role"] not in ("system", "user", "assistant", "tool") for each in read):  # a part that no prompt has a place for
            system += [f"{each['role']}: {each['content']}" for each in read]
            read = []
        return "\n\n".join(system), read, _text(last.get("content"))
    raise EspalierError(f"{where} is a {type(value).__name__}", remedy="give a text, or chat messages with role and content", field=where)


def _truth_of(row: Mapping[Any, Any]) -> tuple[str | None, str | None]:
    """Returns the ground truth of a row as a text, or as JSON where it is none, and the field that holds it; None where the row has none."""
    model = row.get("reward_model")
    held = {**{name: row.get(name) for name in TRUTHS}, "reward_model": model.get("ground_truth") if isinstance(model, Mapping) else None}
    name, truth = next(((name, plain) for name, plain in ((name, _plain(value)) for name, value in held.items()) if plain is not None), (None, None))
    if truth is None or isinstance(truth, str):
        return truth, name
    try:
        return json.dumps(json_of(truth, "task.goal"), ensure_ascii=False), name
    except EspalierError:
        return str(truth), name  # a Decimal, a date: whatever a data set holds


def _holds(value: Any) -> bool:
    """Returns whether a field says anything: it is not None, NaN or empty. An array is asked for its length, never for what it holds."""
    if value is None:
        return False
    try:
        return len(value) > 0 if hasattr(value, "__len__") else bool(value == value)  # NaN, by which pandas says that there is none, is not
    except Exception:  # an array without dimensions, or whatever a data set holds
        return True


def _unread_in(row: Mapping[Any, Any], prefix: str, read: Collection[object]) -> list[str]:
    return [f"{prefix}{name}" for name, value in row.items() if name not in read and _holds(value)]


def _unread_of_turns(value: object, name: str) -> list[str]:
    """Names what chat messages hold besides roles and texts."""
    turns: Sequence[Any] = [] if isinstance(value, str) or not isinstance(value, Sequence) else value
    names = [unread for turn in turns for unread in _unread_in(turn, f"{name}[].", ("role", "content"))]
    contents = [turn.get("content") for turn in turns]
    parts = [part for content in contents if isinstance(content, Sequence) and not isinstance(content, str) for part in content]
    return names + [f"{name}[].content[].{part.get('type')}" for part in parts if isinstance(part, Mapping) and part.get("text") is None]


def _warn_of(names: Sequence[str]) -> None:
    """Warns that fields of a row are not recorded; of each field once, although rows differ in which of their fields are filled."""
    new = [name for name in dict.fromkeys(names) if name not in _named_unread]
    if new:
        _named_unread.update(new)
        said = f"{len(new)} fields" if len(new) > 20 else ("field " if len(new) == 1 else "fields ") + ", ".join(new)
        are = "is" if len(new) == 1 else "are"
        warnings.warn(f"the {said} of this task {are} not recorded; er.Task(...) has fields for what matters of them", stacklevel=5)


def _plain(value: Any) -> Any:
    """Returns what a number, an array or a column holds; None for NaN, by which pandas says that there is none."""
    for name in ("tolist", "to_list", "item"):
        if callable(getattr(value, name, None)):
            value = getattr(value, name)()
            break
    return None if isinstance(value, float) and value != value else value


def _text(content: object) -> str:
    if isinstance(content, Sequence) and not isinstance(content, str):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return "" if content is None else str(content)
