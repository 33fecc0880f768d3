"""Espalier for Python: an installation (`connect`), environments (`Environment`, `serve`; `from_gymnasium`, `from_verifiers`), tools (`tool`), batches to train on (`leases`), and
the torch backend (`trainer`, extra `train`)."""

from typing import TYPE_CHECKING, Any

from .adapters.gymnasium import from_gymnasium
from .adapters.verifiers import from_verifiers
from .environment import BackendAway, Environment, Opening, Step, UnknownTask
from .errors import EspalierError, Unreachable
from .installation import VERSION
from .serving import make_server, serve
from .tools import ToolUnavailable, make_tool_server, tool

if TYPE_CHECKING:
    from .capture.autolog import Captured, aend, aend_run, aflush, areward, autolog, end, end_run, flush, reward
    from .capture.autolog import Captured as rollout
    from .connection import Connection
    from .database import Database, arun, aview, connect, run, view
    from .recording import Candidate, Episode, Group, Node, Run, SearchTree, Task
    from .training import LeaseLost, NoBatch

__all__ = [
    "BackendAway",
    "Candidate",
    "Captured",
    "Connection",
    "Database",
    "Environment",
    "Episode",
    "EspalierError",
    "Group",
    "LeaseLost",
    "NoBatch",
    "Node",
    "Opening",
    "Run",
    "SearchTree",
    "Step",
    "Task",
    "ToolUnavailable",
    "UnknownTask",
    "Unreachable",
    "aend",
    "aend_run",
    "aflush",
    "areward",
    "arun",
    "autolog",
    "aview",
    "connect",
    "end",
    "end_run",
    "flush",
    "from_gymnasium",
    "from_verifiers",
    "make_server",
    "make_tool_server",
    "reward",
    "rollout",
    "run",
    "serve",
    "tool",
    "view",
]
__version__ = VERSION

# imported when they are asked for: environments and tools are served by Pythons that have the standard library alone
_LATER = {"Connection": "connection", "LeaseLost": "training", "NoBatch": "training"}
_LATER |= dict.fromkeys(("Database", "arun", "aview", "connect", "run", "view"), "database")
_LATER |= dict.fromkeys(("Candidate", "Episode", "Group", "Node", "Run", "SearchTree", "Task"), "recording")
_LATER |= dict.fromkeys(("Captured", "aend", "aend_run", "aflush", "areward", "autolog", "end", "end_run", "flush", "reward", "rollout"), "capture.autolog")
_NAMED = {"rollout": "Captured"}  # a class under the name by which it reads well


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_LATER[name]}", __name__), _NAMED.get(name, name))


def __dir__() -> "list[str]":
    return sorted({*globals(), *__all__})
