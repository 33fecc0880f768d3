"""Sends what earlier processes left in their spools, in the background of a connection."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path

from ..connection import Connection
from ..errors import EspalierError
from .calls import FOLDER, CallLog, resend_refused_calls
from .journal import Journal, recover
from .sender import TRY_S, refuse_other, resend_refused
from .spool import Spool, list_spools, owner_of, read_refused, run_of, spool_root

LONGEST_S = 365 * 86_400.0

logger = logging.getLogger("espalier_rl")


class Leftovers:
    """Finds the spools of a server that no living process holds, and sends them one after the other. `everywhere`: also what was recorded
    for its installation by another address, or by the folder of the installation; `run`: all of one run, for whichever it was."""

    def __init__(self, connection: Connection, folder: str | None = None, *, everywhere: bool = False, run: str | None = None) -> None:
        self.connection, self.folder, self.root = connection, folder, spool_root(connection.spools, folder)
        self.errors: dict[str, EspalierError] = {}  # by the name of its folder: why a spool could not be sent
        self.refusals: dict[str, EspalierError] = {}  # so too: why the server refused trees that are set aside
        self._changed = threading.Condition()
        self._journal: Journal | CallLog | None = None
        self._closed = False
        self._run_id, self._everywhere = run, everywhere
        base = self.root.parent
        roots = sorted(each for each in base.iterdir() if each.is_dir()) if everywhere and base.is_dir() else [self.root]
        self._waiting = [path for root in roots for path in list_spools(root) if run in (None, run_of(path))]
        if self._waiting:
            threading.Thread(target=self._run, name="espalier spools", daemon=True).start()

    def wait(self, run_id: str | None = None, timeout_s: float = 60) -> None:
        """Returns when the spools of a run (of all runs without one) are sent. Raises EspalierError that says why it is not. Trees of the run
        that are set aside do not keep it from being continued."""
        is_of: Callable[[Path], bool] = lambda folder: run_id is None or run_of(folder) == run_id  # noqa: E731
        with self._changed:
            done = self._changed.wait_for(lambda: not any(map(is_of, self._waiting)), timeout_s)
            for name, error in [*self.errors.items(), *(self.refusals.items() if run_id is None else ())]:
                if is_of(Path(name)):
                    raise error
            if not done:
                journal = self._journal
                why = str(journal.sender.away) if journal and journal.sender.away else "others are sent before it"
                remedy = "start the server, and wait until it has what an earlier process recorded"
                raise EspalierError(f"the spool {self.root} is not sent: {why}", remedy=remedy, field="url", code="unreachable")

    def close(self) -> None:
        """Stops sending; what is left is sent by the next connection."""
        with self._changed:
            self._closed = True
            journal = self._journal
        if journal is not None:
            with journal.spool.changed:
                journal.spool.refused = journal.spool.refused or EspalierError("the connection was closed", code="closed")
                journal.spool.changed.notify_all()

    def _run(self) -> None:
        for folder in list(self._waiting):
            if self._closed:
                return
            try:
                known = self._is_known(folder)
                if known or self._is_of_installation(folder):
                    self._send(folder, known)
            except EspalierError as error:
                if error.code not in ("in-use", "closed"):
                    logger.warning("what an earlier process recorded of run %s was not sent: %s", run_of(folder), error)
                    self.errors[folder.name] = error
            with self._changed:
                self._waiting.remove(folder)
                self._changed.notify_all()

    def _is_known(self, folder: Path) -> bool:
        """Whether who gives the command says that this server is meant."""
        return self._run_id is not None or (self._everywhere and owner_of(folder).startswith("token:") and folder.parent == self.root)

    def _is_of_installation(self, folder: Path) -> bool:
        if folder.parent != self.root:
            try:
                refuse_other(self.connection, folder, TRY_S)
            except EspalierError as error:
                if error.code != "other-installation":
                    raise
                return False
            return owner_of(folder) != ""
        return True

    def _send(self, folder: Path, known: bool) -> None:
        journal = recover(self.connection, folder, for_anyone=known)
        if journal is not None:
            self._journal = journal
            try:
                journal.close(0 if self._closed else LONGEST_S)
            except EspalierError as error:
                if not isinstance(journal, Journal) or not journal.is_refused_to_join(error):
                    raise
                Spool(folder).close(delete=True)  # its process died as another one took the name: nothing was acknowledged
            finally:
                self._journal = None
        if not self._closed and read_refused(folder):
            if not known:
                refuse_other(self.connection, folder, TRY_S)
            resend = resend_refused_calls if folder.name.startswith(FOLDER) else resend_refused
            try:
                resend(self.connection, folder)
            except EspalierError as error:
                logger.warning("what was refused of run %s was not accepted this time either: %s", run_of(folder), error)
                self.refusals[folder.name] = error
