"""Turns Python's options of a training into the one declaration that the server, the command line and this client share."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import EspalierError
from .options import Rules, TrainingOptions

# What this client calls otherwise than the rule of the declaration.
ALIASES = {"groups": "groups_per_batch"}
RULES = set(Rules.__annotations__)
FIELDS = set(TrainingOptions.__annotations__) - RULES - set(ALIASES)
METHODS = ("estimator", "loss")
OWN_NAMES = ("rewards", "options")  # what is in them is named by the user, or by its estimator


def declaration_of(options: Mapping[str, Any], schema: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the declaration that options mean. A field is an option by its name in snake_case, and so is each rule (`max_staleness`,
    `zero_variance`; `groups` is `groups_per_batch`); `estimator` and `loss` are a name, or `{"name": …, "options": {…}}`. A name that
    this client was generated without is looked up in the schema of the server, which is read for nothing else. Raises EspalierError that
    names the option, and the nearest one there is."""
    declared: dict[str, Any] = {}
    rules: dict[str, Any] = {}
    for option, value in options.items():
        name = ALIASES.get(option, option)
        if name in RULES:
            rules[camel(name)] = value if name in OWN_NAMES else _camel(value)
        elif name in FIELDS or camel(name) in schema().get("properties", {}):
            declared[camel(name)] = _method(option, value) if name in METHODS else _camel(value)
        else:
            raise _unknown(option)
    if rules:
        given = declared.get("rules") or {}
        twice = sorted(set(given) & set(rules))
        if twice:
            raise EspalierError(f"rules.{twice[0]} is given twice, as an option and in rules", remedy="give it once", field=option_of(f"rules.{twice[0]}"))
        declared["rules"] = {**given, **rules}
    return declared


def option_of(field: str) -> str:
    """Returns the option that a field of a declaration was given by, as `max_staleness` for `rules.maxStaleness`."""
    parts = field.split(".")
    if parts[0] == "rules" and len(parts) > 1:
        own = snake(parts[1])
        return next((alias for alias, name in ALIASES.items() if name == own), own)
    return snake(parts[0]) + "".join(f".{part}" for part in parts[1:])


def camel(name: str) -> str:
    """`max_staleness` as `maxStaleness`."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def snake(name: str) -> str:
    """`maxStaleness` as `max_staleness`."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def _camel(value: Any) -> Any:
    """Names of fields in snake_case are taken as well; names of reward components (`rewards`) are the user's own and stay."""
    if not isinstance(value, Mapping):
        return value
    return {camel(name): part if name in OWN_NAMES else _camel(part) for name, part in value.items()}


def _method(option: str, value: Any) -> Any:
    if isinstance(value, str):
        return {"name": value, "options": {}}
    if isinstance(value, Mapping):
        return value
    raise EspalierError(
        f"{option} is {value!r}", remedy=f'give a name, or {{"name": …, "options": {{…}}}}: {option}="{"grpo" if option == "estimator" else "gspo"}"', field=option
    )


def _unknown(option: str) -> EspalierError:
    known = sorted({*FIELDS, *RULES, *ALIASES})
    near = difflib.get_close_matches(option, known, 1) or difflib.get_close_matches(snake(option), known, 1)
    remedy = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
    return EspalierError(f"a training has no option {option}", remedy=remedy, field=option)
