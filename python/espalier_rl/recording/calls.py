"""The spool of the calls of models that a process made, and its sending: lines of JSON as `POST /v1/calls` takes them."""

from __future__ import annotations

import json
import logging
import threading
from pathlib import Path
from typing import Any

from ..connection import Connection
from ..errors import EspalierError
from .ids import new_id
from .sender import Sender
from .spool import LIMIT_BYTES, LINE_LIMIT, Durable, Spool

FOLDER = "run-calls-"  # sorts after the ids of runs, which are to be on record before calls that name them

logger = logging.getLogger("espalier_rl")


class CallSender(Sender):
    """Sends lines to `/v1/calls`. A line that the record refuses is set aside with a warning, and the others are on record."""

    def _request(self, lines: list[bytes]) -> tuple[str, bytes, str]:
        return "/v1/calls", b'{"lines":[' + b",".join(line.rstrip(b"\n") for line in lines) + b"]}", "application/json"

    def _taken(self, answer: Any, lines: list[bytes]) -> None:
        refused = {line["id"]: f"{line['message']}; {line['remedy']}" for line in answer["refused"]}
        if refused:
            self._set_aside([line for line in lines if json.loads(line)["id"] in refused], next(iter(refused.values())))

    def _refused(self, error: EspalierError, lines: list[bytes]) -> bool:
        if error.status not in (400, 413, 422):
            raise error
        if len(lines) > 1:
            self._most = 1  # to find the line that is meant
            return False
        self._set_aside(lines, str(error))
        self._most = 100
        return True

    def _set_aside(self, lines: list[bytes], why: str) -> None:
        logger.warning("%d calls of models are not on record, and are kept in %s: %s", len(lines), self.spool.folder, why)
        self.spool.set_aside(lines)


class CallLog:
    """The calls of one process, or those that a dead one left. `run` is the name of their run; `closes` says that it ends with the process."""

    def __init__(
        self, connection: Connection, folder: Path, run: str, *, closes: bool, durable: Durable = "write", limit_bytes: int = LIMIT_BYTES
    ) -> None:
        self.run, self.closes = run, closes
        self.spool = Spool(folder, durable=durable, limit_bytes=limit_bytes, full="raise")
        self.sender = CallSender(connection, self.spool)
        self._lock = threading.Lock()

    def open(self) -> None:
        """Begins a segment and the sender."""
        self._begin_segment()
        self.sender.start()

    def append(self, line: bytes) -> None:
        """Adds a line, also where the server refused those before. Raises EspalierError where it cannot be kept."""
        if len(line) > LINE_LIMIT:
            raise EspalierError(f"a call takes {len(line)} bytes, over {LINE_LIMIT}", remedy="shorten its messages", field="messages")
        with self._lock:
            if self.spool.wants_segment:
                self._begin_segment()
            self.spool.keep(line)

    def say(self, kind: str, **fields: Any) -> None:
        """Adds a line that is no call."""
        self.append(json.dumps({"kind": kind, "id": new_id(), **fields}, allow_nan=False).encode("ascii") + b"\n")

    def close(self, timeout_s: float) -> None:
        """Waits until everything is sent or set aside. Raises Unreachable, or what the server refused: then the spool is left for a later process."""
        sent = False
        try:
            self.sender.wait(timeout_s)
            sent = True
        finally:
            self.sender.stop()
            self.spool.close(delete=sent)

    def _begin_segment(self) -> None:
        state = {"run": {"runId": self.run, "name": self.run}, "calls": {"closes": self.closes}}
        self.spool.begin_segment(b"#" + json.dumps(state, separators=(",", ":")).encode("ascii") + b"\n")


def recover_calls(connection: Connection, spool: Spool, said: dict[str, Any], lines: list[dict[str, Any]]) -> CallLog:
    """Opens what a process left of its calls, whose spool is read: a run that was its own is ended with it."""
    folder = spool.folder
    spool.close(delete=False)
    log = CallLog(connection, folder, said["run"]["name"], closes=said["calls"]["closes"])
    log.spool.adopt()
    log.open()
    if log.closes and not any(line["kind"] == "close" for line in lines):
        log.say("close", run=log.run, outcome="failed", message="the process that recorded it ended", rollouts="failed")
    return log
