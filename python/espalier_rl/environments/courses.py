"""Episodes as what was done in them: simulators are brought to where an episode is when it acts, from a pool of those that are near."""

from __future__ import annotations

import functools
import queue
import threading
from collections.abc import Callable
from typing import Any


def asked_alone(lock: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator of methods that take turns: for simulators that share something in their process."""

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def asked(*given: Any) -> Any:
            with lock:
                return method(*given)

        return asked

    return decorate


class Course:
    """Where an episode is: its task, its seed, and the actions taken."""

    __slots__ = ("task", "seed", "actions")

    def __init__(self, task: str, seed: int, actions: tuple[str, ...] = ()) -> None:
        self.task, self.seed, self.actions = task, seed, actions

    def then(self, action: str) -> Course:
        return Course(self.task, self.seed, (*self.actions, action))

    def leads_to(self, other: Course) -> bool:
        """Whether an episode that is here can go on to the other one."""
        same = (self.task, self.seed) == (other.task, other.seed)
        return same and self.actions == other.actions[: len(self.actions)]


class Simulators:
    """Simulators of a world whose episodes follow from their actions. A copy of an episode costs nothing: it is a second episode with the
    same course. Who acts takes a simulator that is there, or the nearest one on the way, which plays the rest; at most `limit` are kept.

    `make()` returns a simulator: `begin(task, seed)` and `act(action)` return what is seen, a text. One is made only when all others are in
    use at that moment; what is over the limit begins again from elsewhere."""

    def __init__(self, make: Callable[[], Any], limit: int = 16) -> None:
        self._make, self._limit = make, limit
        self._kept: list[tuple[Course, Any, Any]] = []  # (course, seen, simulator), the one used last at the end
        self._lock = threading.Lock()
        self._idle: list[Any] = []  # simulators beyond the limit, wherever they are
        self._wanted: queue.Queue[Course] = queue.Queue(maxsize=4)
        self._worker: threading.Thread | None = None

    def begin(self, task: str, seed: int) -> tuple[Course, Any, Any]:
        """Begins an episode. Returns its course and what it shows."""
        course = Course(task, seed)
        simulator, seen = self._take(course)
        return course, seen, simulator

    def act(self, course: Course, seen: Any, action: str) -> tuple[Course, Any, Any]:
        """Acts in the episode at a course, which showed `seen` last. Returns the course from there, what it shows, and the simulator, which
        is asked for more before `keep`. Raises RuntimeError when the world played again shows something else."""
        simulator, again = self._take(course)
        if again != seen:
            raise RuntimeError(f"task {course.task} played again shows {again[:200]!r} after {len(course.actions)} actions, not {seen[:200]!r}")
        return course.then(action), simulator.act(action), simulator

    def ask(self, course: Course, question: Callable[[Any], Any]) -> Any:
        """Returns what a function says of a simulator at a course; it must not act."""
        simulator, seen = self._take(course)
        answer = question(simulator)
        self.keep(course, seen, simulator)
        return answer

    def keep(self, course: Course, seen: Any, simulator: Any) -> None:
        """Takes a simulator back, at a course."""
        with self._lock:
            self._kept.append((course, seen, simulator))
            self._idle += [other for _, _, other in self._kept[: -self._limit]]
            del self._kept[: -self._limit]

    def ahead(self, course: Course) -> None:
        """Has another simulator brought to a course while nobody waits for it: searches copy an episode several times in a row."""
        with self._lock:
            if self._worker is None:
                self._worker = threading.Thread(target=self._replay, daemon=True)
                self._worker.start()
        try:
            self._wanted.put_nowait(course)
        except queue.Full:
            pass  # it is played when it is needed

    def _take(self, course: Course) -> tuple[Any, Any]:
        """Returns a simulator that nobody else has, at a course, and what it shows."""
        with self._lock:
            near = [i for i, (at, _, _) in enumerate(self._kept) if at.leads_to(course)]
            best = max(near, key=lambda i: len(self._kept[i][0].actions), default=None)
            if best is None and len(self._kept) >= self._limit:
                best = 0  # the one that was not used for longest
            at, seen, simulator = self._kept.pop(best) if best is not None else (None, "", self._idle.pop() if self._idle else None)
        if simulator is None:
            simulator = self._make()
        if at is None or not at.leads_to(course):
            at, seen = Course(course.task, course.seed), simulator.begin(course.task, course.seed)
        for action in course.actions[len(at.actions) :]:
            seen = simulator.act(action)
        return simulator, seen

    def _replay(self) -> None:
        while True:
            course = self._wanted.get()
            try:
                with self._lock:
                    there = sum(at.actions == course.actions and at.leads_to(course) for at, _, _ in self._kept)
                if there < 2:
                    simulator, seen = self._take_another(course)
                    self.keep(course, seen, simulator)
            except Exception:
                pass  # whoever takes this course plays it again and hears why

    def _take_another(self, course: Course) -> tuple[Any, Any]:
        """As `_take`, without using up a simulator that is at the course already."""
        with self._lock:
            there = [entry for entry in self._kept if entry[0].actions == course.actions and entry[0].leads_to(course)]
            self._kept = [entry for entry in self._kept if entry not in there]
        try:
            return self._take(course)
        finally:
            with self._lock:
                self._kept.extend(there)
