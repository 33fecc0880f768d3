"""Reads the versions of a policy with what was measured at each, in their order, and waits for further ones."""

from __future__ import annotations

import time
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from ..connection import Connection
from ..errors import EspalierError

PAGE = 50
QUERY = """query ($policy: String!, $first: Int!, $after: String) { policy(id: $policy) { versions(first: $first, after: $after) {
  pageInfo { hasNextPage endCursor }
  nodes { version weights samples metrics updatedAt batch { id ordinal tokens staleness { staleness samples } } } } } }"""


@dataclass(frozen=True)
class Update:
    """A version of a policy. `metrics` are those that its trainer measured, and of the record `espalier/samples`, `espalier/tokens` and
    `espalier/staleness` (versions, the mean over samples); `at` is in seconds since 1970; `link` is its page in this installation."""

    policy: str
    version: int
    metrics: dict[str, float]
    at: float
    weights: str
    batch: str | None
    link: str


class Sink(Protocol):
    """A place that updates are posted to."""

    def last(self) -> int | None:
        """The newest version that is there whole; None where none is."""

    def post(self, update: Update) -> None:
        """Writes an update so that it is there whole, or is not seen by `last`."""


def updates_after(connection: Connection, policy: str, version: int | None) -> list[Update]:
    """Returns the updates behind a version, the first one first; all where it is None. Raises EspalierError for an unknown policy."""
    found: list[Update] = []
    after: str | None = None
    while True:
        said = connection.graphql(QUERY, {"policy": policy, "first": PAGE, "after": after})["policy"]
        if said is None:
            raise EspalierError(f"there is no policy {policy}", remedy="name one that is trained: GraphQL's policies lists them", field="policy")
        page = said["versions"]  # the newest first
        new = [node for node in page["nodes"] if version is None or node["version"] > version]
        found += [_update(connection.url, policy, node) for node in new]
        if len(new) < len(page["nodes"]) or not page["pageInfo"]["hasNextPage"]:
            return sorted(found, key=lambda update: update.version)
        after = page["pageInfo"]["endCursor"]


def follow(connection: Connection, policy: str, sink: Sink, *, since: int | None = None, every_s: float | None = None) -> Iterator[Update]:
    """Posts every update that the sink has not, and yields each when it is there. `since` leaves out older versions. With `every_s` it
    looks again after so many seconds and never ends."""
    posted = sink.last()
    while True:
        behind = max((version for version in (posted, None if since is None else since - 1) if version is not None), default=None)
        for update in updates_after(connection, policy, behind):
            sink.post(update)
            posted = update.version
            yield update
        if every_s is None:
            return
        time.sleep(every_s)


def _update(url: str, policy: str, node: dict[str, Any]) -> Update:
    batch = node["batch"]
    own = {"espalier/samples": float(node["samples"])} if batch else {}
    if batch:
        count = sum(part["samples"] for part in batch["staleness"])
        own["espalier/tokens"] = float(batch["tokens"])
        if count:
            own["espalier/staleness"] = sum(part["staleness"] * part["samples"] for part in batch["staleness"]) / count
    link = f"{url}/view/training?{urllib.parse.urlencode({'policy': policy, 'version': node['version']})}"
    measured = {name: float(value) for name, value in node["metrics"].items()}
    at = datetime.fromisoformat(node["updatedAt"].replace("Z", "+00:00")).timestamp()
    return Update(policy, node["version"], {**measured, **own}, at, node["weights"], batch["id"] if batch else None, link)
