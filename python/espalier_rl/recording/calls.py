"""The spool of the calls of models that a process made, and its sending: lines of JSON as `POST /v1/calls` takes them."""

from __future__ import annotations

import json
import logging
import re
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from ..connection import Connection
from ..errors import EspalierError
from .ids import new_id
from .sender import SHORTEST_STOP_S, Sender, batches_of, kept_of
from .spool import LIMIT_BYTES, LINE_LIMIT, Durable, Spool, keep_refused, owner_of, read_refused
from .values import LONGEST_NAME, refuse, shown, units_of

FOLDER = "run-calls-"  # sorts after the ids of runs, which are to be on record before calls that name them

OUTCOMES = ("terminated", "truncated", "failed", "cancelled")  # of a rollout
OF_LINES = (400, 413, 422)  # refusals that may be of single lines
MEMORY_BYTES = 64 * 2**20  # of lines that the disk does not take, until the server has them
PATH, FORM = "/v1/calls", "application/json"

logger = logging.getLogger("espalier_rl")


class CallSender(Sender):
    """Sends lines to `/v1/calls`. A line that the record refuses is set aside with a warning (`refusals`), and the others are on record. Lines that
    the disk does not take are sent from memory, behind those of the spool, until `write_held` has them there."""

    linger_s = 1.0  # a request for each call would take time from the program, and from a server on its machine
    is_of_program = True  # which goes on: else who sends what an earlier process left says how that ends
    _aside = _gone = 0  # lines that were refused; those of them that the disk had no room for
    _first: EspalierError | None = None

    def __init__(self, connection: Connection, spool: Spool, *, for_anyone: bool = False) -> None:
        super().__init__(connection, spool, for_anyone=for_anyone)
        self.held: deque[bytes] = deque()  # in memory
        self._held_bytes = 0
        self._sent_from_memory: set[bytes] = set()  # of what the spool holds: written there while it was sent

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

    def write_held(self, write: Callable[[bytes], None]) -> None:
        """Moves the lines in memory to the disk, in their order, also while some of them are sent. Raises EspalierError at the first that it does not take."""
        while True:
            with self.spool.changed:
                if not self.held:
                    return
                size = len(self.held[0])
                self.spool.written -= size  # `write` counts it again
                try:
                    write(self.held[0])
                except BaseException:
                    self.spool.written += size
                    raise
                self.held.popleft()
                self._held_bytes -= size

    def _send_some(self) -> bool:
        return super()._send_some() or self._send_held()

    def _send_held(self) -> bool:
        with self.spool.changed:
            lines = next(batches_of([*islice(self.held, self._most)]))
        if lines and self._post(lines):
            with self.spool.changed:
                for line in lines:
                    if self.held and self.held[0] is line:
                        self.held.popleft()
                        self._held_bytes -= len(line)
                        self.spool.acked += len(line)
                    else:
                        self._sent_from_memory.add(line)
                self.spool.changed.notify_all()
        return bool(lines)

    def _is_sent(self, line: bytes) -> bool:
        return line in self._sent_from_memory

    def name_owner(self) -> None:
        """Says which installation the spool is for where the disk did not take that before."""
        if self._owner and self._owner != owner_of(self.spool.folder):
            self._belong_to(self._owner)

    def _belong_to(self, owner: str) -> None:
        with suppress(EspalierError):  # of a full disk
            super()._belong_to(owner)

    def _where(self) -> str:
        where = [super()._where()] if self.spool.segments else []
        return " and ".join([*where, "memory"] if self.held or not where else where)

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
        self._aside += len(lines)
        try:
            self.spool.set_aside(lines)
            logger.warning("%d calls of models are not on record, and are kept in %s: %s", len(lines), self.spool.folder, why)
        except EspalierError as full:
            self._gone += len(lines)
            logger.warning("%d calls of models are lost: %s; %s", len(lines), why, full)
        first = self._first = self._first or why
        fate = "which are set aside" if self._gone == 0 else f"of which {self._gone} are lost, as the disk did not take them"
        said = f"the server refused {self._aside} calls, rewards or ends, {fate}; {_named(lines[0])}: {first.message}"
        refusal = EspalierError(said, remedy=first.remedy, field=first.field, status=first.status, code=first.code)
        self.refusals["calls"] = refusal if self._gone == self._aside else kept_of(refusal, self.spool)


class CallLog:
    """The calls of one process, or those that a dead one left. `run` is the name of their run; `closes` says that it ends with the process. Each line
    is written at once, also with `durable="none"`: a model takes longer, and a buffer would have to be taken back from a full disk. Without
    `has_folder` lines are kept in memory until the folder of the spool can be made."""

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
        has_folder: bool = True,
    ) -> None:
        self.run, self.closes = run, closes
        self.spool = Spool(folder, durable="write" if durable == "none" else durable, limit_bytes=limit_bytes, full="raise", has_folder=has_folder)
        self.sender = CallSender(connection, self.spool, for_anyone=for_anyone)
        self._lock = threading.Lock()
        self._is_warned = False

    def open(self) -> None:
        """Begins the sender, and the first segment where the disk has room for it."""
        with suppress(EspalierError):
            self._begin_segment()
        self.sender.start()

    def append(self, line: bytes) -> None:
        """Adds a line, also where the server refused those before: in memory where the disk does not take it, which is tried again with each line. Raises
        EspalierError where it cannot be kept."""
        if len(line) > LINE_LIMIT:
            raise EspalierError(f"a call takes {len(line)} bytes, over {LINE_LIMIT}", remedy="shorten its messages", field="messages")
        with self._lock:
            try:
                self.sender.write_held(self._write)
                self._write(line)
                self.spool.sync()
            except EspalierError as error:
                if error.code != "disk":
                    raise
                if not self.sender.hold(line):
                    said = f"neither the disk nor memory has room for calls, of which the server does not have {MEMORY_BYTES >> 20} MiB"
                    raise EspalierError(said, remedy="free space on the disk, or start the server", field="spool", code="spool-full") from error
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
            with self._lock:
                try:
                    if self.sender.held:
                        self.sender.write_held(self._write)
                        self.spool.sync()
                except EspalierError as error:
                    logger.warning("%d calls, rewards or ends are lost: %s", len(self.sender.held), error)
            self.spool.close(delete=sent and ended)

    def _write(self, line: bytes) -> None:
        if self.spool.wants_segment or not self.spool.is_open:
            self._begin_segment()
        self.spool.keep(line)

    def _begin_segment(self) -> None:
        if not self.spool.has_folder:
            self.spool.open()
        state = {"run": {"runId": self.run, "name": self.run}, "calls": {"closes": self.closes}}
        self.spool.begin_segment(b"#" + json.dumps(state, separators=(",", ":")).encode("ascii") + b"\n")
        self.sender.name_owner()


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
