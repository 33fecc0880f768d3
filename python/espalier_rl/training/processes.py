"""The processes that train one batch together: the first leases, renews and acknowledges it; all of them read its rows.

A batch has one lease, whatever the number of processes: there is one fence, one deadline, and one acknowledgement. What fails in one
process is raised in all of them, so that none waits for another that has stopped.
"""

from __future__ import annotations

import datetime
import os
import pickle
from collections.abc import Callable
from typing import Any, TypeVar

from ..errors import EspalierError

Value = TypeVar("Value")
FOREVER = datetime.timedelta(days=365)  # the others wait for as long as the first waits for a batch


class Alone:
    """One process."""

    rank, size = 0, 1

    def by_first(self, work: Callable[[], Value]) -> Value:
        """Returns what the first process makes of it."""
        return work()

    def by_all(self, work: Callable[[], Value]) -> Value:
        """Returns what this process makes of it, once all have done it."""
        return work()

    def of_all(self, work: Callable[[], Value]) -> list[Value]:
        """Returns what each process makes of it, by rank."""
        return [work()]


class Ranks(Alone):
    """The processes of torch.distributed, over connections of gloo that belong to this object."""

    def __init__(self) -> None:
        from torch import distributed

        self.rank, self.size = distributed.get_rank(), distributed.get_world_size()
        self.group = distributed.new_group(backend="gloo", timeout=FOREVER)

    def by_first(self, work: Callable[[], Value]) -> Value:
        from torch import distributed

        results: list[Any] = [_try(work) if self.rank == 0 else None]
        distributed.broadcast_object_list(results, src=0, group=self.group)
        value, error = results[0]
        if error is not None:
            raise error
        return value  # type: ignore[no-any-return]  # as the first process made it

    def by_all(self, work: Callable[[], Value]) -> Value:
        from torch import distributed

        value, error = _try(work)
        errors: list[Any] = [None] * self.size
        distributed.all_gather_object(errors, error, group=self.group)
        for each in (error, *errors):  # its own first
            if each is not None:
                raise each
        return value  # type: ignore[return-value]  # set, since nothing failed

    def of_all(self, work: Callable[[], Value]) -> list[Value]:
        from torch import distributed

        values: list[Any] = [None] * self.size
        distributed.all_gather_object(values, self.by_all(work), group=self.group)
        return values


def join() -> Alone:
    """Returns the processes that this one trains with. Raises EspalierError where torchrun started several and they are not joined."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        return Alone()
    from torch import distributed

    if distributed.is_available() and distributed.is_initialized():
        return Ranks()
    raise EspalierError(
        f"torchrun started {size} processes, and they are not joined",
        remedy="call torch.distributed.init_process_group() first, so that they share one lease",
        field="WORLD_SIZE",
    )


def _try(work: Callable[[], Value]) -> tuple[Value | None, Exception | None]:
    """Returns what `work` makes, or what it raises, in a form that other processes can raise."""
    try:
        return work(), None
    except Exception as error:  # noqa: BLE001 - all processes raise it
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # noqa: BLE001 - a class of its own that cannot be sent
            return None, RuntimeError(f"{type(error).__name__}: {error}")
        return None, error
