"""Trains the batches of an Espalier installation over HTTP, with Python's standard library alone.

    client = Client()  # the server of this machine, or that of ESPALIER_URL
    client.declare("my-policy", backend="mine", weights=digest_file("model.safetensors"))
    for lease in client.batches("my-policy", layout="verl"):
        ...  # train on lease.rows; the lease is renewed meanwhile
        lease.ack(weights=digest_file("model.safetensors"), metrics={"loss": 0.5})
"""

import hashlib
import http.client
import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from contextlib import suppress

from .errors import EspalierError, Unreachable
from .installation import find_token, find_url
from .rows import Rows

BUSY = (429, 502, 503, 504)  # the server or a proxy before it asks for another try
LONGEST_PAUSE_S = 30


class LeaseLost(EspalierError):
    """The lease is over: another trainer may have the batch, and what was computed from it must be dropped."""


class RowsUnreadable(EspalierError):
    """The record contradicts itself: nobody gets these rows. Abandon the batch."""


class Waiting:
    """No batch now. False as a condition; `why` says what the server waits for, as far as it says, `retry_after` when to ask."""

    def __init__(self, said, retry_after):
        self.said, self.retry_after = said, retry_after

    @property
    def why(self):
        return self.said.get("next") or "no batch is planned, or another trainer holds it"

    def __bool__(self):
        return False

    def __repr__(self):
        return f"Waiting({self.why!r})"


class Client:
    """A trainer's connection to an installation. Without `url` it is that of ESPALIER_URL or of this machine; without `api_key` it
    shows ESPALIER_TOKEN, or on this machine the token of the installation. Requests that may be repeated are, for `retry_s` seconds."""

    def __init__(self, url=None, *, api_key=None, consumer="espalier-rl", timeout_s=60, retry_s=60):
        self.url, self.consumer = (url or find_url()).rstrip("/"), consumer
        api_key = api_key or find_token(self.url)
        self._headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self._timeout_s, self._retry_s = timeout_s, retry_s

    def declare(self, policy_id, *, backend, weights=None, **declaration):
        """Declares that a policy is trained. `weights` is the SHA-256 of the first ones, which Espalier makes itself for its backends
        `linear` and `torch`; `estimator`, `rules`, `preset`, `seed` and every other field of a declaration as its reference has them.
        Returns the newest version, None before the first is made. The same declaration again changes nothing; another one raises
        EspalierError with the code `declared-otherwise`."""
        wanted = {"backend": backend, **({} if weights is None else {"weights": weights}), **declaration}
        return self._json("PUT", f"/v1/training/policies/{urllib.parse.quote(policy_id, safe='')}", wanted).get("head")

    def lease(self, policy_id, *, layout="step", ttl_s=60, wait_s=20, base_version=None):
        """Leases the next batch of a policy, waiting up to `wait_s` (at most 30) for one. Returns a Lease or Waiting."""
        asked = {"policyId": policy_id, "consumer": self.consumer, "ttlMs": int(ttl_s * 1000), "waitMs": int(wait_s * 1000)}
        asked |= {"layout": layout} | ({} if base_version is None else {"baseVersion": base_version})
        status, headers, body = self._request("POST", "/v1/training/leases", asked, extra_s=wait_s)
        said = json.loads(body) if body else {}
        if status == 204 or "leaseId" not in said:
            return Waiting(said, float(headers.get("retry-after") or 1))
        return Lease(self, said, ttl_s)

    def batches(self, policy_id, *, idle_s=None, **options):
        """Yields leases one after the other, their `rows` read and the lease renewed until it is acknowledged or returned. A batch
        that nobody can read is abandoned. Ends after `idle_s` seconds without a batch; without `idle_s` it never does. What was not
        acknowledged when the next is asked for goes back."""
        longest_wait_s = options.pop("wait_s", 20)
        idle_since = time.monotonic()
        while True:
            left = float("inf") if idle_s is None else idle_s - (time.monotonic() - idle_since)
            lease = self.lease(policy_id, wait_s=max(0, min(longest_wait_s, left)), **options)
            if not lease:
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

    def _json(self, method, path, body=None):
        return json.loads(self._request(method, path, body)[2])

    def _request(self, method, path, body=None, extra_s=0):
        """Sends a request until it is answered or refused. Returns status, headers, body; raises EspalierError."""
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        until = time.monotonic() + self._retry_s
        pause = 0.05
        while True:
            request = urllib.request.Request(self.url + path, data, self._headers | {"content-type": "application/json"}, method=method)
            try:
                with urllib.request.urlopen(request, timeout=self._timeout_s + extra_s) as answer:
                    return answer.status, answer.headers, _read(answer)
            except urllib.error.HTTPError as refusal:
                error, asked = _refused(refusal), float(refusal.headers.get("retry-after") or 0)
                if refusal.code not in BUSY:
                    raise error from None
            except (OSError, EOFError, http.client.HTTPException) as fault:  # faults of the connection, a cut body too
                error, asked = Unreachable(f"{method} {self.url}{path}: {fault}", code="unreachable"), 0
            pause = min(LONGEST_PAUSE_S, max(asked, pause * 2))
            if time.monotonic() + pause > until:
                raise error
            time.sleep(pause)


class Lease:
    """The right to train one batch, until `deadline`. Within `with lease:` it is renewed in the background; what is neither
    acknowledged, returned nor abandoned at the end goes back for another trainer."""

    def __init__(self, client, said, ttl_s):
        self._client, self._ttl_s = client, ttl_s
        self.said = said
        self.id, self.fence, self.deadline = said["leaseId"], said["fence"], said["deadline"]
        self.batch_id, self.ordinal, self.policy_id = said["batchId"], said["ordinal"], said["policyId"]
        self.base, self.estimator, self.rules, self.seed = said["base"], said["estimator"], said["rules"], said["seed"]
        self.trainer, self.samples, self.tokens = said.get("trainer"), said["samples"], said["tokens"]
        self.lost = None  # the error that said so
        self._over = False  # acknowledged, returned or abandoned
        self._rows, self._made = None, None
        self._stop, self._renewing = threading.Event(), None

    @property
    def rows(self):
        """The rows, read once, straight into the memory that their columns are views of."""
        if self._rows is None:
            self._rows = self.read_rows()
        return self._rows

    def read_rows(self, layout=None):
        """Reads the rows, in the layout that was asked for or another one (`step`, `verl`, `padded`). Raises RowsUnreadable when nobody
        gets them, EspalierError `layout` when the record does not hold what the layout needs."""
        path = self.said["rows"] if layout is None else f"/v1/training/leases/{self.id}/rows?layout={layout}"
        return Rows(self._client._request("GET", path)[2])

    def check(self):
        """Raises LeaseLost when a renewal found the lease to be over: what is computed from here on is dropped."""
        if self.lost is not None:
            raise self.lost

    def renew(self):
        """Moves the deadline."""
        self.deadline = self._post("renew", {"ttlMs": int(self._ttl_s * 1000)})["deadline"]

    def ack(self, *, weights, metrics=None, loss=None, estimator=None, kept=None, backend=None):
        """Acknowledges the batch with the SHA-256 of the weights that it produced; they are the next version. Returns what the server
        says. Raises LeaseLost when the lease is over: the weights are no version then. Called again after Unreachable it sends
        the same, which the server takes once."""
        self.check()
        if self._made is None:
            made = {"version": self.base["version"] + 1, "checkpointId": str(uuid.uuid4()), "weights": weights}
            made |= {"backend": backend or self.base["backend"], "kept": kept, "loss": loss, "metrics": metrics or {}}
            if estimator is not None:
                made["estimator"] = estimator
            if self.rows.rewards_at is not None:
                made["rewardsAt"] = self.rows.rewards_at
            self._made = made
        return self._settle("ack", self._made)

    def give_back(self, reason):
        """Returns the batch for another trainer to lease."""
        return self._settle("nack", {"reason": reason[:10_000]})

    def abandon(self, reason):
        """Abandons the batch for good: it produces no version."""
        return self._settle("abandon", {"reason": reason[:10_000]})

    def __enter__(self):
        self._renewing = threading.Thread(target=self._renew_until_over, name=f"renew {self.id}", daemon=True)
        self._renewing.start()
        return self

    def __exit__(self, kind, error, _traceback):
        self._stop.set()
        self._renewing.join()
        if self._over or self.lost is not None:
            return
        reason = "the trainer went on without acknowledging" if kind is None else f"the trainer stopped: {kind.__name__} {error}"
        with suppress(EspalierError):  # it ends by itself at its deadline
            self.give_back(reason)

    def _renew_until_over(self):
        while not self._stop.wait(self._ttl_s / 3):
            try:
                self.renew()
            except LeaseLost as lost:
                self.lost = lost
                return
            except EspalierError:
                continue  # the network or a busy server: the next renewal, or the acknowledgement, says more

    def _settle(self, verb, body):
        said = self._post(verb, body)
        self._over = True
        self._stop.set()
        return said

    def _post(self, verb, body):
        return self._client._json("POST", f"/v1/training/leases/{self.id}/{verb}", {"fence": self.fence, **body})


def digest_file(path):
    """Returns the SHA-256 of a file in lower-case hex: what names the weights in it."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else _digest(file)


def _digest(file):  # Python 3.10
    digest = hashlib.sha256()
    while chunk := file.read(2**20):
        digest.update(chunk)
    return digest.hexdigest()


def _read(answer):
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


def _refused(refusal):
    try:
        said = json.loads(refusal.read())["error"]
        code, message, remedy = said.get("code", ""), said.get("message", ""), said.get("remedy", "")
    except (ValueError, KeyError, TypeError, OSError, AttributeError):
        code, message, remedy = "", f"{refusal.code} {refusal.reason}", ""
    kind = {"stale-fence": LeaseLost, "unknown-lease": LeaseLost, "unreadable": RowsUnreadable}.get(code, EspalierError)
    return kind(message, remedy=remedy, status=refusal.code, code=code)
