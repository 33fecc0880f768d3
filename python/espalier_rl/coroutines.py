"""Forms for coroutines of what may wait: for the disk, for room in the spool, for the server."""

from __future__ import annotations

import asyncio
import contextvars
import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def for_coroutines(function: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Returns the function as a coroutine: it is called in a thread, so that an event loop goes on while it waits."""

    @functools.wraps(function)
    async def called(*given: P.args, **options: P.kwargs) -> R:
        return await asyncio.to_thread(function, *given, **options)

    called.__name__ = f"a{function.__name__}"
    called.__doc__ = f"`{function.__name__}` for a coroutine."
    return called


def iterated_by_coroutines(function: Callable[P, Iterator[R]]) -> Callable[P, AsyncIterator[R]]:
    """Returns what an iterator yields for `async for`: each is waited for in a thread."""

    @functools.wraps(function)
    async def yielded(*given: P.args, **options: P.kwargs) -> AsyncIterator[R]:
        iterator = function(*given, **options)
        over = object()
        following: asyncio.Future[object] | None = None
        try:
            while True:
                following = _in_thread(next, iterator, over)
                each = await asyncio.shield(following)
                if each is over:
                    break
                yield each  # type: ignore[misc]
        finally:
            if following is not None:
                await asyncio.wait([following])  # its thread goes on, and an iterator that runs cannot be closed
                following.exception()  # a cancellation takes its place
            await asyncio.to_thread(getattr(iterator, "close", lambda: None))

    yielded.__name__ = f"a{function.__name__}"
    yielded.__doc__ = f"`{function.__name__}` for a coroutine: `async for`."
    return yielded


def _in_thread(function: Callable[..., object], *given: object) -> asyncio.Future[object]:
    """`asyncio.to_thread` as a future, which the end of its event loop does not cancel while its thread runs."""
    context = contextvars.copy_context()
    return asyncio.get_running_loop().run_in_executor(None, lambda: context.run(function, *given))
