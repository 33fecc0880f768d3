"""Reads the events that announce points as the log takes them, and posts what they announce, each point once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, TypeVar

from ..analysis.tail import Event, tail
from ..connection import Connection
from ..errors import EspalierError, Unreachable
from .kept import Kept
from .points import Away, Point, Sink
from .sources import Source

T = TypeVar("T")
Side = Literal["installation", "system"]
MOST = 200  # events of one question, points of one post
SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 15.0


class Following:
    """A sink at work. `run` returns when all is posted that there was to post, with `for_ever` when a run is over; it waits for the
    installation and for the system while they are away, at most `wait_s` seconds (None: for as long as it takes). `caught_up` says
    that nothing is known of that is not posted. `posted` is called with the points that are there, `say` with what a person should know."""

    def __init__(
        self,
        connection: Connection,
        source: Callable[[], Source],
        sink: Callable[[Source], Sink],
        kept: Kept,
        *,
        for_ever: bool,
        wait_s: float | None,
        posted: Callable[[Sequence[Point]], None],
        say: Callable[[str], None],
    ) -> None:
        self._connection, self._open_source, self._open_sink, self.kept = connection, source, sink, kept
        self._for_ever, self._wait_s, self._posted, self._say = for_ever, wait_s, posted, say
        self._waits: dict[str, str] = {}
        self.caught_up = False
        self._events: asyncio.Queue[Event | BaseException] = asyncio.Queue(MOST)

    @property
    def waits_for(self) -> str:
        """Why it waits, of the installation and of the system; empty where both answer."""
        return "; ".join(self._waits.values())

    async def run(self) -> None:
        """Posts until there is nothing more to post."""
        source = await self._again("installation", self._open_source)
        sink = await self._again("system", lambda: self._open_sink(source))
        reading = asyncio.create_task(self._read(source))
        closed = False
        try:
            await self._reconcile(source, sink)
            bounded = not self._for_ever or await self._again("installation", source.ended)
            least = await self._again("installation", source.goal)  # asked second: what ended the source follows what it counts
            while True:
                await self._post(sink)
                self.caught_up = self._events.empty() and self._newest >= least
                if bounded and self.caught_up:
                    over = await self._again("installation", source.ended)
                    await self._again("system", lambda: sink.close(over))
                    closed = True
                    return
                events = await self._take()
                self.caught_up = False
                points = await self._again("installation", partial(source.points, events, self.kept.has))
                self.kept.add(events[-1].position, points)
                if any(source.is_over(event) for event in events):
                    least, bounded = await self._again("installation", source.goal), True  # the events of some may follow, in other partitions
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            if not closed:
                await asyncio.to_thread(sink.close, False)

    @property
    def _newest(self) -> int:
        return -1 if self.kept.newest is None else self.kept.newest

    async def _reconcile(self, source: Source, sink: Sink) -> None:
        """Marks what an earlier process posted, by what the system has."""
        there = await self._again("system", sink.last)
        marked = self.kept.last_posted
        if marked is not None and (there is None or there < marked):
            raise EspalierError(
                f"{marked} was posted last, and {'nothing' if there is None else there} is there",
                remedy=f"bring back what is missing, or delete {self.kept.file} to post all of it again",
            )
        if there is None:
            return
        if self.kept.is_new and source.subject.kind == "run":
            raise EspalierError(
                f"{there} rollouts of run {source.subject.id} are there, and {self.kept.file}, which says which, is not",
                remedy="name its folder by --state, or another place by --to",
            )
        if self.kept.is_new:
            self.kept.add("", [Point(str(step), step, {}, 0, "") for step in range(there + 1)])
        self.kept.mark(there)

    async def _read(self, source: Source) -> None:
        """Puts events into the queue, and the fault that ends the reading."""
        after = self.kept.position
        pause, waited = SHORTEST_PAUSE_S, 0.0
        while True:
            try:
                async for event in tail(self._connection, run=source.run, types=source.types, after=after):
                    self._there("installation")
                    after, pause, waited = event.position, SHORTEST_PAUSE_S, 0.0
                    await self._events.put(event)
            except Unreachable as fault:
                if self._wait_s is not None and waited >= self._wait_s:
                    await self._events.put(fault)
                    return
                self._away("installation", str(fault))
                await asyncio.sleep(pause)
                waited += pause
                pause = min(LONGEST_PAUSE_S, pause * 2)
            except EspalierError as fault:
                await self._events.put(fault)
                return

    async def _take(self) -> list[Event]:
        """Returns the next event and what else has come."""
        found = [await self._events.get()]
        while len(found) < MOST and not self._events.empty():
            found.append(self._events.get_nowait())
        events = [each for each in found if isinstance(each, Event)]
        if not events and isinstance(found[0], BaseException):
            raise found[0]
        if len(events) < len(found):
            self._events.put_nowait(found[-1])  # it ends the reading once the events before it are posted
        return events

    async def _post(self, sink: Sink) -> None:
        def post(points: Sequence[Point]) -> None:
            sink.post(points)
            self.kept.mark(points[-1].step)  # here, so that a stop in the middle leaves nothing in doubt

        while points := self.kept.unposted(MOST):
            await self._again("system", partial(post, points))
            self._posted(points)

    async def _again(self, side: Side, work: Callable[[], T]) -> T:
        """Does work in a thread until the other side answers. One that is stopped in the middle of it lets it end."""
        pause, waited = SHORTEST_PAUSE_S, 0.0
        while True:
            attempt = asyncio.ensure_future(asyncio.to_thread(work))
            try:
                result = await asyncio.shield(attempt)
            except asyncio.CancelledError:
                await asyncio.gather(attempt, return_exceptions=True)
                raise
            except (Unreachable, Away) as fault:
                if self._wait_s is not None and waited >= self._wait_s:
                    raise EspalierError(f"waited {waited:.0f} s: {fault}", code="unreachable") from None
                self._away(side, str(fault))
                await asyncio.sleep(pause)
                waited += pause
                pause = min(LONGEST_PAUSE_S, pause * 2)
            else:
                self._there(side)
                return result

    def _away(self, side: Side, why: str) -> None:
        if side not in self._waits:
            self._say(f"waits, and tries again: {why}")
        self._waits[side] = why

    def _there(self, side: Side) -> None:
        if self._waits.pop(side, None) is not None:
            self._say(f"the {side} answers again")
