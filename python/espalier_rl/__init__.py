"""Espalier for Python: environments (`Environment`, `serve`), tools (`tool`), batches to train on (`leases`), and the torch backend (`trainer`, extra `train`)."""

from .environment import BackendAway, Environment, Opening, Step, UnknownTask
from .serving import make_server, serve
from .tools import ToolUnavailable, make_tool_server, tool

__all__ = ["BackendAway", "Environment", "Opening", "Step", "ToolUnavailable", "UnknownTask", "make_server", "make_tool_server", "serve", "tool"]
__version__ = "0.2.0"
