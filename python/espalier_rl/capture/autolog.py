"""`er.autolog()`: records the calls of models that a program makes, without a change to it, and `er.rollout`, `er.reward` and `er.end`
for those who want to say more of them."""

from __future__ import annotations

import asyncio
import os
from types import TracebackType
from typing import Any
from urllib.parse import quote

from ..connection import Connection
from ..coroutines import for_coroutines
from ..errors import EspalierError
from ..recording.calls import outcome_of, place_name
from ..recording.run import OUTCOMES as ENDS
from ..recording.run import Run
from ..recording.spool import LIMIT_BYTES, Durable
from . import session as sessions
from .session import OnError, Policy, Session

_session: Session | None = None


def autolog(
    on: bool = True,
    *,
    run: str | Run | None = None,
    policy: Policy = None,
    url: str | None = None,
    token: str | None = None,
    on_error: OnError = "warn",
    durable: Durable = "write",
    spool_bytes: int = LIMIT_BYTES,
) -> None:
    """Records the calls of models that this process makes from now on: chat completions, responses, embeddings and Anthropic's messages,
    whole or streamed, by any client that sends by httpx (openai, anthropic, litellm, LangChain, …), whenever it was made. `er.autolog(False)` turns it off.

    Calls go to a run of this process, or to `run`: a name that several processes may give, ESPALIER_RUN, or what `db.run(...)` returned. A
    conversation is a rollout; `er.rollout` makes one of what belongs together. The model server is asked for token ids and log-probabilities,
    which the program does not see. `policy` is `"NAME@VERSION"`; server and token are found as `er.connect` finds them.

    The program goes on whatever happens to the server: what it does not have is kept in a spool, which the end of the process sends for at most
    5 seconds and later processes behind it. `on_error="raise"` raises EspalierError from calls that cannot be recorded. `durable` and
    `spool_bytes` are those of `db.run`; `none` writes each call too."""
    global _session
    before, _session = _session, None
    if before is not None:
        before.close()
    if on:
        _session = Session(run, policy=policy, url=url, token=token, on_error=on_error, durable=durable, spool_bytes=spool_bytes)


def reward(value: float, *, component: str = "environment", step: bool = False, observation: str | None = None) -> None:
    """Assigns a reward to the rollout that this thread of work called a model in last, or to its last step; `observation` is what followed
    on the last reply, which then is a step at once."""
    session = _on()
    session.reward(session.current(), value, component, step, observation)


def end(*, success: bool | None = None, reward: float | None = None, outcome: str = "terminated", observation: str = "", reason: str = "") -> None:
    """Ends the rollout that this thread of work called a model in last: `outcome` is `terminated`, `truncated`, `failed` or `cancelled`. The
    next call begins another."""
    session = _on()
    rollout = session.current()
    if reward is not None:
        session.reward(rollout, reward, "environment", False, None)
    session.end(rollout, outcome=outcome, success=success, observation=observation, reason=reason)


def flush(timeout_s: float = 60) -> None:
    """Returns when the server has all calls that have ended. Raises EspalierError with what it refused, or Unreachable."""
    _on().flush(timeout_s)


class Captured:
    """One rollout, by `with er.rollout("task") as rollout:`: all calls within it belong to it, in coroutines and tasks that are begun there
    too. It ends with the block, as `failed` by an exception. `task` groups rollouts that are compared with each other; the beginning of
    the first conversation unless given."""

    def __init__(self, task: Any = None, *, id: Any = None, run: str | None = None, policy: Policy = None) -> None:
        self._session = _on()
        named = [None if each is None else place_name(each, field) for each, field in ((task, "task"), (id, "id"))]
        self._rollout = sessions.Rollout(place_name(run or self._session.run, "run"), named[0], named[1], policy if policy is not None else self._session.policy)
        self._token: Any = None

    @property
    def id(self) -> str:
        """The id that the rollout has on record, which `db.feedback`, `db.view` and the tables take: it is known from the first call on, and on record
        behind `er.flush()`. The server is asked what it depends on, which waits: a coroutine awaits `aid()`. Raises EspalierError."""
        if not self._rollout.begun:
            raise EspalierError("the rollout made no call yet", remedy="ask for its id behind its first call", field="rollout", code="ended")
        return self._session.id_of(self._rollout)

    async def aid(self) -> str:
        """`id` for a coroutine."""
        return await asyncio.to_thread(lambda: self.id)

    def reward(self, value: float, *, component: str = "environment", step: bool = False, observation: str | None = None) -> None:
        """Assigns a reward to the rollout, or to its last step; `observation` is what followed on the last reply."""
        self._session.reward(self._begun(), value, component, step, observation)

    def end(self, *, success: bool | None = None, reward: float | None = None, outcome: str = "terminated", observation: str = "", reason: str = "") -> None:
        """Ends the rollout: `outcome` is `terminated`, `truncated`, `failed` or `cancelled`."""
        if reward is not None:
            self.reward(reward)
        self._session.end(self._begun(), outcome=outcome, success=success, observation=observation, reason=reason)

    areward, aend = for_coroutines(reward), for_coroutines(end)

    def _begun(self) -> sessions.Rollout:
        if self._rollout.begun and not self._rollout.ended:
            return self._rollout
        why = "has ended" if self._rollout.ended else "made no call yet"
        raise EspalierError(f"the rollout {why}", remedy="say it behind the calls, and before the end", field="rollout", code="ended")

    def __enter__(self) -> Captured:
        self._token = sessions._scope.set(self._rollout)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        sessions._scope.reset(self._token)
        if self._rollout.pid != os.getpid():
            return  # of the process that forked this one
        if error is None:
            self._session.end(self._rollout)
        else:
            self._session.end(self._rollout, outcome="failed", reason=f"{kind.__name__ if kind else ''}: {error}")

    async def __aenter__(self) -> Captured:
        return self.__enter__()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.__exit__(kind, error, trace)

    def __repr__(self) -> str:
        rollout = self._rollout
        return f"Captured({rollout.run!r}, {rollout.task!r}, {rollout.name!r})"


def end_run(run: Any, task: Any = None, *, outcome: str = "completed", message: str = "", rollouts: str = "terminated", url: str | None = None, token: str | None = None) -> None:
    """Closes a captured run, or one task of it: rollouts without an end get one (`rollouts`: `terminated`, `truncated`, `failed` or
    `cancelled`), trees are closed, which then are groups to train on, and the run is `completed`, `failed` or `cancelled` (`outcome`).
    Sent again it changes nothing. What autolog has not sent yet is sent before. Raises EspalierError where nothing of it is captured, or where
    it was closed otherwise, and Unreachable."""
    names = [place_name(run, "run")] + ([] if task is None else [place_name(task, "task")])
    outcome_of(outcome, ENDS)
    outcome_of(rollouts, field="rollouts")
    body = {"outcome": outcome, "message": message[:10_000], "rollouts": rollouts}
    if _session is not None:
        _session.send()  # the run takes no rollouts behind its end
    connection = Connection(url, token=token)
    try:
        connection.json("POST", "/v1/proxy/" + "/".join(quote(name, safe="") for name in names) + "/close", body)
    finally:
        connection.close()


areward, aend, aflush, aend_run = for_coroutines(reward), for_coroutines(end), for_coroutines(flush), for_coroutines(end_run)


def _on() -> Session:
    if _session is None:
        raise EspalierError("autolog is off", remedy="begin with er.autolog()", field="autolog")
    return _session
