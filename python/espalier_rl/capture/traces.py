"""Which run of an agent a call belongs to, as its framework says: the outermost run of LangChain and LangGraph, by their callbacks, and the
trace of the OpenAI Agents SDK, also where its export is off."""

from __future__ import annotations

import logging
import sys
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from importlib.abc import MetaPathFinder
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .session import Rollout

logger = logging.getLogger("espalier_rl")
LANGCHAIN, AGENTS = "langchain_core.tracers.context", "agents.tracing"  # the first is imported before its first run at the latest


class Trace:
    """One run of an agent. `rollout` is that of its calls, once it made one."""

    def __init__(self) -> None:
        self.rollout: Rollout | None = None
        self.ended = False


_entered: ContextVar[Trace | None] = ContextVar("espalier_trace", default=None)  # the last one that LangChain began here
_of_agents: weakref.WeakKeyDictionary[Any, Trace] = weakref.WeakKeyDictionary()


def current_trace() -> Trace | None:
    """Returns the run of an agent that this thread of work is in."""
    trace = _entered.get()
    if trace is not None and not trace.ended:
        return trace
    get = getattr(sys.modules.get(AGENTS), "get_current_trace", None)
    named = get() if get is not None else None
    return None if named is None else _of_agents.setdefault(named, Trace())


def last_trace() -> Trace | None:
    """Returns the run of an agent that this thread of work is in, or was in last."""
    return current_trace() or _entered.get()


def follow_frameworks() -> None:
    """Registers the callbacks, once in a process: now, or when the program imports LangChain."""
    if not _Importing.begun:
        _Importing.begun = True
        if LANGCHAIN in sys.modules:
            _follow_langchain()
        else:
            sys.meta_path.insert(0, _Importing(LANGCHAIN, _follow_langchain))


def _follow_langchain() -> None:
    from langchain_core.callbacks.base import BaseCallbackHandler  # type: ignore[import-not-found, unused-ignore]
    from langchain_core.tracers.context import register_configure_hook  # type: ignore[import-not-found, unused-ignore]

    class Runs(BaseCallbackHandler):  # type: ignore[misc, unused-ignore]
        """Notes in each thread of work which outermost run it is in."""

        run_inline = True  # in the context of the call, also of a coroutine

        def __init__(self) -> None:
            self._open: dict[Any, Trace] = {}  # by run, also those within others

        def _begin(self, *_: Any, run_id: Any, parent_run_id: Any = None, **__: Any) -> None:
            trace = self._open.get(parent_run_id) or Trace()
            self._open[run_id] = trace
            _entered.set(trace)

        def _end(self, *_: Any, run_id: Any, parent_run_id: Any = None, **__: Any) -> None:
            trace = self._open.pop(run_id, None)
            if trace is not None and parent_run_id is None:
                trace.ended = True

        on_chain_start = on_chat_model_start = on_llm_start = on_tool_start = on_retriever_start = _begin
        on_chain_end = on_llm_end = on_tool_end = on_retriever_end = _end
        on_chain_error = on_llm_error = on_tool_error = on_retriever_error = _end

    register_configure_hook(ContextVar("espalier_langchain", default=Runs()), inheritable=True)


class _Importing(MetaPathFinder):
    """Calls `then` once a module that the program imports is there."""

    begun = False

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self._name, self._then = name, then

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        loader: Any = spec and spec.loader
        if loader is not None:
            run = loader.exec_module

            def exec_module(module: Any) -> None:
                run(module)
                try:
                    self._then()
                except Exception as error:  # noqa: BLE001 - the import of the program goes on
                    logger.warning("runs of LangChain are not told apart: %r", error)

            loader.exec_module = exec_module
        return spec
