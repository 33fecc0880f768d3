"""The processes that train one model together: the first speaks with Espalier, the others follow its requests.

`torchrun` starts them; a process that was started alone is `Alone`. All of them run the same request; what each computes of it is in the trainer.
"""

from __future__ import annotations

import datetime
import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

FOREVER = datetime.timedelta(days=365)  # between two requests the others wait
FAILED = "espalier/failed"
WATCH_SECONDS = 0.2


class Alone:
    """One process: nothing to send, nothing to sum."""

    rank, size = 0, 1
    failed = False

    def sum(self, tensors: Sequence[torch.Tensor]) -> None:
        pass


def join() -> Alone | Group:
    """Returns the processes that this one belongs to, by the variables that torchrun sets."""
    return Group() if int(os.environ.get("WORLD_SIZE", "1")) > 1 else Alone()


class Group:
    """Processes that torchrun started on one machine."""

    def __init__(self) -> None:
        import torch
        from torch import distributed

        self.rank, self.size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        local = int(os.environ.get("LOCAL_RANK", "0"))
        if local < torch.cuda.device_count():  # others train on the CPU, or are refused when a model is opened
            torch.cuda.set_device(local)
        distributed.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
        self.requests = distributed.new_group(backend="gloo", timeout=FOREVER)
        # A connection of its own: the default one may be held by a thread that waits.
        name, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
        self.store = distributed.TCPStore(name, port, is_master=False)
        self.parent = os.getppid()
        self.failed = False  # another one did, and its answer is being sent

    def send(self, message: dict[str, Any], body: bytes) -> None:
        """Sends a request to the others. Called by the first alone."""
        import torch

        text = json.dumps(message).encode()
        self._broadcast(torch.tensor([len(text), len(body)]))
        self._broadcast(torch.frombuffer(bytearray(text + body), dtype=torch.uint8))

    def receive(self) -> tuple[Any, bytes]:
        """Waits for a request of the first. Returns (message, body)."""
        import torch

        sizes = torch.zeros(2, dtype=torch.int64)
        self._broadcast(sizes)
        text, body = sizes.tolist()
        data = torch.empty(text + body, dtype=torch.uint8)
        self._broadcast(data)
        raw = data.numpy().tobytes()
        return json.loads(raw[:text]), raw[text:]

    def sum(self, tensors: Sequence[torch.Tensor]) -> None:
        """Adds up tensors on the CPU over all processes, in place."""
        from torch import distributed

        for tensor in tensors:
            distributed.all_reduce(tensor, group=self.requests)

    def fail(self, answer: dict[str, Any]) -> None:
        """Leaves the answer of a request that failed here alone for the first process to send, and ends this one."""
        self.store.set(FAILED, json.dumps(answer))
        time.sleep(60)  # the first sends it and ends them all
        os._exit(1)

    def watch(self, send: Callable[[dict[str, Any]], Any]) -> None:
        """Ends this process when torchrun is gone. In the first, `send(answer)` is called when another one failed: this one may
        then wait for it within a computation, where nothing can be raised."""
        threading.Thread(target=self._watch, args=(send,), daemon=True).start()

    def _watch(self, send: Callable[[dict[str, Any]], Any]) -> None:
        while os.getppid() == self.parent:
            if self.rank == 0 and self.store.check([FAILED]):
                self.failed = True
                send(json.loads(self.store.get(FAILED)))
                os._exit(1)
            time.sleep(WATCH_SECONDS)
        os._exit(1)

    def _broadcast(self, tensor: torch.Tensor) -> None:
        from torch import distributed

        distributed.broadcast(tensor, 0, group=self.requests)


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
