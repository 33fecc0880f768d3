"""The processes that train one model together: the first speaks with Espalier, the others follow its requests.

`torchrun` starts them and ends them all when one fails. All of them run the same request; what each computes of it is in the trainer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..training import processes

if TYPE_CHECKING:
    import torch


class Alone(processes.Alone):
    """One process: nothing to sum."""

    def sum(self, tensors: Sequence[torch.Tensor]) -> None:
        pass


def join() -> Alone | Group:
    """Returns the processes that this one belongs to, by the variables that torchrun sets."""
    return Group() if int(os.environ.get("WORLD_SIZE", "1")) > 1 else Alone()


class Group(processes.Ranks):
    """Processes that torchrun started on one machine."""

    def __init__(self) -> None:
        import torch
        from torch import distributed

        _end_with_parent()
        local = int(os.environ.get("LOCAL_RANK", "0"))
        if local < torch.cuda.device_count():  # others train on the CPU, or are refused when a model is opened
            torch.cuda.set_device(local)
        distributed.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
        super().__init__()

    def sum(self, tensors: Sequence[torch.Tensor]) -> None:
        """Adds up tensors on the CPU over all processes, in place."""
        from torch import distributed

        for tensor in tensors:
            distributed.all_reduce(tensor, group=self.group)


def _end_with_parent() -> None:
    """Has Linux end this process when torchrun is killed: it may wait within a computation, where nothing can be raised."""
    import ctypes
    import signal
    import sys

    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def share_out(micro_batches: Sequence[Any], length: Callable[[Any], int], size: int) -> list[Any]:
    """Deals the rows of a step to processes. Returns for each the micro-batches that it computes; each has equally many, [] where
    it has nothing left to do: all take part in every pass.

    A step whose micro-batches do not come out even is cut again, longest rows first, to parts that no more tokens than the longest of them had.
    """
    if len(micro_batches) % size:
        rows = sorted((i for part in micro_batches for i in part), key=lambda i: (-length(i), i))
        budget = max(sum(length(i) for i in part) for part in micro_batches)
        count = -(-len(micro_batches) // size) * size
        while True:
            parts: list[list[int]] = [[] for _ in range(count)]
            tokens = [0] * count
            for i in rows:
                least = tokens.index(min(tokens))
                parts[least].append(i)
                tokens[least] += length(i)
            if max(tokens) <= budget:
                break
            count += size
        micro_batches = [sorted(part) for part in parts]
    return [micro_batches[rank::size] for rank in range(size)]
