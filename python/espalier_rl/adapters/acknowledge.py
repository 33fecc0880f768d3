"""What an acknowledgement says of an update: a digest of the weights and the measurements of the trainer."""

from __future__ import annotations

from typing import Any

from ..trainer.tensors import digest_tensors
from ..metrics import finite_numbers

__all__ = ["digest_weights", "finite_numbers"]


def digest_weights(module: Any) -> str:
    """Returns the SHA-256 (hex) of a module's weights by name, type, shape and value, as the torch backend names its own."""
    return digest_tensors(dict(module.state_dict()))
