"""Leased batches for verl: a `DataProto` as its advantage estimators and actors read it, and the acknowledgement after the step.

    for lease in client.batches(policy, layout="verl"):
        data = data_proto(lease.rows)
        with_advantages(data, estimator_of(lease))
        ...  # verl's update of the actor
        acknowledge(lease, digest_weights(model), metrics)

Tested with verl 0.9.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from verl import DataProto
from verl.trainer.ppo.core_algos import get_adv_estimator_fn

from ..leases import Lease
from ..rows import Rows, RowsRefused
from .acknowledge import digest_weights, finite_numbers
from .token_rows import TokenRows, padded

__all__ = ["ESTIMATORS", "RowsRefused", "acknowledge", "data_proto", "digest_weights", "estimator_of", "with_advantages"]

# Estimators of a declaration that verl has under the same name, and those that it has under another.
ESTIMATORS = {
    name: name
    for name in ("gae", "gpg", "grpo", "opo", "reinforce_plus_plus", "reinforce_plus_plus_baseline", "remax", "rloo")
} | {"pass_at_k": "grpo_passk", "optimal_token_baseline": "tir_optimal_token_baseline"}
# Those whose advantage is one number per rollout that depends on the sums of rewards alone.
BY_SUMS = ("grpo", "rloo")


def data_proto(rows: Rows, *, pad_token_id: int = 0, temperature: float | None = None) -> DataProto:
    """Returns a leased body (layout `verl`) as a DataProto of one row per row.

    Tensors, P and R the longest prompt and response: `prompts` [rows, P], padded on the left; `responses`, `response_mask` (1 on
    sampled tokens), `rollout_log_probs`, `token_level_scores`, `token_level_rewards` [rows, R], padded on the right; `input_ids`,
    `attention_mask`, `position_ids` [rows, P + R]; `old_log_probs` is `rollout_log_probs`, as verl's bypass mode has it: an actor
    that computes them again overwrites it. Without a tensor: `uid` (the group), `traj_uid` (the rollout), `__num_turns__`.
    `meta_info` has the `temperature` of the record unless one is given, `global_token_num`, and the batch under `espalier`.
    Raises RowsRefused for a row without token ids of its prompt, or without log-probs."""
    split = TokenRows(rows)
    before, firsts, ends = (split.prompt_starts, split.prompt_ends), split.firsts, split.ends
    prompts = padded(split.prompt_ids, *before, side="left", fill=pad_token_id, dtype=torch.long)
    responses = padded(split.ids, firsts, ends, fill=pad_token_id, dtype=torch.long)
    one = torch.ones(1, dtype=torch.long)
    asked = padded(one.expand(len(split.prompt_ids)), *before, side="left")
    attention = torch.cat([asked, padded(one.expand(len(split.ids)), firsts, ends)], dim=1)
    log_probs = padded(split.log_probs(), firsts, ends)
    scores = padded(rows.torch("token_level_scores"), firsts, ends)
    tensors = {
        "prompts": prompts,
        "responses": responses,
        "input_ids": torch.cat([prompts, responses], dim=1),
        "attention_mask": attention,
        "position_ids": (attention.cumsum(1) - 1).clamp(min=0),
        "response_mask": padded(split.mask, firsts, ends, dtype=torch.long),
        "rollout_log_probs": log_probs,
        "old_log_probs": log_probs.clone(),
        "token_level_scores": scores,
        "token_level_rewards": scores.clone(),
    }
    if "reward_baselines" in rows:
        tensors["reward_baselines"] = rows.torch("reward_baselines").float()
    return DataProto.from_dict(
        tensors=tensors,
        non_tensors={
            "uid": np.array(split.groups(), dtype=object),
            "traj_uid": np.array([split.rows.rollout(row) for row in range(len(split))], dtype=object),
            "__num_turns__": np.array(rows["num_turns"], dtype=np.int32),
        },
        meta_info={
            "temperature": split.temperature() if temperature is None else temperature,
            "global_token_num": attention.sum(1).tolist(),
            "espalier": {"batchId": rows.batch["batchId"], "ordinal": rows.batch["ordinal"], "rewardsAt": rows.rewards_at},
        },
    )


def estimator_of(lease: Lease) -> str:
    """Returns verl's name of the estimator that the policy was declared with. Raises RowsRefused when verl has none of this kind."""
    name = lease.estimator["name"]
    if name not in ESTIMATORS:
        raise RowsRefused(f"verl has no estimator {name}; declare one of {', '.join(sorted(ESTIMATORS))}, or compute advantages yourself")
    return ESTIMATORS[name]


def with_advantages(data: Any, estimator: str, **options: Any) -> Any:
    """Adds `advantages` and `returns` by an estimator of verl, with its options (`norm_adv_by_std_in_grpo`, `gamma`, `config`, …). A
    rollout whose tokens were cut into several rows is one member of its group: its rows share the advantage of the sum of their
    rewards. Estimators for which that is not so refuse such rows."""
    rollouts, row_of = np.unique(data.non_tensor_batch["traj_uid"].astype(str), return_inverse=True)
    if len(rollouts) == len(data):
        advantages, returns = _estimate(data, estimator, options)
    elif estimator in BY_SUMS:
        place = torch.from_numpy(row_of)
        uid: Any = np.empty(len(rollouts), dtype=object)
        uid[row_of] = data.non_tensor_batch["uid"]
        totals = torch.zeros(len(rollouts)).index_add(0, place, data.batch["token_level_rewards"].sum(1))
        sums = {"token_level_rewards": totals.unsqueeze(1), "response_mask": torch.ones(len(rollouts), 1)}
        whole, _ = _estimate(DataProto.from_dict(tensors=sums, non_tensors={"uid": uid}), estimator, options)
        advantages = whole[place] * data.batch["response_mask"]
        returns = advantages.clone()
    else:
        raise RowsRefused(f"a rollout has several rows, because its tokens were cut, and {estimator} compares rows: take {' or '.join(BY_SUMS)}")
    data.batch["advantages"], data.batch["returns"] = advantages, returns
    return data


def _estimate(data: Any, estimator: str, options: Mapping[str, Any]) -> Any:
    function = get_adv_estimator_fn(estimator)
    takes = inspect.signature(function).parameters
    given = {name: data.batch[name] for name in data.batch.keys() if name in takes}
    if "index" in takes:
        given["index"] = data.non_tensor_batch["uid"]
    return function(**given, **options)


def acknowledge(lease: Lease, weights: str, metrics: Mapping[str, Any] | None = None, *, loss: Mapping[str, Any] | None = None, kept: Any = None) -> dict[str, Any]:
    """Acknowledges a batch after the actor's step: `weights` is the SHA-256 of what it produced (`digest_weights`, or of the files that
    were saved), `metrics` what verl measured."""
    return lease.ack(weights=weights, metrics=finite_numbers(metrics or {}), loss=loss, kept=kept)
