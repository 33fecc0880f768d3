"""Leased batches for TRL: datasets for SFT and DPO out of recorded tokens, and a GRPOTrainer that trains on recorded completions.

    source = LeasedRollouts(client, policy)
    trainer = RecordedGRPOTrainer(model=model, source=source, args=GRPOConfig(...), processing_class=tokenizer)
    trainer.train()  # leases a batch before every update and acknowledges it after

Token ids are those that were sampled; nothing is tokenised again. Tested with TRL 1.16.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import pyarrow
import torch
from transformers import TrainerCallback
from trl import DPOTrainer, GRPOTrainer
from trl.trainer.dpo_trainer import DataCollatorForPreference

from ..rows import RowsRefused
from .acknowledge import digest_weights, finite_numbers
from .token_rows import TokenRows, places
from .trl_callback import EspalierCallback

__all__ = ["EspalierCallback", "LeasedRollouts", "RecordedDPOTrainer", "RecordedGRPOTrainer", "RowsRefused", "ScoredCompletions", "preference_dataset", "sft_dataset"]

IGNORED = -100  # the label of a token that is not trained on
REWARD = "espalier_reward"


def sft_dataset(rows: Any, *, at_least: float | None = None) -> datasets.Dataset:
    """Returns leased rows (layout `verl`) as `input_ids` and `labels` for SFTTrainer: labels are the sampled tokens, -100 elsewhere.
    `at_least` keeps rows whose score is that or more; raises RowsRefused when none is left."""
    split = TokenRows(rows)
    kept = torch.arange(len(split)) if at_least is None else (split.scores() >= at_least).nonzero().squeeze(1)
    if len(kept) == 0:
        raise RowsRefused(f"no row of {len(split)} has a score of {at_least} or more")
    asked, said = _sizes(split, kept)
    lengths = asked + said
    ends = lengths.cumsum(0)
    ids = torch.empty(int(ends[-1]), dtype=torch.int32)
    labels = torch.full_like(ids, IGNORED)
    responses = places(ends - said, ends)
    at = places(split.firsts[kept], split.ends[kept])
    ids[places(ends - lengths, ends - said)] = split.prompt_ids[places(split.prompt_starts[kept], split.prompt_ends[kept])]
    ids[responses] = split.ids[at]
    labels[responses] = torch.where(split.mask[at] == 1, split.ids[at], IGNORED)
    return _dataset({"input_ids": (ids, ends), "labels": (labels, ends)})


def preference_dataset(rows: Any, *, margin: float = 0.0) -> datasets.Dataset:
    """Returns a pair per group of leased rows (layout `verl`): its best and its worst row, where they differ by more than `margin` and
    were asked with the same prompt. Columns `prompt_ids`, `chosen_ids`, `rejected_ids`, and `chosen_mask`, `rejected_mask`: 1 on sampled
    tokens, for `RecordedDPOTrainer`. Raises RowsRefused when no group has such a pair."""
    split = TokenRows(rows)
    scores, groups = split.scores(), rows.torch("group_index").long()
    pairs = []
    for group in range(int(groups.max()) + 1):
        members = (groups == group).nonzero().squeeze(1)
        if len(members) == 0:
            continue
        best, worst = (int(members[place(scores[members])]) for place in (torch.argmax, torch.argmin))
        if float(scores[best] - scores[worst]) > margin and torch.equal(_prompt(split, best), _prompt(split, worst)):
            pairs.append((best, worst))
    if not pairs:
        raise RowsRefused(f"no group has two rows of one prompt whose scores differ by more than {margin}")
    columns = {"prompt_ids": _jagged(split.prompt_ids, split.prompt_starts, split.prompt_ends, [best for best, _ in pairs])}
    for name, which in (("chosen", 0), ("rejected", 1)):
        of = [pair[which] for pair in pairs]
        columns[f"{name}_ids"] = _jagged(split.ids, split.firsts, split.ends, of)
        columns[f"{name}_mask"] = _jagged(split.mask, split.firsts, split.ends, of)
    return _dataset(columns)


class RecordedDPOTrainer(DPOTrainer):
    """DPOTrainer on a `preference_dataset`: the ids are taken as they are, and only sampled tokens count. TRL's own would tokenise
    texts, and count what the environment answered as the policy's."""

    def __init__(self, *, args: Any, processing_class: Any, **options: Any) -> None:
        args.remove_unused_columns = False  # the masks
        collator = RecordedPreferences(pad_token_id=processing_class.pad_token_id, max_length=args.max_length)
        super().__init__(args=args, processing_class=processing_class, data_collator=collator, **options)

    def _prepare_dataset(self, dataset: Any, *_args: Any, **_options: Any) -> Any:
        return dataset


class RecordedPreferences(DataCollatorForPreference):
    """Collates pairs by their recorded masks."""

    def torch_call(self, examples: Any) -> dict[str, Any]:
        batch: dict[str, Any] = super().torch_call(examples)
        masks = [[0] * len(example["prompt_ids"]) + example[f"{name}_mask"] for name in ("chosen", "rejected") for example in examples]
        width = batch["completion_mask"].shape[1]
        sampled = torch.tensor([(mask + [0] * width)[:width] for mask in masks])
        batch["completion_mask"] = batch["completion_mask"] * sampled
        return batch


class LeasedRollouts:
    """A source of recorded completions: one leased batch for each generation of a GRPOTrainer.

    `publish(model, version)` saves the weights that an update made, where collectors find them, and returns their SHA-256; without it
    they are named by `digest_weights`. `idle_s` bounds the wait for a batch."""

    def __init__(self, client: Any, policy_id: str, *, publish: Callable[[Any, int], str] | None = None, idle_s: float = 600, ttl_s: float = 60) -> None:
        self._batches = client.batches(policy_id, layout="verl", idle_s=idle_s, ttl_s=ttl_s)
        self._policy_id, self._publish, self._idle_s = policy_id, publish, idle_s
        self.lease: Any = None
        self._rows, self._tokens = 0, 0
        self.updates: list[dict[str, Any]] = []  # what the server said of each, with the rows and sampled tokens that it was trained on

    def rollout(self, prompts: Sequence[Any], trainer: Any) -> dict[str, Any]:
        """What GRPOTrainer calls for completions (`rollout_func`): it gets those of the next batch, whatever its own prompts are."""
        if trainer.accelerator.num_processes > 1:
            raise RowsRefused("recorded completions are read by one process: train with one, or with verl")
        self.lease = next(self._batches, None)
        if self.lease is None:
            raise TimeoutError(f"policy {self._policy_id}: no batch within {self._idle_s} s")
        split = TokenRows(self.lease.rows)
        _refuse_other_temperature(split, trainer.temperature)
        self._rows, self._tokens = len(split), int(split.sampled.sum())
        order = _in_groups(split, len(prompts), trainer.num_generations)
        log_probs, scores = split.log_probs(), split.scores()
        spans = [(int(split.firsts[row]), int(split.ends[row])) for row in order]
        return {
            "prompt_ids": [_prompt(split, row).tolist() for row in order],
            "completion_ids": [split.ids[a:b].tolist() for a, b in spans],
            "logprobs": [log_probs[a:b].tolist() for a, b in spans],
            "env_mask": [split.mask[a:b].tolist() for a, b in spans],
            REWARD: [float(scores[row]) for row in order],
        }

    def acknowledge(self, model: Any, metrics: Mapping[str, Any]) -> None:
        """Acknowledges the batch of the last rollout with the weights that the model has now."""
        weights = digest_weights(model) if self._publish is None else self._publish(model, self.lease.base["version"] + 1)
        said = self.lease.ack(weights=weights, metrics=finite_numbers({**metrics, "own_tokens": self._tokens}))
        self.updates.append({**said, "rows": self._rows, "tokens": self._tokens})

    def close(self) -> None:
        """Returns a batch that was not acknowledged."""
        self._batches.close()


class ScoredCompletions:
    """A source of recorded completions: a file of `espalier export --format trl-grpo`, group after group, from its beginning again behind its end.

    Messages, calls of tools and reasoning are tokenised by the chat template of `tokenizer`; what was shown between the replies of a completion is masked. The file has no
    log-probs, so importance ratios are 1: train on it once, or on leased batches. Raises RowsRefused where a trajectory has several rows, whose
    one reward would count for each, or where the template does not continue what it wrote before."""

    def __init__(self, file: str | Path, tokenizer: Any) -> None:
        self._file, self._tokenizer, self._next, self._tokens = file, tokenizer, 0, 0
        groups: dict[str, list[dict[str, Any]]] = {}
        with open(file, encoding="utf-8") as lines:
            for number, row in enumerate(map(json.loads, lines), 1):
                if row["part"]["of"] > 1:
                    raise RowsRefused(f"{file} line {number}: trajectory {row['trajectory']} has {row['part']['of']} rows of one reward; take --format verl")
                groups.setdefault(row["group"], []).append(row)
        if not groups:
            raise RowsRefused(f"{file} has no row")
        self._groups = list(groups.values())
        self.updates: list[dict[str, Any]] = []  # what the trainer measured of each, with the rows and tokens of replies that it was trained on

    def rollout(self, prompts: Sequence[Any], trainer: Any) -> dict[str, Any]:
        """What GRPOTrainer calls for completions (`rollout_func`): it gets those of the next groups, whatever its own prompts are."""
        if trainer.accelerator.num_processes > 1:
            raise RowsRefused("recorded completions are read by one process: train with one, or with verl")
        members = trainer.num_generations
        chosen = [self._groups[(self._next + i) % len(self._groups)] for i in range(len(prompts) // members)]
        self._next += len(chosen)
        for group in chosen:
            if len(group) != members:
                raise RowsRefused(f"group {group[0]['group']} of {self._file} has {len(group)} rows and num_generations is {members}: export groups of one size")
        rows = [self._tokens_of(row) for group in chosen for row in group]
        self._tokens = sum(sum(mask) for _, _, mask in rows)
        return {
            "prompt_ids": [asked for asked, _, _ in rows],
            "completion_ids": [said for _, said, _ in rows],
            "logprobs": None,
            "env_mask": [mask for _, _, mask in rows],
            REWARD: [row["reward"] for group in chosen for row in group],
        }

    def acknowledge(self, model: Any, metrics: Mapping[str, Any]) -> None:
        """Keeps what was measured."""
        self.updates.append({**metrics, "tokens": self._tokens})

    def close(self) -> None:
        """There is nothing to return."""

    def _tokens_of(self, row: Mapping[str, Any]) -> tuple[list[int], list[int], list[int]]:
        """The ids of the prompt, of all that followed, and a mask of the replies in it."""
        tools = json.loads(row["tools"]) if row.get("tools") else None
        messages = list(row["prompt"])
        asked: list[int] | None = None
        ids: list[int] = []
        mask: list[int] = []
        for message in row["completion"]:
            if message["role"] == "assistant":
                shown = self._written(messages, tools, add_generation_prompt=True)
                before = [*(asked or []), *ids]
                if shown[: len(before)] != before:
                    raise RowsRefused(f"trajectory {row['trajectory']}: the chat template does not continue what it wrote before; take --format verl")
                between = shown[len(before) :]
                reply = self._reply(messages, message, tools, shown, row)
                asked, between = (asked, between) if asked is not None else (between, [])
                ids += [*between, *reply]
                mask += [0] * len(between) + [1] * len(reply)
            messages.append(message)
        return asked or [], ids, mask

    def _reply(self, messages: list[Any], message: Mapping[str, Any], tools: Any, shown: list[int], row: Mapping[str, Any]) -> list[int]:
        """The ids of a reply: of its text, or as the template writes its reasoning and calls of tools behind what was shown."""
        end = self._tokenizer.eos_token_id
        if not message.get("tool_calls") and not message.get("reasoning_content"):
            return [*self._tokenizer(message["content"], add_special_tokens=False)["input_ids"], end]
        whole = self._written([*messages, message], tools, add_generation_prompt=False)
        behind = whole[len(shown) :]
        if whole[: len(shown)] != shown or end not in behind:
            raise RowsRefused(f"trajectory {row['trajectory']}: the chat template does not write a reply with calls of tools behind what it wrote before; take --format verl")
        return behind[: len(behind) - behind[::-1].index(end)]

    def _written(self, messages: list[Any], tools: Any, *, add_generation_prompt: bool) -> list[int]:
        written = self._tokenizer.apply_chat_template(messages, tools=tools, add_generation_prompt=add_generation_prompt, tokenize=True, return_dict=True)
        return list(written["input_ids"])


class RecordedGRPOTrainer(GRPOTrainer):
    """GRPOTrainer on recorded completions. Each batch is one generation: `generation_batch_size` is its number of rows and
    `num_generations` the size of its groups. Rewards are the record's; importance ratios are against the recorded log-probs, at the
    `temperature` of the arguments; rows that were recorded at another one are refused."""

    def __init__(self, *, source: LeasedRollouts | ScoredCompletions, args: Any, **options: Any) -> None:
        if args.steps_per_generation * args.num_iterations % args.gradient_accumulation_steps != 0:
            raise ValueError("steps_per_generation * num_iterations must be a multiple of gradient_accumulation_steps: a batch ends with an update")
        slots = [""] * (args.generation_batch_size // args.num_generations)  # what stands for prompts until the batch brings its own
        super().__init__(
            args=args,
            reward_funcs=recorded_reward,
            rollout_func=source.rollout,
            train_dataset=datasets.Dataset.from_dict({"prompt": slots}),
            **options,
        )
        self.source = source
        self.add_callback(_Acknowledge(self))

    def train(self, *positional: Any, **options: Any) -> Any:
        try:
            return super().train(*positional, **options)
        finally:
            self.source.close()

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        output = super()._generate_and_score_completions(inputs)
        if output.get("sampling_per_token_logps") is not None:
            output["old_per_token_logps"] = output["sampling_per_token_logps"]
        return output


def recorded_reward(completions: Sequence[Any], **columns: Any) -> Any:
    """The reward function of recorded completions: what the record says that they are worth."""
    return columns[REWARD]


class _Acknowledge(TrainerCallback):
    def __init__(self, trainer: Any) -> None:
        self._trainer = trainer

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        passes = state.global_step * args.gradient_accumulation_steps
        if passes % (args.steps_per_generation * args.num_iterations) == 0:
            measured = {name: values[-1] for name, values in self._trainer._metrics["train"].items() if values}
            self._trainer.source.acknowledge(self._trainer.accelerator.unwrap_model(self._trainer.model), measured)


def _refuse_other_temperature(split: TokenRows, temperature: float) -> None:
    said = sorted({text["temperature"] for text in split.rows.texts if text.get("temperature") is not None})
    if any(each != temperature for each in said):
        others = ", ".join(f"{each:g}" for each in said)
        raise RowsRefused(f"the rows were sampled at temperature {others}, and the trainer computes at {temperature:g}: set temperature={said[0]:g}")


def _in_groups(split: TokenRows, wanted: int, members: int) -> list[int]:
    """The rows of a batch, group after group. Raises RowsRefused when they are not what the trainer was configured for."""
    count = len(split)
    if count != wanted:
        raise RowsRefused(f"the batch has {count} rows and the trainer takes {wanted}: set generation_batch_size={count}")
    groups = split.rows.torch("group_index").long()
    sizes = torch.bincount(groups)
    if bool((sizes != members).any()):
        group = int((sizes != members).nonzero()[0])
        raise RowsRefused(
            f"group {group} of the batch has {int(sizes[group])} rows and num_generations is {members}; declare rules with groups of one size. "
            "A rollout whose tokens were cut has several rows, which GRPOTrainer would compare as members"
        )
    return [int(place) for place in torch.argsort(groups, stable=True)]


def _prompt(split: TokenRows, row: int) -> Any:
    return split.prompt_ids[int(split.prompt_starts[row]) : int(split.prompt_ends[row])]


def _sizes(split: TokenRows, kept: Any) -> tuple[Any, Any]:
    return split.prompt_ends[kept] - split.prompt_starts[kept], split.ends[kept] - split.firsts[kept]


def _jagged(column: Any, begins: Any, ends: Any, of: Any) -> tuple[Any, Any]:
    begins, ends = begins[of], ends[of]
    return column[places(begins, ends)], (ends - begins).cumsum(0)


def _dataset(columns: Any) -> datasets.Dataset:
    """A dataset over jagged columns: values and the end of each row. Arrow lists over the arrays, no value boxed."""
    lists = {
        name: pyarrow.ListArray.from_arrays(torch.cat([torch.zeros(1, dtype=torch.long), ends]).int().numpy(), values.numpy())
        for name, (values, ends) in columns.items()
    }
    return datasets.Dataset(pyarrow.table(lists))
