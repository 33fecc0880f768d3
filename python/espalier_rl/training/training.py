"""The training of a policy from Python: its declaration, its batches one after the other, and the folders of its versions."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..coroutines import for_coroutines, iterated_by_coroutines
from ..errors import EspalierError
from ..leases import Client, Lease, LeaseLost, RowsAhead, RowsUnreadable
from ..rows import Rows
from .batch import Batch
from .declaration import declaration_of, option_of
from .processes import Alone, join
from .weights import Weights, publish_folder

LAYOUTS = ("padded", "verl", "step")
LONGEST_WAIT_S = 20.0  # of one request; the server allows 30
# What no waiting changes: somebody has to act first.
HOPELESS = {
    "declaration": "declare it: db.training(policy, …)",
    "first-version": "name its first weights: pol.publish(folder)",
}
REMEDIES = {
    "lease": "stop the other trainer, or wait longer (idle_s=…) for its lease to end",
    "runs": "record rollouts for it, or wait longer (idle_s=…)",
    "planner": "start `espalier up`, which plans batches",
    "scores": "score the members, or declare unscored='reject'",
}
WORDS = {
    "zero-variance": "all members earned the same",
    "stale": "sampled by versions older than max_staleness allows",
    "foreign-policy": "sampled by another policy",
    "other-distribution": "sampled greedily, from a cut distribution, or by settings that the record does not say",
    "unclear-calls": "captured, with calls next to the path that may belong to it",
    "too-long": "longer than max_tokens allows",
    "filtered": "outside the band of the metric",
}


class NoBatch(EspalierError):
    """No batch came in time. The message says what the server waits for, and why closed groups were rejected."""


class Training:
    """A policy whose training is declared. `version` is the newest one, None before the first is published."""

    def __init__(self, client: Client, policy: str, options: Mapping[str, Any]) -> None:
        self.policy, self._client = policy, client
        declaration = declaration_of(options, client.declaration_schema)
        backend = declaration.setdefault("backend", "external")
        if backend in ("linear", "torch"):
            remedy = f"leave it out, or train it there: espalier train --backend {backend}"
            raise EspalierError(f"Espalier itself trains with the backend {backend}", remedy=remedy, field="backend")
        self._backend = str(backend)
        try:
            self.head = client.declare(policy, **declaration)
        except EspalierError as refusal:
            raise _named(refusal) from None
        self._joined: Alone | None = None
        self._published: Path | None = None

    def __repr__(self) -> str:
        return f"Training({self.policy!r}, version {self.version})"

    @property
    def version(self) -> int | None:
        return None if self.head is None else int(self.head["version"])

    def batches(
        self,
        *,
        renew: str = "auto",
        layout: str = "padded",
        updates: int | None = None,
        idle_s: float = 600,
        ttl_s: float = 60,
        prefetch: bool = True,
    ) -> Iterator[Batch]:
        """Leases batches one after the other, until `updates` were acknowledged where it is given.

        A lease lasts `ttl_s` seconds; with `renew="auto"` a thread moves its deadline until the batch is acknowledged, with `"manual"`
        the caller does (`batch.renew()`). What was not acknowledged when the next batch is asked for goes back. While a batch is
        trained, the rows of the next one are read ahead where it is planned (`prefetch`). A batch that nobody can read is abandoned.

        Under torchrun every process runs this loop: a batch has one lease, which the first process holds, and each process has its
        part of the rows. Raises NoBatch when none came for `idle_s` seconds, with what the server waits for; at once where no waiting
        changes that."""
        _check(renew, layout, idle_s)
        processes, ahead, made = self._processes(), _Ahead(), 0

        def acknowledged(said: dict[str, Any]) -> None:
            nonlocal made
            made += 1
            self.head = {**(self.head or {}), "version": said["version"]}

        while updates is None or made < updates:
            lease = self._lease(processes, {"layout": layout, "advantages": True, "ttl_s": ttl_s}, idle_s)
            with ExitStack() as until_over:
                if processes.rank == 0:
                    until_over.push(lease.__exit__)
                    if renew == "auto":
                        lease.__enter__()
                rows = _read(processes, lease, ahead)
                if rows is None:
                    continue
                if prefetch:
                    ahead.begin(lease)
                yield Batch(lease, rows, processes, acknowledged)

    def publish(self, folder: str | os.PathLike[str], *, like: str | os.PathLike[str] | None = None) -> Weights:
        """Names the weights of a folder by their SHA-256, for `batch.ack(weights=…)`. The folder is what `model.save_pretrained` wrote;
        files of the tokenizer that are missing are copied from `like`, the folder published before unless another is given, so that
        vLLM, SGLang, transformers and `python -m espalier_rl.trainer.serve` open it. The first folder of a policy without a version is
        registered as version 0. Called by all processes; the first does it. Raises EspalierError for a folder that is not whole."""
        before = like if like is not None else self._published
        weights = self._processes().by_first(lambda: publish_folder(folder, like=before))
        if self.head is None:
            self.head = self._processes().by_first(lambda: self._client.register(self.policy, backend=self._backend, weights=str(weights)))
        self._published = weights.folder
        return weights

    abatches, apublish = iterated_by_coroutines(batches), for_coroutines(publish)

    def _processes(self) -> Alone:
        if self._joined is None:
            self._joined = join()
        return self._joined

    def _lease(self, processes: Alone, wanted: dict[str, Any], idle_s: float) -> Lease:
        held: list[Lease] = []

        def ask() -> dict[str, Any]:
            held.append(self._wait(wanted, idle_s))
            return held[0].said

        said = processes.by_first(ask)
        return held[0] if held else Lease(self._client, said, wanted["ttl_s"])

    def _wait(self, wanted: dict[str, Any], idle_s: float) -> Lease:
        since = time.monotonic()
        while True:
            left = idle_s - (time.monotonic() - since)
            answer = self._client.lease(self.policy, wait_s=max(0.0, min(LONGEST_WAIT_S, left)), **wanted)
            if isinstance(answer, Lease):
                return answer
            if answer.said.get("waitingFor") in HOPELESS or left <= 0:
                raise _no_batch(self.policy, answer.said, answer.why, time.monotonic() - since)


def consumer_name() -> str:
    """The name that a trainer leases by: of this machine and program, so that one that is started again after a crash has its batch back
    at once. Two that run at a time need names of their own (`consumer=`)."""
    return f"{socket.gethostname()}:{Path(sys.argv[0] or 'python').name}"[:200]


class _Ahead:
    """Reads the rows of the next batch while this one is trained."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._found: RowsAhead | None = None

    def begin(self, lease: Lease) -> None:
        def read() -> None:
            self._found = lease.read_ahead()

        self._thread = threading.Thread(target=read, name=f"read behind {lease.id}", daemon=True)
        self._thread.start()

    def take(self) -> RowsAhead | None:
        if self._thread is not None:
            self._thread.join()
        found, self._thread, self._found = self._found, None, None
        return found


def _read(processes: Alone, lease: Lease, ahead: _Ahead) -> Rows | None:
    """Returns the rows of a lease in every process; None where the batch was abandoned, since nobody can read it, or the lease is lost."""

    def read() -> Rows:
        found = ahead.take()
        if found is not None:
            lease.take(found)
        return lease.rows

    try:
        return processes.by_all(read)
    except RowsUnreadable as error:
        reason = str(error)
        processes.by_first(lambda: lease.abandon(reason))
    except LeaseLost:
        pass
    return None


def _check(renew: str, layout: str, idle_s: float) -> None:
    if renew not in ("auto", "manual"):
        raise EspalierError(f"renew is {renew!r}", remedy="choose 'auto' (in the background) or 'manual' (batch.renew())", field="renew")
    if layout not in LAYOUTS:
        raise EspalierError(f"layout is {layout!r}", remedy=f"choose {', '.join(LAYOUTS)}", field="layout")
    if not idle_s >= 0:
        raise EspalierError(f"idle_s is {idle_s!r}", remedy="give seconds, 0 or more", field="idle_s")


def _no_batch(policy: str, said: dict[str, Any], why: str, waited_s: float) -> NoBatch:
    waiting_for = str(said.get("waitingFor", ""))
    rejected = {reason: count for reason, count in (said.get("groups") or {}).get("rejected", {}).items() if count}
    message = f"policy {policy}: no batch{'' if waiting_for in HOPELESS else f' for {waited_s:.0f} s'}: {why}"
    if rejected:
        parts = (f"{count} {reason}" + (f" ({WORDS[reason]})" if reason in WORDS else "") for reason, count in rejected.items())
        message += f"; groups rejected so far: {', '.join(parts)}"
    remedy = HOPELESS.get(waiting_for) or REMEDIES.get(waiting_for) or "record more rollouts, or wait longer (idle_s=…)"
    return NoBatch(message, remedy=remedy, code="no-batch", field=waiting_for)


def _named(refusal: EspalierError) -> EspalierError:
    """Names the option that a declaration was refused for, as Python's caller gave it."""
    if not refusal.problems:
        return refusal
    problem = refusal.problems[0]
    field, said = str(problem.get("path", "")), str(problem.get("message", refusal.message))
    option = option_of(field) if field else ""
    message = said if not option or option in said else f"{option}: {said}"
    return EspalierError(message, remedy=refusal.remedy, field=option, status=refusal.status, code=refusal.code, problems=refusal.problems)
