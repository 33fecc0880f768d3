"""Events of the log as they happen: `async for event in db.run_tail(run)`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..connection import Connection
from ..errors import EspalierError, Unreachable

_FOLLOW = """subscription ($after: String, $types: [String!], $run: ID, $tree: ID) {
  events(after: $after, types: $types, run: $run, tree: $tree) {
    id type schemaVersion stream streamPosition sequence occurredAt receivedAt runId causationId producer principal project data
    topic partition offset position
  } }"""


@dataclass(frozen=True)
class Event:
    """One event and its place. `position` is what `after` takes to go on behind it."""

    id: str
    type: str
    stream: str
    run_id: str
    data: Mapping[str, Any]
    occurred_at: str
    position: str
    #: All that the subscription says of it, by the names of GraphQL.
    fields: Mapping[str, Any]


async def tail(
    connection: Connection,
    *,
    run: str | None = None,
    tree: str | None = None,
    types: Sequence[str] | None = None,
    after: str | None = None,
) -> AsyncIterator[Event]:
    """Yields events as the journal takes them, without end. `after=None` begins at the end of the log as it is now, `after=""` at its
    beginning, a position behind it. Where the connection breaks it goes on behind the last event, none lost or repeated. Order
    holds in each tree and run. Raises EspalierError where the server refuses, Unreachable where it stays away."""
    variables: dict[str, Any] = {"run": run, "tree": tree, "types": None if types is None else list(types)}
    if after is None:
        after = str((await connection.agraphql("{ position }"))["position"])  # what is appended while this connects is not passed over
    pause = 0.1
    while True:
        asked = {"query": _FOLLOW, "variables": {**variables, "after": after}}
        headers = {"accept": "text/event-stream", "content-type": "application/json"}
        answered = False
        try:
            async with connection.astream("POST", "/graphql", content=json.dumps(asked).encode(), headers=headers) as answer:
                answered = True
                async for name, text in _server_sent(answer.aiter_lines()):
                    if name != "next":
                        break
                    event = _event(json.loads(text))
                    after = event.position
                    pause = 0.1
                    yield event
        except Unreachable:
            if not answered:
                raise
        await asyncio.sleep(pause)
        pause = min(30.0, pause * 2)


async def _server_sent(lines: AsyncIterator[str]) -> AsyncIterator[tuple[str, str]]:
    """Yields the name and the data of each server-sent event; comments keep the connection alive."""
    name, data = "message", list[str]()
    async for line in lines:
        if line == "":
            if data or name != "message":
                yield name, "\n".join(data)
            name, data = "message", []
        elif line.startswith("event:"):
            name = line[6:].strip()
        elif line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))


def _event(answer: Mapping[str, Any]) -> Event:
    errors = answer.get("errors")
    if errors:
        said = errors[0]
        raise EspalierError(str(said["message"]), status=200, code=str(said.get("extensions", {}).get("code", "graphql")))
    of = answer["data"]["events"]
    return Event(of["id"], of["type"], of["stream"], of["runId"], of["data"], of["occurredAt"], of["position"], of)
