"""A tree of a run: one task, and the rollouts or the search on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import EspalierError
from .ids import derived_id, episode_id_of, group_tree_id_of, tree_id_of
from .journal import Draft, tree_closed
from .pictures import Pictures
from .prompts import Known, Message, Shown, prompt_data
from .task import Task, task_data, turns_of
from .values import Json, now, storable

if TYPE_CHECKING:
    from .episode import Episode
    from .run import Run


class Place:
    """A step of a tree as far as later ones need it: where it is, its texts and pictures, and the prompt before it. Texts of the path are
    looked up when a prompt is recorded, and not before."""

    __slots__ = ("depth", "id", "images", "observation", "parent", "pictures", "reply", "response", "shown", "turns")

    def __init__(self, step_id: str, parent: Place | None, response: str, observation: str) -> None:
        self.id, self.parent = step_id, parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.response, self.observation = response, observation  # of the root the instruction and the first observation
        self.reply: Message | None = None  # what was said, where it is more than a text
        self.shown: Shown | None = None if parent is None else parent.shown
        self.images: dict[str, str] = {}  # what a message may name a picture of the observation by, its id included → its id
        self.pictures: list[Json] = []
        self.turns: list[Message] = []  # of the root, between the instruction and the first observation

    def path(self) -> list[Place]:
        """Returns the steps from the root to this one."""
        places = [self]
        while places[-1].parent is not None:
            places.append(places[-1].parent)
        return places[::-1]

    def known(self) -> dict[str, Known]:
        """Returns the texts that the steps of the path hold; the first place of each."""
        texts: dict[str, Known] = {}
        for place in self.path():
            for text, field in ((place.response, "response" if place.parent else "instruction"), (place.observation, "observation")):
                if text:
                    texts.setdefault(storable(text), Known(place.id, field))
        return texts

    def path_images(self) -> dict[str, str]:
        """Returns the pictures of the path by what a message may name them by."""
        return {name: image_id for place in self.path() for name, image_id in place.images.items()}

    def conversation(self) -> list[Message]:
        """Returns the conversation up to here: the instruction, the turns of the task, the first observation, then what was said and what followed. An empty
        observation is an empty message of the user, as the server composes it: no reply follows a reply. An empty instruction is none. Behind a call of
        a tool the observation is its result; raises EspalierError behind several."""
        messages: list[Message] = []
        for place in self.path():
            if place.parent is not None or place.response:
                role = "assistant" if place.parent else "system"
                messages.append(place.reply or {"role": role, "parts": [{"kind": "text", "text": place.response}]})
            messages += place.turns
            parts: list[Json] = [{"kind": "image", "imageId": picture["imageId"]} for picture in place.pictures]
            if place.observation or not parts:
                parts.insert(0, {"kind": "text", "text": place.observation})
            messages.append({**_answering([] if place.parent is None else messages[-1:]), "parts": parts})
        return messages

    def composed(self, root: Place, *, must: bool = False) -> list[Message] | None:
        """Returns the conversation up to here where it is to be recorded: `must`, or as the task has turns, which are nowhere else on record.
        Behind a reply that called several tools none is, unless it `must`: then it raises EspalierError."""
        if not must and not root.turns:
            return None
        try:
            return self.conversation()
        except EspalierError:
            if must:
                raise
            return None

    def prompt_drafts(
        self, tree_id: str, messages: list[Message] | None, at: str, *, token_ids: list[int] | None = None, sampled: list[int] | None = None,
        tools: object = None, sampling: Mapping[str, Any] | None = None, model: str | None = None, server: str | None = None,
    ) -> list[Draft]:  # fmt: skip
        """Returns the record of what the policy was asked with for this step, which prompts behind it build on; nothing where `messages` is None."""
        before = self.parent
        if messages is None or before is None:
            return []
        data, self.shown = prompt_data(
            tree_id, self.id, messages, before=before.shown, known=before.known(), token_ids=token_ids, sampled=sampled,
            tools=tools, sampling=sampling, model=model, server=server,
        )  # fmt: skip
        return [Draft("PromptShown", tree_id, self.id, data, at)]


def _answering(last: list[Message]) -> Json:
    """Returns who speaks behind a message: the user, or the tool that it calls."""
    calls = [part for message in last for part in message["parts"] if part["kind"] == "tool-call"]
    if len(calls) > 1:
        remedy = "give the messages that the model was asked with: prompt=[…]"
        raise EspalierError(f"a reply called {len(calls)} tools, and one observation does not say which answered what", remedy=remedy, field="prompt")
    if not calls:
        return {"role": "user"}
    return {"role": "tool"} | ({} if calls[0]["id"] is None else {"toolCallId": calls[0]["id"]})


class Tree:
    """The open tree of a task. Its ids follow from the run, who records it, how often the task was begun before, and its alias; those of a
    group that several processes record from the run and the `group`."""

    def __init__(self, run: Run, task: Task, pictures: Pictures, planned: int, occurrence: int = 0, *, group: str | None = None) -> None:
        self.run, self.task, self.planned, self.group = run, task, planned, group
        self._journal = run.journal
        self.id = tree_id_of(run.id, run.recorder, occurrence, task.alias) if group is None else group_tree_id_of(run.id, group)
        self.root = Place(derived_id("root", self.id), None, task.instruction, task.observation)
        self.root.pictures, self.root.images = pictures
        self.root.turns = turns_of(task)
        self.next, self.counted = 0, 0  # the next ordinal; rollouts that count towards those planned
        self.open: dict[str, Episode] = {}
        self.exhausted, self.closed, self.begun = False, False, False

    def begin(self) -> list[Draft]:
        """Returns what opens the tree, once."""
        if self.begun:
            return []
        run, task = self.run, self.task
        self.begun = True
        data: Json = {
            "treeId": self.id,
            "runId": run.id,
            "task": task_data(task, run.environment, run.fingerprint, [each["imageId"] for each in self.root.pictures]),
            "rootStepId": self.root.id,
            "instruction": task.instruction,
            "observation": task.observation,
            **({"pictures": self.root.pictures} if self.root.pictures else {}),
            "admissibleActions": None if task.actions is None else list(task.actions),
            "stateHash": None,
            "plannedRollouts": self.planned,
            "seed": run.seed,
            **({} if self.group is None else {"shared": True}),
        }
        return [Draft("TreeOpened", self.id, self.id, data, now())]

    def start_rollout(self, start: Place, episode: str | None = None, member: int | None = None, policy: Json | None = None) -> tuple[str, int, list[Draft]]:
        """Numbers a rollout that begins at a step; returns its id, its ordinal and the events that begin it."""
        self.check_open()
        ordinal = self.next if member is None else member
        rollout_id = derived_id("rollout", self.id, ordinal) if episode is None else episode_id_of(self.run.id, episode)
        data = {"rolloutId": rollout_id, "treeId": self.id, "fromStepId": start.id, "ordinal": ordinal}
        data |= {"seed": self.run.seed, "policy": policy or self.run.policy}
        drafts = [*self.begin(), Draft("RolloutStarted", self.id, rollout_id, data, now())]
        return rollout_id, ordinal, drafts

    def closing(self, reason: str) -> list[Draft]:
        return [tree_closed(self.id, reason, self.next, now())] if self.begun and not self.closed else []

    def check_own(self) -> None:
        """Raises EspalierError where another process began it."""
        if self.run._journal is not self._journal:
            remedy = "record it there; in this process begin episodes by the run, or by run.group(task, n, id=…).member(i)"
            raise EspalierError(f"the tree of task {self.task.alias!r} was begun by the process that forked this one", remedy=remedy, field="task", code="forked")

    def check_open(self) -> None:
        self.check_own()
        self.run.check_open()
        if self.closed:
            remedy = "branch before the last episode of the group is finished, or begin the task again by run.group(task)"
            raise EspalierError(f"the tree of task {self.task.alias!r} is closed", remedy=remedy, field="task", code="ended")
