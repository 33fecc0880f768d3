"""Espalier for Python: environments (`Environment`, `serve`), batches to train on (`leases`), and the torch backend (`trainer`, extra `train`)."""

from .environment import BackendAway, Environment, Opening, Step, UnknownTask
from .serving import make_server, serve

__all__ = ["BackendAway", "Environment", "Opening", "Step", "UnknownTask", "make_server", "serve"]
__version__ = "0.2.0"
