"""Log-probs of sampled tokens as an acknowledgement sends them, with Python's standard library alone."""

from __future__ import annotations

import base64
import sys
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

from .errors import EspalierError

FIELD = "logprobs"


def values_of(given: Any) -> array[float]:
    """Returns the numbers of a tensor, an array or (nested) lists, one behind the other, as float32."""
    if hasattr(given, "detach"):
        given = given.detach().float().cpu().reshape(-1).tolist()
    elif hasattr(given, "tolist"):
        given = given.tolist()
    try:
        return array("f", _flat(given))
    except (TypeError, ValueError, OverflowError) as error:
        raise EspalierError(f"logprobs are no numbers: {error}", remedy="pass a tensor, an array or lists of numbers", field=FIELD) from None


def sampled_only(given: Any, mask: Sequence[int], shape: Sequence[int]) -> array[float]:
    """Takes the log-probs of the tokens that were sampled. `given` has the shape of `response_mask`, of which `mask` are the values; what
    it holds elsewhere counts for nothing. Raises EspalierError where it has another."""
    values = values_of(given)
    own = shape_of(given)
    if len(values) != len(mask) or (own is not None and own != tuple(shape)):
        raise EspalierError(
            f"logprobs have the shape {list(own) if own is not None else [len(values)]}, and response_mask has {list(shape)}",
            remedy="pass one for each token of the responses of these rows, as batch.log_probs(model) returns them",
            field=FIELD,
        )
    return array("f", (value for value, sampled in zip(values, mask) if sampled))


def shape_of(given: Any) -> tuple[int, ...] | None:
    """The shape of a tensor or an array; of lists, whose lengths may differ, None."""
    shape = getattr(given, "shape", None)
    return None if shape is None else tuple(int(side) for side in shape)


def packed(values: array[float]) -> dict[str, Any]:
    """Returns values as requests have packed numbers: little-endian, in base64."""
    if sys.byteorder == "big":
        values = array("f", values)
        values.byteswap()
    return {"dtype": "float32", "length": len(values), "bytes": base64.b64encode(values.tobytes()).decode("ascii")}


def _flat(values: Iterable[Any]) -> Iterable[float]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        else:
            yield value
