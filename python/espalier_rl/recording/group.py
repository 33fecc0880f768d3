"""The episodes of one task in a run: a group, whose members are compared with each other."""

from __future__ import annotations

from collections.abc import Iterator

from ..coroutines import iterated_by_coroutines
from .episode import Episode
from .tree import Tree


class Group:
    """`n` episodes of one task, begun one after the other as they are asked for: `for episode in group`. `all()` begins those that are left
    at once, for episodes that run side by side. The tree is closed when no further one follows and all have ended. In a run that goes
    on by its key, those that are on record are left out."""

    def __init__(self, tree: Tree, n: int) -> None:
        self._tree, self.n = tree, n

    @property
    def tree_id(self) -> str:
        """The id of its tree."""
        return self._tree.id

    @property
    def left(self) -> int:
        """How many episodes are still to begin."""
        return 0 if self._tree.closed else max(0, self.n - self._tree.counted)

    def __iter__(self) -> Iterator[Episode]:
        while True:
            episode = self._next()
            if episode is None:
                return
            yield episode

    __aiter__ = iterated_by_coroutines(__iter__)

    def __len__(self) -> int:
        return self.left

    def all(self) -> list[Episode]:
        """Begins all episodes that are left."""
        return list(self)

    def _next(self) -> Episode | None:
        run, tree = self._tree.run, self._tree
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
