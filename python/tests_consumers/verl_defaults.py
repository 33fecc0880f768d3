"""Computes advantages and losses by verl's own defaults: reads batches as JSON from stdin, writes what each yields to stdout."""

import inspect
import json
import sys

import numpy as np
import torch
from verl.trainer.config import AlgoConfig
from verl.trainer.ppo.core_algos import ADV_ESTIMATOR_REGISTRY, POLICY_LOSS_REGISTRY, get_adv_estimator_fn, get_policy_loss_fn
from verl.workers.config import FSDPActorConfig

from espalier_rl.adapters.verl import ESTIMATORS

# Forms of an estimator of ours that verl has under a name of their own.
FORMS = ("grpo_vectorized", "rloo_vectorized", "optimal_token_baseline")
LOSSES = {"dual_clip": "vanilla", "gspo": "gspo", "cispo": "cispo", "sapo": "sapo", "gpg": "gpg"}


def tensor(rows):
    return torch.tensor(rows, dtype=torch.float64)


def advantages_of(batch, name):
    function = get_adv_estimator_fn(name)
    given = {
        "token_level_rewards": tensor(batch["rewards"]),
        "response_mask": tensor(batch["masks"]),
        "index": np.array(batch["groups"], dtype=object),
        "values": tensor(batch["values"]),
        "reward_baselines": tensor(batch["greedyScores"]),
        "old_log_probs": tensor(batch["oldLogProbs"]),
        "sum_pi_squared": tensor(batch["squaredProbs"]),
        "gamma": 1.0,
        "lam": 1.0,
        "config": AlgoConfig(),
    }
    takes = inspect.signature(function).parameters
    advantages, _ = function(**{name: value for name, value in given.items() if name in takes})
    return (advantages * given["response_mask"]).tolist()


def loss_of(batch, loss):
    # GSPO has the bounds of its paper, which verl's recipes set and its configuration does not.
    bounds = {"clip_ratio_low": 3e-4, "clip_ratio_high": 4e-4} if loss == "gspo" else {}
    config = FSDPActorConfig(ppo_micro_batch_size_per_gpu=8, rollout_n=4, **bounds)
    new = tensor(batch["logProbs"]).requires_grad_()
    given = (tensor(batch["oldLogProbs"]), new, tensor(batch["values"]), tensor(batch["masks"]))
    value, _ = get_policy_loss_fn(LOSSES[loss])(*given, config=config)
    value.backward()
    return {"value": value.item(), "gradient": new.grad.tolist()}


asked = json.load(sys.stdin)
found = {
    "estimators": {name: [advantages_of(batch, of_verl) for batch in asked] for name, of_verl in ESTIMATORS.items()},
    "forms": {name: [advantages_of(batch, name) for batch in asked] for name in FORMS},
    "losses": {name: [loss_of(batch, name) for batch in asked] for name in LOSSES},
    "notCompared": {
        "estimators": sorted({*ADV_ESTIMATOR_REGISTRY} - {*ESTIMATORS.values(), *FORMS}),
        "losses": sorted({*POLICY_LOSS_REGISTRY} - {*LOSSES.values()}),
    },
}
print("\n" + json.dumps(found))
