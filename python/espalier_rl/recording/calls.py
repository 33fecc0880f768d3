"""The spool of the calls of models that a process made, and its sending: lines of JSON as `POST /v1/calls` takes them."""

from __future__ import annotations

import json
import logging
import re
import threading
import time
from collections import deque
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from ..connection import Connection
from ..errors import EspalierError
from .ids import new_id
from .sender import SHORTEST_STOP_S, Sender, batches_of, kept_of
from .spool import LIMIT_BYTES, LINE_LIMIT, Durable, Spool, keep_refused, read_refused
from .values import LONGEST_NAME, refuse, shown, units_of

FOLDER = "run-calls-"  # sorts after the ids of runs, which are to be on record before calls that name them

OUTCOMES = ("terminated", "truncated", "failed", "cancelled")  # of a rollout
OF_LINES = (400, 413, 422)  # refusals that may be of single lines
MEMORY_BYTES = 64 * 2**20  # of lines that the disk does not take, until the server has them
PATH, FORM = "/v1/calls", "application/json"

logger = logging.getLogger("espalier_rl")


class CallSender(Sender):
    """Sends lines to `/v1/calls`. A line that the record refuses is set aside with a warning (`refusals`), and the others are on record. Lines that
    the disk does not take are sent from memory, behind those of the spool."""

    linger_s = 1.0  # a request for each call would take time from the program, and from a server on its machine
    is_of_program = True  # which goes on: else who sends what an earlier process left says how that ends
    _aside = 0
    _first: EspalierError | None = None

    def __init__(self, connection: Connection, spool: Spool, *, for_anyone: bool = False) -> None:
        super().__init__(connection, spool, for_anyone=for_anyone)
        self.held: deque[bytes] = deque()  # in memory
        self._held_bytes = 0

    def hold(self, line: bytes) -> bool:
        """Keeps a line in memory until the server has it; returns whether there was room."""
        with self.spool.changed:
            if self._held_bytes + len(line) > MEMORY_BYTES:
                return False
            self.held.append(line)
            self._held_bytes += len(line)
            self.spool.written += len(line)
            self.spool.changed.notify_all()
            return True

    def _send_some(self) -> bool:
        return super()._send_some() or self._send_held()

    def _send_held(self) -> bool:
        with self.spool.changed:
            lines = next(batches_of([*islice(self.held, self._most)]))
        if lines and self._post(lines):
            with self.spool.changed:
                size = sum(len(self.held.popleft()) for _ in lines)
                self._held_bytes -= size
                self.spool.acked += size
                self.spool.changed.notify_all()
        return bool(lines)

    def _belong_to(self, owner: str) -> None:
        with suppress(EspalierError):  # of a full disk
            super()._belong_to(owner)

    def _refuse(self, error: EspalierError) -> None:
        if self.is_of_program:
            logger.warning("calls of models are not recorded any more: %s", error)
        super()._refuse(error)

    def _request(self, lines: list[bytes]) -> tuple[str, bytes, str]:
        return PATH, _body_of(lines), FORM

    def _taken(self, answer: Any, lines: list[bytes]) -> None:
        refused = _refused_in(answer, lines)
        if refused:
            self._set_aside([*refused], next(iter(refused.values())))

    def _follows_refused(self, line: bytes) -> bool:
        return False  # each line stands alone; the record says what it misses

    def _refused(self, error: EspalierError, lines: list[bytes]) -> bool:
        if error.status not in OF_LINES:
            raise kept_of(error, self.spool) from None
        if len(lines) > 1:
            self._most = 1  # to find the line that is meant
            return False
        self._set_aside(lines, error)
        self._most = 100
        return True

    def _set_aside(self, lines: list[bytes], why: EspalierError) -> None:
        logger.warning("%d calls of models are not on record, and are kept in %s: %s", len(lines), self.spool.folder, why)
        with suppress(EspalierError):  # of a full disk
            self.spool.set_aside(lines)
        self._aside += len(lines)
        first = self._first = self._first or why
        said = f"the server refused {self._aside} calls, rewards or ends, which are set aside; {_named(lines[0])}: {first.message}"
        self.refusals["calls"] = kept_of(EspalierError(said, remedy=first.remedy, field=first.field, status=first.status, code=first.code), self.spool)


class CallLog:
    """The calls of one process, or those that a dead one left. `run` is the name of their run; `closes` says that it ends with the process."""

    def __init__(
        self,
        connection: Connection,
        folder: Path,
        run: str,
        *,
        closes: bool,
        durable: Durable = "write",
        limit_bytes: int = LIMIT_BYTES,
        for_anyone: bool = False,
    ) -> None:
        self.run, self.closes = run, closes
        self.spool = Spool(folder, durable=durable, limit_bytes=limit_bytes, full="raise")
        self.sender = CallSender(connection, self.spool, for_anyone=for_anyone)
        self._lock = threading.Lock()
        self._is_warned = False

    def open(self) -> None:
        """Begins the sender, and the first segment where the disk has room for it."""
        with suppress(EspalierError):
            self._begin_segment()
        self.sender.start()

    def append(self, line: bytes) -> None:
        """Adds a line, also where the server refused those before: in memory where the disk does not take it. Raises EspalierError where it cannot
        be kept."""
        if len(line) > LINE_LIMIT:
            raise EspalierError(f"a call takes {len(line)} bytes, over {LINE_LIMIT}", remedy="shorten its messages", field="messages")
        with self._lock:
            if self.sender.held:  # what the disk would take now is behind it
                if self.sender.hold(line):
                    return
                said = f"neither the disk nor memory has room for calls, of which the server does not have {MEMORY_BYTES >> 20} MiB"
                raise EspalierError(said, remedy="free space on the disk, or start the server", field="spool", code="spool-full")
            try:
                self._write(line)
            except EspalierError as error:
                if error.code != "disk" or not self.sender.hold(line):
                    raise
                if not self._is_warned:
                    self._is_warned = True
                    logger.warning("%s; until there is room calls are kept in memory, up to %d MiB that the server does not have", error, MEMORY_BYTES >> 20)

    def say(self, kind: str, **fields: Any) -> None:
        """Adds a line that is no call."""
        self.append(json.dumps({"kind": kind, "id": new_id(), **fields}, allow_nan=False).encode("ascii") + b"\n")

    def close(self, timeout_s: float, *, away_s: float | None = None) -> None:
        """Waits until everything is sent or set aside. Raises Unreachable, or what the server refused: then the spool is left for a later process."""
        sent, until = False, time.monotonic() + timeout_s
        try:
            self.sender.wait(timeout_s, away_s=away_s)
            sent = True
        finally:
            ended = self.sender.stop(max(SHORTEST_STOP_S, until - time.monotonic()))
            held = [*self.sender.held]
            try:
                for line in held:
                    self._write(line)
                    self.sender.held.popleft()
            except EspalierError as error:
                logger.warning("%d calls, rewards or ends are lost: %s", len(self.sender.held), error)
            self.spool.close(delete=sent and ended)

    def _write(self, line: bytes) -> None:
        if self.spool.wants_segment or not self.spool.is_open:
            self._begin_segment()
        self.spool.keep(line)
        self.spool.sync()

    def _begin_segment(self) -> None:
        state = {"run": {"runId": self.run, "name": self.run}, "calls": {"closes": self.closes}}
        self.spool.begin_segment(b"#" + json.dumps(state, separators=(",", ":")).encode("ascii") + b"\n")


def recover_calls(connection: Connection, spool: Spool, said: dict[str, Any], lines: list[dict[str, Any]], *, for_anyone: bool) -> CallLog:
    """Opens what a process left of its calls, whose spool is read: a run that was its own is ended with it."""
    folder = spool.folder
    spool.close(delete=False)
    log = CallLog(connection, folder, said["run"]["name"], closes=said["calls"]["closes"], for_anyone=for_anyone)
    log.sender.is_of_program = False
    log.spool.adopt()
    log.open()
    if log.closes and not any(line["kind"] == "close" for line in lines):
        log.say("close", run=log.run, outcome="failed", message="the process that recorded it ended", rollouts="failed")
    return log


def resend_refused_calls(connection: Connection, folder: Path) -> None:
    """Sends the lines that were set aside again, in their order. Raises the first refusal; what is refused is kept."""
    spool = Spool(folder)
    kept = dict.fromkeys(read_refused(folder))
    refusals: list[EspalierError] = []
    waiting = [*batches_of([*kept])]
    try:
        while waiting:
            lines = waiting.pop(0)
            try:
                answer = connection.json("POST", PATH, content=_body_of(lines), headers={"content-type": FORM})
                refused = _refused_in(answer, lines)
            except EspalierError as error:
                if error.status not in OF_LINES:
                    raise
                if len(lines) > 1:
                    waiting[:0] = [[line] for line in lines]
                    continue
                refused = {lines[0]: error}
            refusals += refused.values()
            for line in lines:
                if line not in refused:
                    del kept[line]
    finally:
        keep_refused(spool, [*kept])
    if refusals:
        raise kept_of(refusals[0], spool)


def _body_of(lines: list[bytes]) -> bytes:
    return b'{"lines":[' + b",".join(line.rstrip(b"\n") for line in lines) + b"]}"


def _refused_in(answer: Any, lines: list[bytes]) -> dict[bytes, EspalierError]:
    """Returns the lines that are not on record, and why."""
    why = {said["id"]: EspalierError(said["message"], remedy=said["remedy"], status=422, code="refused") for said in answer["refused"]}
    ids = {line: json.loads(line)["id"] for line in lines} if why else {}
    return {line: why[id_] for line, id_ in ids.items() if id_ in why}


def _named(line: bytes) -> str:
    said: dict[str, Any] = json.loads(line)
    return f"{said['kind']} {said['id']} of {len(line)} bytes"


_NO_NAME = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def place_name(given: Any, field: str) -> str:
    """Returns the name of a run, a task or a rollout, or of what has one as its id, as the server takes it. Raises EspalierError."""
    text = str(getattr(given, "id", given))
    if not 1 <= units_of(text) <= LONGEST_NAME or _NO_NAME.search(text):
        refuse(field, f"{field} is {shown(text)}", f"name it by 1 to {LONGEST_NAME} characters, none of them a control character")
    return text


def outcome_of(given: Any, known: tuple[str, ...] = OUTCOMES, field: str = "outcome") -> str:
    """Returns an outcome that the server knows. Raises EspalierError."""
    if given not in known:
        refuse(field, f"{field} is {shown(given)}", f"give one of {', '.join(known)}")
    return str(given)
