"""Espalier for Python: environments (`Environment`, `serve`; `from_gymnasium`, `from_verifiers`), tools (`tool`), batches to train on (`leases`), and the torch backend (`trainer`, extra `train`)."""

from .adapters.gymnasium import from_gymnasium
from .adapters.verifiers import from_verifiers
from .environment import BackendAway, Environment, Opening, Step, UnknownTask
from .serving import make_server, serve
from .tools import ToolUnavailable, make_tool_server, tool

__all__ = [
    "BackendAway",
    "Environment",
    "Opening",
    "Step",
    "ToolUnavailable",
    "UnknownTask",
    "from_gymnasium",
    "from_verifiers",
    "make_server",
    "make_tool_server",
    "serve",
    "tool",
]
__version__ = "0.2.0"
