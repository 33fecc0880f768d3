"""Reads what a program passes into the values that events are made of. What does not fit raises EspalierError with the field's name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any, NoReturn
from unicodedata import category

from ..connection import plain_of
from ..errors import EspalierError

LARGEST_AMOUNT = 1e100  # of what is added up: no sum leaves the range of a double
LARGEST_ID = 2**31 - 1
LONGEST_NAME = 200
LONGEST_LABEL = 100
LONGEST_REASON = 10_000
MOST_ACTIONS = 10_000
DEEPEST_JSON = 60  # an event may be nested 64 deep

Json = dict[str, Any]


def name_of(value: object, field: str) -> str:
    """Reads a name: a text of 1 to 200 characters."""
    if not isinstance(value, str) or not 1 <= units_of(value) <= LONGEST_NAME:
        refuse(field, f"{field} is {shown(value)}", f"give a text of 1 to {LONGEST_NAME} characters")
    return value


def sha256_of(value: object, field: str) -> str:
    """Reads a SHA-256 in lower-case hex."""
    if not isinstance(value, str) or not re.fullmatch("[0-9a-f]{64}", value):
        refuse(field, f"{field} is {shown(value)}", "give a SHA-256 as 64 lower-case hex digits")
    return value


def label_of(value: object, field: str) -> str:
    """Reads the label of an annotation: `label` of src/events/schemas/annotations.ts."""
    name = name_of(value, field)
    if units_of(name) > LONGEST_LABEL or not _is_visible(name):
        refuse(field, f"{field} is {shown(value)}", f"give a text of 1 to {LONGEST_LABEL} characters without control characters")
    return name


def _is_visible(name: str) -> bool:
    return not any(category(each)[0] == "C" or category(each) in ("Zl", "Zp") for each in name)


_NO_POLICY = re.compile(r"^(?:\.|__proto__)$|(?:^|[/\\])\.\.(?:[/\\]|$)")


def policy_name_of(value: object, field: str) -> str:
    """Reads the name of a policy: `policyId` of src/events/schemas/values.ts. It becomes a part of paths and of addresses."""
    name = name_of(value, field)
    if not _is_visible(name) or _NO_POLICY.search(name):
        refuse(field, f"{field} is {shown(value)}", "give the policy a name without control or formatting characters and without `..` as a part, other than `.` and `__proto__`")
    return name


def units_of(text: str) -> int:
    """Returns the length of a text as the server counts it: a character beyond U+FFFF, such as an emoji, is two."""
    return len(text) if text.isascii() else len(text) + sum(each > "\uffff" for each in text)


def cut(text: str, most: int) -> str:
    """Returns the beginning of a text that the server takes where it takes `most` characters."""
    if units_of(text) <= most:
        return text
    kept = text[:most].encode("utf-16-le", "surrogatepass")[: 2 * most].decode("utf-16-le", "surrogatepass")
    return kept[:-1] if "\ud800" <= kept[-1:] <= "\udbff" else kept  # half of the last character


def address_of(value: object, field: str) -> str | None:
    """Reads the name or address of a model server: a text of up to 500 characters, or None."""
    if value is not None and (not isinstance(value, str) or units_of(value) > 500):
        refuse(field, f"{field} is {shown(value)}", "give a text of up to 500 characters, or leave it out")
    return value


def texts_of(value: object, field: str, most: int) -> list[str]:
    """Reads a list of texts; one text is none."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        refuse(field, f"{field} is {shown(value)}", "give a list of texts")
    texts = [text_of(each, f"{field}[{i}]") for i, each in enumerate(value)]
    if len(texts) > most:
        refuse(field, f"{field} has {len(texts)} texts", f"give at most {most}")
    return texts


def list_of(value: object, field: str) -> list[Any]:
    """Reads a list; None is an empty one."""
    if value is None:
        return []
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        refuse(field, f"{field} is {shown(value)}", "give a list")
    return list(value)


def count_of(value: object, field: str, *, least: int = 0, most: int = LARGEST_ID) -> int:
    """Reads a whole number; numpy and torch scalars are numbers."""
    number = value if isinstance(value, int) else item_of(value)
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
        refuse(field, f"{field} is {shown(value)}", f"give an integer from {least} to {most}")
    return number


def milliseconds_of(value: object, field: str) -> float | int:
    """Reads a duration in milliseconds."""
    number = amount_of(value, field)
    if number < 0:
        refuse(field, f"{field} is {shown(value)}", "give milliseconds from 0")
    return number


def text_of(value: object, field: str) -> str:
    """Reads a text."""
    if not isinstance(value, str):
        raise EspalierError(f"{field} is {shown(value)}", remedy="give a str", field=field)
    return value


def amount_of(value: object, field: str) -> float | int:
    """Reads a number that is added up: finite, between -1e100 and 1e100. A bool counts as 0 or 1; numpy and torch scalars are numbers."""
    if isinstance(value, bool):
        return int(value)
    number = value if isinstance(value, (int, float)) else item_of(value)
    if not isinstance(number, (int, float)) or not abs(number) <= LARGEST_AMOUNT:
        raise EspalierError(f"{field} is {shown(value)}", remedy="give a finite number between -1e100 and 1e100", field=field)
    return number


def json_of(value: object, field: str) -> Any:
    """Reads a JSON value, nested at most 60 deep; numpy and torch scalars are numbers, arrays lists."""
    try:
        read = json.loads(json.dumps(value, allow_nan=False, default=plain_of))
        level, depth = [read], 0
        while level:
            if depth > DEEPEST_JSON:
                raise ValueError(f"it is nested more than {DEEPEST_JSON} deep")
            level = [below for each in level if isinstance(each, (dict, list)) for below in (each.values() if isinstance(each, dict) else each)]
            depth += 1
        return read
    except (TypeError, ValueError, RecursionError) as error:
        raise EspalierError(f"{field} is no JSON: {error}", remedy="give dicts, lists, texts and finite numbers", field=field) from None


def policy_of(given: object, field: str = "policy") -> Json:
    """Reads a policy: `"qwen@3"`, `"qwen"` (version 0) or `("qwen", 3)`. The version counts training updates."""
    remedy = 'give "NAME@VERSION", the version counted in training updates from 0'
    if isinstance(given, str):
        policy: object
        before, at, behind = given.rpartition("@")
        policy, number = (before, behind) if at else (given, "0")
        version: object = int(number) if number.isascii() and number.isdigit() else number
    elif isinstance(given, tuple) and len(given) == 2:
        policy, version = given[0], item_of(given[1])
    elif isinstance(given, Mapping):
        policy, version = given.get("policyId"), given.get("version")
    else:
        raise EspalierError(f"{field} is {shown(given)}", remedy=remedy, field=field)
    if isinstance(version, bool) or not isinstance(version, int) or not 0 <= version <= LARGEST_ID or not isinstance(policy, str):
        raise EspalierError(f"{field} is {shown(given)}", remedy=remedy, field=field)
    return {"policyId": policy_name_of(policy, field), "version": version}


def now() -> str:
    """Returns the time as events have it: ISO 8601 in UTC with milliseconds."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")[:-6] + "Z"


def storable(text: str) -> str:
    """Returns a text as the record holds it: NUL and half surrogates are U+FFFD."""
    if text.isascii():
        return text.replace("\0", "\ufffd") if "\0" in text else text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").replace("\0", "\ufffd")


def item_of(value: object) -> object:
    """Returns the number or flag that a scalar of numpy or torch is; anything else as it is."""
    item = getattr(value, "item", None)
    try:
        return item() if callable(item) else value
    except (ValueError, TypeError, RuntimeError):
        return value


def shown(value: object) -> str:
    said = repr(value)
    return said if len(said) <= 80 else f"{type(value).__name__} {said[:77]}…"


def refuse(field: str, message: str, remedy: str) -> NoReturn:
    raise EspalierError(message, remedy=remedy, field=field)
