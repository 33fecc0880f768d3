"""The spools of a folder, for the command line: what they hold, whether they are whole, and sending them now."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .spool import REFUSED, SUFFIX, Spool, keep_refused, list_spools, read_refused, run_of, spool_root

try:
    import fcntl
except ImportError:  # Windows: nobody but the process that records is kept from a spool
    fcntl = None  # type: ignore[assignment]


@dataclass
class SpoolState:
    """What the spool of one run holds. The server may have a part of `events` already: a segment is deleted when it has all of it."""

    folder: Path
    run: str
    name: str = ""
    segments: int = 0
    bytes: int = 0
    events: int = 0
    held: int = 0  # drafts of steps that may be the last of their episode
    refused: int = 0  # events that the server refused, with what followed them in their trees
    process: str = ""  # that records it now
    faults: list[str] = field(default_factory=list)  # FILE:LINE: what is wrong

    def __str__(self) -> str:
        now = f", recorded by process {self.process}" if self.process else ""
        damaged = f", {len(self.faults)} damaged" if self.faults else ""
        refused = f", {self.refused} refused" if self.refused else ""
        counts = f"{self.events} events, {self.held} held back, {self.bytes} bytes{refused}{now}{damaged}"
        return f"{self.folder.parent.name}  {self.run}  {self.name!r}: {counts}"


def spools_folder(folder: str | None = None) -> Path:
    """Returns the folder with a folder for each server: `folder`, ESPALIER_SPOOL or ~/.local/state/espalier/spool."""
    return spool_root("server", folder).parent


def read_spools(base: Path) -> list[SpoolState]:
    """Reads every spool below a folder, to its last line. Nothing is changed."""
    servers = sorted(each for each in base.iterdir() if each.is_dir()) if base.is_dir() else []
    return [_read(spool) for server in servers for spool in list_spools(server)]


def _read(folder: Path) -> SpoolState:
    state = SpoolState(folder, run_of(folder), process=_process(folder))
    paths = sorted(each for each in folder.glob(f"*{SUFFIX}") if each.stem.isdigit())
    numbers = [int(path.stem) for path in paths]
    missing = sorted(set(range(numbers[0], numbers[-1])) - set(numbers)) if numbers else []
    state.faults += [f"{folder}: segment {number} is missing between others" for number in missing]
    held: set[str] = set()
    for path in paths:
        state.segments += 1
        state.bytes += path.stat().st_size
        for line, kind, value in _lines(path, last=path is paths[-1]):
            if isinstance(value, str):
                state.faults.append(f"{path}:{line}: {value}")
            elif (kind == "#") != (line == 1):
                state.faults.append(f"{path}:{line}: {'a state of the run' if kind == '#' else 'no state of the run'} is here")
            elif kind == "#":
                state.name = str((value.get("run") or {}).get("name") or state.name)
            elif kind == "~":
                held.add(str(value.get("id")))
            else:
                state.events += 1
                held.discard(str(value.get("id")))
                if value.get("type") == "RunStarted" and isinstance(value.get("data"), dict):
                    state.name = str(value["data"].get("name") or state.name)
    state.held, state.refused = len(held), len(read_refused(folder))
    if state.refused:
        state.faults += [f"{folder / REFUSED}:{line}: {value}" for line, _, value in _lines(folder / REFUSED, last=True) if isinstance(value, str)]
    return state


def export_spool(folder: Path) -> Iterator[bytes]:
    """Yields the events of a spool as lines of NDJSON, as `POST /v1/events` takes them, and calls as the `lines` of `POST /v1/calls`: those
    that are not sent, then those refused. What is held back is an event without a number and is left out."""
    for path in sorted(each for each in folder.glob(f"*{SUFFIX}") if each.stem.isdigit()):
        yield from (line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n") and line[:1] not in b"#~")
    yield from read_refused(folder)


def drop_spool(folder: Path, *, everything: bool) -> int:
    """Deletes what the server refused of a run; everything: what is not sent as well. Returns how many events. Raises EspalierError
    `in-use` while its process lives."""
    spool = Spool(folder)
    dropped = len([*export_spool(folder)]) if everything else len(read_refused(folder))
    if everything:
        for path in folder.glob(f"*{SUFFIX}"):
            path.unlink()
        spool.close(delete=True)
    else:
        keep_refused(spool, [])
    return dropped


def _lines(path: Path, *, last: bool) -> Iterator[tuple[int, str, Any]]:
    """Yields number, kind and value of each line; of a damaged one what is wrong, as a text. What the death of a process cut off at the
    end of the last segment was never acknowledged: it is no damage."""
    raw = path.read_bytes()
    for number, line in enumerate(raw.splitlines(keepends=True), 1):
        if not line.endswith(b"\n"):
            if not last:
                yield number, "", "is cut off, and a later segment follows"
            return
        kind = chr(line[0]) if line[:1] in (b"#", b"~") else ""
        try:
            value = json.loads(line[len(kind) :])
        except ValueError as error:
            yield number, kind, f"is damaged: {error}"
            continue
        yield number, kind, value if isinstance(value, dict) else "is damaged: no object"


def _process(folder: Path) -> str:
    """Returns the id of the process that has a spool open; nothing where none has."""
    if fcntl is None:
        return ""
    try:
        fd = os.open(folder / "lock", os.O_RDONLY)
    except OSError:
        return ""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return os.read(fd, 20).decode(errors="replace").strip() or "unknown"
    finally:
        os.close(fd)
    return ""
