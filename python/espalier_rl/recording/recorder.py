"""How a process joins a run that others record too: under a name of its own, from which the ids of its trees follow."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import EspalierError
from .ids import new_id, recorder_id_of
from .journal import Draft, recorder_left
from .resume import Recorded
from .values import Json, name_of, now


class Recorder(NamedTuple):
    """A process in a run. `session` is its own; `continued` says whether the next one of its name goes on with its trees, `turn` how many
    had the name before."""

    id: str
    name: str
    continued: bool
    turn: int
    session: str

    def joined(self, run_id: str, *, ended_by_opener: bool = False) -> Draft:
        data: Json = {"runId": run_id, "recorderId": self.id, "name": self.name, "session": self.session}
        if ended_by_opener:
            data["endedByOpener"] = True
        return Draft("RecorderJoined", run_id, self.id, data, now())


def own_recorder() -> Recorder:
    """The recorder of a process that has the run by a handle, or from the process that forked it: nobody has its name."""
    recorder_id = new_id()
    return Recorder(recorder_id, recorder_id, False, 0, new_id())


def choose_recorder(run_id: str, given: str | None, recorded: Recorded | None, *, is_taken: bool, take_over: bool) -> tuple[Recorder, list[Draft]]:
    """Chooses the name under which a process joins by the key of a run, and returns what ends recorders that it takes over from. Without
    a name it is the first recorder of the run, or goes on with what that one left when it failed. It has a name of its own while that one
    records, and where that one completed: then it is no program that is started again, but one that comes late.
    Raises EspalierError `in-use` where another one records under the name."""
    name = "" if given is None else name_of(given, "recorder")
    before = [] if recorded is None else recorded.of_name(name)
    living = [each for each in before if each["leftAt"] is None]
    completed = any(each["outcome"] == "completed" for each in before)
    if given is None and completed and recorded is not None and not recorded.finished:
        return own_recorder(), []
    if (living or is_taken) and not take_over:
        if given is None:
            return own_recorder(), []
        message = f"another process records the run as {name!r}"
        remedy = "give each process a name of its own; if that one is gone for good, give take_over=True"
        raise EspalierError(message, remedy=remedy, field="recorder", code="in-use")
    ends = [recorder_left(run_id, each["id"], "failed", "another process took its place", now()) for each in living]
    return Recorder(recorder_id_of(run_id, name, len(before)), name, True, len(before), new_id()), ends
