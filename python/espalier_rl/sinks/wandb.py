"""Weights & Biases, offline: files that `wandb sync` uploads. A run for each policy, and for each run."""

from __future__ import annotations

import glob
import hashlib
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import EspalierError
from .points import Point, Subject
from .wandb_file import read_history

FLUSH_S = 0.1  # the client writes out every 15 s by default
LIMIT_S = 60.0


class WandbSink:
    """Runs of the offline mode below a folder, one for each process that posted, all of one id: `wandb sync` joins them. A point is a
    record with a checksum. One that a kill has cut, or that the client did not write out, is not read back and is posted again."""

    def __init__(self, folder: str | os.PathLike[str], subject: Subject, *, project: str = "espalier") -> None:
        if "://" in str(folder):
            raise EspalierError(f"--to is {folder}", remedy="name a folder: `wandb sync` uploads what is there", field="to")
        self._folder, self._subject, self._project = Path(folder), subject, project
        # ids of runs are letters, digits and few signs, at most 64
        self.run_id = f"espalier-{subject.kind}-{hashlib.sha256(subject.id.encode()).hexdigest()[:16]}"
        self._run: Any = None

    def files(self) -> list[Path]:
        """The files of all processes that posted."""
        return sorted(Path(file) for file in glob.glob(str(Path(glob.escape(str(self._folder))) / "wandb" / "offline-run-*" / f"run-{self.run_id}.wandb")))

    def last(self) -> int | None:
        """The greatest step of all files, once no process of the client writes to them any more."""
        files = self.files()
        _wait_for_writers(files)
        steps = [row[self._subject.marker] for file in files for row in read_history(file) if self._subject.marker in row]
        return max(steps, default=None)

    def post(self, points: Sequence[Point]) -> None:
        """Logs each point at its step, and waits until the file has the last one."""
        if self._run is None:
            self._run = self._begin()
        for point in points:
            row = {**point.metrics, self._subject.marker: point.step, "espalier/link": point.link, "_timestamp": point.at}
            self._run.log(row, step=point.step, commit=True)
        until = time.monotonic() + LIMIT_S
        while not any(row.get(self._subject.marker) == points[-1].step for row in read_history(self.files()[-1])):
            if time.monotonic() > until:
                raise EspalierError(f"the wandb client did not write out step {points[-1].step} within {LIMIT_S:.0f} s", field="to", code="disk")
            time.sleep(FLUSH_S / 2)

    def close(self, over: bool) -> None:
        """Ends what this process wrote."""
        if self._run is not None:
            self._run.finish()

    def _begin(self) -> Any:
        import wandb

        self._folder.mkdir(parents=True, exist_ok=True)
        settings = wandb.Settings(
            **{"x_transaction_log_flush_interval": FLUSH_S, "x_disable_stats": True, "x_disable_meta": True},
            **{"console": "off", "disable_git": True, "save_code": False, "silent": True},
        )
        of = self._subject
        return wandb.init(
            **{"mode": "offline", "dir": str(self._folder), "project": self._project, "id": self.run_id, "name": of.name},
            **{"config": {f"espalier_{of.kind}": of.id, "espalier_link": of.link}, "notes": of.link, "settings": settings},
        )


def _wait_for_writers(files: Sequence[Path]) -> None:
    """Waits until the client's process that a killed sink left behind has ended: what it still writes counts."""
    if not sys.platform.startswith("linux"):
        time.sleep(1)  # it ends with its parent
        return
    names = {os.path.realpath(file) for file in files}
    until = time.monotonic() + LIMIT_S
    while names and any(_target(link) in names for link in glob.iglob("/proc/[0-9]*/fd/*")):
        if time.monotonic() > until:
            raise EspalierError(f"another process writes to the run in {files[-1].parent}", remedy="end it first", field="to", code="locked")
        time.sleep(FLUSH_S)


def _target(link: str) -> str:
    try:
        return os.readlink(link)
    except OSError:  # the process has ended, or is another user's
        return ""
