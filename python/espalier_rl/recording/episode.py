"""One rollout as a program records it: steps, then one end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, NoReturn

from ..coroutines import for_coroutines
from ..errors import EspalierError
from .arrays import mask_of, packed_ends, packed_entropies, packed_log_probs, packed_mask, read_ids
from .ids import derived_id
from .journal import Draft, rollout_finished
from .pictures import read_pictures
from .prompts import messages_of, reply_of
from .tool_calls import tool_drafts
from .tree import Place, Tree
from .values import (
    LARGEST_ID, LONGEST_REASON, MOST_ACTIONS, Json, amount_of, item_of, label_of, list_of, milliseconds_of, name_of, now, policy_of, shown, text_of, texts_of, units_of,
)  # fmt: skip

MOST_SPANS = 1_000


class Step:
    """A recorded step: `id`, `depth` (number of actions up to it), and what `episode.branch` begins at."""

    __slots__ = ("_place", "_tree", "depth", "id")

    def __init__(self, tree: Tree, place: Place) -> None:
        self._tree, self._place = tree, place
        self.id, self.depth = place.id, place.depth

    def __repr__(self) -> str:
        return f"Step({self.id!r}, depth={self.depth})"


class Episode:
    """A rollout that is being recorded. `step` adds a step, `finish` ends it; within `with episode:` an exception ends it as failed, with
    its reason. An episode that is left open is ended with its run. Threads and coroutines may record at the same time; steps of one episode
    follow each other in the order in which they were recorded."""

    def __init__(self, tree: Tree, start: Place, rollout_id: str, ordinal: int) -> None:
        self._tree, self._run, self._at, self._from = tree, tree.run, start, start
        self.id, self.ordinal, self.task = rollout_id, ordinal, tree.task
        self.outcome: str | None = None  # None while it goes on
        self.success: bool | None = None
        self._steps: list[Step] = []
        self._ended_by_step: str | None = None
        self._components: set[str] = set()
        self._labels: set[str] = set()

    @property
    def tree_id(self) -> str:
        """The id of its tree: all episodes of one group share it."""
        return self._tree.id

    @property
    def run(self) -> Any:
        """The run that it belongs to."""
        return self._run

    @property
    def steps(self) -> Sequence[Step]:
        """The steps that it took so far."""
        return tuple(self._steps)

    def step(
        self,
        response: str | Mapping[str, Any],
        observation: str = "",
        *,
        reward: float | Mapping[str, float] | None = None,
        done: bool | str | None = None,
        prompt: str | Sequence[Mapping[str, Any]] | None = None,
        prompt_ids: Any = None,
        ids: Any = None,
        logprobs: Any = None,
        mask: Any = None,
        token_texts: Sequence[str] | None = None,
        entropies: Any = None,
        images: Sequence[Any] = (),
        tools: Sequence[Any] = (),
        tool_schemas: Any = None,
        action: str | None = None,
        thought: str | None = None,
        well_formatted: bool = True,
        executable: bool = True,
        actions: Sequence[str] | None = None,
        finish_reason: str | None = None,
        policy: str | tuple[str, int] | None = None,
        spans: Sequence[tuple[int, int, str]] | None = None,
        sampling: Mapping[str, Any] | None = None,
        model: str | None = None,
        server: str | None = None,
        policy_ms: float = 0,
        environment_ms: float = 0,
    ) -> Step:
        """Records one action and the observation that follows; returns when it is in the spool.

        `response` is what the policy said, unchanged: a text, or the message of the assistant as its server returned it, with `tool_calls` and
        `reasoning_content`. `action` is what of it was executed (default: its calls of tools, else all of it), `thought` the rest.
        `reward` is a number (component `environment`) or numbers by component. `ids` are the sampled token ids, `logprobs` their
        natural log-probabilities, `mask` 0 for tokens that the policy did not sample, `token_texts` what each says (one behind the other
        they are the response, or its beginning), `entropies` those of the distributions that they were sampled from in nats, all of
        shape [tokens]; `prompt_ids` the token ids of the prompt as the server counted them. `prompt` is what was shown (a text, or chat messages): it is recorded as it is;
        with `prompt_ids` alone, or with turns of the task, the conversation of the episode is. `images` are pictures of the observation (bytes, a path, a PIL
        image), `tools` the calls that the step made (`{"name", "arguments", "output"}`), `tool_schemas` the tools that the model was
        offered. `done=True` says that the environment ended the episode, `"truncated"` that a limit did, False that it goes on; left
        out, the next step or `finish` says so. Times are in milliseconds. Raises EspalierError with the field that does not fit."""
        run, tree = self._run, self._tree
        self._check_open()
        self._check_sent()
        at = now()
        reply = reply_of(response)
        if thought is not None and reply.thought:
            self._refuse("thought", "the message has reasoning_content, and thought is given as well", "give one of the two")
        text_of(observation, "observation")
        termination = self._termination(done)
        ref = run.policy if policy is None else policy_of(policy)
        tokens, sampled = _tokens(ids, logprobs, mask, entropies, token_texts, reply.text)
        asked = None if prompt_ids is None else read_ids(prompt_ids, "prompt_ids")[1]
        if prompt is None and asked is None and (tool_schemas is not None or sampling is not None):
            self._refuse("prompt", "tool_schemas and sampling belong to a prompt, and there is none", "give prompt= or prompt_ids= as well")
        pictures, names = read_pictures(images, "images")
        rewards = _rewards(reward)
        data: Json = {
            "response": reply.text,
            "thought": reply.thought if thought is None else text_of(thought, "thought"),
            "action": reply.action if action is None else text_of(action, "action"),
            "observation": observation,
            "wellFormatted": bool(well_formatted),
            "executable": bool(executable),
            "termination": termination,
            "policySpans": _spans(spans, ref, 0 if sampled is None else len(sampled)),
            "tokens": tokens,
            "usage": None if sampled is None or asked is None else {"promptTokens": len(asked), "completionTokens": len(sampled)},
            "finishReason": None if finish_reason is None else name_of(finish_reason, "finish_reason"),
            "call": None,
            "timings": {"policyMs": milliseconds_of(policy_ms, "policy_ms"), "environmentMs": milliseconds_of(environment_ms, "environment_ms")},
            "stateHash": None,
            "admissibleActions": None if actions is None else texts_of(actions, "actions", MOST_ACTIONS),
        }
        if pictures:
            data["pictures"] = pictures
        if reply.message is not None:
            data["reply"] = {"reasoning": bool(reply.thought), "toolCalls": reply.calls}
        with run.journal.lock:  # from the choice of its place to its record: of two steps at once, one follows the other
            self._check_open()
            if self._ended_by_step is not None:
                self._refuse("episode", "the step before this one ended the episode (done)", "call finish(), and begin another episode")
            before = self._at
            depth = before.depth + 1
            step_id = derived_id("step", self.id, depth)
            place = Place(step_id, before, reply.text, observation)
            place.pictures, place.images, place.reply = pictures, names, reply.message
            ids_of_step = {"stepId": step_id, "treeId": tree.id, "parentStepId": before.id, "rolloutId": self.id, "depth": depth}
            drafts = [Draft("StepTaken", tree.id, step_id, {**ids_of_step, **data}, at)]
            drafts += tool_drafts(tools, tree.id, step_id, at)
            composed = None if prompt is not None else before.composed(tree.root, must=asked is not None)
            messages = composed if prompt is None else messages_of(prompt, before.path_images())
            drafts += place.prompt_drafts(
                tree.id, messages, at, token_ids=asked, sampled=sampled, tools=tool_schemas, sampling=sampling, model=model, server=server
            )
            drafts += [reward_draft(run, tree.id, step_id, self.id, component, value, at) for component, value in rewards]
            if done is None:  # whether it is the last one is not known yet
                run.journal.settle(self.id, "none", hold=drafts)
            else:
                run.journal.settle(self.id, "none", drafts)
                self._ended_by_step = None if termination == "none" else termination
            self._at = place
            recorded = Step(tree, place)
            self._steps.append(recorded)
        return recorded

    def reward(self, value: float, component: str = "environment") -> None:
        """Assigns a reward to the whole episode, before its end."""
        self._check_sent()
        draft = reward_draft(self._run, self._tree.id, None, self.id, name_of(component, "component"), amount_of(value, "value"), now())
        with self._run.journal.lock:
            self._check_open()
            if component in self._components:
                self._refuse("component", f"the episode has a reward {component!r} already", "give another component, or one sum")
            self._run.journal.emit([draft])
            self._components.add(component)

    def annotate(self, label: str, score: float | None = None, note: str = "") -> None:
        """Annotates the episode, before its end, with what is no part of its return: a label, with a score or a note. Each label is given once."""
        self._check_sent()
        annotation_id = derived_id("AnnotationAdded", f"{self.id}/{label}")
        said = {"label": label_of(label, "label"), "score": None if score is None else amount_of(score, "score"), "note": text_of(note, "note")}
        if units_of(note) > LONGEST_REASON:
            self._refuse("note", f"the note has {units_of(note)} characters", f"give at most {LONGEST_REASON}")
        data = {"annotationId": annotation_id, "treeId": self._tree.id, "subject": {"kind": "rollout", "rolloutId": self.id}, **said}
        with self._run.journal.lock:
            self._check_open()
            if label in self._labels:
                self._refuse("label", f"the episode has an annotation {label!r} already", "give another label, or the last score alone")
            self._run.journal.emit([Draft("AnnotationAdded", self._tree.id, f"{self.id}/{label}", data, now())])
            self._labels.add(label)

    def finish(
        self, *, success: bool | None = None, reward: float | Mapping[str, float] | None = None, truncated: bool = False, reason: str = ""
    ) -> None:
        """Ends the episode. `success` is what the environment says of it (None: nothing), `reward` what the whole episode earned,
        `truncated` that a limit ended it. With `durable="fsync"` it returns when all of the episode is on the disk."""
        self._check_sent()
        if not self._steps:
            self._refuse("episode", "the episode has no step", "record a step first, or end it by fail(reason)")
        if success is not None and not isinstance(success, bool):
            success = _success(success)
        outcome = self._ended_by_step or ("truncated" if truncated else "terminated")
        self._end(outcome, success, text_of(reason, "reason"), _rewards(reward))

    def fail(self, reason: str | BaseException) -> None:
        """Ends the episode as failed: a fault that the policy has no part in. It is no training sample."""
        self._end("failed", None, _words(reason))

    def cancel(self, reason: str) -> None:
        """Ends the episode as cancelled: nobody needs it any more."""
        self._end("cancelled", None, text_of(reason, "reason"))

    def branch(self, step: Step | int) -> Episode:
        """Begins an episode of the same tree at a step of this one (a Step, or how many steps of it are kept): what follows is another
        continuation of the same beginning."""
        if self._tree.group is not None:
            self._refuse("step", "a member of a group that others record too has no branches", "give the group no id")
        if not isinstance(step, Step):
            kept = self._prefix(step)
        elif step._tree is self._tree:
            kept = step._place
        else:
            self._refuse("step", f"step {step.id} belongs to another tree", "branch at a step of this tree")
        with self._run.journal.lock:
            for held in (each for each in self._tree.open.values() if each._at.id == kept.id):
                self._run.journal.settle(held.id, "none")  # what goes on from a step needs it on record
            return self._run.begin_episode(self._tree, kept)

    astep, areward, afinish = for_coroutines(step), for_coroutines(reward), for_coroutines(finish)
    afail, acancel, abranch, aannotate = for_coroutines(fail), for_coroutines(cancel), for_coroutines(branch), for_coroutines(annotate)

    async def __aenter__(self) -> Episode:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, trace)

    def __enter__(self) -> Episode:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self.outcome is not None:
            return
        if isinstance(error, (KeyboardInterrupt, GeneratorExit)):
            self.cancel(_words(error))
        elif error is not None and not is_success(error):
            self.fail(error)
        elif self._steps:
            self.finish()
        else:
            self.cancel("the episode was left before its first step")

    def __repr__(self) -> str:
        return f"Episode({self.id!r}, task={self.task.alias!r}, steps={len(self._steps)}, outcome={self.outcome!r})"

    def _repr_html_(self) -> str:
        from ..analysis.page import page, text

        steps = f"{len(self._steps):,} {'step' if len(self._steps) == 1 else 'steps'}"
        state = f"{self.outcome or 'open'}{'' if self.success is None else ', success' if self.success else ', no success'}"
        return page(f"rollout {self.ordinal} of {self.task.alias}", [f"<p>{steps} · {text(state)} · {text(self.id)}</p>"])

    def _end(self, outcome: str, success: bool | None, reason: str, rewards: Sequence[tuple[str, float]] = ()) -> None:
        run, tree = self._run, self._tree
        with run.journal.lock:
            self._check_open()
            at = now()
            for component, _ in rewards:
                if component in self._components:
                    self._refuse("reward", f"the episode has a reward {component!r} already", "give another component, or one sum")
            drafts = [reward_draft(run, tree.id, None, self.id, component, value, at) for component, value in rewards]
            drafts.append(rollout_finished(tree.id, self.id, self._at.id, len(self._steps), outcome, success, reason, at))
            held = run.journal.holds(self.id)
            last = outcome if held and outcome in ("terminated", "truncated") else "none"
            tree.open.pop(self.id, None)
            closing = tree.closing("completed") if tree.exhausted and not tree.open else []
            try:
                run.journal.settle(self.id, last, [*drafts, *closing])
            except BaseException:
                tree.open[self.id] = self
                raise
            self.outcome, self.success = outcome, success
            tree.closed = tree.closed or bool(closing)
        run.journal.spool.sync()

    def _termination(self, done: object) -> str:
        done = item_of(done)
        if done is None or isinstance(done, (bool, str)):
            known = {None: "none", False: "none", True: "terminated", "terminated": "terminated", "truncated": "truncated"}
            if done in known:
                return known[done]
        elif type(done).__module__ == "numpy" and getattr(done, "shape", None) == ():  # numpy.bool
            return "terminated" if done else "none"
        return self._refuse("done", f"done is {shown(done)}", 'give True, False or "truncated"')

    def _prefix(self, count: object) -> Place:
        if isinstance(count, bool) or not isinstance(count, int):
            self._refuse("step", f"step is {shown(count)}", "give a Step of this tree, or how many steps are kept")
        if count == 0:
            return self._from
        if not 0 < count <= len(self._steps):
            self._refuse("step", f"the episode has {len(self._steps)} steps, and {count} are to be kept", "give a number of steps that it took")
        return self._steps[count - 1]._place

    def __reduce__(self) -> NoReturn:
        self._refuse("episode", "an episode is recorded by one process", "pickle its run, or a group with an id, and begin the episode there")

    def _check_open(self) -> None:
        self._tree.check_own()
        if self.outcome is not None:
            self._refuse("episode", f"the episode has ended ({self.outcome})", "begin another: run.group(task), or episode.branch(step)", "ended")
        self._run.check_open()

    def _check_sent(self) -> None:
        self._tree.check_own()
        self._run.journal.sender.check(self._tree.id)

    def _refuse(self, field: str, message: str, remedy: str, code: str = "argument") -> NoReturn:
        raise EspalierError(f"{message} (episode {self.id} of task {self.task.alias!r})", remedy=remedy, field=field, code=code)


def reward_draft(run: Any, tree_id: str, step_id: str | None, rollout_id: str | None, component: str, value: float, at: str) -> Draft:
    reward_id = derived_id("reward", step_id or rollout_id or "", component)
    data = {"rewardId": reward_id, "treeId": tree_id, "stepId": step_id, "rolloutId": rollout_id, "component": component}
    return Draft("RewardAssigned", tree_id, reward_id, {**data, "value": value, "scorer": run.scorer, "raw": None}, at)


def _rewards(given: float | Mapping[str, float] | None) -> list[tuple[str, float]]:
    if given is None:
        return []
    if isinstance(given, Mapping):
        return [(name_of(name, "reward"), amount_of(value, f"reward.{name}")) for name, value in given.items()]
    return [("environment", amount_of(given, "reward"))]


def _tokens(
    ids: Any, logprobs: Any, mask: Any, entropies: Any = None, texts: Sequence[str] | None = None, response: str = "", where: str = ""
) -> tuple[Json | None, list[int] | None]:
    if ids is None:
        for field, value in (("logprobs", logprobs), ("mask", mask), ("entropies", entropies), ("token_texts", texts)):
            if value is not None:
                raise EspalierError(f"{where}{field} is given without ids", remedy="give the token ids as well", field=f"{where}{field}")
        return None, None
    packed, sampled = read_ids(ids, f"{where}ids")
    read = None if mask is None else mask_of(mask, len(sampled), f"{where}mask")
    probs = None if logprobs is None else packed_log_probs(logprobs, len(sampled), read, f"{where}logprobs")
    tokens: Json = {"ids": packed, "logProbs": probs, "mask": None if read is None else packed_mask(read)}
    if texts is not None:
        tokens["ends"] = packed_ends(texts, len(sampled), response, f"{where}token_texts")
    if entropies is not None:
        tokens["entropies"] = packed_entropies(entropies, len(sampled), f"{where}entropies")
    return tokens, sampled


def _spans(given: Sequence[tuple[int, int, str]] | None, ref: Json, length: int) -> list[Json]:
    if given is None:
        return [{"from": 0, "to": length, **ref}]
    spans = []
    for i, span in enumerate(list_of(given, "spans")):
        start, end, policy = span if isinstance(span, (tuple, list)) and len(span) == 3 else (0, -1, "")
        if not all(isinstance(each, int) for each in (start, end)) or not 0 <= start <= end <= min(length, LARGEST_ID):
            remedy = f"give (from, to, policy) within the {length} ids of the step"
            raise EspalierError(f"spans[{i}] is {span!r}", remedy=remedy, field=f"spans[{i}]")
        spans.append({"from": start, "to": end, **policy_of(policy, f"spans[{i}]")})
    if len(spans) > MOST_SPANS:
        raise EspalierError(f"spans has {len(spans)} ranges", remedy=f"give at most {MOST_SPANS}", field="spans")
    return spans or [{"from": 0, "to": length, **ref}]


def _success(given: object) -> bool:
    flag = item_of(given)
    if not isinstance(flag, (int, float)) or flag not in (0, 1):
        raise EspalierError(f"success is {shown(given)}", remedy="give True, False or None", field="success")
    return bool(flag)


def is_success(error: BaseException) -> bool:
    """Whether what ended a program is no failure: `sys.exit(0)`."""
    return isinstance(error, SystemExit) and error.code in (None, 0)


def _words(reason: str | BaseException) -> str:
    if isinstance(reason, BaseException):
        return f"{type(reason).__name__}: {reason}" if str(reason) else type(reason).__name__
    return str(reason)
