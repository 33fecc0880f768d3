"""Records a training job of TRL while it trains: one line behind the trainer that the job makes.

    trainer.add_callback(EspalierCallback(trainer, run))

Every trainer: what it logs, as metrics of the run, and the SHA-256 of the weights behind each update. GRPOTrainer and RLOOTrainer: every
completion, too, in the group that it is compared with. Tested with TRL 1.16."""

from __future__ import annotations

import json
import math
import uuid
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from accelerate.utils import broadcast_object_list
from transformers import TrainerCallback

from ..metrics import finite_numbers
from ..recording.episode import Episode
from ..recording.run import Run
from .acknowledge import digest_weights
from .recorded_job import RecordedJob
from .sampled_parts import Tokens, sampled_parts

__all__ = ["EspalierCallback"]

PICTURES = ("image", "images")  # columns of a data set
DIVIDING = ("FSDP", "DEEPSPEED")
WHOLE = {"top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0}
RENAMED = {"max_new_tokens": "max_tokens", "stop_strings": "stop"}  # transformers has its own names


class EspalierCallback(RecordedJob, TrainerCallback):
    """Records what `trainer` does into `run`; nothing of the job changes, and it goes on if something cannot be recorded: the first
    such error is a warning, and `errors` counts them.

    A completion becomes a rollout: a step for each of its replies with the prompt, the sampled token ids, their log-probabilities where
    TRL has them, a reward for each function (times its weight, so that they add up to what TRL compares), and the advantage as the
    annotation `advantage`. Its policy is that of the run at the number of updates so far. Each process records its own completions: give
    the run a `key` where there are several. `weights=False` leaves out the digests, which take a second for each GB; FSDP and DeepSpeed
    divide the weights, so these jobs have no digests."""

    def __init__(self, trainer: Any, run: Run, *, weights: bool = True) -> None:
        self._trainer, self._run, self._weights = trainer, run, weights
        self._begun, self._at, self._generations = "", -1, 0
        self._scored: tuple[Sequence[Any], Sequence[Any], Any] | None = None
        if hasattr(trainer, "reward_funcs"):
            self.guarded(self._attach)

    def _attach(self) -> None:
        """Records at the only places where TRL has token ids, and all rewards: its log keeps the last completions of a training batch, and an
        evaluation may have more."""
        trainer = self._trainer
        generate, score = trainer._generate_and_score_completions, trainer._calculate_rewards

        def scored(inputs: Any, prompts: Any, completions: Any, ids: Any) -> Any:
            rewards = score(inputs, prompts, completions, ids)
            self._scored = prompts, completions, rewards
            return rewards

        def recorded(inputs: Any) -> Any:
            self._scored = None
            output = generate(inputs)
            self.guarded(self._record, inputs, output)
            return output

        trainer._calculate_rewards, trainer._generate_and_score_completions = scored, recorded

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.guarded(self._record_weights, state)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.guarded(self._record_weights, state)

    def on_log(self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **_: Any) -> None:
        if state.is_world_process_zero:
            self.guarded(self._record_numbers, logs or {}, state.global_step)

    def _record_weights(self, state: Any) -> None:
        if not self._weights or not state.is_world_process_zero:
            return
        accelerator, model = self._trainer.accelerator, self._trainer.model
        if _is_divided(accelerator, model):
            self._weights = False
            warnings.warn("FSDP or DeepSpeed divides the weights among processes: their digests are not recorded", stacklevel=2)
            return
        weights = digest_weights(accelerator.unwrap_model(model))
        self._run.metric("epoch", float(state.epoch or 0), state.global_step, weights=weights)

    def _record_numbers(self, logs: Mapping[str, Any], step: int) -> None:
        for name, value in finite_numbers(logs).items():
            if name != "epoch":
                self._run.metric(name, value, step)

    def _record(self, inputs: Sequence[Mapping[str, Any]], output: Mapping[str, Any]) -> None:
        trainer, generation = self._trainer, self._generation()
        if self._scored is None:
            raise RuntimeError("this trainer calculates no rewards")
        prompts, completions, gathered = self._scored
        self._scored = None
        training = trainer.model.training
        members = trainer.num_generations if training else getattr(trainer, "num_generations_eval", trainer.num_generations)
        first = trainer.accelerator.process_index * len(inputs)
        names = _components(trainer.reward_func_names)
        weighted = (gathered * trainer.reward_weights.to(gathered.device))[first : first + len(inputs)].tolist()
        for place, row in enumerate(inputs):
            rewards = {name: value for name, value in zip(names, weighted[place], strict=True) if math.isfinite(value)}
            scored = Scored(prompts[place], completions[place], rewards, float(output["advantages"][place]))
            group = f"{generation}/{(first + place) // members}", (first + place) % members, members
            self.guarded(self._record_member, row, group, training, scored, output, place)

    def _sampling(self) -> dict[str, Any]:
        """How the trainer draws: what it names none of is not cut, and `generation_kwargs` go before its fields."""
        given = {RENAMED.get(name, name): value for name, value in (getattr(self._trainer.args, "generation_kwargs", None) or {}).items()}
        greedy = given.pop("do_sample", True) is False
        named = {name: getattr(self._trainer, name, None) for name in ("temperature", *WHOLE)} | given
        said = {name: value for name, value in named.items() if value is not None and not (name == "top_k" and value <= 0)}
        known = {name: said.pop(name) for name in ("temperature", *WHOLE, "max_tokens", "stop", "seed") if name in said}
        others = {name: json.loads(json.dumps(value, default=repr)) for name, value in said.items()}
        return {**WHOLE, **known, **({"temperature": 0.0} if greedy else {}), "others": others}

    def _record_member(
        self, row: Mapping[str, Any], group: tuple[str, int, int], training: bool, scored: Scored, output: Mapping[str, Any], place: int
    ) -> None:
        name, number, members = group
        scored = scored._replace(prompt=self.without_pictures(scored.prompt), completion=self.without_pictures(scored.completion))
        task = {each: value for each, value in row.items() if each not in PICTURES} | {"prompt": scored.prompt}
        policy = (self._run.policy["policyId"], self._trainer.state.global_step)
        tree = self._run.group(task if training else {"split": "eval", **task}, members, id=name)
        with tree.member(number, policy=policy) as episode:
            self._record_one(episode, scored, _tokens_of(output, place))

    def _generation(self) -> str:
        """Names a generation, by the same name in all processes. A job that goes on from a checkpoint generates anew, so its groups are others."""
        step = self._trainer.state.global_step
        if not self._begun:
            self._begun = broadcast_object_list([uuid.uuid4().hex])[0]
        self._generations = self._generations + 1 if step == self._at else 0
        self._at = step
        return f"{self._begun}/{step}.{self._generations}"

    def _record_one(self, episode: Episode, scored: Scored, tokens: Tokens) -> None:
        ended = bool(tokens.ids) and tokens.ids[-1] in _ends(self._trainer)
        asked, turns = scored.prompt, _turns(scored.completion, tokens)
        for number, (reply, shown, turn) in enumerate(turns):
            last = number == len(turns) - 1
            episode.step(
                reply,
                "\n".join(_text(each) for each in shown),
                prompt=asked,
                prompt_ids=turn.prompt,
                ids=turn.ids,
                logprobs=turn.log_probs,
                mask=turn.mask,
                done=False if not last else True if ended else "truncated",
                finish_reason="stop" if ended or not last else "length",
                policy=(self._run.policy["policyId"], self._trainer.state.global_step),
                sampling=self._sampling(),
            )
            asked = [*_messages(asked), reply, *shown]
        if math.isfinite(scored.advantage):
            episode.annotate("advantage", scored.advantage)
        episode.finish(reward=scored.rewards or None)


class Scored(NamedTuple):
    """A completion with what TRL made of it."""

    prompt: Any
    completion: Any
    rewards: dict[str, float]
    advantage: float


def _components(names: Sequence[str]) -> list[str]:
    """Names each reward function once: one whose name another had before has its place behind it."""
    return [f"{name} {place}" if name in names[: place - 1] else name for place, name in enumerate(names, 1)]


def _is_divided(accelerator: Any, model: Any) -> bool:
    """Whether no process has all weights: to gather them is the work of all processes, and this is one."""
    kind = accelerator.distributed_type
    return getattr(kind, "value", kind) in DIVIDING or any(hasattr(each, "full_tensor") for each in model.parameters())  # a DTensor


def _tokens_of(output: Mapping[str, Any], place: int) -> Tokens:
    prompt = output["prompt_ids"][place][output["prompt_mask"][place].bool()].tolist()
    ids = output["completion_ids"][place]
    count = int(output["completion_mask"][place].sum()) or len(ids)  # 0 where TRL masks what was cut off: it is as long as allowed
    found = output.get("sampling_per_token_logps")
    found = output.get("old_per_token_logps") if found is None else found
    log_probs = None if found is None else found[place][:count].tolist()
    if log_probs is not None and not all(map(math.isfinite, log_probs)):
        log_probs = None
    shown = output.get("tool_mask")
    mask = None if shown is None else shown[place][:count].tolist()
    return Tokens(prompt, ids[:count].tolist(), log_probs, mask, [])


def _turns(completion: Any, tokens: Tokens) -> list[tuple[Any, list[Any], Tokens]]:
    """Returns each reply of a completion, the messages that followed it, and its tokens: one of all, where the tokens do not say which are whose."""
    if isinstance(completion, str):
        return [(completion, [], tokens)]
    turns: list[tuple[Any, list[Any]]] = []
    for message in completion:
        if message["role"] == "assistant" or not turns:
            turns.append((message, []))
        else:
            turns[-1][1].append(message)
    parts = sampled_parts(tokens)
    if len(parts) != len(turns):  # a mask that TRL emptied, as the completion was cut off
        return [("\n".join(_text(message) for message in completion), [], tokens)]
    return [(reply, shown, part) for (reply, shown), part in zip(turns, parts, strict=True)]


def _messages(prompt: Any) -> list[Any]:
    return [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text") or "" for part in content)


def _ends(trainer: Any) -> set[int]:
    """The ids that end a reply."""
    said = {getattr(trainer, "eos_token_id", None), getattr(trainer.processing_class, "eos_token_id", None)}
    configured = getattr(getattr(trainer.model, "generation_config", None), "eos_token_id", None)
    return {each for each in (*said, *(configured if isinstance(configured, list) else [configured])) if each is not None}
