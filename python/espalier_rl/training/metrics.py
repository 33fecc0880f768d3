"""What the record takes of a trainer's measurements: finite numbers by name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..errors import EspalierError


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
            remedy = "leave it out, or return the batch (batch.give_back) where the update diverged"
            raise EspalierError(f"the metric {name} {what}, and the record holds finite numbers", remedy=remedy, field=f"metrics.{name}")
        numbers[str(name)] = number
    return numbers
