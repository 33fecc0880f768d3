"""Functions that record a group of episodes each time they are called: `@run.rollout(group=8)`.

    @run.rollout(group=8)
    def solve(episode, task):
        ...
        episode.step(response, observation, reward=1.0)
        return True  # the success of the episode, where it was not finished

    results = solve(task)

An async function is awaited, and its episodes run side by side; those of others one after the other, or in `at_once` threads."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from .episode import Episode

if TYPE_CHECKING:
    from .run import Run

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Decorator(Protocol):
    """Makes a function of an episode, a task and more one of the task and more, which returns what each call returned, or the exception
    that ended its episode."""

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, fn: Callable[Concatenate[Episode, T, P], Coroutine[Any, Any, R]], /
    ) -> Callable[Concatenate[T, P], Coroutine[Any, Any, list[R | Exception]]]: ...
    @overload
    def __call__(self, fn: Callable[Concatenate[Episode, T, P], R], /) -> Callable[Concatenate[T, P], list[R | Exception]]: ...


def decorate(run: Run, fn: Callable[..., Any], group: int, at_once: int | None) -> Any:
    """Returns a function of a task (and further arguments of `fn`) that calls `fn(episode, task, ...)` for each episode of a group. It
    returns a list: what each call returned, or the exception that ended its episode as failed. Where every one failed, the first
    exception is raised."""
    if inspect.iscoroutinefunction(fn):

        @functools.wraps(fn)
        async def recorded(task: Any, *args: Any, **options: Any) -> list[Any]:
            limit = asyncio.Semaphore(at_once or group)

            async def one(episode: Episode) -> Any:
                async with limit:
                    try:
                        with episode:
                            return _finish(episode, await fn(episode, task, *args, **options))
                    except Exception as error:  # noqa: BLE001 - it ended its own episode; the others go on
                        return error

            return _results(await asyncio.gather(*map(one, run.group(task, group).all())))

        return recorded

    @functools.wraps(fn)
    def recorded_in_turn(task: Any, *args: Any, **options: Any) -> list[Any]:
        def one(episode: Episode) -> Any:
            try:
                with episode:
                    return _finish(episode, fn(episode, task, *args, **options))
            except Exception as error:  # noqa: BLE001 - as above
                return error

        if at_once is None or at_once == 1:
            return _results([one(episode) for episode in run.group(task, group)])
        with ThreadPoolExecutor(at_once, thread_name_prefix="espalier rollout") as pool:
            return _results(list(pool.map(one, run.group(task, group).all())))

    return recorded_in_turn


def _finish(episode: Episode, returned: Any) -> Any:
    if episode.outcome is None and episode.steps:
        episode.finish(success=returned if isinstance(returned, bool) else None)
    return returned


def _results(results: list[Any]) -> list[Any]:
    if results and all(isinstance(result, Exception) for result in results):
        raise results[0]
    return results
