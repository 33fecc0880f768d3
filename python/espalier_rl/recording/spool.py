"""The spool of a run: append-only files that keep what was recorded until the server has it, across the death of either.

A folder for each run that a process records, `RUN` or `RUN.RECORDER`, in the folder of its server. Segments are numbered files of lines: `#` the state of the run at
the beginning of the segment, `~` a draft that is held back until it is known how it ends, and events as they are sent. A segment is
deleted when the server has all of it and a later one is there."""

from __future__ import annotations

import errno
import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from ..errors import EspalierError
from ..tracing import trace_headers

try:
    import fcntl
except ImportError:  # Windows: nobody but this process is kept from the spool
    fcntl = None  # type: ignore[assignment]

Durable = Literal["fsync", "write", "none"]
Full = Literal["block", "raise"]

SEGMENT_BYTES = 16 * 2**20
LIMIT_BYTES = 2**30
LINE_LIMIT = 24 * 2**20  # a request has at most 32 MiB by default
BUFFER_BYTES = 256 * 1024  # of `durable="none"`
BUFFER_S = 0.2
LINE_BUFFER = 2**20  # of a line that is longer than what is read at once
SUFFIX = ".ndjson"
OWNER = "installation"  # the file that says which one a spool is for
REFUSED = "refused.ndjson"  # events that the server refused, and what followed them in their trees


def spool_root(server: str, folder: str | os.PathLike[str] | None = None) -> Path:
    """Returns the folder of the spools of a server, by `name_for_spools`: below `folder`, ESPALIER_SPOOL or ~/.local/state/espalier/spool."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    base = folder or os.environ.get("ESPALIER_SPOOL") or os.path.join(state, "espalier", "spool")
    return Path(base, re.sub(r"[^0-9A-Za-z.-]+", "_", server.split("://", 1)[-1]).strip("_") or "server")


def run_of(folder: Path) -> str:
    """Returns the id of the run that a spool is of."""
    return folder.name.partition(".")[0]


class Spool:
    """The spool of one run, open for one process. `append` returns when what it was given is as durable as `durable` says:
    `write` in the file (kept when the process is killed), `fsync` as well, and on the disk when `sync` returns; `none` soon.

    At `limit_bytes` that the server does not have yet, `append` waits (`full="block"`, at most `block_s` seconds) or raises. Without
    `has_folder` nothing can be written before `open`."""

    def __init__(
        self,
        folder: Path,
        *,
        durable: Durable = "write",
        limit_bytes: int = LIMIT_BYTES,
        full: Full = "block",
        block_s: float = 600,
        segment_bytes: int = SEGMENT_BYTES,
        has_folder: bool = True,
    ) -> None:
        for field, value, known in (("durable", durable, ("fsync", "write", "none")), ("full", full, ("block", "raise"))):
            if value not in known:
                raise EspalierError(f"{field} is {value!r}", remedy=f"give one of {', '.join(known)}", field=field)
        self.folder, self.durable, self.full = folder, durable, full
        self.limit_bytes, self.block_s, self.segment_bytes = limit_bytes, block_s, segment_bytes
        self.changed = threading.Condition()  # what was written, sent or refused
        self.traced: dict[str, str] = {}  # of the span that wrote last: the thread that sends has none of its own
        self.written = 0  # bytes in all segments since this process opened the spool
        self.acked = 0  # of those the server has
        self.refused: EspalierError | None = None
        self._buffer: list[bytes] = []
        self._buffered, self._buffered_at = 0, 0.0
        self._fd, self._size, self._number = -1, 0, 0
        self._synced = 0
        self._syncing = threading.Lock()
        self._lock_fd = -1
        self.segments: list[int] = []
        if has_folder:
            self.open()

    def open(self) -> None:
        """Makes its folder, and takes it for this process."""
        with _disk(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock_fd = _lock(self.folder)
            self.segments = _numbers(self.folder)

    @property
    def has_folder(self) -> bool:
        return self._lock_fd >= 0

    # ---- writing

    def begin_segment(self, header: bytes) -> None:
        """Begins a segment with the state of the run; what is held back follows by `append`."""
        with _disk(self.folder):
            self._write_buffer()
            self._close_segment()
            number = (self.segments[-1] if self.segments else 0) + 1
            path = self._path(number)
            # under another name until its header is whole: a segment without one says nothing
            part = path.with_suffix(".part")
            fd = os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_APPEND, 0o600)
            try:
                _write(fd, header)
                if self.durable == "fsync":
                    os.fsync(fd)
                os.replace(part, path)
                _sync_folder(self.folder, self.durable)
            except BaseException:
                os.close(fd)
                raise
            self._fd, self._size, self._number = fd, len(header), number
        with self.changed:
            self.segments = [*self.segments, number]
            self.written += len(header)
            self.changed.notify_all()

    @property
    def wants_segment(self) -> bool:
        return self._size + self._buffered >= self.segment_bytes

    @property
    def is_open(self) -> bool:
        """Whether a segment is open: none is behind one that could not be begun."""
        return self._fd >= 0

    def append(self, data: bytes) -> None:
        """Adds whole lines. Raises EspalierError: `disk` where they cannot be written (none of them is then), `spool-full`, or what the
        server said when it refused the run."""
        self.traced = trace_headers()
        self.check()
        self.keep(data)

    def keep(self, data: bytes) -> None:
        """`append`, whatever the server said of what was recorded before."""
        if self.written - self.acked + len(data) > self.limit_bytes:
            self._wait_for_room(len(data))
        if self.durable == "none":
            self._buffer.append(data)
            self._buffered += len(data)
            clock = time.monotonic()
            if self._buffered < BUFFER_BYTES and clock - self._buffered_at < BUFFER_S:
                return
            self._buffered_at = clock
            with _disk(self.folder):
                self._write_buffer()
            return
        with _disk(self.folder):
            self._write(data)

    def write_out(self) -> None:
        """Writes what is buffered."""
        if self._buffered:
            with _disk(self.folder):
                self._write_buffer()

    def set_aside(self, lines: list[bytes]) -> None:
        """Keeps events that the server refused, for `read_refused`: all of them, or none."""
        with _disk(self.folder), open(self.folder / REFUSED, "ab", 0) as file:
            size = file.tell()
            try:
                _write(file.fileno(), b"".join(lines))
                os.fsync(file.fileno())
            except OSError:
                file.truncate(size)  # what is set aside next would follow half a line
                raise

    def sync(self) -> None:
        """Returns when all that was appended is on the disk (`durable="fsync"`), or in the file. Callers share what one of them waits for."""
        if self.durable != "fsync":
            return
        due = self.written
        with self._syncing:
            if self._synced >= due:
                return
            reached = self.written
            with _disk(self.folder):
                os.fsync(self._fd)
            self._synced = reached

    def check(self) -> None:
        """Raises what the server said when it refused what was recorded."""
        if self.refused is not None:
            raise self.refused

    @property
    def unsent(self) -> int:
        return self.written - self.acked

    def belong_to(self, owner: str) -> None:
        """Says which installation it is for."""
        with _disk(self.folder):
            (self.folder / OWNER).write_text(owner)

    # ---- reading

    def read(self, number: int, offset: int, most: int) -> tuple[bytes, bool]:
        """Reads bytes of a segment, of a line that is longer than `most` all that is there, and whether a later segment is there (then the
        segment is whole)."""
        later = number != self.segments[-1]
        with open(self._path(number), "rb", 0) as file:
            file.seek(offset)
            # takes no more memory than there is to read: most often that is one step or call
            raw = file.read(max(0, min(most, os.fstat(file.fileno()).st_size - offset)))
            if len(raw) == most and b"\n" not in raw:
                parts = [raw]
                while parts[-1] and b"\n" not in parts[-1]:
                    parts.append(file.read(LINE_BUFFER))
                raw = b"".join(parts)
            return raw, later

    def drop_segment(self, number: int) -> None:
        """Deletes a segment that the server has, which is not the last."""
        with self.changed:
            self.segments = [each for each in self.segments if each != number]
        self._path(number).unlink(missing_ok=True)

    def last_state(self) -> tuple[dict[str, Any] | None, list[dict[str, Any]], list[dict[str, Any]]]:
        """Reads what a process left: the state at the beginning of the last segment, the events behind it, and the drafts that are held
        back. A line that was cut off by the death of the process is cut from the file."""
        if not self.segments:
            return None, [], []
        path = self._path(self.segments[-1])
        raw = path.read_bytes()
        whole = raw[: raw.rfind(b"\n") + 1]
        if len(whole) < len(raw):
            os.truncate(path, len(whole))
        state: dict[str, Any] | None = None
        events: list[dict[str, Any]] = []
        held: dict[str, dict[str, Any]] = {}
        for place, line in enumerate(whole.splitlines(), 1):
            try:
                value = json.loads(line[1:] if line[:1] in b"#~" else line)
            except ValueError as error:
                raise _damaged(path, place, error) from None
            if line[:1] == b"#":
                state = value
            elif line[:1] == b"~":
                held[value["id"]] = value
            else:
                events.append(value)
                held.pop(value["id"], None)
        return state, events, list(held.values())

    def adopt(self) -> None:
        """Counts the segments that a process left as written, so that they are sent."""
        with self.changed:
            self.written += sum(self._path(number).stat().st_size for number in self.segments)

    # ---- the end

    def forget(self) -> None:
        """Lets go what a process that was forked has of the spool of its parent, which keeps it: a lock lasts as long as any copy."""
        for fd in (self._fd, self._lock_fd):
            if fd >= 0:
                os.close(fd)
        self._fd = self._lock_fd = -1
        self._buffer = []

    def close(self, *, delete: bool) -> None:
        """Lets the spool go: deletes it where the server has all of it, else leaves it for the next process."""
        with _disk(self.folder):
            self._write_buffer()
            self._close_segment()
        if delete and self.has_folder:
            for number in _numbers(self.folder):
                self._path(number).unlink(missing_ok=True)
            if not (self.folder / REFUSED).exists():
                (self.folder / OWNER).unlink(missing_ok=True)
            (self.folder / "lock").unlink(missing_ok=True)
            try:
                self.folder.rmdir()
            except OSError:
                pass  # another process has it already
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:08d}{SUFFIX}"

    def _write_buffer(self) -> None:
        if self._buffer:
            data = b"".join(self._buffer)
            self._write(data)
            self._buffer, self._buffered = [], 0

    def _write(self, data: bytes) -> None:
        try:
            _write(self._fd, data)
        except OSError:
            os.ftruncate(self._fd, self._size)  # half a line is no record
            raise
        self._size += len(data)
        with self.changed:
            self.written += len(data)
            self.changed.notify_all()

    def _close_segment(self) -> None:
        if self._fd >= 0:
            if self.durable == "fsync":
                os.fsync(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _wait_for_room(self, size: int) -> None:
        said = f"the spool {self.folder} holds {self.unsent} bytes that the server does not have"
        remedy = "start the server, or raise spool_bytes of db.run"
        full = EspalierError(said, remedy=remedy, field="spool_bytes", code="spool-full")
        if self.full == "raise":
            raise full
        self.write_out()
        until = time.monotonic() + self.block_s
        with self.changed:
            has_room: Callable[[], bool] = lambda: self.refused is not None or self.unsent + size <= self.limit_bytes or self.unsent == 0  # noqa: E731
            if not self.changed.wait_for(has_room, max(0.0, until - time.monotonic())):
                raise full
        self.check()


def owner_of(folder: Path) -> str:
    """Returns which installation a spool is for; nothing where that is not known."""
    try:
        return (folder / OWNER).read_text().strip()
    except OSError:
        return ""


def list_spools(root: Path) -> Iterator[Path]:
    """Lists the folders of spools that hold something."""
    if root.is_dir():
        yield from (folder for folder in sorted(root.iterdir()) if folder.is_dir() and (_numbers(folder) or (folder / REFUSED).exists()))


def read_refused(folder: Path) -> list[bytes]:
    """Reads the events that were set aside, each once: a process that was killed may have written some again."""
    path = folder / REFUSED
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    return [*dict.fromkeys(line for line in lines if line.endswith(b"\n"))]


def keep_refused(spool: Spool, lines: list[bytes]) -> None:
    """Keeps these of the events that were set aside, and closes the spool; where nothing is left, its folder is deleted."""
    path = spool.folder / REFUSED
    with _disk(spool.folder):
        if lines:
            part = path.with_suffix(".part")
            part.write_bytes(b"".join(lines))
            os.replace(part, path)
        else:
            path.unlink(missing_ok=True)
    spool.close(delete=not lines and not spool.segments)


def _numbers(folder: Path) -> list[int]:
    return sorted(int(each.stem) for each in folder.glob(f"*{SUFFIX}") if each.stem.isdigit())


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _sync_folder(folder: Path, durable: Durable) -> None:
    if durable != "fsync" or os.name == "nt":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _lock(folder: Path) -> int:
    path = folder / "lock"
    fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    if fcntl is None:
        return fd
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.read(fd, 20).decode(errors="replace").strip() or "unknown"
        os.close(fd)
        if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
            raise
        message = f"the run of the spool {folder} is being recorded by process {holder}"
        raise EspalierError(message, remedy="end that process, or give this run a key of its own", field="key", code="in-use") from None
    if not path.exists() or os.fstat(fd).st_ino != path.stat().st_ino:  # deleted by who had it before
        os.close(fd)
        folder.mkdir(parents=True, exist_ok=True)
        return _lock(folder)
    os.ftruncate(fd, 0)
    with suppress(OSError):  # a full disk: the lock holds without it
        os.pwrite(fd, str(os.getpid()).encode(), 0)
    return fd


class _disk:
    """Turns faults of the disk into EspalierError."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if not isinstance(error, OSError):
            return
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        said = f"the spool {self.folder} cannot be written: {error.strerror or error}"
        remedy = "free space there, or name another folder by ESPALIER_SPOOL" if full else "name a folder that can be written by ESPALIER_SPOOL"
        raise EspalierError(said, remedy=remedy + "; what was recorded before is kept", field="spool", code="disk") from error


def _damaged(path: Path, line: int, error: Exception) -> EspalierError:
    remedy = "move the folder away and keep it; what is before that line is whole"
    return EspalierError(f"line {line} of the spool {path} is damaged: {error}", remedy=remedy, field="spool", code="disk")
