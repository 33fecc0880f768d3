"""What an acknowledgement says of an update: a digest of the weights and the measurements of the trainer."""

from ..trainer.tensors import digest_tensors
from ..training.metrics import finite_numbers

__all__ = ["digest_weights", "finite_numbers"]


def digest_weights(module):
    """Returns the SHA-256 (hex) of a module's weights by name, type, shape and value, as the torch backend names its own."""
    return digest_tensors(dict(module.state_dict()))
