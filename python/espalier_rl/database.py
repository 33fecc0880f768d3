"""What `connect` returns: an installation that a program records into, reads from and trains by."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .coroutines import for_coroutines
from .connection import Connection

if TYPE_CHECKING:
    import datasets
    from typing_extensions import Unpack

    from .analysis import DifferenceView, Event, ImageView, StepView, Table, TreeView
    from .analysis.export import ExportOptions
    from .analysis.page_view import PageView
    from .recording.leftovers import Leftovers
    from .recording.run import Run
    from .recording.run_options import RunOptions
    from .training import Training
    from .training.options import TrainingOptions

Range = tuple[float | None, float | None]
Times = tuple[datetime | None, datetime | None]


def connect(url: str | None = None, *, token: str | None = None, timeout_s: float = 60, retry_s: float = 60, spool: str | None = None) -> Database:
    """Connects to an installation. `url` and `token` are found as Connection finds them: ESPALIER_URL and ESPALIER_TOKEN, else the
    server and the token of this machine. What earlier processes recorded and the server does not have yet is sent in the background.
    A server that is away is met by the first thing that needs it."""
    return Database(Connection(url, token=token, timeout_s=timeout_s, retry_s=retry_s), spool=spool)


def run(name: str, **options: Unpack[RunOptions]) -> Run:
    """Begins or joins a run at the installation of this machine: `with er.run("guesser", key="one") as run`. See Database.run."""
    return connect().run(name, **options)


def view(what: Any, *, db: Database | None = None) -> PageView:
    """What the studio shows of a run, a tree or a rollout of `db`, or of the installation of this machine: `er.view(tree)`."""
    return (db or connect()).view(what)


arun, aview = for_coroutines(run), for_coroutines(view)


class Database:
    """An installation. Each method imports what it needs when it is called, so that an extra is missed only by who uses it."""

    def __init__(self, connection: Connection, *, spool: str | None = None) -> None:
        self.connection = connection
        self._spool = spool
        self._leftovers: Leftovers | None = None
        from .recording.spool import list_spools, spool_root

        if any(list_spools(spool_root(connection.spools, spool))):
            self._found()

    @property
    def url(self) -> str:
        return self.connection.url

    def run(self, name: str, **options: Unpack[RunOptions]) -> Run:
        """Begins a run: `with db.run("guesser", policy="qwen@3") as run`. See Run for what it records.

        `policy` is `"NAME@VERSION"`, the version counted in training updates. `key` names the run: any number of processes join it by the
        key, on any machines, and it ends when all have left. A program that is started again with the same key goes on with what it
        left, and what is on record is not recorded again; several do so where each gives the same name as `recorder` again.
        `take_over=True` takes the place of a recorder that is gone for good. `training=True` makes its finished rollouts
        samples of the policy (a text: of the policy of that name). `environment` and `fingerprint` are the name and the version of
        the world that tasks come from, `renderer` the file of a JavaScript module that draws its steps in the studio (kept with the run),
        `seed`, `config` (JSON) and `code_version` what else determines the run, `scorer` who rewards (`"NAME@REVISION"`). `durable` is `"write"` (a step that was recorded outlives the process), `"fsync"` (and an
        episode that was finished the machine) or `"none"`; `spool_bytes` bounds what the server does not have yet, and `full` says
        whether recording then waits (`"block"`) or raises (`"raise"`). The end of the run waits `wait_s` seconds for the server: unless
        given 60, and 5 for one that is not reached."""
        from .recording.run import Run

        return Run(self.connection, self._found(), name, **options)

    def catch_up(self, timeout_s: float = 60) -> str:
        """Returns when tables, views and queries show all that the log holds now, with its position: read behind it what a run that has
        ended recorded. Raises EspalierError where a projection has stopped, or is later than `timeout_s` seconds."""
        from .catch_up import catch_up

        return catch_up(self.connection, timeout_s)

    async def acatch_up(self, timeout_s: float = 60) -> str:
        """`catch_up` for a coroutine."""
        from .catch_up import acatch_up

        return await acatch_up(self.connection, timeout_s)

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

    def query(self, document: str, variables: Mapping[str, Any] | None = None) -> Any:
        """Asks a question of GraphQL and returns its `data`. Raises EspalierError with the first error of the answer."""
        return self.connection.graphql(document, variables)

    async def aquery(self, document: str, variables: Mapping[str, Any] | None = None) -> Any:
        """`query` for a coroutine."""
        return await self.connection.agraphql(document, variables)

    def annotate(
        self,
        step: Any = None,
        *,
        rollout: Any = None,
        revision: Any = None,
        tree: Any = None,
        row: Any = None,
        label: str | None = None,
        score: float | None = None,
        note: str = "",
    ) -> list[str]:
        """Annotates steps, rollouts, revisions, trees or rows of a release, `(dataset id, line)`: one of them, or a list of
        ids. `tree` next to steps, rollouts or revisions is the tree of them all, needed where several have one under an id.
        Returns the ids of the annotations, which `retract` takes. It needs a key with the scopes `read` and `annotate`."""
        from .analysis.annotate import annotate

        subjects = {"step": step, "rollout": rollout, "revision": revision, "tree": tree, "row": row}
        return annotate(self.connection, subjects, {"label": label, "score": score, "note": note})

    def feedback(
        self, of: Any, value: float, *, component: str = "feedback", by: str | None = None, comment: str = "", tree: Any = None
    ) -> list[str]:
        """Says afterwards what something is worth: steps, rollouts, replies by the ids that their servers gave them, traces by their ids,
        or rows of a release, `(dataset id, line)`; one of them or a list. It assigns a reward of `component`, or revises the one in
        force; training that waits for the component goes on. `by` is `person:NAME` (default: the account), `program:NAME@REVISION`
        or `judge:NAME@REVISION`. Returns the ids of the rewards. It needs a key with the scopes `judge` and `annotate`."""
        from .analysis.annotate import feedback

        said = {"value": value, "component": component, "by": by or f"person:{os.environ.get('USER') or 'local'}", "comment": comment}
        return feedback(self.connection, of, tree, said)

    def retract(self, annotations: Any, *, tree: Any = None, reason: str = "") -> None:
        """Takes annotations back, by their ids (of `tree`): they no longer count. Who added one retracts it, or an administrator."""
        from .analysis.annotate import retract

        retract(self.connection, annotations, tree, reason)

    def trajectories(
        self,
        *,
        run: Any = None,
        policy: str | None = None,
        policy_version: int | None = None,
        success: bool | None = None,
        outcome: str | Sequence[str] | None = None,
        label: str | None = None,
        annotated: bool | None = None,
        returns: Range | None = None,
        length: Range | None = None,
        finished: Times | None = None,
        tree: Any = None,
        task: Any = None,
        environment: str | None = None,
        split: str | None = None,
        task_depth: int | None = None,
        dataset: Any = None,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        as_of: str | datetime | None = None,
    ) -> Table:
        """Finished rollouts with their returns. `run` is one or several, by id; `policy` may name a version (`qwen@3`); ranges are
        [from, until), None leaves an end open; `length` counts the actions of the rollout; `as_of` is a position of the log or a time."""
        return self._table("trajectories", locals())

    def steps(
        self,
        *,
        run: Any = None,
        policy: str | None = None,
        policy_version: int | None = None,
        rollout: Any = None,
        action: str | None = None,
        tool: str | None = None,
        component: str | None = None,
        reward: Range | None = None,
        label: str | None = None,
        annotated: bool | None = None,
        verdict: str | None = None,
        sample_state: str | None = None,
        sample_reason: str | None = None,
        depth: Range | None = None,
        termination: str | None = None,
        well_formatted: bool | None = None,
        executable: bool | None = None,
        tree: Any = None,
        task: Any = None,
        environment: str | None = None,
        split: str | None = None,
        task_depth: int | None = None,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        as_of: str | datetime | None = None,
    ) -> Table:
        """Steps with their texts, tokens, reward and search statistics. `component` and `reward` choose by a reward on the step itself."""
        return self._table("steps", locals())

    def rewards(
        self,
        *,
        run: Any = None,
        policy: str | None = None,
        policy_version: int | None = None,
        success: bool | None = None,
        rollout: Any = None,
        step: Any = None,
        component: str | None = None,
        scorer: str | None = None,
        value: Range | None = None,
        tree: Any = None,
        task: Any = None,
        environment: str | None = None,
        split: str | None = None,
        task_depth: int | None = None,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        as_of: str | datetime | None = None,
    ) -> Table:
        """Rewards of steps and rollouts: the judgement in force and the first one."""
        return self._table("rewards", locals())

    def samples(
        self,
        *,
        run: Any = None,
        policy: str | None = None,
        version: int | None = None,
        state: str | None = None,
        reason: str | None = None,
        batch: Any = None,
        success: bool | None = None,
        tree: Any = None,
        task: Any = None,
        environment: str | None = None,
        split: str | None = None,
        task_depth: int | None = None,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        as_of: str | datetime | None = None,
    ) -> Table:
        """Finished rollouts as training samples of `policy`, with what became of each; `version` acted in them."""
        return self._table("samples", locals())

    def batches(
        self,
        *,
        run: Any = None,
        policy: str | None = None,
        state: str | None = None,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        as_of: str | datetime | None = None,
    ) -> Table:
        """Training batches, of all policies or of one; those of `run` hold a sample of it."""
        return self._table("batches", locals())

    def export(self, run: Any = None, *, format: str, path: str | Path, **options: Unpack[ExportOptions]) -> dict[str, Any]:
        """Writes what `espalier export --format FORMAT` writes to `path`, from anywhere, and returns its manifest (`sha256`, `counts`,
        `position`, …). `run` is one or several, by id; `options` are those of the command. A connection that breaks is opened again
        behind the last byte; the file appears when it is whole and has the digest of its manifest. Raises EspalierError with what the
        command says where the record or the format refuses."""
        from .analysis import export

        return export.export(self.connection, run, format, path, options)

    def dataset(self, run: Any = None, *, format: str = "trl", **options: Unpack[ExportOptions]) -> datasets.Dataset:
        """An export as a `datasets.Dataset` in memory, with the options of `export`; one that is larger is written by `export` and
        opened by `load_dataset`. Needs the extra `hf`."""
        from .analysis import export

        return export.dataset(self.connection, run, format, options)

    def run_tail(self, run: Any, *, types: Sequence[str] | None = None, after: str | None = None) -> AsyncIterator[Event]:
        """Events of a run (its id, or what has one) as they are recorded, without end: `async for event in db.run_tail(run)`.
        `after=None` begins now, `after=""` at the beginning of the record, `event.position` behind an event."""
        from .analysis import tail

        return tail(self.connection, run=_id_of(run), types=types, after=after)

    def tree(self, tree: Any) -> TreeView:
        """A tree with its steps, which a notebook shows as an outline."""
        from .analysis import questions

        return questions.tree(self.connection, _id_of(tree))

    def view(self, what: Any) -> PageView:
        """What the studio shows of a run, a tree or a rollout, as one page that opens without a server. A notebook shows it; `save`
        writes it."""
        from .analysis.page_view import PageView

        id_ = str(what.data["id"]) if hasattr(what, "data") else _id_of(what)  # a view has its id in its data
        return PageView(self.connection.request("GET", "/v1/pages", params={"id": id_}).text)

    def step(self, step: Any, *, tree: Any = None, decode: Callable[[int], str] | None = None) -> StepView:
        """A step, which a notebook shows with its tokens, the redder the less likely each was. `decode` makes the text of a token id.
        `tree` names its tree, here and below: needed where several have one under its id."""
        from .analysis import questions

        return questions.step(self.connection, _id_of(step), tree and _id_of(tree), decode)

    def image(self, step: Any, *, tree: Any = None) -> ImageView:
        """The image that the prompt of a step showed, drawn again from the record."""
        from .analysis import questions

        return questions.image(self.connection, _id_of(step), tree and _id_of(tree))

    def difference(self, a: Any, b: Any, *, tree: Any = None) -> DifferenceView:
        """Two finished rollouts side by side, what differs marked. `tree` is the tree of both, or the two of them."""
        from .analysis import questions

        trees = tree if isinstance(tree, (list, tuple)) else (tree, tree)
        return questions.difference(self.connection, *((_id_of(each), of and _id_of(of)) for each, of in zip((a, b), trees, strict=True)))

    arun, atraining, await_for_spools = for_coroutines(run), for_coroutines(training), for_coroutines(wait_for_spools)
    aannotate, aretract, aview = for_coroutines(annotate), for_coroutines(retract), for_coroutines(view)
    afeedback, aexport, adataset = for_coroutines(feedback), for_coroutines(export), for_coroutines(dataset)
    atree, astep, aimage, adifference = for_coroutines(tree), for_coroutines(step), for_coroutines(image), for_coroutines(difference)

    def _table(self, name: str, given: dict[str, Any]) -> Table:
        from .analysis import Table

        return Table(self.connection, name, {key: value for key, value in given.items() if key != "self"})

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

    apush_to_hub = for_coroutines(push_to_hub)

    def __repr__(self) -> str:
        return f"Database({self.url!r})"


def _id_of(what: Any) -> str:
    """Returns an id, or that of a run, tree or step."""
    return what if isinstance(what, str) else str(what.id)
