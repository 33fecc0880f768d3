"""Sends a spool to the server, in order and in batches, from a thread of its own. Sending again is harmless: events are known by their ids.

If the server refuses an event of a tree, that event and all later ones of the tree are set aside; everything else is sent."""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..connection import Connection
from ..errors import EspalierError, Unreachable
from ..installation import is_loopback_url
from ..progress import progress
from .spool import Spool, keep_refused, owner_of, read_refused, run_of

BATCH_BYTES = 2**20
READ_BYTES = 2 * BATCH_BYTES + 2**16  # of a segment: nearly every step lies in it twice, held back and as it is sent
BATCH_EVENTS = 2_000
PAUSE_S = 0.2
SHORTEST_STOP_S = 0.1  # that an idle thread is given to end
TRY_S = 2.0  # of one request, before it is looked whether to stop
OF_EVENTS = (400, 403, 409, 413, 422)  # refusals that may be of single events

logger = logging.getLogger("espalier_rl")


class Sender:
    """Sends what is in a spool until `stop`. A refusal that names events of trees sets those trees aside (`refusals`); any other, and one
    of the run's own events, is kept in `spool.refused`, and nothing more is sent."""

    linger_s = 0.02  # for a batch that is small: steps come one after the other

    def __init__(self, connection: Connection, spool: Spool, *, for_anyone: bool = False) -> None:
        self.connection, self.spool = connection, spool
        self.away: EspalierError | None = None  # why the last try failed, where the server did not only ask to wait
        self.position: str | None = None  # behind the last event that was appended
        self.refusals: dict[str, EspalierError] = {}  # by tree: why it is set aside
        self._compress = not is_loopback_url(connection.url)
        self._stopping = threading.Event()
        self._awaited = threading.Event()  # somebody waits for what is written: it is sent now
        self._owner = owner_of(spool.folder)
        self._is_left = bool(self._owner) and not for_anyone  # by an earlier process: who answers may be another installation than the one that it knew
        self._left = False  # whether the request that it waits for was given up: its answer changes nothing
        self._offset = 0
        self._moot: set[str] = set()  # ends of this process in the run that another one, which took its place, has recorded
        self._most = BATCH_EVENTS
        self._thread = threading.Thread(target=self._run, name=f"espalier spool {spool.folder.name}", daemon=True)

    def start(self) -> None:
        if not self._owner and "://" in self.connection.spools:  # else its folder says which one it is for
            self._belong_to(self.connection.installation or mark_of(self.connection))
        self._thread.start()

    def _belong_to(self, owner: str) -> None:
        self._owner = owner
        self.spool.belong_to(owner)

    def stop(self, timeout_s: float | None = None) -> bool:
        """Ends the thread behind the request that it waits for, for at most `timeout_s` seconds; returns whether it has ended."""
        self._stopping.set()
        self._awaited.set()
        with self.spool.changed:
            self.spool.changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout_s)
        self._left = self._thread.is_alive()
        return not self._left

    def check(self, tree_id: str | None = None) -> None:
        """Raises why a tree was set aside; without a tree, why the first one was."""
        refusal = next(iter(self.refusals.values()), None) if tree_id is None else self.refusals.get(tree_id)
        if refusal is not None:
            raise refusal

    def flush(self, timeout_s: float) -> None:
        """Returns when the server has all that was written. Raises what it refused, or Unreachable."""
        self.wait(timeout_s)
        self.check()

    def wait(self, timeout_s: float, *, away_s: float | None = None) -> None:
        """Returns when all that was written is sent or set aside. Raises what the server refused of the run, or Unreachable; `away_s` is how
        long it is waited for a server that is not reached, if that is less."""
        spool = self.spool
        spool.write_out()
        self._awaited.set()
        first_s = timeout_s if away_s is None else min(timeout_s, away_s)
        with spool.changed, progress("sending what was recorded", "B", spool.unsent) as show:
            due, before = spool.written, spool.acked

            def is_over() -> bool:
                show(spool.acked - before)
                return spool.acked >= due or spool.refused is not None

            over, until = spool.changed.wait_for(is_over, first_s), time.monotonic() + timeout_s - first_s
            while not over and self._is_reached() and time.monotonic() < until:
                over = spool.changed.wait_for(is_over, min(PAUSE_S, until - time.monotonic()))
        spool.check()
        if spool.acked >= due:
            return
        why = str(self.away) if self.away else "it is behind"
        remedy = "start the server; the next er.connect() to it sends them"
        raise Unreachable(f"{spool.unsent} bytes in {self._where()} are not sent: {why}", remedy=remedy, field="url", code="unreachable")

    def _is_reached(self) -> bool:
        """Whether the last try was answered by the server: not by nobody, or by a proxy in its place."""
        return self.away is None or bool(self.away.code and not isinstance(self.away, Unreachable))

    def _run(self) -> None:
        try:
            self._wait()  # what opens a run would be a request of its own, and the first steps would wait for it
            while not self._stopping.is_set():
                if not self._send_some():
                    self._wait()
        except EspalierError as error:
            self._refuse(error)
        except Exception as error:  # noqa: BLE001 - whatever ends the thread must reach the program that records
            self._refuse(EspalierError(f"the sender of {self.spool.folder} stopped: {error!r}", field="spool", code="fault"))

    def _refuse(self, error: EspalierError) -> None:
        with self.spool.changed:
            self.spool.refused = error
            self.spool.changed.notify_all()

    def _wait(self) -> None:
        spool = self.spool
        with spool.changed:
            spool.changed.wait_for(lambda: spool.acked < spool.written or self._stopping.is_set())
        if spool.unsent < BATCH_BYTES:
            self._awaited.wait(self.linger_s)
        self._awaited.clear()

    def _send_some(self) -> bool:
        """Sends the next batch; returns whether there was anything to read."""
        spool = self.spool
        if not spool.segments:
            return False
        number = spool.segments[0]
        raw, later = spool.read(number, self._offset, READ_BYTES)
        whole = raw[: raw.rfind(b"\n") + 1]
        if not whole:
            if not later or raw:
                return False
            spool.drop_segment(number)
            self._offset = 0
            return True
        lines = whole.splitlines(keepends=True)
        sent: list[bytes] = []
        aside: list[bytes] = []
        size, taken = 0, 0
        for line in lines:
            if line[:1] in b"#~":
                pass
            elif self._is_sent(line):
                pass
            elif self._follows_refused(line):
                aside.append(line)
            else:
                taken += len(line)
                if len(sent) == self._most or (sent and taken > BATCH_BYTES):
                    break
                sent.append(line)
            size += len(line)
        if sent and not self._post(sent):
            return True
        if aside:
            spool.set_aside(aside)
        self._offset += size
        with spool.changed:
            spool.acked += size
            spool.changed.notify_all()
        return True

    def _post(self, lines: list[bytes]) -> bool:
        """Appends events; returns False where they are to be sent again. Raises what the server refuses for good."""
        path, body, form = self._request(lines)
        headers = {"content-type": form, **self.spool.traced}
        if self._compress:
            body = gzip.compress(body, 1)
            headers["content-encoding"] = "gzip"
        try:
            if self._is_left:
                refuse_other(self.connection, self.spool.folder, TRY_S)
                self._is_left = False
            answer: Any = self.connection.json("POST", path, content=body, headers=headers, retry_s=TRY_S)
        except EspalierError as error:
            if self._left:
                return False
            if error.code == "other-installation":
                raise
            if not self._is_left and (not self._owner or self._owner.startswith("token:")):
                self._meet()  # also who refuses a key: with the right one it is sent there
            if error.status == 413 and len(lines) > 1:
                self._most = max(1, len(lines) // 2)
                return False
            if not isinstance(error, Unreachable) and error.status not in (408, 429, 502, 503, 504):
                return self._refused(error, lines)
            if error.status == 429 or error.code == "behind":  # a server that asks many processes to wait is well
                self.away = None
            else:
                if self.away is None:
                    logger.warning("events could not be sent (%s); they are kept in %s and will be sent again", error, self._where())
                self.away = error
            self._stopping.wait(max(PAUSE_S, error.retry_after))
            return False
        if self._left:
            return False
        self.away = None
        self._taken(answer, lines)
        self._meet()
        return True

    def _where(self) -> str:
        """Where what was recorded is kept."""
        return f"the spool {self.spool.folder}"

    def _meet(self) -> None:
        """Takes whoever answered last for the installation that the spool is for."""
        if self.connection.installation not in (None, self._owner):
            self._belong_to(self.connection.installation or "")

    def _request(self, lines: list[bytes]) -> tuple[str, bytes, str]:
        """Returns the path, the body and the form of the request that takes lines."""
        return "/v1/events", b"".join(lines), "application/x-ndjson"

    def _taken(self, answer: Any, lines: list[bytes]) -> None:
        self.position = answer.get("position") or self.position

    def _is_sent(self, line: bytes) -> bool:
        """Whether the record has what a line says."""
        return bool(self._moot) and json.loads(line)["id"] in self._moot

    def _follows_refused(self, line: bytes) -> bool:
        """Whether a line is of a tree that is set aside."""
        return bool(self.refusals) and json.loads(line)["stream"] in self.refusals

    def _refused(self, error: EspalierError, lines: list[bytes]) -> bool:
        """Sets aside the trees whose events were refused. Raises the refusal if it names no event, or one of the run itself."""
        if error.status == 413:
            error = _of_event(error, lines[0])
        events = [json.loads(line) for line in lines]
        named = {problem.get("id") for problem in error.problems}
        streams = {event["stream"] for event in events if event["id"] in named or len(events) == 1}
        moot = {event["id"] for event in events if event["id"] in named and event["type"] == "RecorderLeft"}
        if error.status == 409 and moot and moot == named:
            self._moot |= moot
            return False
        if error.status not in OF_EVENTS or not streams or run_of(self.spool.folder) in streams:
            raise kept_of(error, self.spool) from None
        kept = kept_of(error, self.spool)
        for stream in streams:
            said = f"the server refused events of tree {stream}, which is set aside: {error.message}"
            self.refusals[stream] = EspalierError(
                said, remedy=kept.remedy, field=error.field, status=error.status, code=error.code, problems=error.problems
            )  # fmt: skip
        return False


def mark_of(connection: Connection) -> str:
    """Returns which installation is meant where none has answered yet: the one that knows the key or token that is shown."""
    return f"token:{hashlib.sha256((connection.token or '').encode()).hexdigest()[:16]}"


def refuse_other(connection: Connection, folder: Path, retry_s: float) -> None:
    """Raises EspalierError `other-installation` where a spool is for another one than the one that answers; Unreachable where none does."""
    owner = owner_of(folder)
    mark = mark_of(connection)
    if owner in ("", mark):
        return
    if not owner.startswith("token:"):
        connection.request("GET", "/healthz", retry_s=retry_s)
    if connection.installation == owner or (connection.installation is None and not owner.startswith("token:")):
        return
    said = f"the spool {folder} was recorded for another installation than the one at {connection.url}"
    name = f"--run {run_of(folder)}"
    remedy = f"`python -m espalier_rl spool send {name} --url URL` sends it to the server that you name, `spool drop {name} --everything` gives it up"
    raise EspalierError(said, remedy=remedy, field="url", code="other-installation")


def resend_refused(connection: Connection, folder: Path) -> None:
    """Sends the trees that were set aside again, each on its own. Raises the first refusal; what is refused is kept."""
    spool = Spool(folder)
    kept = read_refused(folder)
    refusal: EspalierError | None = None
    try:
        trees: dict[str, list[bytes]] = {}
        for line in kept:
            trees.setdefault(json.loads(line)["stream"], []).append(line)
        for lines in trees.values():
            try:
                for batch in batches_of(lines):
                    connection.json("POST", "/v1/events", content=b"".join(batch), headers={"content-type": "application/x-ndjson"})
                sent = set(lines)
                kept = [line for line in kept if line not in sent]
            except Unreachable:
                raise
            except EspalierError as error:
                refusal = refusal or error
    finally:
        keep_refused(spool, kept)
    if refusal is not None:
        raise kept_of(refusal, spool)


def batches_of(lines: list[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    for line in lines:
        if batch and (len(batch) == BATCH_EVENTS or sum(map(len, batch)) + len(line) > BATCH_BYTES):
            yield batch
            batch = []
        batch.append(line)
    yield batch


def _of_event(error: EspalierError, line: bytes) -> EspalierError:
    """Names the event that is too large alone. It is not left out: what its stream has behind it follows from it and from its number."""
    event: dict[str, Any] = json.loads(line)
    message = f"{event['type']} {event['id']} takes {len(line)} bytes: {error.message}"
    limit = "raise ESPALIER_MAX_BODY_BYTES of the server, or the limit of a proxy before it"
    remedy = error.remedy if error.problems else limit  # the log's limit is another one
    return EspalierError(message, remedy=remedy, field=error.field, status=413, code=error.code, problems=error.problems)


def kept_of(error: EspalierError, spool: Spool) -> EspalierError:
    kept = f"what was recorded is kept in {spool.folder}: the next er.connect() sends it again, `python -m espalier_rl spool drop --run {run_of(spool.folder)}` gives it up"
    remedy = f"{error.remedy}; {kept}"
    return EspalierError(error.message, remedy=remedy, field=error.field, status=error.status, code=error.code, problems=error.problems)


