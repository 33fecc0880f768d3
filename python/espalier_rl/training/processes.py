"""The processes that train one batch together: the first leases, renews and acknowledges it; all of them read its rows.

A batch has one lease, whatever the number of processes: there is one fence, one deadline, and one acknowledgement. What fails in one
process is raised in all of them, so that none waits for another that has stopped.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable
from typing import Any, TypeVar

from .. import leases
from ..errors import EspalierError, Unreachable

Value = TypeVar("Value")
FOREVER = datetime.timedelta(days=365)  # the others wait for as long as the first waits for a batch
KINDS: dict[str, type[EspalierError]] = {kind.__name__: kind for kind in (leases.LeaseLost, leases.RowsUnreadable, Unreachable)}


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
        self._group = distributed.new_group(backend="gloo", timeout=FOREVER)

    def by_first(self, work: Callable[[], Value]) -> Value:
        from torch import distributed

        found: list[Any] = [None]
        fault: BaseException | None = None
        if self.rank == 0:
            try:
                found = [("done", work())]
            except Exception as error:  # noqa: BLE001 - all processes raise it
                found, fault = [("failed", _said(error))], error
        distributed.broadcast_object_list(found, src=0, group=self._group)
        kind, value = found[0]
        if kind == "failed":
            raise fault or _raised(value)
        return value  # type: ignore[no-any-return]  # as the first process made it

    def by_all(self, work: Callable[[], Value]) -> Value:
        from torch import distributed

        fault: Exception | None = None
        value: Value | None = None
        try:
            value = work()
        except Exception as error:  # noqa: BLE001 - all processes raise it
            fault = error
        faults: list[Any] = [None] * self.size
        distributed.all_gather_object(faults, fault and _said(fault), group=self._group)
        if fault is not None:
            raise fault
        for rank, said in enumerate(faults):
            if said:
                raise _raised({**said, "message": f"process {rank}: {said['message']}"})
        return value  # type: ignore[return-value]  # set, since nothing failed

    def of_all(self, work: Callable[[], Value]) -> list[Value]:
        from torch import distributed

        found: list[Any] = [None] * self.size
        distributed.all_gather_object(found, self.by_all(work), group=self._group)
        return found


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


def _said(error: Exception) -> dict[str, Any]:
    if isinstance(error, EspalierError):
        said = {"message": error.message, "remedy": error.remedy, "field": error.field, "status": error.status, "code": error.code}
        return {"kind": type(error).__name__, **said}
    return {"kind": "RuntimeError", "message": f"{type(error).__name__}: {error}"}


def _raised(said: dict[str, Any]) -> Exception:
    if said["kind"] == "RuntimeError":
        return RuntimeError(said["message"])
    kind = _kind_of(said["kind"])
    return kind(said["message"], **{name: said[name] for name in ("remedy", "field", "status", "code")})


def _kind_of(name: str) -> type[EspalierError]:
    if name == "NoBatch":
        from .training import NoBatch

        return NoBatch
    return KINDS.get(name, EspalierError)
