"""Packs what has a number for each token, and bytes. What does not fit raises EspalierError with the field's name."""

from __future__ import annotations

import array
import base64
import math
import sys
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from .values import LARGEST_ID, Json, refuse, shown


def read_ids(values: object, field: str) -> tuple[Json, list[int]]:
    """Reads token ids: one dimension of integers from 0 to 2^31-1 (a list, or an array of numpy or torch). Returns them packed, and
    as a list."""
    ids = _sequence(values, field)
    if isinstance(ids, list) and any(type(each) is not int for each in ids):
        wrong = next(i for i, each in enumerate(ids) if type(each) is not int)
        refuse(field, f"{field}[{wrong}] is {shown(ids[wrong])}", "give token ids as integers, of one dimension")
    try:
        packed = array.array("i", ids)
    except (OverflowError, TypeError):
        wrong = next(i for i, each in enumerate(ids) if not 0 <= each <= LARGEST_ID)
        refuse(field, f"{field}[{wrong}] is {ids[wrong]}", "give token ids from 0 to 2147483647")
    if packed and min(packed) < 0:
        wrong = next(i for i, each in enumerate(packed) if each < 0)
        refuse(field, f"{field}[{wrong}] is {packed[wrong]}", "give token ids from 0 to 2147483647")
    return packed_ids(packed), list(ids)


def packed_ids(ids: Sequence[int]) -> Json:
    """Packs token ids that were read before."""
    return _packed("int32", array.array("i", ids))


def packed_log_probs(values: object, length: int, mask: list[int] | None, field: str = "logprobs") -> Json:
    """Packs log-probabilities, one for each token id: finite and at most 0 wherever the policy sampled the token."""
    given = _sequence(values, field)
    if len(given) != length:
        refuse(field, f"{field} has {len(given)} numbers and ids has {length}", "give one log-probability for each token id")
    try:
        packed = array.array("f", given)
    except TypeError:
        wrong = next(i for i, each in enumerate(given) if not isinstance(each, (int, float)))
        refuse(field, f"{field}[{wrong}] is {shown(given[wrong])}", "give numbers, of one dimension; leave logprobs out where there are none")
    except OverflowError:
        packed = array.array("f", [math.inf])
    if not all(-math.inf < each <= 0 for each in packed):  # NaN is neither
        for i, each in enumerate(packed):
            if not -math.inf < each <= 0 and (mask is None or mask[i]):
                remedy = "give natural logarithms of probabilities, finite and at most 0, as the engine returned them"
                refuse(field, f"{field}[{i}] is {each}", remedy)
    return _packed("float32", packed)


def packed_ends(texts: object, length: int, response: str, field: str = "token_texts") -> Json:
    """Packs where in a response the text of each token ends, in code points. Where the texts do not say the same as the response
    (a tokenizer that drops spaces, a character cut in two), the record would show what the model did not say: they are refused."""
    given = [*texts] if isinstance(texts, Iterable) and not isinstance(texts, (str, bytes, Mapping, Set)) else None
    if given is None or not all(isinstance(each, str) for each in given):
        refuse(field, f"{field} is {shown(texts)}", "give a list of texts, one for each token id")
    if len(given) != length:
        refuse(field, f"{field} has {len(given)} texts and ids has {length}", "give one text for each token id, an empty one for an end token")
    if not response.startswith("".join(given)):
        refuse(field, f"{field} do not make up the response", "give texts that are the response one behind the other, or leave them out")
    ends = array.array("i")
    for each in given:
        ends.append((ends[-1] if ends else 0) + len(each))
    return _packed("int32", ends)


def packed_entropies(values: object, length: int, field: str = "entropies") -> Json:
    """Packs entropies in nats, one for each token id, 0 or more."""
    given = _sequence(values, field)
    if len(given) != length:
        refuse(field, f"{field} has {len(given)} numbers and ids has {length}", "give one entropy for each token id")
    wrong = next((i for i, each in enumerate(given) if not isinstance(each, (int, float)) or not 0 <= each < math.inf), None)
    if wrong is not None:
        refuse(field, f"{field}[{wrong}] is {shown(given[wrong])}", "give entropies in nats, finite and at least 0")
    return _packed("float32", array.array("f", given))


def mask_of(values: object, length: int, field: str = "mask") -> list[int]:
    """Reads a mask: 1 for each token that the policy sampled, else 0."""
    given = [int(each) if isinstance(each, bool) else each for each in _sequence(values, field)]
    if len(given) != length:
        refuse(field, f"{field} has {len(given)} numbers and ids has {length}", "give 1 or 0 for each token id")
    if any(each not in (0, 1) for each in given):
        wrong = next(i for i, each in enumerate(given) if each not in (0, 1))
        refuse(field, f"{field}[{wrong}] is {shown(given[wrong])}", "give 1 for a token that the policy sampled, else 0")
    return [int(each) for each in given]


def packed_mask(mask: list[int]) -> Json:
    return _packed("uint8", array.array("B", mask))


def packed_bytes(raw: bytes) -> Json:
    return {"dtype": "uint8", "length": len(raw), "bytes": base64.b64encode(raw).decode()}


def _sequence(values: object, field: str) -> Any:
    if hasattr(values, "tolist"):  # numpy and torch; pyarrow has it too
        values = values.tolist()
    if isinstance(values, (str, bytes, Mapping, Set)) or not isinstance(values, Iterable):
        refuse(field, f"{field} is {shown(values)}", "give a list, or an array of one dimension")
    listed: Any = values if isinstance(values, (list, array.array)) else list(values)
    if listed and isinstance(listed[0], (list, tuple)):
        shape = f"[{len(listed)}][{len(listed[0])}]"
        refuse(field, f"{field} has the shape {shape}", "give one dimension: those of a single response")
    return listed


def _packed(dtype: str, values: array.array[Any]) -> Json:
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return {"dtype": dtype, "length": len(values), "bytes": base64.b64encode(values.tobytes()).decode()}
