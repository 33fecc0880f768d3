"""Waits until what is queried shows what the log holds."""

from __future__ import annotations

import time
from typing import Any

from .connection import Connection
from .errors import EspalierError

LONGEST_MS = 60_000  # of one request
END = "{ position }"
WAIT = "query ($position: String!, $timeoutMs: Int!) { waitFor(position: $position, timeoutMs: $timeoutMs) { query { position } } }"


def catch_up(connection: Connection, timeout_s: float = 60) -> str:
    """Returns the end of the log as it was when this was called, once every projection has folded all before it."""
    position, until = str(connection.graphql(END)["position"]), time.monotonic() + timeout_s
    while True:
        try:
            connection.graphql(WAIT, _variables(position, until))
            return position
        except EspalierError as error:
            _again(error, until)


async def acatch_up(connection: Connection, timeout_s: float = 60) -> str:
    """`catch_up` for a coroutine."""
    position, until = str((await connection.agraphql(END))["position"]), time.monotonic() + timeout_s
    while True:
        try:
            await connection.agraphql(WAIT, _variables(position, until))
            return position
        except EspalierError as error:
            _again(error, until)


def _variables(position: str, until: float) -> dict[str, Any]:
    left_ms = (until - time.monotonic()) * 1_000
    return {"position": position, "timeoutMs": int(min(LONGEST_MS, max(1.0, left_ms)))}


def _again(error: EspalierError, until: float) -> None:
    """Returns where another request may wait on. Raises the error of one that may not."""
    if error.code != "TIMED_OUT" or time.monotonic() >= until:
        raise error
