"""Computes advantages and losses by verl's own defaults: reads batches as JSON from stdin, writes what each yields to stdout."""

import dataclasses
import inspect
import json
import sys

import numpy as np
import torch
from verl.trainer.config import AlgoConfig
from verl.trainer.ppo.core_algos import (
    ADV_ESTIMATOR_REGISTRY,
    POLICY_LOSS_REGISTRY,
    agg_loss,
    compute_value_loss,
    get_adv_estimator_fn,
    get_kl_controller,
    get_policy_loss_fn,
    kl_penalty,
)
from verl.utils.torch_functional import entropy_from_logits
from verl.workers.config import CriticConfig, FSDPActorConfig

from espalier_rl.adapters.verl import ESTIMATORS

# Forms of an estimator of ours that verl has under a name of their own.
FORMS = ("grpo_vectorized", "rloo_vectorized", "optimal_token_baseline")
ALGORITHM, ACTOR = AlgoConfig(), FSDPActorConfig(ppo_micro_batch_size_per_gpu=8, rollout_n=4)
KL_KINDS = ("kl", "abs", "mse", "low_var_kl", "k1+", "k3+")
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
        "gamma": ALGORITHM.gamma,
        "lam": ALGORITHM.lam,
        "config": ALGORITHM,
    }
    takes = inspect.signature(function).parameters
    advantages, _ = function(**{name: value for name, value in given.items() if name in takes})
    return (advantages * given["response_mask"]).tolist()


def loss_of(batch, loss):
    new = tensor(batch["logProbs"]).requires_grad_()
    given = (tensor(batch["oldLogProbs"]), new, tensor(batch["values"]), tensor(batch["masks"]))
    value, _ = get_policy_loss_fn(LOSSES[loss])(*given, config=ACTOR)
    value.backward()
    return {"value": value.item(), "gradient": new.grad.tolist()}


def value_loss_of(batch):
    clip = {field.name: field.default for field in dataclasses.fields(CriticConfig)}["cliprange_value"]
    predictions = tensor(batch["predictions"]).requires_grad_()
    returns, values, mask = (tensor(batch[name]) for name in ("returns", "values", "masks"))
    loss, fraction = compute_value_loss(predictions, returns, values, mask, clip)
    loss.backward()
    return {"value": loss.item(), "gradient": predictions.grad.tolist(), "clipFraction": fraction.item()}


def kl_of(batch, kind):
    """The term of the loss: each token's estimate, aggregated as the actor does by default."""
    new, mask = tensor(batch["logProbs"]).requires_grad_(), tensor(batch["masks"])
    loss = agg_loss(kl_penalty(new, tensor(batch["oldLogProbs"]), kind), mask, ACTOR.loss_agg_mode)
    loss.backward()
    return {"value": loss.item(), "gradient": new.grad.tolist()}


def controlled():
    """The coefficients of the default controller and of an adaptive one with the default target and horizon."""
    config = ALGORITHM.kl_ctrl
    adaptive = get_kl_controller(dataclasses.replace(config, type="adaptive"))
    coefficients = []
    for kl, rows in ((0.5, 64), (0.01, 128), (0.1, 64)):
        adaptive.update(kl, rows)
        coefficients.append(adaptive.value)
    return {"type": config.type, "target": config.target_kl, "horizon": config.horizon, "start": config.kl_coef, "adaptive": coefficients}


asked = json.load(sys.stdin)
found = {
    "estimators": {name: [advantages_of(batch, of_verl) for batch in asked] for name, of_verl in ESTIMATORS.items()},
    "forms": {name: [advantages_of(batch, name) for batch in asked] for name in FORMS},
    "losses": {name: [loss_of(batch, name) for batch in asked] for name in LOSSES},
    "valueLosses": [value_loss_of(batch) for batch in asked],
    "kl": {kind: [kl_of(batch, kind) for batch in asked] for kind in KL_KINDS},
    "entropies": [entropy_from_logits(tensor(batch["logits"])).tolist() for batch in asked],
    "controller": controlled(),
    "actor": {
        "clipLow": ACTOR.clip_ratio_low,
        "clipHigh": ACTOR.clip_ratio_high,
        "aggregation": ACTOR.loss_agg_mode,
        "entropyCoefficient": ACTOR.entropy_coeff,
        "usesKl": ACTOR.use_kl_loss or ALGORITHM.use_kl_in_reward,
    },
    "notCompared": {
        "estimators": sorted({*ADV_ESTIMATOR_REGISTRY} - {*ESTIMATORS.values(), *FORMS}),
        "losses": sorted({*POLICY_LOSS_REGISTRY} - {*LOSSES.values()}),
    },
}
print("\n" + json.dumps(found))
