"""Trains the batches of an Espalier installation over HTTP, with Python's standard library alone. `training` is built on it: it also
declares, computes log-probs, publishes folders and shares a batch between processes.

    client = Client()  # the server of this machine, or that of ESPALIER_URL
    client.declare("my-policy", backend="mine", weights=digest_file("model.safetensors"))
    for lease in client.batches("my-policy", layout="verl"):
        ...  # train on lease.rows; the lease is renewed meanwhile
        lease.ack(weights=digest_file("model.safetensors"), metrics={"loss": 0.5})
"""

import hashlib
import http.client
import json
import os
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from array import array
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Literal

from .errors import EspalierError, Unreachable
from .installation import find_token, find_url
from .log_probs import packed, sampled_only
from .metrics import checked_json, checked_numbers
from .rows import Rows
from .tracing import trace_headers

BUSY = (429, 502, 503, 504)  # the server or a proxy before it asks for another try
LOST = (0, 408, *BUSY)  # and any other of 500 or more: nobody knows whether a request that was answered so had its effect
LONGEST_PAUSE_S = 30


class LeaseLost(EspalierError):
    """The lease is over: another trainer may have the batch, and what was computed from it must be dropped."""


class RowsUnreadable(EspalierError):
    """The record contradicts itself: nobody gets these rows. Abandon the batch."""


class Waiting:
    """No batch now. False as a condition; `why` says what the server waits for, as far as it says, `retry_after` when to ask."""

    def __init__(self, said: dict[str, Any], retry_after: float) -> None:
        self.said, self.retry_after = said, retry_after

    @property
    def why(self) -> str:
        return self.said.get("next") or "no batch is planned, or another trainer holds it"

    def __bool__(self) -> Literal[False]:
        return False

    def __repr__(self) -> str:
        return f"Waiting({self.why!r})"


class Client:
    """A trainer's connection to an installation. Without `url` it is that of ESPALIER_URL or of this machine; without `api_key` it
    shows ESPALIER_TOKEN, or on this machine the token of the installation. Requests that may be repeated are, for `retry_s` seconds."""

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        consumer: str = "espalier-rl",
        timeout_s: float = 60,
        retry_s: float = 60,
    ) -> None:
        self.url, self.consumer = (url or find_url()).rstrip("/"), consumer
        api_key = api_key or find_token(self.url)
        self._headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self._timeout_s, self._retry_s = timeout_s, retry_s

    def declare(self, policy_id: str, *, backend: str, weights: str | None = None, **declaration: Any) -> dict[str, Any] | None:
        """Declares that a policy is trained. `weights` is the SHA-256 of the first ones, which Espalier makes itself for its backends
        `linear` and `torch`; `estimator`, `rules`, `preset`, `seed` and every other field of a declaration as its reference has them.
        Returns the newest version, None before the first is made. The same declaration again changes nothing; another one raises
        EspalierError with the code `declared-otherwise`."""
        wanted = {"backend": backend, **({} if weights is None else {"weights": weights}), **declaration}
        said: dict[str, Any] = self._json("PUT", f"/v1/training/policies/{urllib.parse.quote(policy_id, safe='')}", wanted)
        return said.get("head")

    def register(self, policy_id: str, *, backend: str, weights: str) -> dict[str, Any]:
        """Registers version 0 of a declared policy by the SHA-256 of its weights. Returns the newest version. Asked again with the same
        weights it changes nothing; with others it raises EspalierError `already-registered`."""
        said: dict[str, Any] = self._json("POST", "/v1/training/policies", {"policyId": policy_id, "backend": backend, "weights": weights})
        head: dict[str, Any] = said["head"]
        return head

    def declaration_schema(self) -> dict[str, Any]:
        """The JSON Schema of a declaration, as this server takes it."""
        schema: dict[str, Any] = self._json("GET", "/v1/training/declaration.schema.json")
        return schema

    def lease(
        self,
        policy_id: str,
        *,
        layout: str = "step",
        advantages: bool = False,
        ttl_s: float = 60,
        wait_s: float = 20,
        base_version: int | None = None,
    ) -> "Lease | Waiting":
        """Leases the next batch of a policy, waiting up to `wait_s` (at most 30) for one. With `advantages` its rows have those of each
        token. Returns a Lease or Waiting."""
        asked = {"policyId": policy_id, "consumer": self.consumer, "ttlMs": int(ttl_s * 1000), "waitMs": int(wait_s * 1000)}
        asked |= {"layout": layout} | ({"advantages": True} if advantages else {})
        asked |= {} if base_version is None else {"baseVersion": base_version}
        status, headers, body = self._request("POST", "/v1/training/leases", asked, extra_s=wait_s)
        said = json.loads(body) if body else {}
        if status == 204 or "leaseId" not in said:
            return Waiting(said, float(headers.get("retry-after") or 1))
        return Lease(self, said, ttl_s)

    def batches(self, policy_id: str, *, idle_s: float | None = None, **options: Any) -> "Iterator[Lease]":
        """Yields leases one after the other, their `rows` read and the lease renewed until it is acknowledged or returned. A batch
        that nobody can read is abandoned. Ends after `idle_s` seconds without a batch; without `idle_s` it never does. What was not
        acknowledged when the next is asked for goes back."""
        longest_wait_s = options.pop("wait_s", 20)
        idle_since = time.monotonic()
        while True:
            left = float("inf") if idle_s is None else idle_s - (time.monotonic() - idle_since)
            lease = self.lease(policy_id, wait_s=max(0, min(longest_wait_s, left)), **options)
            if isinstance(lease, Waiting):
                if left <= 0:
                    return
                time.sleep(min(lease.retry_after, left) if longest_wait_s == 0 else 0)
                continue
            with lease:
                try:
                    lease.rows  # noqa: B018 - read now, so that a batch without rows is never yielded
                except RowsUnreadable as error:
                    lease.abandon(str(error))
                except LeaseLost:
                    pass
                else:
                    yield lease
            idle_since = time.monotonic()

    def _json(self, method: str, path: str, body: Any = None) -> Any:
        return json.loads(self._request(method, path, body)[2])

    def _request(
        self, method: str, path: str, body: Any = None, extra_s: float = 0, *, unless: str | None = None, retry_s: float | None = None
    ) -> tuple[int, Any, bytearray]:
        """Sends a request until it is answered or refused. Returns status, headers, body; raises EspalierError. `unless` is the tag of a
        body that the caller has: where it is still the same, the status is 304 and the body empty."""
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        until = time.monotonic() + (self._retry_s if retry_s is None else retry_s)
        pause = 0.05
        while True:
            headers = self._headers | trace_headers() | {"content-type": "application/json"} | ({} if unless is None else {"if-none-match": unless})
            request = urllib.request.Request(self.url + path, data, headers, method=method)
            try:
                with urllib.request.urlopen(request, timeout=self._timeout_s + extra_s) as answer:
                    return answer.status, answer.headers, _read(answer)
            except urllib.error.HTTPError as refusal:
                if refusal.code == 304:
                    return 304, refusal.headers, bytearray()
                error, asked = _refused(refusal), float(refusal.headers.get("retry-after") or 0)
                if refusal.code not in BUSY:
                    raise error from None
            except (OSError, EOFError, http.client.HTTPException) as fault:  # faults of the connection, a cut body too
                error, asked = Unreachable(f"{method} {self.url}{path}: {fault}", code="unreachable"), 0.0
            pause = min(LONGEST_PAUSE_S, max(asked, pause * 2))
            if time.monotonic() + pause > until:
                raise error
            time.sleep(pause)


class Lease:
    """The right to train one batch, until `deadline`. Within `with lease:` it is renewed in the background; what is neither
    acknowledged, returned nor abandoned at the end goes back for another trainer."""

    def __init__(self, client: Client, said: dict[str, Any], ttl_s: float) -> None:
        self._client, self._ttl_s = client, ttl_s
        self.said = said
        self.id, self.fence, self.deadline = said["leaseId"], said["fence"], said["deadline"]
        self.batch_id, self.ordinal, self.policy_id = said["batchId"], said["ordinal"], said["policyId"]
        self.base, self.estimator, self.rules, self.seed = said["base"], said["estimator"], said["rules"], said["seed"]
        self.trainer, self.samples, self.tokens = said.get("trainer"), said["samples"], said["tokens"]
        self.lost: LeaseLost | None = None  # the error that said so
        self._over = False  # acknowledged, returned or abandoned
        self._rows: Rows | None = None
        self._read: Rows | None = None  # last, in any layout
        self._made: dict[str, Any] | None = None  # by an acknowledgement that is on record or may be
        self._acked = False
        self._checkpoints: dict[str, str] = {}  # by weights: those that are on record unnoticed keep their id, and are no second result
        self._stop = threading.Event()
        self._renewing: threading.Thread | None = None

    @property
    def rows(self) -> Rows:
        """The rows, read once, straight into the memory that their columns are views of."""
        if self._rows is None:
            self._rows = self.read_rows()
        return self._rows

    def read_rows(self, layout: str | None = None) -> Rows:
        """Reads the rows, in the layout that was asked for or another one (`step`, `verl`, `padded`). Raises RowsUnreadable when nobody
        gets them, EspalierError `layout` when the record does not hold what the layout needs. Rows that are read again have the rewards of that
        moment; `ack` names the rewards of those that were read last."""
        path = self.said["rows"] if layout is None else f"/v1/training/leases/{self.id}/rows?layout={layout}"
        self._read = Rows(self._client._request("GET", path)[2])
        return self._read

    def read_ahead(self) -> "RowsAhead | None":
        """Reads the rows of the batch that is planned behind this one, as those of this one are asked for; None where there is none yet,
        or the server is busy: then they are read when that batch is leased."""
        try:
            _, headers, body = self._client._request("GET", self.said["rows"] + "&batch=next", retry_s=0)
            return RowsAhead(Rows(body), headers["etag"])
        except (EspalierError, KeyError):
            return None

    def take(self, ahead: "RowsAhead") -> bool:
        """Takes rows that were read ahead, where they are those of this batch and nothing was revised since. Returns whether it did."""
        if ahead.rows.batch.get("batchId") != self.batch_id:
            return False
        status, _, body = self._client._request("GET", self.said["rows"], unless=ahead.tag)
        self._rows = self._read = ahead.rows if status == 304 else Rows(body)
        return status == 304

    def check(self) -> None:
        """Raises LeaseLost when a renewal found the lease to be over: what is computed from here on is dropped."""
        if self.lost is not None:
            raise self.lost

    def renew(self) -> None:
        """Moves the deadline."""
        self.deadline = self._post("renew", {"ttlMs": int(self._ttl_s * 1000)})["deadline"]

    def ack(
        self,
        *,
        weights: str,
        metrics: Mapping[str, float] | None = None,
        loss: Mapping[str, Any] | None = None,
        estimator: Mapping[str, Any] | None = None,
        kept: Mapping[str, Any] | None = None,
        backend: str | None = None,
        logprobs: Any = None,
        sampled_logprobs: "array[float] | None" = None,
    ) -> dict[str, Any]:
        """Acknowledges the batch with the SHA-256 of the weights that it produced; they are the next version. `metrics` are finite numbers.
        `logprobs` are those of its tokens by these weights, shaped as `response_mask` of the rows that were read last; what was not sampled counts
        for nothing (`sampled_logprobs`: of the sampled tokens alone). The rewards that it names as trained on are those of the rows that were
        read last, by `rows` or `read_rows`; where none were read, it names none: read again only what is trained on.

        Returns what the server says. Raises LeaseLost when the lease is over: the weights are no version then. After another refusal the next call
        sends what it is given. An acknowledgement that is on record, or whose answer was lost (Unreachable, a busy server), is sent as it was when it is called
        again with its weights, and the server takes it once; other weights raise EspalierError, `already-acked` or `answer-lost`."""
        self.check()
        if self._made is None:
            given = {"loss": loss, "kept": kept, "estimator": estimator, "weights": weights, "backend": backend or self.base["backend"]}
            given = {name: checked_json(name, value) for name, value in given.items() if name != "estimator" or value is not None}
            checkpoint = self._checkpoints.setdefault(str(weights), str(uuid.uuid4()))
            made = {"version": self.base["version"] + 1, "checkpointId": checkpoint, **given, "metrics": checked_numbers(metrics or {})}
            if self._read is not None and self._read.rewards_at is not None:
                made["rewardsAt"] = self._read.rewards_at
            if logprobs is not None:
                rows = self._read or Rows(self._client._request("GET", self.said["rows"])[2])  # for the mask: nothing was trained on them
                sampled_logprobs = sampled_only(logprobs, rows["response_mask"], rows.shape("response_mask"))
            if sampled_logprobs is not None:
                made["logProbs"] = packed(sampled_logprobs)
            self._made = made
        elif self._made["weights"] != weights:
            raise self._made_before(weights)
        try:
            said = self._settle("ack", self._made)
        except EspalierError as error:
            if not self._acked and error.status not in LOST and error.status < 500:
                self._made = None  # refused: what is corrected must not be kept from the server
            raise
        self._acked = True
        return said

    def _made_before(self, weights: str) -> EspalierError:
        assert self._made is not None
        before = self._made["weights"]
        if self._acked:
            message, remedy = f"was acknowledged with the weights {before}, not {weights}", "keep that version: a batch makes one"
        else:
            message = f"was acknowledged with the weights {before}, not {weights}, and the answer was lost: they may be on record"
            remedy = "call ack again with those weights"
        return EspalierError(
            f"batch {self.ordinal} {message}", remedy=remedy, field="weights", code="already-acked" if self._acked else "answer-lost"
        )

    def give_back(self, reason: str) -> dict[str, Any]:
        """Returns the batch for another trainer to lease."""
        return self._settle("nack", {"reason": reason[:10_000]})

    def abandon(self, reason: str) -> dict[str, Any]:
        """Abandons the batch for good: it produces no version."""
        return self._settle("abandon", {"reason": reason[:10_000]})

    def __enter__(self) -> "Lease":
        self._renewing = threading.Thread(target=self._renew_until_over, name=f"renew {self.id}", daemon=True)
        self._renewing.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _traceback: Any) -> None:
        self._stop.set()
        if self._renewing is not None:
            self._renewing.join()
        if self._over or self.lost is not None:
            return
        left = kind is None or kind is GeneratorExit  # the loop over batches was left
        reason = "the trainer went on without acknowledging" if left or kind is None else f"the trainer stopped: {kind.__name__} {error}"
        with suppress(EspalierError):  # it ends by itself at its deadline
            self.give_back(reason)

    def _renew_until_over(self) -> None:
        while not self._stop.wait(self._ttl_s / 3):
            try:
                self.renew()
            except LeaseLost as lost:
                self.lost = lost
                return
            except EspalierError:
                continue  # the network or a busy server: the next renewal, or the acknowledgement, says more

    def _settle(self, verb: str, body: dict[str, Any]) -> dict[str, Any]:
        said: dict[str, Any] = self._post(verb, body)
        self._over = True
        self._stop.set()
        return said

    def _post(self, verb: str, body: dict[str, Any]) -> Any:
        return self._client._json("POST", f"/v1/training/leases/{self.id}/{verb}", {"fence": self.fence, **body})


class RowsAhead:
    """Rows of a batch that is not leased yet, and the tag that says whether they are still the same."""

    def __init__(self, rows: Rows, tag: str) -> None:
        self.rows, self.tag = rows, tag


def digest_file(path: "str | os.PathLike[str]") -> str:
    """Returns the SHA-256 of a file in lower-case hex: what names the weights in it."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else _digest(file)


def _digest(file: Any) -> str:  # Python 3.10
    digest = hashlib.sha256()
    while chunk := file.read(2**20):
        digest.update(chunk)
    return digest.hexdigest()


def _read(answer: Any) -> bytearray:
    """Reads a body into one piece of writable memory: from the socket to where it stays."""
    length = answer.headers.get("content-length")
    if length is None:
        return bytearray(answer.read())
    body = bytearray(int(length))
    view, at = memoryview(body), 0
    while at < len(body):
        read = answer.readinto(view[at:])
        if not read:
            raise EOFError(f"the body ended after {at} of {len(body)} bytes")
        at += read
    return body


def _refused(refusal: urllib.error.HTTPError) -> EspalierError:
    problems: list[Mapping[str, Any]] = []
    try:
        said = json.loads(refusal.read())["error"]
        code, message, remedy = said.get("code", ""), said.get("message", ""), said.get("remedy", "")
        problems = [problem for problem in said.get("problems") or [] if isinstance(problem, dict)]
    except (ValueError, KeyError, TypeError, OSError, AttributeError):
        code, message, remedy = "", f"{refusal.code} {refusal.reason}", ""
    field = str(problems[0].get("path", "")) if problems else ""
    kind = {"stale-fence": LeaseLost, "unknown-lease": LeaseLost, "unreadable": RowsUnreadable}.get(code, EspalierError)
    return kind(message, remedy=remedy, field=field, status=refusal.code, code=code, problems=problems)
