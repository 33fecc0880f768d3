"""Trackio: its own store in a folder. A run for each policy, and for each run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..errors import EspalierError
from .points import Point, Subject


class TrackioSink:
    """Rows of the store below a folder, which `trackio show` reads with TRACKIO_DIR. Points that are posted together are one transaction,
    and each row has an id of its own: what is there is never written again."""

    def __init__(self, folder: str | os.PathLike[str], subject: Subject, *, project: str = "espalier") -> None:
        if "://" in str(folder):
            raise EspalierError(f"--to is {folder}", remedy="name a folder, that of TRACKIO_DIR: `trackio sync` uploads what is there", field="to")
        Path(folder).mkdir(parents=True, exist_ok=True)
        os.environ["TRACKIO_DIR"] = str(folder)  # read when the package is imported
        from trackio.sqlite_storage import SQLiteStorage

        self._storage: Any = SQLiteStorage
        self._subject, self._project = subject, project
        self.run_id = f"espalier-{subject.kind}-{subject.id}"

    def last(self) -> int | None:
        """The greatest step of the run."""
        found = self._storage.get_last_step(self._project, run=self._subject.name, run_id=self.run_id)
        return None if found is None else int(found)

    def post(self, points: Sequence[Point]) -> None:
        """Writes the rows of points in one transaction."""
        of = self._subject
        self._storage.bulk_log(
            self._project,
            of.name,
            [{**point.metrics, of.marker: point.step, "espalier/link": point.link} for point in points],
            steps=[point.step for point in points],
            timestamps=[datetime.fromtimestamp(point.at, timezone.utc).isoformat() for point in points],
            config={f"espalier_{of.kind}": of.id, "espalier_link": of.link},
            log_ids=[f"{self.run_id}:{point.step}" for point in points],
            run_id=self.run_id,
        )

    def close(self, over: bool) -> None:
        """Does nothing: every post is on the disk."""
