"""A client of OpenAI's protocol whose calls are recorded, and what is said of its rollout."""

from __future__ import annotations

import asyncio
import uuid
import warnings
from types import TracebackType
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from ..coroutines import for_coroutines
from ..connection import Connection
from ..errors import EspalierError
from ..recording.run import Run

Client = TypeVar("Client")  # openai.OpenAI or openai.AsyncOpenAI


def openai(client: Client, run: Any, task: Any = "agent", rollout: Any = None, *, policy: str | None = None, url: str | None = None, token: str | None = None) -> Client:
    """Returns a client like `client` (OpenAI or AsyncOpenAI) whose chat completions and responses, streams among them, are recorded as
    steps of a rollout. It asks the installation at `url` (ESPALIER_URL, else http://127.0.0.1:4000), which asks the model server that
    it was started with: address and key of `client` itself are not used.

    `run` is a name, the id of a run, or what `db.run(...)` returned: the end of that closes its captured tasks. `task` and `rollout` are names, numbers or ids, and a rollout that
    is not named is a new one. `policy` is `"NAME@VERSION"`. Raises EspalierError with the field that does not fit."""
    return Captured(client, run, task, rollout, policy=policy, url=url, token=token).client


class Captured(Generic[Client]):
    """One rollout of an agent, by `er.rollout(client, run, task)`: `with er.rollout(OpenAI(), "run", "task") as rollout:` ends it, as
    `failed` by an exception. `client` records; `reward` and `end` may be sent again and change nothing then."""

    client: Client

    def __init__(self, client: Client, run: Any, task: Any = "agent", rollout: Any = None, *, policy: str | None = None, url: str | None = None, token: str | None = None) -> None:
        own = run if isinstance(run, Run) else None
        connection = own.connect_again() if own is not None and url is None else Connection(url, token=token)
        if own is not None:
            own.flush()  # the run is on record before its first call
        names = [_name(run, "run"), _name(task, "task"), _name(uuid.uuid4() if rollout is None else rollout, "rollout")]
        self.run, self.task, self.rollout = names
        self._connection = connection
        self._path = "/v1/proxy/" + "/".join(quote(name, safe="") for name in names)
        copy = getattr(client, "with_options", None)
        if not callable(copy):
            raise EspalierError(f"client is a {type(client).__name__}", remedy="give an OpenAI or AsyncOpenAI client", field="client")
        headers = {"x-espalier-policy": policy} if policy is not None else {}
        # without a key the server on loopback says what it wants
        self.client = copy(base_url=connection.url + self._path, api_key=connection.token or "none", default_headers=headers)
        self._over = False
        if own is not None:
            own.captures(self.task, self._close_task)

    def _close_task(self, rollouts: str) -> None:
        """Closes the task behind its calls: rollouts without an end get this one. A task without a call is none."""
        task_path = self._path.rpartition("/")[0]
        try:
            self._connection.json("POST", f"{task_path}/close", {"outcome": "completed", "message": "", "rollouts": rollouts})
        except EspalierError as refusal:
            if refusal.status != 404:
                raise

    def reward(self, value: float, *, component: str = "environment", step: bool = False, observation: str | None = None) -> None:
        """Assigns a reward to the rollout, or to its last step; `observation` is what followed on the last reply, which then is a step
        at once. Raises EspalierError where another value is on record."""
        body: dict[str, Any] = {"value": value, "component": component, "of": "step" if step else "rollout"}
        self._connection.json("POST", f"{self._path}/reward", body if observation is None else {**body, "observation": observation})

    def end(self, *, success: bool | None = None, reward: float | None = None, outcome: str = "terminated", observation: str = "", reason: str = "") -> None:
        """Ends the rollout: `outcome` is `terminated`, `truncated`, `failed` or `cancelled`. Raises EspalierError where it made no call, or
        where another end is on record. Warns where calls next to its path may belong to it: exports refuse it then."""
        body: dict[str, Any] = {"outcome": outcome, "success": success, "observation": observation, "reason": reason[:10_000]}
        said = self._connection.json("POST", f"{self._path}/end", body if reward is None else {**body, "reward": reward})
        self._over = True
        if said.get("unclearCalls"):
            warnings.warn(
                f"{said['unclearCalls']} calls of this rollout may belong to its path and lie next to it: the program changed what it sends back. "
                "Send replies back with the ids of their calls of tools; exports refuse the rollout without --unclear",
                stacklevel=2,
            )

    areward, aend = for_coroutines(reward), for_coroutines(end)

    async def __aenter__(self) -> Captured[Client]:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, trace)

    def __enter__(self) -> Captured[Client]:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        try:
            if not self._over and error is None:
                self.end()
            elif not self._over:
                self.end(outcome="failed", reason=f"{kind.__name__ if kind else ''}: {error}")
        except EspalierError as refusal:
            if error is None and refusal.status != 404:  # a rollout without a call is none; a fault of its own goes first
                raise
        finally:
            self._connection.close()

    def __repr__(self) -> str:
        return f"Captured({self.run!r}, {self.task!r}, {self.rollout!r})"


def end_run(run: Any, task: Any = None, *, outcome: str = "completed", message: str = "", rollouts: str = "terminated", url: str | None = None, token: str | None = None) -> None:
    """Closes a captured run, or one task of it: rollouts without an end get one (`rollouts`: `terminated`, `truncated`, `failed` or
    `cancelled`), trees are closed, which then are groups to train on, and the run is `completed`, `failed` or `cancelled` (`outcome`).
    Sent again it changes nothing. Raises EspalierError where nothing of it is captured, or where it was closed otherwise."""
    names = [_name(run, "run")] + ([] if task is None else [_name(task, "task")])
    body = {"outcome": outcome, "message": message[:10_000], "rollouts": rollouts}
    connection = Connection(url, token=token)
    try:
        connection.json("POST", "/v1/proxy/" + "/".join(quote(name, safe="") for name in names) + "/close", body)
    finally:
        connection.close()


aend_run = for_coroutines(end_run)


def _name(given: Any, field: str) -> str:
    text = str(getattr(given, "id", given))
    if not 0 < len(text) <= 200:
        raise EspalierError(f"{field} has {len(text)} characters", remedy="name it by 1 to 200 characters", field=field)
    return text
