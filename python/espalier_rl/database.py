"""What `connect` returns: an installation that a program records into, reads from and trains by."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .connection import Connection

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .recording.leftovers import Leftovers
    from .recording.run import Run
    from .training import Training
    from .training.options import TrainingOptions


def connect(url: str | None = None, *, token: str | None = None, timeout_s: float = 60, retry_s: float = 60, spool: str | None = None) -> Database:
    """Connects to an installation. `url` and `token` are found as Connection finds them: ESPALIER_URL and ESPALIER_TOKEN, else the
    server and the token of this machine. What earlier processes recorded and the server does not have yet is sent in the background.
    A server that is away is met by the first thing that needs it."""
    return Database(Connection(url, token=token, timeout_s=timeout_s, retry_s=retry_s), spool=spool)


class Database:
    """An installation. Each method imports what it needs when it is called, so that an extra is missed only by who uses it."""

    def __init__(self, connection: Connection, *, spool: str | None = None) -> None:
        self.connection = connection
        self._spool = spool
        self._leftovers: Leftovers | None = None
        from .recording.spool import list_spools, spool_root

        if any(list_spools(spool_root(connection.url, spool))):
            self._found()

    @property
    def url(self) -> str:
        return self.connection.url

    def run(self, name: str, **options: Any) -> Run:
        """Begins a run: `with db.run("guesser", policy="qwen@3") as run`. See Run for what it records.

        `policy` is `"NAME@VERSION"`, the version counted in training updates. `key` names the run: a program that is started again with
        the same key goes on with it, and what is on record is not recorded again. `training=True` makes its finished rollouts
        samples of the policy (a text: of the policy of that name). `environment` and `fingerprint` are the name and the version of
        the world that tasks come from, `seed`, `config` (JSON) and `code_version` what else determines the run, `scorer` who
        rewards (`"NAME@REVISION"`). `durable` is `"write"` (a step that was recorded outlives the process), `"fsync"` (and an
        episode that was finished the machine) or `"none"`; `spool_bytes` bounds what the server does not have yet, and `full` says
        whether recording then waits (`"block"`) or raises (`"raise"`). The end of the run waits `wait_s` seconds for the server."""
        from .recording.run import Run

        return Run(self.connection, self._found(), name, **options)

    def wait_for_spools(self, timeout_s: float = 60) -> None:
        """Returns when the server has what earlier processes recorded. Raises EspalierError that says why it does not."""
        self._found().wait(None, timeout_s)

    def _found(self) -> Leftovers:
        if self._leftovers is None:
            from .recording.leftovers import Leftovers

            self._leftovers = Leftovers(self.connection, self._spool)
        return self._leftovers

    def training(self, policy: str, *, consumer: str | None = None, **options: Unpack[TrainingOptions]) -> Training:
        """Declares that a policy is trained, and returns its Training. Options are those of the one declaration, in snake_case, and the
        rules by which batches are planned (`groups`, `max_staleness`, `zero_variance`, …). The same declaration again changes nothing;
        another one for the same policy raises EspalierError `declared-otherwise`. `consumer` is the name that this trainer leases by:
        that of the machine and the program unless another is given, so that one that is started again has its batch back."""
        from .leases import Client
        from .training.training import Training, consumer_name

        connection = self.connection
        times = {"timeout_s": connection.timeout_s, "retry_s": connection.retry_s}
        client = Client(connection.url, api_key=connection.token, consumer=consumer or consumer_name(), **times)
        return Training(client, policy, options)

    def close(self) -> None:
        """Closes the connections that are kept."""
        if self._leftovers is not None:
            self._leftovers.close()
        self.connection.close()

    async def aclose(self) -> None:
        """Closes the connections of this event loop too."""
        await self.connection.aclose()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    async def __aenter__(self) -> Database:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        await self.aclose()

    def push_to_hub(self, folder: str | Path, repository: str, **options: Any) -> Any:
        """Puts a folder that `espalier export --layout hf` wrote on the Hugging Face hub as the data set `repository` ("owner/name"); see
        `espalier_rl.hub.push_to_hub` for `token`, `private`, `endpoint` and `revision`. Needs the extra `hf`."""
        from .hub import push_to_hub

        return push_to_hub(folder, repository, **options)

    def __repr__(self) -> str:
        return f"Database({self.url!r})"
