"""What a run puts on record: drafts become numbered events in its spool, and its state is known at every moment."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..connection import Connection
from ..errors import EspalierError
from .calls import CallLog, recover_calls
from .ids import derived_id
from .sender import SHORTEST_STOP_S, Sender
from .spool import LINE_LIMIT, Spool, read_refused
from .values import LONGEST_REASON, Json, cut, now

ENVELOPE_BYTES = 16 * 2**10  # at most, of what a line has around its data: above all the producer


class Draft(NamedTuple):
    """An event before it has a number. `key` is what its id is derived from, besides its type."""

    type: str
    stream: str
    key: str
    data: Json
    at: str


class Encoded(NamedTuple):
    """A draft with its id and its data as JSON, which are made once for both lines of a step: as it is held back, and as it is sent."""

    draft: Draft
    id: str
    data: str


_json = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def _encoded(draft: Draft) -> Encoded:
    return Encoded(draft, derived_id(draft.type, draft.key), _json(draft.data))


class State:
    """What the record of a run holds so far, as far as it matters for going on with it or for ending it. `to_json` is the head of a
    segment, which a later process reads."""

    def __init__(self, said: Json | None = None) -> None:
        said = said or {}
        self.run: Json | None = said.get("run")
        self.producer: Json = said.get("producer") or {}
        self.recorder: Json | None = said.get("recorder")  # of a program that joined: its id, and whether one of its name continues it
        self.sequences: dict[str, int] = said.get("sequences") or {}
        self.trees: dict[str, Json] = said.get("trees") or {}  # that are open
        self.totals: dict[str, int] = said.get("totals") or {"trees": 0, "rollouts": 0, "steps": 0, "ended": 0, "failed": 0}
        self.reason: str = said.get("reason") or ""  # of the first rollout that failed
        self.finished: bool = bool(said.get("finished"))  # the run, or the part in it of a program that joined

    def to_json(self) -> Json:
        return dict(vars(self))

    def apply(self, kind: str, data: Json) -> None:
        """Takes an event into account that is on record."""
        if kind == "StepTaken":
            self.totals["steps"] += 1
            tree = self.trees.get(data["treeId"])
            if tree is not None and data["rolloutId"] in tree["open"]:
                walk = tree["open"][data["rolloutId"]]
                walk["leaf"], walk["steps"] = data["stepId"], walk["steps"] + 1
        elif kind == "RolloutStarted":
            self.totals["rollouts"] += 1
            tree = self.trees.setdefault(data["treeId"], {"rollouts": 0, "open": {}, "shared": False})
            tree["rollouts"] += 1
            tree["open"][data["rolloutId"]] = {"leaf": data["fromStepId"], "steps": 0}
        elif kind == "RolloutFinished":
            self.totals["ended"] += 1
            self.totals["failed"] += data["outcome"] == "failed"
            self.reason = self.reason or (data["reason"] if data["outcome"] == "failed" else "")
            self.trees.get(data["treeId"], {"open": {}})["open"].pop(data["rolloutId"], None)
        elif kind == "TreeOpened":
            self.totals["trees"] += 1
            self.trees[data["treeId"]] = {"rollouts": 0, "open": {}, "shared": data.get("shared", False)}
        elif kind == "TreeClosed":
            self.trees.pop(data["treeId"], None)
            self.sequences.pop(data["treeId"], None)
        elif kind == "RunStarted":
            self.run = {"runId": data["runId"], "name": data["name"]}
        elif kind in ("RunFinished", "RecorderLeft"):
            self.finished = True

    def closing(self, reason: str) -> list[Draft]:
        """Returns the events that end what is open, as failed: of the run, or of the part in it of a program that joined. What the next
        one of its name continues is cancelled, and others take its place."""
        assert self.run is not None
        at, run_id = now(), self.run["runId"]
        continued = self.recorder is not None and self.recorder["continued"]
        drafts = []
        for tree_id, tree in self.trees.items():
            for rollout_id, walk in tree["open"].items():
                outcome = "cancelled" if continued and not tree["shared"] else "failed"
                drafts.append(rollout_finished(tree_id, rollout_id, walk["leaf"], walk["steps"], outcome, None, reason, at))
            if not continued and not tree["shared"]:
                drafts.append(tree_closed(tree_id, "failed", tree["rollouts"], at))
        if self.recorder is not None:
            return [*drafts, recorder_left(run_id, self.recorder["id"], "failed", reason, at)]
        return [*drafts, run_finished(run_id, "failed", reason, self.totals, at)]


def rollout_finished(
    tree_id: str, rollout_id: str, leaf: str, steps: int, outcome: str, success: bool | None, reason: str, at: str
) -> Draft:
    data = {"rolloutId": rollout_id, "treeId": tree_id, "leafStepId": leaf, "outcome": outcome, "success": success, "steps": steps}
    return Draft("RolloutFinished", tree_id, rollout_id, {**data, "reason": cut(reason, LONGEST_REASON)}, at)


def tree_closed(tree_id: str, reason: str, rollouts: int, at: str) -> Draft:
    return Draft("TreeClosed", tree_id, tree_id, {"treeId": tree_id, "reason": reason, "rollouts": rollouts}, at)


def run_finished(run_id: str, outcome: str, message: str, totals: dict[str, int], at: str) -> Draft:
    data: Json = {"runId": run_id, "outcome": outcome, "message": cut(message, LONGEST_REASON)}
    data |= {name: totals[name] for name in ("trees", "rollouts", "steps")}
    return Draft("RunFinished", run_id, run_id, data, at)


def recorder_left(run_id: str, recorder_id: str, outcome: str, message: str, at: str) -> Draft:
    data = {"runId": run_id, "recorderId": recorder_id, "outcome": outcome, "message": cut(message, LONGEST_REASON)}
    return Draft("RecorderLeft", run_id, recorder_id, data, at)


class Journal:
    """Writes drafts of one run into its spool, and sends them. Threads may share it; a process that was forked opens its own."""

    def __init__(self, connection: Connection, spool: Spool, state: State, *, for_anyone: bool = False) -> None:
        self.spool, self.state = spool, state
        self.sender = Sender(connection, spool, for_anyone=for_anyone)
        self.lock = threading.RLock()
        self._held: dict[str, list[Encoded]] = {}  # by rollout
        self._producer = json.dumps(state.producer)

    def open(self) -> None:
        """Begins a segment and the sender."""
        with self.lock:
            self._begin_segment()
        self.sender.start()

    def emit(self, drafts: Sequence[Draft]) -> None:
        """Puts drafts on record, all or none."""
        with self.lock:
            self._emit(drafts)

    def hold(self, rollout_id: str, drafts: list[Draft]) -> None:
        """Keeps drafts in the spool until `settle` says how they end: the first is a step that may be the last of its rollout."""
        with self.lock:
            self._fresh()
            encoded = [*map(_to_hold, drafts)]
            self.spool.append(b"".join(map(_held_line, encoded)))
            self._held[rollout_id] = encoded

    def settle(self, rollout_id: str, termination: str, drafts: Sequence[Draft] = (), *, hold: list[Draft] | None = None) -> None:
        """Puts what is held of a rollout on record, then `drafts`; then `hold` is held."""
        with self.lock:
            held = self._held.get(rollout_id, [])
            if held and held[0].draft.data["termination"] != termination:
                held[0].draft.data["termination"] = termination
                held[0] = _encoded(held[0].draft)
            lines, sequences = self._lines([*held, *map(_encoded, drafts)])
            kept = [*map(_to_hold, hold or ())]
            lines.extend(map(_held_line, kept))
            if not lines:
                return
            self._fresh()
            self.spool.append(b"".join(lines))
            self._held.pop(rollout_id, None)
            if kept:
                self._held[rollout_id] = kept
            self._apply([*(each.draft for each in held), *drafts], sequences)

    def holds(self, rollout_id: str) -> bool:
        """Whether a step of a rollout is held back."""
        return rollout_id in self._held

    def end_behind_calls(self) -> None:
        """Takes the end of the run as said by the calls that it captured, whose spool is sent behind this one."""
        with self.lock:
            self.state.finished = True
            self._begin_segment()

    def close(self, timeout_s: float, *, away_s: float | None = None) -> None:
        """Waits until everything is sent or set aside. Raises what the server refused of the run, or Unreachable: then the spool is left for
        a later process."""
        sent, until = False, time.monotonic() + timeout_s
        try:
            self.sender.wait(timeout_s, away_s=away_s)
            sent = True
        finally:
            ended = self.sender.stop(max(SHORTEST_STOP_S, until - time.monotonic()))
            self.spool.close(delete=sent and ended)

    def is_refused_to_join(self, error: EspalierError) -> bool:
        """Whether the server refused its process since another one had joined under the name."""
        recorder = self.state.recorder
        joined = None if recorder is None else derived_id("RecorderJoined", recorder["id"])
        return error.status == 409 and any(problem.get("id") == joined for problem in error.problems)

    def discard(self) -> None:
        """Gives up what it holds: nothing of it was acknowledged."""
        self.sender.stop()
        self.spool.close(delete=True)

    def event_of(self, draft: Draft) -> Json:
        """Returns a draft as the next event of its stream, for who sends it himself."""
        [line], _ = self._lines([_encoded(draft)])
        event: Json = json.loads(line)
        return event

    def _emit(self, drafts: Sequence[Draft]) -> None:
        self._fresh()
        lines, sequences = self._lines([*map(_encoded, drafts)])
        self.spool.append(b"".join(lines))
        self._apply(drafts, sequences)

    def _lines(self, encoded: Sequence[Encoded]) -> tuple[list[bytes], dict[str, int]]:
        sequences: dict[str, int] = {}
        known, run = self.state.sequences, (self.state.run or {}).get("runId")
        lines = []
        for (kind, stream, _, _, at), event_id, data in encoded:
            sequence = sequences.get(stream, known.get(stream, 0))
            sequences[stream] = sequence + 1
            line = (
                f'{{"id":"{event_id}","type":"{kind}","schemaVersion":1,"stream":"{stream}","sequence":{sequence},'
                f'"occurredAt":"{at}","correlationId":"{run or stream}","causationId":null,"producer":{self._producer},'
                f'"data":{data}}}\n'
            ).encode("ascii")
            _check_size(kind, len(line), LINE_LIMIT)
            lines.append(line)
        return lines, sequences

    def _apply(self, drafts: Sequence[Draft], sequences: dict[str, int]) -> None:
        self.state.sequences.update(sequences)
        for draft in drafts:
            self.state.apply(draft.type, draft.data)

    def _fresh(self) -> None:
        if self.spool.wants_segment:
            self._begin_segment()

    def _begin_segment(self) -> None:
        head = b"#" + json.dumps(self.state.to_json(), separators=(",", ":")).encode("ascii") + b"\n"
        held = b"".join(_held_line(each) for held in self._held.values() for each in held)
        self.spool.begin_segment(head + held)


def _to_hold(draft: Draft) -> Encoded:
    encoded = _encoded(draft)
    _check_size(draft.type, len(encoded.data), LINE_LIMIT - ENVELOPE_BYTES)  # now: what is held back must fit when it is sent
    return encoded


def _check_size(kind: str, size: int, limit: int) -> None:
    if size > limit:
        remedy = "shorten its texts; the server keeps long ones, up to 24 MiB in one step"
        raise EspalierError(f"{kind} takes {size} bytes, over {limit}", remedy=remedy, field="observation")


def _held_line(encoded: Encoded) -> bytes:
    kind, stream, key, _, at = encoded.draft
    said = f'~{{"id":"{encoded.id}","type":"{kind}","stream":"{stream}","key":{_json(key)},"data":{encoded.data},"at":"{at}"}}\n'
    return said.encode("ascii")


def recover(connection: Connection, folder: Path, *, for_anyone: bool = False) -> Journal | CallLog | None:
    """Opens what a process left of a run: what it held back is put on record, and its part in the run, or the run that it alone
    recorded, is ended as failed. `for_anyone`: whoever answers is sent it. Returns the journal, sending; None where there is nothing. Raises
    EspalierError `in-use` while its process lives."""
    spool = Spool(folder)
    try:
        said, events, held = spool.last_state()
        if said is None:
            spool.close(delete=True)
            return None
        if "calls" in said:
            return recover_calls(connection, spool, said, events, for_anyone=for_anyone)
        spool.adopt()
        state = State(said)
        for event in events:
            state.apply(event["type"], event["data"])
            state.sequences[event["stream"]] = event["sequence"] + 1
        journal = Journal(connection, spool, state, for_anyone=for_anyone)
        for line in read_refused(folder):  # what follows in these trees waits with them
            journal.sender.refusals.setdefault(json.loads(line)["stream"], EspalierError("an earlier process set it aside", code="refused"))
        journal.open()
    except BaseException:
        spool.close(delete=False)
        raise
    try:
        drafts = [Draft(**{name: value for name, value in each.items() if name != "id"}) for each in held]
        for draft in drafts:
            journal.emit([draft])
        if state.run is not None and not state.finished:
            journal.emit(state.closing("the process that recorded it ended"))
    except BaseException:
        journal.sender.stop()
        spool.close(delete=False)
        raise
    return journal
