"""The body of an answer as a file that Arrow reads."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator


class Cut(Exception):
    """A stream ended before its end; its whole batches were read."""


class Body:
    """A file over parts that arrive one by one: `read(n)` waits for n bytes, and returns fewer only at the end."""

    closed = False

    def __init__(self, parts: Iterator[bytes]) -> None:
        self.fault: Exception | None = None
        self._parts = parts
        self._held: deque[memoryview] = deque()
        self._size = 0

    def read(self, size: int = -1) -> bytes:
        while size < 0 or self._size < size:
            try:
                part = next(self._parts)
            except StopIteration:
                break
            except Exception as fault:  # Arrow may raise one of its own instead
                self.fault = fault
                raise
            if part:
                self._held.append(memoryview(part))
                self._size += len(part)
        return self._take(self._size if size < 0 else min(size, self._size))

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True

    def _take(self, size: int) -> bytes:
        taken = bytearray(size)
        at = 0
        while at < size:
            part = self._held[0]
            use = min(len(part), size - at)
            taken[at : at + use] = part[:use]
            at += use
            if use == len(part):
                self._held.popleft()
            else:
                self._held[0] = part[use:]
        self._size -= size
        return bytes(taken)
