"""What an episode is about: a text, a row of a data set, or a Task that says more."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from ..errors import EspalierError
from .ids import derived_id
from .values import MOST_ACTIONS, Json, count_of, cut, json_of, name_of, refuse, shown, storable, text_of, texts_of, units_of

LONGEST_ALIAS = 500
LONGEST_GOAL = 10_000
LONGEST_TOOLS = 60_000

# of a row of a data set, in this order
OBSERVATIONS = ("observation", "prompt", "question", "problem", "query", "input", "text")
ALIASES = ("alias", "id", "task_id", "uid", "index")
TRUTHS = ("answer", "ground_truth", "solution", "target")

_TOOLS = ("tools_kwargs", "need_tools_kwargs")  # of a row for verl: the second says whether there are any

_named_unread: set[str] = set()  # fields that this process has been warned of


@dataclass(frozen=True)
class Task:
    """One problem. `observation` is what the agent is shown first, `alias` the name of the task (default: the observation, or its digest
    where that is long), `instruction` what every prompt begins with, `goal` what is to be reached, `depth` how deep it is where there is
    such a measure, `actions` what is possible at first, `pictures` what is shown with the observation (bytes, a path, or a PIL image),
    `tools_kwargs` the arguments by which tools are made for the task, by their names (verl's `extra_info.tools_kwargs`)."""

    observation: str
    alias: str = ""
    instruction: str = ""
    goal: str = ""
    split: str | None = None
    depth: int | None = None
    actions: Sequence[str] | None = None
    pictures: Sequence[Any] = field(default_factory=tuple)
    tools_kwargs: Mapping[str, Any] | None = None


def task_of(given: object) -> Task:
    """Reads a task: a Task, a text or number (its observation), or a row: its observation is the first of `observation`, `prompt`,
    `question`, … (a text, or chat messages: the last one; those before it follow the `instruction` of the row), its alias that of `alias`, `id`,
    …, its goal the ground truth where the row has one (`answer`, `ground_truth`, `solution`, `target`, or that of `reward_model`); `tools_kwargs`
    may be in its `extra_info`. Warns of each field that is not recorded, once in a process."""
    if isinstance(given, Task):
        return _checked(given if given.alias else _named(given))
    if isinstance(given, (str, int)):
        return _named(Task(str(given)))
    if not isinstance(given, Mapping):
        remedy = "give a text, a row of a data set (a dict), or er.Task(...)"
        raise EspalierError(f"task is a {type(given).__name__}", remedy=remedy, field="task")
    found = next((name for name in OBSERVATIONS if _holds(given.get(name))), None)
    if found is None:
        remedy = f"give what the agent is shown first as one of {', '.join(OBSERVATIONS)}"
        raise EspalierError(f"task has the fields {', '.join(map(str, given)) or 'none'}", remedy=remedy, field="task")
    known = {each.name for each in fields(Task)} - {"observation", "alias", "instruction"}
    more = {name: value for name, value in given.items() if name in known and value is not None}
    truth, held_by = _truth_of(given)
    if truth is not None:
        more.setdefault("goal", truth)
    extra: Any = given.get("extra_info")
    extra_read = _TOOLS if isinstance(extra, Mapping) and _holds(extra.get("tools_kwargs")) else ()
    if extra_read:
        more.setdefault("tools_kwargs", extra["tools_kwargs"])
    before, observation = _shown(given[found], f"task.{found}")
    instruction = "\n\n".join(part for part in (str(given["instruction"]) if _holds(given.get("instruction")) else "", before) if part)
    named = next((name for name in ALIASES if _holds(given.get(name))), None)
    alias = "" if named is None else str(given[named])
    read = {found, named, "instruction", *known, *_TOOLS, *(("extra_info",) if extra_read else ())} | ({held_by} if more.get("goal") == truth else set())
    inner = _unread_in(given["reward_model"], "reward_model.", ("ground_truth",)) if "reward_model" in read else []
    inner += _unread_in(extra, "extra_info.", extra_read) if extra_read else []
    _warn_of([*_unread_in(given, "", read), *inner, *_unread_of_turns(given[found], found)])
    task = Task(observation, alias=cut(alias, LONGEST_ALIAS), instruction=instruction, **more)
    return _checked(task if task.alias else _named(task))


def task_data(task: Task, environment: str, fingerprint: str) -> Json:
    """Returns what TreeOpened says of a task: equal environment, fingerprint and first observation are the same task in every run."""
    digest = hashlib.sha256(storable(task.observation).encode()).hexdigest()
    data = {
        "taskId": derived_id("task", environment, fingerprint, digest),
        "environment": environment,
        "serverFingerprint": fingerprint,
        "observationHash": digest,
        "alias": task.alias,
        "goal": cut(task.goal or task.observation, LONGEST_GOAL),
        "depth": task.depth,
        "split": task.split,
    }
    return data if task.tools_kwargs is None else {**data, "toolsKwargs": tools_text(task)}


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


def _named(task: Task) -> Task:
    said = text_of(task.observation, "task.observation")
    alias = said if 0 < len(said) <= 120 else f"{said[:80]}… {hashlib.sha256(storable(said).encode()).hexdigest()[:12]}"
    return replace(task, alias=alias)


def _shown(value: object, where: str) -> tuple[str, str]:
    if isinstance(value, (str, int)):
        return "", str(value)
    if isinstance(value, Sequence) and value and all(isinstance(each, Mapping) for each in value):
        *before, last = [(str(each.get("role", "")), _text(each.get("content"))) for each in value]
        # examples of turns are part of what every prompt begins with
        return "\n\n".join(text if role == "system" else f"{role}: {text}" for role, text in before), last[1]
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
        warnings.warn(f"the {said} of this task {are} not recorded; er.Task(...) has fields for what matters of them", stacklevel=4)


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
