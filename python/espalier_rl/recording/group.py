"""The episodes of one task in a run: a group, whose members are compared with each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ..coroutines import for_coroutines, iterated_by_coroutines
from ..errors import EspalierError
from .episode import Episode
from .tree import Tree
from .values import count_of

if TYPE_CHECKING:
    from .run import Run


class Group:
    """`n` episodes of one task, begun one after the other as they are asked for: `for episode in group`. `all()` begins those that are left
    at once, for episodes that run side by side. The tree is closed when no further one follows and all have ended. In a run that goes
    on by its key, those that are on record are left out.

    A group with an `id` is recorded by any number of processes: each takes members by their numbers (`group.member(3)`), and the group is
    closed when all of them have ended. It may be pickled."""

    def __init__(self, tree: Tree, n: int, id: str | None = None) -> None:
        self._tree, self.n, self.id = tree, n, id
        self._begun: set[int] = set()

    @property
    def tree_id(self) -> str:
        """The id of its tree."""
        return self._tree.id

    @property
    def left(self) -> int:
        """How many episodes are still to begin; of a group with an id, in this process."""
        return 0 if self._tree.closed else max(0, self.n - (self._tree.counted if self.id is None else len(self._begun)))

    def member(self, ordinal: int, *, policy: str | tuple[str, int] | None = None) -> Episode:
        """Begins a member of a group with an id, by its number from 0; `policy` acts in it, that of the run unless given. Each is recorded once, by whichever process: raises EspalierError
        `recorded` where this one has begun it, and what a second one records is refused."""
        run, tree = self._tree.run, self._tree
        if self.id is None:
            raise EspalierError("the group has no id", remedy="iterate over it, or begin it as run.group(task, n, id=…)", field="group")
        ordinal = count_of(ordinal, "ordinal", most=self.n - 1)
        own = run.group(tree.task, self.n, id=self.id)
        if own is not self:  # the process was forked
            return own.member(ordinal, policy=policy)
        with run.journal.lock:
            if ordinal in self._begun or run.has_member(tree, ordinal):
                message = f"member {ordinal} of the group {self.id!r} is recorded already"
                raise EspalierError(message, remedy="give each member once", field="ordinal", code="recorded")
            episode = run.begin_episode(tree, tree.root, member=ordinal, policy=policy)
            self._begun.add(ordinal)
            return episode

    amember = for_coroutines(member)

    def __iter__(self) -> Iterator[Episode]:
        if self.id is not None:
            raise EspalierError("others record the group too", remedy="take its members by their numbers: group.member(i)", field="group")
        while True:
            episode = self._next()
            if episode is None:
                return
            yield episode

    __aiter__ = iterated_by_coroutines(__iter__)

    def __len__(self) -> int:
        return self.left

    def __repr__(self) -> str:
        named = "" if self.id is None else f", id={self.id!r}"
        return f"Group({self._tree.task.alias!r}, n={self.n}{named}, {self.left} to begin, {len(self._tree.open)} open)"

    def _repr_html_(self) -> str:
        from ..analysis.page import page, text

        state = "closed" if self._tree.closed else f"{self.left:,} to begin, {len(self._tree.open):,} open"
        return page(f"group of {self.n:,} of {self._tree.task.alias}", [f"<p>{state} · {text(self.tree_id)}</p>"])

    def __reduce__(self) -> tuple[Callable[..., Group], tuple[Any, ...]]:
        if self.id is None:
            raise EspalierError("a group without an id is recorded by one process", remedy="begin it as run.group(task, n, id=…)", field="group")
        return _of_run, (self._tree.run, self._tree.task, self.n, self.id)

    def all(self) -> list[Episode]:
        """Begins all episodes that are left."""
        return list(self)

    def _next(self) -> Episode | None:
        run, tree = self._tree.run, self._tree
        tree.check_own()
        with run.journal.lock:
            if self.left > 0:
                run.check_open()
                tree.counted += 1
                return run.begin_episode(tree, tree.root)
            tree.exhausted = True
            if not tree.open and not tree.closed:
                run.journal.emit(tree.closing("completed"))
                tree.closed = True
            return None


def _of_run(run: Run, task: Any, n: int, id: str) -> Group:
    return run.group(task, n, id=id)
