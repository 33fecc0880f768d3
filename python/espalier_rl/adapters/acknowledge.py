"""What an acknowledgement says of an update: a digest of the weights and the measurements of the trainer."""

import math

from ..trainer.tensors import digest_tensors


def digest_weights(module):
    """Returns the SHA-256 (hex) of a module's weights by name, type, shape and value, as the torch backend names its own."""
    return digest_tensors(dict(module.state_dict()))


def finite_numbers(metrics):
    """Keeps what the record takes of a trainer's metrics: numbers by name. Lists become their means; text and what is not finite
    are left out."""
    numbers = {}
    for name, value in metrics.items():
        number = _number(value)
        if number is not None and math.isfinite(number):
            numbers[str(name)[:200]] = number
    return numbers


def _number(value):
    if isinstance(value, bool) or isinstance(value, (str, bytes)) or value is None:
        return None
    if hasattr(value, "aggregate"):  # verl's Metric
        value = value.aggregate()
    if isinstance(value, (list, tuple)):
        parts = [part for part in map(_number, value) if part is not None]
        return sum(parts) / len(parts) if parts else None
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError):
        return None
