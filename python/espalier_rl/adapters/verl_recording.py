"""Records a training job of verl while it trains, by one line of its configuration:

    +actor_rollout_ref.rollout.agent.agent_loop_manager_class=espalier_rl.adapters.verl_recording.RecordedAgentLoopManager

The manager and its workers are verl's own, of the trainer that is configured: a worker records each rollout when verl has it with its reward, and
the process of the trainer what verl logs. The server is found as `er.connect()` finds it. Tested with verl 0.9.1."""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import ray
from omegaconf import OmegaConf
from verl.experimental.agent_loop.agent_loop import AgentLoopManager, AgentLoopWorker
from verl.utils.ray_utils import auto_await
from verl.utils.tracking import Tracking

from ..database import connect
from ..metrics import finite_numbers, number_of
from ..recording.episode import Episode
from ..recording.run import Run
from ..recording.values import LONGEST_LABEL, LONGEST_NAME, LONGEST_REASON, cut
from .recorded_job import RecordedJob
from .sampled_parts import Tokens, sampled_parts

__all__ = ["RecordedAgentLoopManager"]

SAMPLING = ("temperature", "top_p", "top_k", "repetition_penalty")
MEMBERS = "espalier_members"  # of the meta information of a batch: Member by the priority of its row
END_S = 90.0  # that workers have to send the last of what they recorded


class Member(NamedTuple):
    """Which rollout of which group one is."""

    group: str
    number: int
    of: int


class Call(NamedTuple):
    """What a call of the model server returned."""

    ids: list[int]
    version: int | None  # global step of the weights


@dataclass
class Session:
    """A rollout while verl makes it."""

    step: int
    validates: bool
    sampling: Mapping[str, Any]
    agent: str
    calls: list[Call] = field(default_factory=list)
    recorded: bool = False


_session: ContextVar[Session | None] = ContextVar("session", default=None)
_planned: ContextVar[int | None] = ContextVar("planned", default=None)  # members of a group of the trainer v1, where its row says so


class Rollouts(RecordedJob):
    """Records the rollouts of a worker into `run`.

    A rollout is a member of the group of its prompt: a step for each stretch of sampled tokens, with their ids, their log-probabilities
    (`calculate_log_probs`), what was shown behind them, and the version of the weights that its server named; the reward `score`; and
    annotations for what verl does not sum: what the reward function returned besides, and rewards of tools and turns."""

    def __init__(self, run: Run, worker: Any) -> None:
        self.run, self._tokenizer, self._tools = run, worker.tokenizer, worker.tools or []
        configured = getattr(getattr(worker.model_config, "generation_config", None), "eos_token_id", None)
        self._ends = {self._tokenizer.eos_token_id, *(configured if isinstance(configured, list) else [configured])} - {None}

    def record(self, session: Session, member: Member, row: Mapping[str, Any], outputs: Sequence[Any]) -> None:
        session.recorded = True
        prompt = self.without_pictures(list(row["raw_prompt"]))
        turns = [_parts(output) for output in outputs]
        versions = _versions(session, outputs, [part for parts in turns for part in parts])
        final, policy = outputs[-1], self.run.policy["policyId"]
        with self._begin(member, row, prompt, session, (policy, versions[0])) as episode:
            taken = 0
            for place, parts in enumerate(turns):
                asked = prompt if place == 0 else [{"role": "user", "content": self._text(parts[0].prompt)}]
                for number, tokens in enumerate(parts):
                    last = place == len(turns) - 1 and number == len(parts) - 1
                    ended = bool(tokens.ids) and tokens.ids[-1] in self._ends
                    reply, shown = self._text(tokens.ids), self._text(tokens.shown)
                    episode.step(
                        reply,
                        shown,
                        prompt=asked,
                        prompt_ids=tokens.prompt,
                        ids=tokens.ids or None,
                        logprobs=tokens.log_probs,
                        tool_schemas=self._schemas(session, row),
                        done=False if not last else True if ended else "truncated",
                        finish_reason="stop" if ended or not last else "length",
                        policy=(policy, versions[taken]),
                        sampling={"min_p": 0.0, **{name: session.sampling[name] for name in SAMPLING if name in session.sampling}},  # verl names no min_p
                    )
                    taken += 1
                    asked = [*asked, {"role": "assistant", "content": reply}, {"role": "tool" if self._tools else "user", "content": shown}]
            for annotation in _annotations(row, final):
                self.guarded(episode.annotate, *annotation)
            episode.finish(reward=finite_numbers({"score": final.reward_score}) or None)

    def fail(self, session: Session, member: Member, row: Mapping[str, Any], error: Exception) -> None:
        """Records a rollout that verl could not make."""
        version = session.calls[0].version if session.calls else None
        policy = (self.run.policy["policyId"], _version_before(session) if version is None else version)
        self._begin(member, row, self.without_pictures(list(row["raw_prompt"])), session, policy).fail(error)

    def _begin(self, member: Member, row: Mapping[str, Any], prompt: list[Any], session: Session, policy: tuple[str, int]) -> Episode:
        truth = (row.get("reward_model") or {}).get("ground_truth")
        tools = row.get("tools_kwargs") or (row.get("extra_info") or {}).get("tools_kwargs")
        shown = [{"role": message.get("role"), "content": message.get("content")} for message in prompt]
        task = {"prompt": shown, "ground_truth": truth, "tools_kwargs": tools, "split": "validation" if session.validates else "train"}
        return self.run.group(task, member.of, id=member.group).member(member.number, policy=policy)

    def _schemas(self, session: Session, row: Mapping[str, Any]) -> list[Any] | None:
        """Returns the tools that verl's loop of tools shows in a prompt."""
        if session.agent != "tool_agent" or not self._tools:
            return None
        selected = (row.get("extra_info") or {}).get("tool_selection")
        offered = [tool for tool in self._tools if not selected or tool.name in selected]
        return [tool.tool_schema.model_dump(exclude_unset=True, exclude_none=True) for tool in offered]

    def _text(self, ids: list[int]) -> str:
        return str(self._tokenizer.decode(ids, skip_special_tokens=True)) if ids else ""


class WorkerRecording:
    """What verl's workers of agent loops do besides: they record what they made."""

    rollout_config: Any
    llm_client: Any

    def __init__(self, *positional: Any, **options: Any) -> None:
        super().__init__(*positional, **options)
        self._recording: Rollouts | None = None
        self._running = 0  # rollouts that are being recorded
        self._members: dict[int, Member] = {}
        generate = self.llm_client.generate

        async def followed(*given: Any, **named: Any) -> Any:
            output, session = await generate(*given, **named), _session.get()
            if session is not None:
                session.calls.append(Call(list(output.token_ids), output.extra_fields.get("min_global_steps")))
            return output

        self.llm_client.generate = followed

    def begin_recording(self, run: Run) -> None:
        """Records into `run` from now on."""
        self._recording = Rollouts(run, self)

    async def end_recording(self) -> tuple[int, int]:
        """Sends what is recorded; returns how much was not, and how many pictures."""
        recording, self._recording = self._recording, None
        if recording is None:
            return 0, 0
        while self._running > 0:  # the trainer v1 samples ahead
            await asyncio.sleep(0.05)
        await asyncio.to_thread(recording.guarded, recording.run.close)
        return recording.errors, recording.pictures

    async def generate_sequences(self, batch: Any) -> Any:
        self._members = getattr(batch, "meta_info", {}).pop(MEMBERS, {})
        return await super().generate_sequences(batch)  # type: ignore[misc]

    async def _run_prompt(self, prompt: dict[str, Any], *positional: Any, **options: Any) -> None:
        _planned.set(prompt.get("__rollout_n__"))
        await super()._run_prompt(prompt, *positional, **options)  # type: ignore[misc]

    async def _run_agent_loop(self, sampling_params: dict[str, Any], trajectory: dict[str, Any], **given: Any) -> Any:
        session = Session(int(trajectory["step"]), bool(trajectory["validate"]), dict(sampling_params), str(given.get("agent_name")))
        token = _session.set(session)
        try:
            return await super()._run_agent_loop(sampling_params, trajectory, **given)  # type: ignore[misc]
        except Exception as error:
            if not session.recorded:
                await self._record(session, given, error)
            raise
        finally:
            _session.reset(token)

    async def _agent_loop_postprocess(self, output: Any, validate: bool, **row: Any) -> Any:
        made = await super()._agent_loop_postprocess(output, validate, **row)  # type: ignore[misc]
        session = _session.get()
        if session is not None and output:
            await self._record(session, row, output if isinstance(output, list) else [output])
        return made

    async def _record(self, session: Session, row: Mapping[str, Any], made: Sequence[Any] | Exception) -> None:
        recording = self._recording
        if recording is None:
            return
        try:
            member = self._member(session, row)
        except Exception as error:
            return recording.failed(error)
        if member is not None:
            record: Callable[..., None] = recording.fail if isinstance(made, Exception) else recording.record
            self._running += 1
            try:
                await asyncio.to_thread(recording.guarded, record, session, member, row, made)
            finally:
                self._running -= 1

    def _member(self, session: Session, row: Mapping[str, Any]) -> Member | None:
        """Returns which member of which group a row is; None for one that fills a batch up."""
        if "session_id" not in row:
            return self._members.get(int(row["priority"]))
        planned = _planned.get() or (self.rollout_config.val_kwargs.n if session.validates else self.rollout_config.n)
        return Member(str(row["uid"]), int(row["session_id"]), int(planned))


class ManagerRecording(RecordedJob):
    """What verl's manager of agent loops does besides: it begins the run, and ends it with verl's own logging."""

    config: Any
    agent_loop_workers: list[Any]
    worker_class: type  # verl's
    _run: Run | None = None
    _generations = 0
    _logged = 0  # the last step of which the trainer logged numbers

    def __init__(self, *positional: Any, **options: Any) -> None:
        super().__init__(*positional, **options)
        self.agent_loop_workers_class = ray.remote(type("RecordedAgentLoopWorker", (WorkerRecording, self.worker_class), {}))

    async def _init_agent_loop_workers(self) -> None:
        await super()._init_agent_loop_workers()  # type: ignore[misc]
        try:
            self._run = _begin_run(self.config)
            self._follow_tracking()
            begun = (worker.begin_recording.remote(self._run) for worker in self.agent_loop_workers)
            for error in await asyncio.gather(*begun, return_exceptions=True):
                if error is not None:
                    self.failed(error)
        except Exception as error:
            self.failed(error)

    def _follow_tracking(self) -> None:
        """Records what the trainer logs. verl has no place of its own for that: it makes its Tracking behind this manager, in this process."""
        log, finish = Tracking.log, Tracking.finish

        def logged(tracking: Any, data: Mapping[str, Any], step: int, backend: Any = None) -> None:
            log(tracking, data, step, backend)
            self.guarded(self._record_numbers, data, step)

        def finished(tracking: Any, exit_code: int = 0) -> None:
            ends = getattr(tracking, "_finished", None) is False
            finish(tracking, exit_code)
            if ends:
                Tracking.log, Tracking.finish = log, finish
                self.guarded(self._end, exit_code)

        Tracking.log, Tracking.finish = logged, finished

    def _record_numbers(self, data: Mapping[str, Any], step: int) -> None:
        if self._run is not None:
            self._logged = max(self._logged, step)
            for name, value in finite_numbers(data).items():
                self._run.metric(name, value, step)

    def _end(self, exit_code: int) -> None:
        run, self._run = self._run, None
        if run is None:
            return
        counted: Any = []
        try:
            counted = ray.get([worker.end_recording.remote() for worker in self.agent_loop_workers], timeout=END_S)
        except Exception as error:
            self.failed(error)
        errors, pictures = self.errors + sum(each[0] for each in counted), sum(each[1] for each in counted)
        try:
            for name, count in (("espalier/errors", errors), ("espalier/pictures", pictures)):
                if count:
                    run.metric(name, count)
        finally:
            why = f"the job ended with the code {exit_code}" if exit_code != 0 else self._cut_off()
            run.close("failed" if why else None, why)

    def _cut_off(self) -> str:
        """Says how far a job came that did not come to its end; the first trainer finishes its Tracking in any case."""
        total = OmegaConf.select(self.config, "actor_rollout_ref.actor.optim.total_training_steps")
        if self.config.trainer.get("val_only") or not isinstance(total, int) or self._logged >= total:
            return ""
        return f"the job ended after step {self._logged} of {total}"

    def _members_of(self, prompts: Any) -> dict[int, Member]:
        """Numbers the rows of each prompt. A validation is filled up with rows that are there already: they are no members."""
        rows, validates = prompts.non_tensor_batch, prompts.meta_info.get("validate", False)
        sampled = rows.get("__do_sample__", [True] * len(prompts))  # False for the baselines of REMAX
        keys = [f"{self._generations}/{uid}{'' if drawn else ' baseline'}" for uid, drawn in zip(rows["uid"], sampled, strict=True)]
        rollout = self.config.actor_rollout_ref.rollout
        sizes, numbers = Counter(keys), Counter[str]()
        members: dict[int, Member] = {}
        for place, key in zip(rows.get("priority", range(len(keys))), keys, strict=True):
            of = min(sizes[key], int(rollout.val_kwargs.n if validates else rollout.n))
            if numbers[key] < of:
                members[int(place)] = Member(key, numbers[key], of)
            numbers[key] += 1
        return members

    def _number(self, prompts: Any) -> None:
        self._generations += 1
        prompts.meta_info[MEMBERS] = self._members_of(prompts)


class _Manager(ManagerRecording, AgentLoopManager):
    """The manager of the first trainer (`trainer.use_v1=False`), whose rows are rollouts."""

    worker_class = AgentLoopWorker

    @auto_await  # type: ignore[untyped-decorator]
    async def generate_sequences(self, prompts: Any) -> Any:
        self.guarded(self._number, prompts)
        try:
            return await super().generate_sequences(prompts)
        finally:
            prompts.meta_info.pop(MEMBERS, None)


class RecordedAgentLoopManager:
    """verl's manager of agent loops, of the trainer that is configured, whose workers record into one run: the run and its policy have the
    name of the experiment."""

    @classmethod
    @auto_await  # type: ignore[untyped-decorator]
    async def create(cls, config: Any, *positional: Any, **options: Any) -> Any:
        return await (_manager_of_v1() if config.trainer.get("use_v1") else _Manager).create(config, *positional, **options)


def _manager_of_v1() -> Any:
    """Returns the manager of the trainer v1, whose packages only that needs."""
    from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopManagerTQ, AgentLoopWorkerTQ

    return type("RecordedAgentLoopManagerTQ", (ManagerRecording, AgentLoopManagerTQ), {"worker_class": AgentLoopWorkerTQ.__ray_actor_class__})


def _begin_run(config: Any) -> Run:
    name = cut(str(config.trainer.experiment_name), LONGEST_NAME)
    settings = OmegaConf.to_container(config, resolve=True)
    settings.pop("ray_kwargs", None)  # with the environment of its processes
    plain = json.loads(json.dumps(settings, default=str), parse_constant=str)
    return connect().run(name, policy=(name, 0), config=plain, scorer=str(config.reward.reward_manager.name), full="raise")


def _parts(output: Any) -> list[Tokens]:
    """Returns what was sampled of an output, stretch by stretch; one that is empty where nothing was."""
    log_probs = output.response_logprobs
    if log_probs is not None and not all(map(math.isfinite, log_probs)):
        log_probs = None
    prompt, ids = list(output.prompt_ids), list(output.response_ids)
    return sampled_parts(Tokens(prompt, ids, log_probs, list(output.response_mask), [])) or [Tokens(prompt, [], None, None, ids)]


def _versions(session: Session, outputs: Sequence[Any], parts: Sequence[Tokens]) -> list[int]:
    """Returns the version that sampled each part: what the server said in the call that returned it, else what verl keeps of the whole."""
    calls = session.calls
    if len(calls) == len(parts) and all(part.ids == call.ids[: len(part.ids)] for part, call in zip(parts, calls, strict=True)):
        versions = [call.version for call in calls]
    else:
        versions = [outputs[0].extra_fields.get("min_global_steps")] * len(parts)
    return [_version_before(session) if version is None else int(version) for version in versions]


def _version_before(session: Session) -> int:
    """The version at a step of a trainer that samples with the newest weights: a validation follows the update of its step."""
    return max(0, session.step if session.validates else session.step - 1)


def _annotations(row: Mapping[str, Any], final: Any) -> list[tuple[str, float | None, str]]:
    found: dict[str, Any] = {"data_source": row.get("data_source")}
    for name in ("tool_rewards", "turn_scores"):
        values = list(final.extra_fields.get(name) or [])
        found |= {f"{name} {place}": value for place, value in enumerate(values, 1)}
    found |= {name: value for name, value in (final.extra_fields.get("reward_extra_info") or {}).items() if name != "score"}
    annotations: list[tuple[str, float | None, str]] = []
    for name, value in found.items():
        number = float(value) if type(value).__name__ in ("bool", "bool_") else number_of(value)
        if number is not None and math.isfinite(number):
            annotations.append((cut(str(name), LONGEST_LABEL), number, ""))
        elif isinstance(value, str) and value:
            annotations.append((cut(str(name), LONGEST_LABEL), None, cut(value, LONGEST_REASON)))
    return annotations
