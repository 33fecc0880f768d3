"""What `er.autolog()` turns on: the run of a process, the rollouts that its calls of models belong to, and their spool."""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import logging
import os
import re
import shutil
import sys
import tempfile
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable
from contextvars import ContextVar
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any, Literal

from ..connection import Connection
from ..errors import EspalierError, Unreachable
from ..recording.calls import FOLDER, CallLog, outcome_of, place_name
from ..recording.ids import derived_id, new_id
from ..recording.journal import recover
from ..recording.leftovers import Leftovers
from ..recording.run import Run
from ..recording.sender import TRY_S
from ..recording.spool import LIMIT_BYTES, Durable, list_spools, spool_root
from ..recording.values import amount_of, name_of, policy_of
from .conversations import after
from .exchange import Exchange, api_of
from .patches import patch
from .traces import current_trace, follow_frameworks, last_trace

OnError = Literal["warn", "raise"]
Policy = str | tuple[str, int] | None

RUN_VARIABLE = "ESPALIER_RUN"  # by which the processes that a program starts join its run
EXIT_S = 5.0  # that a program which ends is kept waiting for the server, at most
OPEN = 10_000  # rollouts that may go on; the one that was idle for longest ends

_UUID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")  # what is named by its id
TREE = "query ($tree: ID!) { tree(id: $tree) { runId } }"
ROLLOUT = "query ($rollout: ID!, $tree: ID!) { rollout(id: $rollout, tree: $tree) { id } }"

logger = logging.getLogger("espalier_rl")
_scope: ContextVar[Rollout | None] = ContextVar("espalier_rollout", default=None)  # of `with er.rollout()`
_sessions: weakref.WeakSet[Session] = weakref.WeakSet()  # of this process
_last: ContextVar[Rollout | None] = ContextVar("espalier_last", default=None)  # of the last call of this thread of work


class Rollout:
    """One rollout of a program: what it is called, and its calls. The first call gives a name to what has none."""

    def __init__(self, run: str, task: str | None = None, name: str | None = None, policy: Policy = None) -> None:
        self.run, self.task, self.name = run, task, name or new_id()
        self.is_named = name is not None
        self.policy = None if policy is None else policy_of(policy)
        self.pid = os.getpid()  # of the process that ends it
        self.ended = self.begun = False
        self.is_kept = self.is_lost = False  # whether a call of it is, and whether one is not
        self.called = 0.0  # when it made its last call
        self.failed: bytes | None = None  # what its last call asked, where that failed
        self.digests: set[bytes] = set()
        self.calls: list[Exchange] = []  # not yet written: a call is written behind those that began before it

    @property
    def place(self) -> dict[str, str]:
        return {"run": self.run, "task": self.task or "task", "rollout": self.name}


class _RunFirst(Connection):
    """Sends nothing before a run is on record: a call that names it would begin another one of that name."""

    def __init__(self, url: str, token: str | None, run: Run) -> None:
        super().__init__(url, token=token)
        self._first: Run | None = run
        self._is_ending = self._closed = False

    def json(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        if self._first is not None:
            self._send_first(self._first)
            self._first = None
        return super().json(method, path, body, **options)

    def close(self) -> None:
        self._closed = True
        super().close()

    def await_again(self, run: Run) -> None:
        """Has what follows wait for what the run recorded, which its end has left in its spool."""
        self._first, self._is_ending = run, True

    def _send_first(self, run: Run) -> None:
        spool = run.journal.spool
        if run.outcome is None:
            if self._is_ending:
                raise Unreachable(f"run {run.name!r} is being ended", code="unreachable")
            return run.journal.sender.wait(TRY_S)
        self.request("GET", "/healthz", retry_s=TRY_S)  # each try to send begins a segment
        if spool.acked >= spool.written or not spool.folder.exists():
            return
        if self._closed:
            raise Unreachable("the recording has ended", code="unreachable")
        try:
            left = recover(run.connect_again(), spool.folder)
            if left is not None:
                left.close(TRY_S)
        except EspalierError as error:  # also where the run holds the spool for a moment more
            raise error if isinstance(error, Unreachable) else Unreachable(error.message, remedy=error.remedy, code="unreachable") from error


class Session:
    """The recording of one process, until `close`."""

    def __init__(
        self,
        run: str | Run | None = None,
        *,
        policy: Policy = None,
        url: str | None = None,
        token: str | None = None,
        on_error: OnError = "warn",
        durable: Durable = "write",
        spool_bytes: int = LIMIT_BYTES,
    ) -> None:
        if on_error not in ("warn", "raise"):
            raise EspalierError(f"on_error is {on_error!r}", remedy="give 'warn' or 'raise'", field="on_error")
        own = self._own_run = run if isinstance(run, Run) else None
        self.connection = Connection(url, token=token)
        if own is not None:
            to = own.connect_again() if url is None else self.connection
            self.connection = _RunFirst(to.url, to.token, own)
            self.connection.spools = to.spools
        self.policy, self.on_error = policy, on_error
        named = own.id if own is not None else run or os.environ.get(RUN_VARIABLE)
        self.run = place_name(named or f"{_program()} {time.strftime('%Y-%m-%d %H:%M:%S')} {new_id()[-4:]}", "run")
        self._project: str | None = None  # that the key writes, once it is known
        self.refusing: dict[str, str] = {}  # what a model server is asked for at most, by host and model
        self._closes = named is None
        self._closed = False
        self._durable, self._spool_bytes = durable, spool_bytes
        self._root = spool_root(self.connection.spools)
        if on_error == "raise":
            self.connection.request("GET", "/healthz", retry_s=0)
            if own is not None:
                own.flush()
        self._leftovers = Leftovers(self.connection) if any(list_spools(self._root)) else None
        self._begin()
        if self._closes:
            os.environ[RUN_VARIABLE] = self.run
        follow_frameworks()
        self._undo = patch(self.begin)
        atexit.register(self._at_exit)
        _sessions.add(self)
        if own is not None:
            own.captures(self.end_tasks)

    def _begin(self) -> None:
        """What a process has of its own; also of one that was forked."""
        self._finalizer: Finalize[Any] | None = None
        self._log: CallLog | None = None
        self._lock = threading.RLock()
        self._failure: EspalierError | None = None
        self._lost = 0
        self._open: OrderedDict[str, Rollout] = OrderedDict()
        self._known: dict[bytes, Rollout] = {}  # by conversation
        self._tasks: set[str] = set()  # begun in the run
        self._embeddings = Rollout(self.run, "embeddings")  # those outside of rollouts

    # ---- calls

    def begin(self, request: Any) -> Exchange | None:
        """Returns the exchange of a request that asks a model; None for any other, and where it cannot be recorded."""
        if self._closed:
            return None
        try:
            api = api_of(request)
            if api is None:
                return None
            try:
                raw = request.content
                body = json.loads(raw)
            except (ValueError, RuntimeError):  # no JSON, or a body that is only read as it is sent
                return None
            if not isinstance(body, dict) or not isinstance(body.get("messages", body.get("input")), str | list):
                return None
            if self.on_error == "raise":
                self._check()
            exchange = Exchange(self, api, request, body, raw)
            self._own()
            with self._lock:
                if self._closed:
                    return None
                rollout = exchange.rollout = self._rollout_of(exchange)
                exchange.overlaps = any(call.line is None for call in rollout.calls)
                rollout.calls.append(exchange)
                rollout.begun = True
                rollout.digests.add(exchange.opening.digests[-1])
                if rollout.run == self.run and rollout.task:
                    self._tasks.add(rollout.task)
            if api != "embeddings":
                _last.set(rollout)
        except Exception as error:
            self._failed(error)
            return None
        return exchange

    def ended(self, exchange: Exchange, replies: list[list[Any]], response_id: str | None, *, failed: bool) -> None:
        """Writes a call that has its line, and those that waited for it."""
        try:
            with self._lock:
                rollout = exchange.rollout
                rollout.failed = exchange.asked if failed else None
                for said in replies:
                    digest = exchange.opening.digests[-1]
                    for message in said:
                        digest = after(digest, message)
                    self._know(rollout, digest)
                if response_id is not None:
                    self._know(rollout, response_id.encode())
                while rollout.calls and rollout.calls[0].line is not None:
                    self._write(rollout.calls.pop(0))
        except Exception as error:
            self._failed(error)

    def _know(self, rollout: Rollout, digest: bytes) -> None:
        rollout.digests.add(digest)
        self._known[digest] = rollout

    def _write(self, exchange: Exchange) -> None:
        rollout = exchange.rollout
        if exchange.line is None or rollout.ended:
            return
        is_kept = False
        try:
            is_kept = self._keep(lambda log: log.append(exchange.line or b""))
        finally:  # also where that raises
            rollout.is_kept |= is_kept
            rollout.is_lost |= not is_kept

    def _rollout_of(self, exchange: Exchange) -> Rollout:
        opening = exchange.opening
        scope = _scope.get()
        if exchange.api == "embeddings":  # no conversation: it is kept with the rollout that goes on, and begins none
            open_ones = [each for each in (scope, _latest()) if each is not None and each.begun and not each.ended]
            self._embeddings = Rollout(self.run, "embeddings") if self._embeddings.ended else self._embeddings
            rollout = (open_ones or [self._embeddings])[0]
        else:
            trace = current_trace()
            within = (scope, None if trace is None else trace.rollout)
            named = [each for each in within if each is not None and not each.ended]
            rollout = (named[0] if named else self._continued(exchange)) or Rollout(self.run, policy=self.policy)
            if trace is not None:
                trace.rollout = rollout
            rollout.called = time.monotonic()
        rollout.task = rollout.task or opening.task
        self._open[rollout.name] = rollout
        self._open.move_to_end(rollout.name)
        if len(self._open) > OPEN:
            self._leave(next(iter(self._open.values())))
        return rollout

    def _continued(self, exchange: Exchange) -> Rollout | None:
        """Finds the rollout whose conversation a request goes on with: that of the last call of this thread of work first."""
        last, opening = _latest(), exchange.opening
        if last is not None and last.failed is not None and last.failed == exchange.asked and not last.ended:
            return last  # clients ask again what failed
        keys = [opening.previous.encode()] if isinstance(opening.previous, str) else opening.digests[:1:-1]
        for key in keys:
            rollout = last if last is not None and key in last.digests and key in self._known else self._known.get(key)
            if rollout is not None and not rollout.ended:
                return rollout
        return None

    # ---- what programs say

    def current(self) -> Rollout:
        """Returns the rollout of this thread of work. Raises EspalierError where it made no call."""
        for rollout in (_scope.get(), _latest()):
            if rollout is not None and rollout.begun and not rollout.ended:
                return rollout
        remedy = "call a model first, or name the rollout: with er.rollout() as rollout"
        raise EspalierError("this thread of work has no rollout that is open", remedy=remedy, field="rollout", code="ended")

    def id_of(self, rollout: Rollout) -> str:
        """Returns the id of a rollout on record: its own where a program named one by its id, else it follows from its names as the server derives it."""
        run_id = rollout.run
        if not _UUID.fullmatch(run_id):
            if self._project is None:
                self._project = str(self.connection.graphql("{ viewer { project } }")["viewer"]["project"])
            run_id = derived_id("captured-run", self._project, run_id)
        task, name = rollout.task or "", rollout.name
        is_tree = _UUID.fullmatch(task) and (self.connection.graphql(TREE, {"tree": task})["tree"] or {}).get("runId") == run_id
        tree_id = task if is_tree else derived_id("tree", run_id, task)
        if rollout.is_named and _UUID.fullmatch(name) and self.connection.graphql(ROLLOUT, {"rollout": name, "tree": tree_id})["rollout"]:
            return name
        return derived_id("rollout", tree_id, name)

    def reward(self, rollout: Rollout, value: float, component: str, step: bool, observation: str | None) -> None:
        more: dict[str, Any] = {} if observation is None else {"observation": observation}
        try:
            amount, component = amount_of(value, "reward"), name_of(component, "component")
        except EspalierError as error:
            self._lost += 1
            return self._failed(error)
        self._say(rollout, "reward", value=amount, component=component, of="step" if step else "rollout", **more)

    def end(self, rollout: Rollout, *, outcome: str = "terminated", success: bool | None = None, observation: str = "", reason: str = "") -> None:
        outcome_of(outcome)
        with self._lock:
            if rollout.begun and not rollout.ended:
                for exchange in list(rollout.calls):
                    exchange.finish()
                succeeded = None if success is None else bool(success)
                self._say(rollout, "end", outcome=outcome, success=succeeded, observation=observation, reason=reason[:10_000])
            rollout.ended = True
            self._open.pop(rollout.name, None)
            for digest in rollout.digests:
                if self._known.get(digest) is rollout:
                    del self._known[digest]

    def _leave(self, rollout: Rollout) -> None:
        """Ends a rollout that this process began; of another one it writes what calls it made."""
        if rollout.pid == os.getpid():
            return self.end(rollout)
        for exchange in list(rollout.calls):
            exchange.finish()
        self._open.pop(rollout.name, None)

    def _say(self, rollout: Rollout, kind: str, **fields: Any) -> None:
        with self._lock:
            waiting, rollout.calls = rollout.calls, []
            for exchange in waiting:
                self._write(exchange)
            rollout.calls = [exchange for exchange in waiting if exchange.line is None]
        if rollout.is_lost and not rollout.is_kept and not rollout.calls:
            self._lost += 1  # the server has nothing that it could be said of
            said = f"the {kind} of rollout {rollout.name!r} cannot be recorded, as none of its calls could be"
            self._failed(EspalierError(said, remedy="repair what the error or the warning of its call names", field="rollout", code="lost"))
        else:
            self._keep(lambda log: log.say(kind, **rollout.place, **fields))

    def _keep(self, write: Callable[[CallLog], object]) -> bool:
        return not self._closed and self._try(write)

    def _try(self, write: Callable[[CallLog], object]) -> bool:
        """Returns whether it is kept."""
        try:
            self._own()
            write(self._opened())
        except Exception as error:
            self._lost += 1
            self._failed(error)
            return False
        return True

    def _opened(self) -> CallLog:
        with self._lock:
            if self._log is None:
                log = self._new_log()
                log.open()
                self._log = log
            return self._log

    def _new_log(self) -> CallLog:
        folder = self._root / f"{FOLDER}{new_id()}"
        options: dict[str, Any] = {"closes": self._closes, "durable": self._durable, "limit_bytes": self._spool_bytes}
        try:
            return CallLog(self.connection, folder, self.run, **options)
        except EspalierError as error:
            try:
                elsewhere = Path(tempfile.mkdtemp(prefix=FOLDER))
            except OSError:  # a full disk holds both: the log says that calls are in memory
                return CallLog(self.connection, folder, self.run, has_folder=False, **options)
            try:
                log = CallLog(self.connection, elsewhere, self.run, **options)
            except EspalierError:
                shutil.rmtree(elsewhere, ignore_errors=True)
                return CallLog(self.connection, folder, self.run, has_folder=False, **options)
            logger.warning("%s; until then calls are kept in %s, which no later process looks for", error, elsewhere)
            return log

    # ---- the end

    def end_tasks(self, rollouts: str, run_ends: dict[str, str] | None, timeout_s: float, away_s: float | None) -> EspalierError | None:
        """Closes the tasks of the run behind their calls, and waits until the server has them. Returns why it does not: then the run is
        ended behind them too, by `run_ends`."""
        if not self._tasks:
            return None
        for task in sorted(self._tasks):
            self._try(functools.partial(CallLog.say, kind="close", run=self.run, task=task, rollouts=rollouts))
        log = self._log
        try:
            if log is not None:
                log.sender.wait(timeout_s, away_s=away_s)
                log.sender.check()
            return None
        except Unreachable as error:
            if self._own_run is not None and isinstance(self.connection, _RunFirst):
                self.connection.await_again(self._own_run)
            if run_ends is not None:
                ends = run_ends
                self._try(lambda log: log.say("close", run=self.run, **ends))
            return error
        finally:
            if self._closed and log is not None:
                self._log = None
                with contextlib.suppress(Unreachable):
                    log.close(0)
                self.connection.close()

    def flush(self, timeout_s: float = 60) -> None:
        """Returns when the server has all calls that have ended. Raises EspalierError with what it refused, or Unreachable."""
        if self._log is not None:
            self._log.sender.flush(timeout_s)

    def send(self, timeout_s: float = 60) -> None:
        """Returns when all calls that have ended are sent, also where some were set aside. Raises EspalierError, or Unreachable."""
        if self._log is not None:
            self._log.sender.wait(timeout_s)

    def close(self, fault: BaseException | None = None) -> None:
        """Stops recording: the clients are as they were, what is open ends, and the run with it where the process named it, as failed by `fault`."""
        self._undo()
        atexit.unregister(self._at_exit)
        if os.environ.get(RUN_VARIABLE) == self.run and self._closes:
            del os.environ[RUN_VARIABLE]
        raises, self.on_error = self.on_error == "raise", "warn"
        with self._lock:
            for rollout in list(self._open.values()):
                self._leave(rollout)
            if self._closes and self._log is not None:
                failed = {"outcome": "failed", "message": repr(fault)[:10_000]} if fault is not None else {}
                self._keep(lambda log: log.say("close", run=self.run, **failed))
            self._closed = True
            log, self._log = self._log, None
        if self._finalizer is not None:
            self._finalizer.cancel()
        if self._lost:
            logger.warning("%d calls, rewards or ends could not be recorded: %s", self._lost, self._failure)
        if log is None:
            return
        try:
            log.close(EXIT_S)
            log.sender.check()
        except EspalierError as error:
            if raises:
                raise
            logger.warning("not all calls of models are recorded: %s", error)
        finally:
            self.connection.close()

    def _at_exit(self) -> None:
        interactive = hasattr(sys, "ps1")  # there `last_value` is of any line, or cell, that raised
        try:
            self.close(None if interactive else getattr(sys, "last_value", None))
        except EspalierError as error:
            logger.warning("not all calls of models are recorded: %s", error)

    def _own(self) -> None:
        """Has the recording end with its process: one of multiprocessing ends without atexit, and forgets what was registered before it began."""
        if self._finalizer is None:
            self._finalizer = Finalize(None, self._at_exit, exitpriority=1)

    def after_fork(self) -> None:
        """Leaves spool, calls and rollouts to the process that forked this one, and the end of the run to who began it."""
        if self._log is not None:
            self._log.spool.forget()
        for rollout in self._open.values():
            rollout.calls = []
        self._closes = False
        self._begin()

    def _check(self) -> None:
        """Raises what is known before a call: that it could not be recorded."""
        if self._log is not None:
            self._log.spool.check()
            self._log.sender.check()
            if self._log.sender.away is not None:
                raise self._log.sender.away

    def _failed(self, error: Exception) -> None:
        """Takes note of what could not be recorded: the first is said at once, how many there were at the end."""
        failure = error if isinstance(error, EspalierError) else EspalierError(f"a call could not be recorded: {error!r}", code="fault")
        if self.on_error == "raise":
            raise failure from (error.__cause__ if failure is error else error)
        first, self._failure = self._failure is None, self._failure or failure
        if first:
            logger.warning("calls of models are not recorded: %s", failure)


def _latest() -> Rollout | None:
    """Returns the rollout of the last call that this thread of work made, itself or by an agent that it ran."""
    trace = last_trace()
    latest = [each for each in (_last.get(), None if trace is None else trace.rollout) if each is not None]
    return max(latest, key=lambda rollout: rollout.called, default=None)


def _forked() -> None:
    for session in list(_sessions):
        session.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _program() -> str:
    name = os.path.basename(sys.argv[0] if sys.argv else "")[:100]
    return "".join(each for each in name if each.isprintable()) or "python"
