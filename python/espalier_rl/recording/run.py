"""A run: what a program records between its beginning and its end."""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import sys
import threading
import time
import uuid
import warnings
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, overload

from ..connection import Connection
from ..coroutines import for_coroutines
from ..errors import EspalierError
from .episode import Episode, is_success
from .group import Group
from .ids import new_id, run_id_of
from .journal import Draft, Journal, State, recorder_left, run_finished, tree_closed
from .leftovers import Leftovers
from .pictures import Pictures, read_pictures
from .recorder import Recorder, choose_recorder, own_recorder
from .resume import Recorded, RecordedTree, read_recorded, read_totals
from .rollouts import Decorator, P, R, T, decorate
from .search import SearchTree
from .spool import LIMIT_BYTES, Durable, Full, Spool, spool_root
from .task import Task, digest_of, named, task_of
from .tree import Place, Tree
from .values import LARGEST_ID, Json, amount_of, count_of, json_of, name_of, now, policy_name_of, policy_of, refuse, sha256_of, shown, text_of

if TYPE_CHECKING:
    from ..analysis import Event

PRODUCER = "espalier-rl"
RENDERER_BYTES = 64 * 1024  # RENDERER_LIMIT of src/events/schemas/runs.ts
OUTCOMES = ("completed", "failed", "cancelled")
WAIT_S = 60.0  # that the end of a run waits for the server, unless given
EXIT_S = 5.0  # that a program which ends is kept waiting for servers, at most, whatever number of runs it left open

logger = logging.getLogger("espalier_rl")
_exit_ends: list[float] = []  # when the waiting of this process is over, once it ends
_runs: weakref.WeakValueDictionary[tuple[str, str], Run] = weakref.WeakValueDictionary()  # of this process, by server and id

# rollouts without an end end so; how the run ends where they cannot be sent; seconds to wait, and for a server that is not reached
EndCalls = Callable[[str, Json | None, float, float | None], EspalierError | None]


class Handle(NamedTuple):
    """What a process needs to record into a run: a run that is pickled is this, and goes on elsewhere as the same run."""

    url: str
    token: str | None
    server: str  # by which its spools are kept
    spools: str | None  # the folder that the program gave for them
    started: Json  # the data of its RunStarted
    key: str | None
    policy: Json
    scorer: Json
    wait_s: float | None
    spool: Mapping[str, Any]  # options of its spool

    def open(self) -> Run:
        """Joins the run, or returns it where this process has it."""
        run = _runs.get((self.url, self.started["runId"]))
        return Run._of(self) if run is None or run.outcome is not None else run


class Run:
    """A run that is being recorded; `db.run(...)` returns it. Within `with db.run(...) as run:` (or `async with`) it is ended: `completed`,
    or `failed` by an exception or where every rollout failed. The end waits until the server has everything, for at most `wait_s`
    seconds (60, and 5 for a server that is not reached); what it does not have then stays in the spool, and the next `er.connect()` sends it. A program that ends without ending its
    run has what it recorded sent, too, for at most 5 seconds.

    Any number of processes record into one run, each over a spool of its own: who names its `key`, who has the run pickled, and who is
    forked. A run with a key is left at the end of its block, and ends when all have left; `end` ends it at once."""

    def __init__(
        self,
        connection: Connection,
        leftovers: Leftovers,
        name: str,
        *,
        policy: str | tuple[str, int] | None = None,
        key: str | None = None,
        recorder: str | None = None,
        take_over: bool = False,
        training: bool | str = False,
        environment: str = "external",
        fingerprint: str = "unversioned",
        renderer: str | Path | None = None,
        seed: int = 0,
        config: Mapping[str, Any] | None = None,
        code_version: str | None = None,
        scorer: str | None = None,
        experiment: str | None = None,
        durable: Durable = "write",
        spool_bytes: int = LIMIT_BYTES,
        full: Full = "block",
        wait_s: float | None = None,
    ) -> None:
        if key is None and (recorder is not None or take_over):
            raise EspalierError("recorder and take_over belong to a run with a key", remedy="give key= as well", field="key")
        acting = policy_of(policy if policy is not None else name)
        world = {"environment": name_of(environment, "environment"), "fingerprint": name_of(fingerprint, "fingerprint")}
        scored, _, revision = text_of(scorer or "", "scorer").partition("@")
        said_scorer: Json = {"name": environment, "revision": fingerprint}
        if scorer:
            said_scorer = {"name": name_of(scored, "scorer"), "revision": name_of(revision or "1", "scorer")}
        started: Json = {
            "runId": new_id() if key is None else run_id_of(name_of(key, "key")),
            "experimentId": None if experiment is None else _uuid(experiment, "experiment"),
            "name": name_of(name, "name"),
            "kind": "external",
            "seed": _seed(seed),
            "codeVersion": name_of(code_version or _program(), "code_version"),
            "config": _config(config, training, acting),
            "environments": [{**world, **_renderer(renderer)}],
            "policy": acting if policy is not None else None,
        }
        spool = {"durable": durable, "limit_bytes": spool_bytes, "full": full}
        self._take(Handle(connection.url, connection.token, connection.spools, leftovers.folder, started, key, acting, said_scorer, wait_s, spool), connection)
        if key is None:
            self._open([Draft("RunStarted", self.id, self.id, started, now())])
        else:
            given = {"codeVersion": code_version is not None, "experimentId": experiment is not None}
            leftovers.wait(self.id, connection.retry_s)  # what an earlier process recorded of it comes first
            self._join(recorder, take_over, given)
        _runs[connection.url, self.id] = self

    @classmethod
    def _of(cls, handle: Handle) -> Run:
        run = cls.__new__(cls)
        run._take(handle, Connection(handle.url, token=handle.token))
        run._become_own()
        _runs[handle.url, run.id] = run
        return run

    def _take(self, handle: Handle, connection: Connection) -> None:
        self._handle, self._connection = handle, connection
        started = handle.started
        self.id: str = started["runId"]
        self.name: str = started["name"]
        self.seed: int = started["seed"]
        self.environment: str = started["environments"][0]["environment"]
        self.fingerprint: str = started["environments"][0]["fingerprint"]
        self.key, self.policy, self.scorer = handle.key, handle.policy, handle.scorer
        self.wait_s: float = WAIT_S if handle.wait_s is None else handle.wait_s
        self._away_s = EXIT_S if handle.wait_s is None else None
        self.outcome: str | None = None
        self._recorder: Recorder | None = None  # None: it began the run, alone
        self._recorded: Recorded | None = None
        self._is_shared = False
        self._forget()

    def _forget(self) -> None:
        """Begins without what a process records: for the process itself, and for one that it forks."""
        self._journal: Journal | None = None
        self._opening = threading.RLock()
        self._trees: list[Tree | SearchTree] = []  # that are open
        self._begun: dict[str, int] = {}  # how often a task was begun, by alias
        self._episodes: dict[str, str] = {}  # ids of the program's own → rollout
        self._singles: dict[tuple[object, ...], Tree] = {}  # by all that is recorded of their tasks
        self._groups: dict[str, Group] = {}  # that others record too, by their ids
        self._captured: list[EndCalls] = []  # end the tasks of which calls are captured

    def _become_own(self) -> None:
        """Records from now on what this process does alone, next to whoever else records into the run."""
        self._forget()
        self._recorder, self._recorded, self._is_own = own_recorder(), None, True

    _is_own = False  # it has the run by a handle or a fork: nobody leaves it for the program

    def _join(self, name: str | None, take_over: bool, given: Mapping[str, bool]) -> None:
        """Joins the run of a key. What it begins with is sent before anything else, as only the server knows who was first."""
        is_taken = False
        while True:
            recorded = self._recorded = read_recorded(self._connection, self.id)
            drafts: list[Draft] = []
            if recorded is None:
                drafts.append(Draft("RunStarted", self.id, self.id, self._handle.started, now()))
            else:
                self._check_same(recorded, given)
            self._recorder, ends = choose_recorder(self.id, name, recorded, is_taken=is_taken, take_over=take_over)
            if recorded is not None and recorded.finished:
                return self._open([])
            self._open([*drafts, *ends, self._recorder.joined(self.id)])
            try:
                return self.journal.sender.flush(self._connection.retry_s)
            except BaseException as error:
                journal, self._journal = self.journal, None
                journal.discard()
                if not isinstance(error, EspalierError) or error.status != 409:
                    raise
                is_taken = is_taken or journal.is_refused_to_join(error)

    def _open(self, drafts: Sequence[Draft]) -> None:
        """Opens the spool of this process, with what it begins with."""
        recorder = self._recorder
        folder = spool_root(self._handle.server, self._handle.spools) / (self.id if recorder is None else f"{self.id}.{recorder.session}")
        said: Json = {"producer": {"name": PRODUCER if recorder is None else f"{PRODUCER}/{recorder.session[-12:]}", "version": _version()}}
        said["run"] = {"runId": self.id, "name": self.name}
        if recorder is not None:
            said["recorder"] = {"id": recorder.id, "continued": recorder.continued}
        said["finished"] = not drafts  # there is nothing to end
        journal = Journal(self._connection, Spool(folder, **self._handle.spool), State(said))
        try:
            journal.open()
            journal.emit(drafts)
        except BaseException:
            journal.sender.stop()
            journal.spool.close(delete=False)
            raise
        self._journal = journal
        atexit.register(self._end_with_process)
        processes = sys.modules.get("multiprocessing.util")
        if self._is_own and processes is not None:
            processes.Finalize(None, self._end_with_process, exitpriority=0)  # a process of multiprocessing ends without atexit

    @property
    def journal(self) -> Journal:
        """What this process puts on record of the run."""
        with self._opening:
            if self._journal is None and self._recorder is not None:
                # who has a handle may be on record before who gave it
                started = Draft("RunStarted", self.id, self.id, self._handle.started, now())
                self._open([started, self._recorder.joined(self.id, ended_by_opener=self.key is None)])
        assert self._journal is not None
        return self._journal

    def __reduce__(self) -> tuple[Callable[[Handle], Run], tuple[Handle]]:
        self._is_shared = True
        return Handle.open, (self._handle,)

    def group(self, task: Any, n: int = 1, *, id: str | None = None) -> Group:
        """Begins `n` episodes of a task: a text, a row of a data set, or `er.Task`. The same task again is another group. With an `id` of
        the program's own it is one group in every process of the run that names it, whose members each takes by their numbers:
        `run.group(task, 8, id=uid).member(3)`. It is closed when all its members have ended."""
        n = count_of(n, "n", least=1)
        with self.journal.lock:
            self._check_going()
            if id is None:
                return Group(self._open_tree(*_read(task), n), n)
            shared = self._groups.get(name_of(id, "id"))
            if shared is None:
                shared = self._groups[id] = Group(Tree(self, *_read(task), n, group=id), n, id)
            return shared

    def episode(self, task: Any, *, id: str | None = None) -> Episode:
        """Begins one episode of a task, in the one group of such episodes that the task has in the run: a row that differs in its question,
        ground truth, pictures, actions or whatever else is recorded of a task has a group of its own. `id` is a name of the program's own
        for the episode: a second one of that id is refused."""
        with self.journal.lock:
            self.check_open()
            if id is not None and (name_of(id, "id") in self._episodes or self._has_recorded(id)):
                remedy = "give each episode an id of its own, or none: then one is derived"
                raise EspalierError(f"the run has an episode {id!r} already", remedy=remedy, field="id", code="recorded")
            read, pictures = _read(task)
            actions = None if read.actions is None else tuple(read.actions)
            same = (read.alias, digest_of(read, _images(pictures)), read.split, read.depth, actions)
            tree = self._singles.get(same)
            if tree is None or tree.closed:
                tree = self._singles[same] = self._open_tree(read, pictures, 1)
            tree.counted += 1
            episode = self.begin_episode(tree, tree.root, id)
            if id is not None:
                self._episodes[id] = episode.id
            return episode

    def tree(self, task: Any, *, planned: int = 0) -> SearchTree:
        """Begins a search of a task: nodes that are expanded, and values that are backed up. In a run that is gone on with by its key, one
        that is on record comes `closed`, and one that was cut short begins again."""
        with self.journal.lock:
            self._check_going()
            read = _read(task)
            made = self._new_tree(*read, planned)
            recorded = self._recorded_tree(made)
            while recorded is not None and not recorded.closed:  # a search that was cut short is not gone on with: it begins again
                self.journal.emit([tree_closed(made.id, "failed", recorded.next, now())])
                made = self._new_tree(*read, planned)
                recorded = self._recorded_tree(made)
            made.begun = made.closed = recorded is not None
            tree = SearchTree(made)
            if not tree.closed:
                self._trees.append(tree)
            return tree

    @overload
    def rollout(  # type: ignore[overload-overlap]
        self, fn: Callable[Concatenate[Episode, T, P], Coroutine[Any, Any, R]], *, group: int = 1, at_once: int | None = None
    ) -> Callable[Concatenate[T, P], Coroutine[Any, Any, list[R | Exception]]]: ...
    @overload
    def rollout(
        self, fn: Callable[Concatenate[Episode, T, P], R], *, group: int = 1, at_once: int | None = None
    ) -> Callable[Concatenate[T, P], list[R | Exception]]: ...
    @overload
    def rollout(self, fn: None = None, *, group: int = 1, at_once: int | None = None) -> Decorator: ...
    def rollout(self, fn: Callable[..., Any] | None = None, *, group: int = 1, at_once: int | None = None) -> Any:
        """Makes a function of an episode and a task one that records a group: `@run.rollout(group=8)`, then `solve(task)`. See
        `espalier_rl.recording.rollouts`."""
        if fn is None:
            return lambda wrapped: decorate(self, wrapped, group, at_once)
        return decorate(self, fn, group, at_once)

    def metric(self, name: str, value: float, at: int | None = None, *, weights: str | None = None) -> None:
        """Records a number of the run: a loss, a rate; `at` is the step or update that it belongs to, `weights` the SHA-256 (hex) of the
        weights at that step."""
        belongs = None if at is None else count_of(at, "at", most=2**53 - 1)
        data = {"runId": self.id, "metric": name_of(name, "name"), "value": amount_of(value, "value"), "at": belongs}
        if weights is not None:
            data["weights"] = sha256_of(weights, "weights")
        with self.journal.lock:
            self.check_open()
            number = self.journal.state.sequences.get(self.id, 0)
            self.journal.emit([Draft("MetricRecorded", self.id, f"{self.id}/{self.journal.state.producer['name']}/{number}", data, now())])

    aepisode, atree, ametric = for_coroutines(episode), for_coroutines(tree), for_coroutines(metric)

    def tail(self, *, types: Sequence[str] | None = None, after: str | None = None) -> AsyncIterator[Event]:
        """Events of the run as the server takes them: `async for event in run.tail()`. See `Database.run_tail`."""
        from ..analysis import tail

        return tail(self._connection, run=self.id, types=types, after=after)

    def flush(self, timeout_s: float | None = None) -> None:
        """Returns when the server has all that was recorded. Raises EspalierError with what it refused, or Unreachable."""
        self.journal.sender.flush(self.wait_s if timeout_s is None else timeout_s)

    async def aflush(self, timeout_s: float | None = None) -> None:
        """`flush` for a coroutine."""
        await asyncio.to_thread(self.flush, timeout_s)

    def end(self, outcome: str = "completed", message: str = "") -> None:
        """Ends the run at once, whoever still records into it. Raises EspalierError `ended` where it ended otherwise."""
        journal = self.journal
        self.close(outcome, message)
        if self._recorder is not None:
            totals = read_totals(self._connection, self.id)
            try:
                self._connection.json("POST", "/v1/events", journal.event_of(run_finished(self.id, outcome, message, totals, now())))
            except EspalierError as error:
                if error.status != 409:
                    raise
                remedy = "an end that is on record stays as it is"
                raise EspalierError(f"run {self.name!r} has ended otherwise", remedy=remedy, field="run", status=409, code="ended") from None

    aend = for_coroutines(end)

    def close(self, outcome: str | None = None, message: str = "") -> None:
        """Ends the run, or leaves it where others record into it too: one with a key, or of a handle. Without `outcome` it is `completed`,
        or `failed` where every rollout failed. Episodes of this process that are open are ended with it: as failed where the run
        failed, else as cancelled."""
        if self.outcome is not None:
            return
        if outcome is not None and outcome not in OUTCOMES:
            refuse("outcome", f"outcome is {shown(outcome)}", f"give one of {', '.join(OUTCOMES)}, or leave it out")
        text_of(message, "message")
        if self._journal is None:  # it has a handle, and recorded nothing
            self.outcome = outcome or "completed"
            return
        journal = self._journal
        unsent: EspalierError | None = None
        try:
            ending = outcome or "completed"
            unsent = self._end_captured(outcome, {"outcome": ending, "message": message[:10_000]})
            with journal.lock:
                why = message or "the run ended before the episode did"
                for tree in [*self._trees, *(group._tree for group in self._groups.values())]:
                    self._end_tree(tree, "failed" if ending == "failed" else "cancelled", why)
                if unsent is None or self._recorder is not None:
                    self._finish(outcome, message)
                else:
                    journal.end_behind_calls()
                self.outcome = self.outcome or ending
            journal.spool.sync()
        finally:
            self.outcome = self.outcome or "failed"
            atexit.unregister(self._end_with_process)
            journal.close(self._left(), away_s=self._away_s if unsent is None else 0)
        journal.sender.check()
        if unsent is not None:
            raise unsent

    async def aclose(self, outcome: str | None = None, message: str = "") -> None:
        """`close` for a coroutine."""
        await asyncio.to_thread(self.close, outcome, message)

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is None or is_success(error):
            return self.close()
        try:
            self.close("cancelled" if isinstance(error, KeyboardInterrupt) else "failed", f"{type(error).__name__}: {error}")
        except EspalierError as second:  # the first error is the one to see
            if second is not error and str(second) != str(error):
                warnings.warn(f"the end of run {self.name!r} was not sent: {second}", stacklevel=2)

    async def __aenter__(self) -> Run:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, trace)

    def __repr__(self) -> str:
        return f"Run({self.name!r}, id={self.id!r}, outcome={self.outcome!r})"

    def _repr_html_(self) -> str:
        from ..analysis.page import page, text

        state = self.outcome or f"{len(self._trees)} trees of this process are open"
        return page(f"run {self.name}", [f'<p>{text(state)} · <a href="{text(self.url)}">{text(self.id)}</a></p>'])

    @property
    def url(self) -> str:
        """Where the run is shown."""
        return f"{self._connection.url}/view/run/{self.id}"

    def _end_with_process(self) -> None:
        if self.outcome is not None or self._journal is None:
            return
        if not _exit_ends:
            _exit_ends.append(time.monotonic() + EXIT_S)
        try:
            if self._is_own:
                return self.close()
            self.flush(self._left())
        except EspalierError as error:
            logger.warning("run %r was not ended, and not all of it is sent: %s", self.name, error)

    def _left(self) -> float:
        """Seconds that an end may wait for the server."""
        return max(0.0, min([self.wait_s, *(until - time.monotonic() for until in _exit_ends)]))

    def _after_fork(self) -> None:
        """Leaves what was opened to the process that forked this one; this one records next to it, from its first event on."""
        if self._journal is not None:
            self._journal.spool.forget()
        if self.outcome is None:
            self._connection = Connection(self._handle.url, token=self._handle.token)
            self._become_own()

    # ---- for what belongs to the run

    def check_open(self) -> None:
        """Raises EspalierError where nothing more may be recorded: the run has ended, or the server refused what was."""
        self._check_going()
        if self._recorded is not None and self._recorded.finished:
            remedy = "give another key for a new run; a run that is finished is never gone on with"
            said = f"run {self.name!r} of the key {self.key!r} is finished, and something new was to be recorded"
            raise EspalierError(said, remedy=remedy, field="key", code="ended")

    def _check_going(self) -> None:
        if self.outcome is not None:
            remedy = "record within `with db.run(...)`, or begin another run"
            raise EspalierError(f"run {self.name!r} has ended ({self.outcome})", remedy=remedy, field="run", code="ended")
        self.journal.spool.check()

    def begin_episode(self, tree: Tree, start: Place, named: str | None = None, *, member: int | None = None, policy: str | tuple[str, int] | None = None) -> Episode:
        rollout_id, ordinal, drafts = tree.start_rollout(start, named, member, self.policy if policy is None else policy_of(policy))
        self.journal.emit(drafts)
        tree.next += 1
        episode = tree.open[rollout_id] = Episode(tree, start, rollout_id, ordinal)
        return episode

    def connect_again(self) -> Connection:
        """A connection of its own to the server that the run is recorded by."""
        again = Connection(self._connection.url, token=self._connection.token)
        again.spools = self._handle.server
        return again

    def captures(self, end: EndCalls) -> None:
        """Has the end of the run end the tasks of which calls are captured."""
        self._captured.append(end)

    def _end_captured(self, outcome: str | None, run_ends: Json) -> EspalierError | None:
        """Ends captured tasks, and where the server is not reached the run behind them. Returns why they are not sent."""
        if self.key is not None and outcome == "failed":
            return None  # whoever names the key again continues it
        unsent: EspalierError | None = None
        for end in self._captured:
            rollouts = outcome if outcome in ("failed", "cancelled") else "terminated"
            unsent = end(rollouts, None if self._recorder is not None else run_ends, self._left(), self._away_s) or unsent
        return unsent

    def tree_ended(self, tree: Tree | SearchTree) -> None:
        if tree in self._trees:
            self._trees.remove(tree)

    def _open_tree(self, task: Task, pictures: Pictures, planned: int) -> Tree:
        tree = self._new_tree(task, pictures, planned)
        recorded = self._recorded_tree(tree)
        if recorded is not None:
            tree.begun, tree.next, tree.counted, tree.closed = True, recorded.next, recorded.counted, recorded.closed
        self._trees = [each for each in self._trees if not each.closed]
        self._trees.append(tree)
        return tree

    def _new_tree(self, task: Task, pictures: Pictures, planned: int) -> Tree:
        occurrence = self._begun.get(task.alias, 0)
        tree = Tree(self, task, pictures, planned, occurrence)
        self._begun[task.alias] = occurrence + 1
        return tree

    @property
    def recorder(self) -> str:
        """The name under which this process records: empty for who began the run, and for who goes on with what that one left."""
        return self._recorder.name if self._recorder is not None else ""

    def _continued(self) -> Recorded | None:
        """Returns what is on record where an earlier recorder of the name may have begun what this one begins."""
        goes_on = self._recorded is not None and self._recorder is not None and (self._recorder.turn > 0 or self._recorded.finished)
        return self._recorded if goes_on else None

    def _has_recorded(self, episode: str) -> bool:
        recorded = self._continued()
        return recorded is not None and recorded.has_episode(episode)

    def has_member(self, tree: Tree, ordinal: int) -> bool:
        """Whether an earlier recorder of the name began a member of a group."""
        recorded = self._recorded_tree(tree)
        return recorded is not None and ordinal in recorded.ordinals

    def _recorded_tree(self, tree: Tree) -> RecordedTree | None:
        continued = self._continued()
        recorded = None if continued is None else continued.tree(tree.id)
        is_own = not tree.group  # what is open in a group that others record too may be theirs
        if recorded is not None and recorded.open and is_own and continued is not None and not continued.finished:
            self.journal.emit(recorded.interrupted(tree.id))
        return recorded

    def _end_tree(self, tree: Tree | SearchTree, outcome: str, why: str) -> None:
        if tree.closed:
            return
        if isinstance(tree, SearchTree):
            return tree.close("failed" if outcome == "failed" else "completed")
        continued = self._is_continued() and outcome == "failed"  # whoever names the key again continues the tree
        ended_all = not tree.open and tree.counted >= tree.planned
        for episode in list(tree.open.values()):
            if episode.steps and episode._ended_by_step:
                episode.finish()
            else:
                episode._end("cancelled" if continued else outcome, None, why)
        if not tree.closed and not tree.group and not continued and not self._is_over():
            self.journal.emit(tree.closing("completed" if ended_all else outcome))
            tree.closed = True

    def _is_continued(self) -> bool:
        return self._recorder is not None and self._recorder.continued

    def _is_over(self) -> bool:
        return self._recorded is not None and self._recorded.finished

    def _finish(self, outcome: str | None, message: str) -> None:
        if self._is_over():
            return
        if self._recorder is not None:
            return self.journal.emit([recorder_left(self.id, self._recorder.id, outcome or "completed", message, now())])
        totals = self._all_totals() if self._is_shared else self.journal.state.totals
        if outcome is None and totals["rollouts"] > 0 and totals["failed"] == totals["rollouts"]:
            outcome, message = "failed", f"every rollout failed; the first: {self.journal.state.reason}"
        self.outcome = outcome or "completed"
        self.journal.emit([run_finished(self.id, self.outcome, message, totals, now())])

    def _all_totals(self) -> dict[str, int]:
        """Returns what all who have a handle recorded; where the server is away, what this process did."""
        try:
            self.journal.sender.wait(self._left(), away_s=self._away_s)
            if _exit_ends:  # no answer is waited for longer than the end of the process may take
                left = max(0.1, self._left())
                with Connection(self._connection.url, token=self._connection.token, timeout_s=left, retry_s=0) as last:
                    return read_totals(last, self.id)
            return read_totals(self._connection, self.id)
        except EspalierError:
            return self.journal.state.totals

    def _check_same(self, recorded: Recorded, given: Mapping[str, bool]) -> None:
        """Refuses what differs from what the run was begun with. Its program and its experiment are compared where they are given."""
        for field, value in recorded.said.items():
            own = self._handle.started[field]
            if field == "environments":
                own = [{name: each[name] for name in ("environment", "fingerprint")} for each in own]
            if own == value or not given.get(field, True):
                continue
            name = _OPTIONS.get(field, field)
            said = f"the run of the key {self.key!r} was begun with {name} {shown(value)}, and this is {shown(own)}"
            raise EspalierError(said, remedy="give the same again, or another key for another run", field=name, code="conflict")


_OPTIONS = {"codeVersion": "code_version", "experimentId": "experiment", "environments": "environment"}


def _forked() -> None:
    for run in list(_runs.values()):
        run._after_fork()


def _forking() -> None:
    for run in list(_runs.values()):
        run._is_shared = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_parent=_forking, after_in_child=_forked)


def _read(given: Any) -> tuple[Task, Pictures]:
    """Reads a task and its pictures; a task without a name gets one."""
    task = task_of(given)
    pictures = read_pictures(task.pictures, "pictures")
    return named(task, _images(pictures)), pictures


def _images(pictures: Pictures) -> list[str]:
    return [each["imageId"] for each in pictures[0]]


def _config(config: Mapping[str, Any] | None, training: bool | str, policy: Json) -> Json:
    if config is not None and not isinstance(config, Mapping):
        refuse("config", f"config is {shown(config)}", "give a dict")
    read: Json = json_of(dict(config or {}), "config")
    _refuse_rounded(read)
    if training:
        if "training" in read:
            raise EspalierError("config has a field training", remedy="leave it out, or training=", field="training")
        read["training"] = {"policyId": policy["policyId"] if training is True else policy_name_of(training, "training"), "channel": "train"}
    return read


def _refuse_rounded(value: object) -> None:
    """The configuration is recorded as JSON, whose readers take an integer for a double; what is recorded as text keeps it."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict | list):
            waiting.extend(each.values() if isinstance(each, dict) else each)
        elif isinstance(each, int) and abs(each) > 2**53 and (each.bit_length() > 1023 or int(float(each)) != each):
            refuse("config", f"config has the number {shown(each)}, which readers of JSON round", "give it as a text")


def _renderer(file: str | Path | None) -> Json:
    """Reads the module by which the studio shows the steps of a run: it is kept with the run."""
    if file is None:
        return {}
    remedy = "give the file of a JavaScript module that exports `render`"
    if not isinstance(file, str | Path):
        refuse("renderer", f"renderer is {shown(file)}", remedy)
    try:
        text = Path(file).read_bytes().decode("utf-8")
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else "") or "is no text in UTF-8"
        refuse("renderer", f"renderer: {shown(str(file))} cannot be read ({reason})", remedy)
    if not text or len(text.encode()) > RENDERER_BYTES:
        refuse("renderer", f"renderer: {shown(str(file))} has {len(text.encode())} bytes", f"give a module of 1 to {RENDERER_BYTES} bytes")
    return {"renderer": text}


def _uuid(value: object, field: str) -> str:
    try:
        return str(uuid.UUID(str(value)))
    except ValueError:
        refuse(field, f"{field} is {shown(value)}", "give the UUID of an experiment")


def _seed(seed: object) -> int:
    return count_of(seed, "seed", least=-(2**53) + 1, most=2**53 - 1)


def _program() -> str:
    return (Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "") or "python"


def _version() -> str:
    from .. import __version__

    return __version__


