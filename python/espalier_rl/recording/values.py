"""Reads what a program passes into the values that events are made of. What does not fit raises EspalierError with the field's name."""

from __future__ import annotations

import array
import base64
import json
import math
import sys
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any

from ..errors import EspalierError

LARGEST_AMOUNT = 1e100  # of what is added up: no sum leaves the range of a double
LARGEST_ID = 2**31 - 1
LONGEST_NAME = 200

Json = dict[str, Any]


def name_of(value: object, field: str) -> str:
    """Reads a name: a text of 1 to 200 characters."""
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_NAME:
        raise EspalierError(f"{field} is {_shown(value)}", remedy=f"give a text of 1 to {LONGEST_NAME} characters", field=field)
    return value


def text_of(value: object, field: str) -> str:
    """Reads a text."""
    if not isinstance(value, str):
        raise EspalierError(f"{field} is {_shown(value)}", remedy="give a str", field=field)
    return value


def amount_of(value: object, field: str) -> float | int:
    """Reads a number that is added up: finite, between -1e100 and 1e100. A bool counts as 0 or 1; numpy and torch scalars are numbers."""
    if isinstance(value, bool):
        return int(value)
    number = value if isinstance(value, (int, float)) else _item(value)
    if not isinstance(number, (int, float)) or not math.isfinite(number) or abs(number) > LARGEST_AMOUNT:
        raise EspalierError(f"{field} is {_shown(value)}", remedy="give a finite number between -1e100 and 1e100", field=field)
    return number


def packed_ids(values: object, field: str) -> Json:
    """Packs token ids: one dimension of integers from 0 to 2^31-1 (a list, or an array of numpy or torch)."""
    ids = _sequence(values, field)
    if isinstance(ids, list) and any(type(each) is not int for each in ids):
        wrong = next(i for i, each in enumerate(ids) if type(each) is not int)
        _refuse(field, f"{field}[{wrong}] is {_shown(ids[wrong])}", "give token ids as integers, of one dimension")
    try:
        packed = array.array("i", ids)
    except (OverflowError, TypeError):
        wrong = next(i for i, each in enumerate(ids) if not 0 <= each <= LARGEST_ID)
        _refuse(field, f"{field}[{wrong}] is {ids[wrong]}", "give token ids from 0 to 2147483647")
    if packed and min(packed) < 0:
        wrong = next(i for i, each in enumerate(packed) if each < 0)
        _refuse(field, f"{field}[{wrong}] is {packed[wrong]}", "give token ids from 0 to 2147483647")
    return _packed("int32", packed)


def packed_log_probs(values: object, length: int, mask: list[int] | None, field: str = "logprobs") -> Json:
    """Packs log-probabilities, one for each token id: finite and at most 0 wherever the policy sampled the token."""
    given = _sequence(values, field)
    if len(given) != length:
        _refuse(field, f"{field} has {len(given)} numbers and ids has {length}", "give one log-probability for each token id")
    try:
        packed = array.array("f", given)
    except TypeError:
        wrong = next(i for i, each in enumerate(given) if not isinstance(each, (int, float)))
        _refuse(field, f"{field}[{wrong}] is {_shown(given[wrong])}", "give numbers, of one dimension; leave logprobs out where there are none")
    except OverflowError:
        packed = array.array("f", [math.inf])
    if not all(-math.inf < each <= 0 for each in packed):  # NaN is neither
        for i, each in enumerate(packed):
            if not -math.inf < each <= 0 and (mask is None or mask[i]):
                remedy = "give natural logarithms of probabilities, finite and at most 0, as the engine returned them"
                _refuse(field, f"{field}[{i}] is {each}", remedy)
    return _packed("float32", packed)


def mask_of(values: object, length: int, field: str = "mask") -> list[int]:
    """Reads a mask: 1 for each token that the policy sampled, else 0."""
    given = [int(each) if isinstance(each, bool) else each for each in _sequence(values, field)]
    if len(given) != length:
        _refuse(field, f"{field} has {len(given)} numbers and ids has {length}", "give 1 or 0 for each token id")
    if any(each not in (0, 1) for each in given):
        wrong = next(i for i, each in enumerate(given) if each not in (0, 1))
        _refuse(field, f"{field}[{wrong}] is {_shown(given[wrong])}", "give 1 for a token that the policy sampled, else 0")
    return [int(each) for each in given]


def packed_mask(mask: list[int]) -> Json:
    return _packed("uint8", array.array("B", mask))


def packed_bytes(raw: bytes) -> Json:
    return {"dtype": "uint8", "length": len(raw), "bytes": base64.b64encode(raw).decode()}


def json_of(value: object, field: str) -> Any:
    """Reads a JSON value."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
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
        policy, version = given
    elif isinstance(given, Mapping):
        policy, version = given.get("policyId"), given.get("version")
    else:
        raise EspalierError(f"{field} is {_shown(given)}", remedy=remedy, field=field)
    if isinstance(version, bool) or not isinstance(version, int) or not 0 <= version <= LARGEST_ID or not isinstance(policy, str):
        raise EspalierError(f"{field} is {_shown(given)}", remedy=remedy, field=field)
    return {"policyId": name_of(policy, field), "version": version}


def now() -> str:
    """Returns the time as events have it: ISO 8601 in UTC with milliseconds."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")[:-6] + "Z"


def storable(text: str) -> str:
    """Returns a text as the record holds it: NUL and half surrogates are U+FFFD."""
    if text.isascii():
        return text.replace("\0", "\ufffd") if "\0" in text else text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").replace("\0", "\ufffd")


def _sequence(values: object, field: str) -> Any:
    if hasattr(values, "tolist"):  # numpy and torch; pyarrow has it too
        values = values.tolist()
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        _refuse(field, f"{field} is {_shown(values)}", "give a list, or an array of one dimension")
    listed: Any = values if isinstance(values, (list, array.array)) else list(values)  # type: ignore[call-overload]
    if listed and isinstance(listed[0], (list, tuple)):
        shape = f"[{len(listed)}][{len(listed[0])}]"
        _refuse(field, f"{field} has the shape {shape}", "give one dimension: those of a single response")
    return listed


def _packed(dtype: str, values: array.array[Any]) -> Json:
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return {"dtype": dtype, "length": len(values), "bytes": base64.b64encode(values.tobytes()).decode()}


def _item(value: object) -> object:
    item = getattr(value, "item", None)
    try:
        return item() if callable(item) else value
    except (ValueError, TypeError, RuntimeError):
        return value


def _shown(value: object) -> str:
    said = repr(value)
    return said if len(said) <= 80 else f"{type(value).__name__} {said[:77]}…"


def _refuse(field: str, message: str, remedy: str) -> Any:
    raise EspalierError(message, remedy=remedy, field=field)
