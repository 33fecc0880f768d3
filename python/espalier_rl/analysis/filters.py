"""The filters of tables as the parameters of a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from ..errors import EspalierError
from ..recording.values import item_of


def parameters(given: Mapping[str, Any]) -> dict[str, str]:
    """Returns what is given, each value as text; None is left out. Lists become texts with commas between their items, a range
    `(from, until)` under NAME becomes NAMEFrom and NAMEUntil. Raises EspalierError that names the argument."""
    written: dict[str, str] = {}
    for name, value in given.items():
        if value is None:
            continue
        if name in _RANGES:
            for end, each in zip(("From", "Until"), _pair(name, value)):
                if each is not None:
                    written[_RANGES[name] + end] = _text(name, each)
        elif name == "as_of":
            written["asOfTime" if isinstance(value, datetime) else "asOf"] = _text(name, value)
        elif name in ("run", "outcome", "columns"):
            written[name] = ",".join(_items(name, value))
        elif name == "policy":
            policy, _, version = str(value).rpartition("@")
            named = version.isdigit() and policy != ""
            written["policy"] = policy if named else str(value)
            if named:
                written["version" if "version" in given else "policyVersion"] = version
        else:
            written[_camel(name)] = _text(name, value)
    return written


_RANGES = {"returns": "return", "length": "steps", "finished": "finished", "value": "value", "reward": "reward", "depth": "depth"}


def _items(name: str, value: Any) -> list[str]:
    several = isinstance(value, Iterable) and not isinstance(value, (str, bytes)) and not hasattr(value, "id")
    items = [_text(name, each) for each in (value if several else [value])]
    if not items:
        raise EspalierError(f"{name} is empty, which chooses nothing", remedy=f"leave {name} out to choose all", field=name)
    return items


def _pair(name: str, value: Any) -> Sequence[Any]:
    if isinstance(value, (tuple, list)) and len(value) == 2:
        return value
    raise EspalierError(f"{name} is {value!r}", remedy="give a range (from, until); None leaves an end open", field=name)


def _text(name: str, value: Any) -> str:
    value = item_of(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise EspalierError(f"{name} has no time zone: {value}", remedy="give one: datetime(…, tzinfo=timezone.utc)", field=name)
        return value.isoformat()
    if isinstance(value, (str, int, float)):
        return str(value)
    named = getattr(value, "id", None)  # a run, a tree, a step
    if isinstance(named, str):
        return named
    raise EspalierError(f"{name} is {value!r}", remedy="give a text, a number, or what has an id", field=name)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
