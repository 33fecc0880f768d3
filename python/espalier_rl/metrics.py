"""What the record takes of a trainer's measurements: finite numbers by name, and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from .errors import EspalierError


def number_of(value: Any) -> float | None:
    """Returns a measurement as a number: that of a tensor of one value, the mean of a list; None for what is none, such as a text."""
    if isinstance(value, (bool, str, bytes)) or value is None:
        return None
    if hasattr(value, "aggregate"):  # verl's Metric
        value = value.aggregate()
    if isinstance(value, (list, tuple)):
        parts = [part for part in map(number_of, value) if part is not None]
        return sum(parts) / len(parts) if parts else None
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError):
        return None


def finite_numbers(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Keeps what the record takes of a trainer's metrics: numbers by name. Lists become their means; text and what is not finite
    are left out."""
    numbers = {str(name)[:200]: number_of(value) for name, value in metrics.items()}
    return {name: number for name, number in numbers.items() if number is not None and math.isfinite(number)}


def checked_numbers(metrics: Mapping[str, Any]) -> dict[str, float]:
    """The same, of metrics that a caller names one by one. Raises EspalierError for one that is no finite number."""
    numbers: dict[str, float] = {}
    for name, value in metrics.items():
        number = number_of(value)
        if number is None or not math.isfinite(number):
            what = f"is {value!r}" if number is None else f"is {number}"
            remedy = "leave it out, or return the batch (give_back) where the update diverged"
            raise EspalierError(f"the metric {name} {what}, and the record holds finite numbers", remedy=remedy, field=f"metrics.{name}")
        numbers[str(name)] = number
    return numbers


def checked_json(field: str, value: Any) -> Any:
    """Returns what a request can hold. Raises EspalierError for a number that is not finite, named by its place (`loss.options.clip`), and for
    what is no JSON: an acknowledgement that cannot be written must not pass for one that was sent."""
    if isinstance(value, Mapping):
        return {key: checked_json(f"{field}.{key}", each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [checked_json(f"{field}[{place}]", each) for place, each in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        remedy = "leave it out, or return the batch (give_back) where the update diverged"
        raise EspalierError(f"{field} is {value}, and the record holds finite numbers", remedy=remedy, field=field)
    try:
        json.dumps(value)
    except (TypeError, ValueError) as error:
        raise EspalierError(f"{field} is no JSON: {error}", remedy="give texts, numbers, lists and dicts", field=field) from None
    return value
