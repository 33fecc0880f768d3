"""What a sink has read and posted: a file that outlives its process, so that a killed one neither loses nor doubles a point."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from ..errors import EspalierError
from .points import Point

TABLES = """create table if not exists points (step integer primary key, key text not null unique, body text, posted integer not null);
create table if not exists place (position text not null);"""


def kept_file(folder: str | os.PathLike[str] | None, *named: str) -> Path:
    """Returns the file of a sink: below `folder`, or ~/.local/state/espalier/sinks. What names it is the server, the system, the place
    and what is posted."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    digest = hashlib.sha256("\n".join(named).encode()).hexdigest()[:24]
    return Path(folder or os.path.join(state, "espalier", "sinks")) / f"{digest}.sqlite"


class Kept:
    """The position behind the last event that was read, and the points of all before it. Points are kept before they are posted and
    marked afterwards: after a kill in between, what the system says of the first unmarked ones decides. Open in one process."""

    def __init__(self, file: Path) -> None:
        self.file = file
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(file, isolation_level=None, timeout=0, check_same_thread=False)
            self._db.execute("pragma locking_mode = exclusive")
            self._db.execute("pragma synchronous = full")
            self._db.executescript(f"begin exclusive; {TABLES} commit;")
        except (sqlite3.Error, OSError) as error:
            if "locked" in str(error):
                raise EspalierError(f"another process posts this ({file} is locked)", remedy="end it first", code="locked") from None
            raise EspalierError(f"{file}: {error}", remedy="name another folder by --state", code="disk") from None

    @property
    def position(self) -> str:
        """The position to read on from: behind all that was read, or the beginning of the log."""
        found = self._db.execute("select position from place").fetchone()
        return str(found[0]) if found else ""

    @property
    def is_new(self) -> bool:
        """Whether nothing was read yet."""
        return self.position == "" and self.count == 0

    @property
    def count(self) -> int:
        """How many points there are, posted or not."""
        return int(self._db.execute("select count(*) from points").fetchone()[0])

    @property
    def newest(self) -> int | None:
        """The greatest step of all points."""
        found = self._db.execute("select max(step) from points").fetchone()[0]
        return None if found is None else int(found)

    @property
    def last_posted(self) -> int | None:
        """The greatest step that is marked."""
        found = self._db.execute("select max(step) from points where posted = 1").fetchone()[0]
        return None if found is None else int(found)

    def has(self, key: str) -> bool:
        """Whether the point of a key is kept."""
        return self._db.execute("select 1 from points where key = ?", [key]).fetchone() is not None

    def add(self, position: str, points: Sequence[Point]) -> None:
        """Keeps points and the position behind their events. One whose step is not known (below 0) comes behind all others."""
        self._db.execute("begin")
        for point in points:
            if self.has(point.key):
                continue
            step = point.step if point.step >= 0 else (self.newest or 0) + 1
            body = json.dumps([point.metrics, point.at, point.link])
            self._db.execute("insert into points values (?, ?, ?, 0)", [step, point.key, body])
        self._db.execute("delete from place")
        self._db.execute("insert into place values (?)", [position])
        self._db.execute("commit")

    def unposted(self, most: int) -> list[Point]:
        """The first points that are not marked."""
        rows = self._db.execute("select step, key, body from points where posted = 0 order by step limit ?", [most]).fetchall()
        points = []
        for step, key, body in rows:
            metrics, at, link = json.loads(body)
            points.append(Point(key, step, metrics, at, link))
        return points

    def mark(self, upto: int) -> None:
        """Marks the points up to a step as posted."""
        self._db.execute("update points set posted = 1, body = null where posted = 0 and step <= ?", [upto])

    def close(self) -> None:
        """Closes the file."""
        self._db.close()
