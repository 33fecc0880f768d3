"""Policy losses, KL, entropy and value loss on padded [rows, columns] tensors, by the formulas of Espalier's
`src/domain/training`.

The same names and options as there, where the defaults are: one vocabulary for both backends. A mask is 1 on trained tokens; what lies outside it counts nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

LOG_RATIO_BOUND = 20.0
LOG_SEQUENCE_RATIO_BOUND = 10.0


def token_shares(mask: torch.Tensor, mode: str, *, tokens: float | None = None, rows: float | None = None, shards: float = 1, loss_scale: float = 1) -> torch.Tensor:
    """Returns each token's share in the aggregated loss: loss = sum(share * token loss).

    `tokens` and `rows` are those of the whole optimiser step of which these rows are one micro-batch; None takes these rows alone.
    `loss_scale` is what `seq-mean-token-sum-norm` divides the mean of the rows' sums by.
    """
    counts = mask.sum(-1, keepdim=True)
    tokens = float(mask.sum()) if tokens is None else tokens
    rows = float((counts > 0).sum()) if rows is None else rows
    if tokens == 0 or rows == 0:
        return torch.zeros_like(mask)
    if mode == "token-mean":
        return mask * (shards / tokens)
    if mode == "seq-mean-token-sum":
        return mask * (shards / rows)
    if mode == "seq-mean-token-mean":
        return mask * (shards / rows) / (counts + 1e-8)
    if mode == "seq-mean-token-sum-norm":
        return mask * (shards / (rows * loss_scale))
    raise ValueError(f"there is no aggregation {mode!r}")


def aggregation_of(name: str, asked: str) -> str:
    """GSPO and SAPO, which are losses of sequences, fix their aggregation, whatever was asked for."""
    return "seq-mean-token-mean" if name in ("gspo", "sapo") else asked


def policy_loss(name: str, options: Mapping[str, Any], new: torch.Tensor, old: torch.Tensor, advantages: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, dict[str, float]]:
    """Returns (token losses, metrics) of a policy loss; `new` carries the gradient. Token losses are 0 outside the mask."""
    # Outside the mask the log-probs may be anything; 0 there keeps NaN and overflow out of the gradient.
    new = torch.where(mask > 0, new, 0.0)
    old = torch.where(mask > 0, old, 0.0)
    advantages = torch.where(mask > 0, advantages, 0.0)
    free_ratio = new - old
    d = free_ratio if options.get("logRatios") == "unclamped" else free_ratio.clamp(-LOG_RATIO_BOUND, LOG_RATIO_BOUND)
    metrics = {"oldKl": _mean(-d, mask)}
    if name in ("clipped", "dual_clip"):
        losses, clipped = _clip(d.exp(), advantages, options)
        metrics["clipFraction"] = _mean(clipped, mask)
        if name == "dual_clip":
            ceiling = -advantages * options["dualClip"]
            over = (advantages < 0) & (losses > ceiling)
            losses = torch.where(over, ceiling, losses)
            metrics["clipFractionLower"] = _mean(over, mask)
    elif name == "gspo":
        log_sequence = (free_ratio * mask).sum(-1, keepdim=True) / mask.sum(-1, keepdim=True).clamp(min=1)
        # Stop-gradient form: the value is the sequence's ratio, the gradient flows through the token's own log-prob.
        log_ratio = new - new.detach() + log_sequence.detach()
        losses, clipped = _clip(log_ratio.clamp(max=LOG_SEQUENCE_RATIO_BOUND).exp(), advantages, options)
        metrics["clipFraction"] = _mean(clipped, mask)
    elif name == "cispo":
        ratio = d.detach().exp()
        weight = ratio.clamp(1 - options["clipLow"], 1 + options["clipHigh"])
        losses = -weight * advantages * new
        metrics["clipFraction"] = _mean(ratio != weight, mask)
    elif name == "sapo":
        tau = torch.full_like(advantages, options["tauNegative"]).masked_fill(advantages > 0, options["tauPositive"])
        losses = -advantages * 4 / tau * torch.sigmoid(tau * (d.exp() - 1))
    elif name == "gpg":
        losses = -advantages * new
    else:
        raise ValueError(f"there is no policy loss {name!r}")
    return losses * mask, metrics


def kl_tokens(kind: str, new: torch.Tensor, reference: torch.Tensor, log_ratios: str = "clamped") -> torch.Tensor:
    """Estimates KL(policy || reference) of each token; a `+` keeps the value and takes the gradient of k2.

    `log_ratios`: whether the exponent of k3 is kept within 20 (`clamped`) or not (`unclamped`, verl up to 0.4.0).
    """
    delta = new - reference
    k2 = 0.5 * delta.square()
    base = kind.rstrip("+")
    if base == "k1":
        value = delta
    elif base == "abs":
        value = delta.abs()
    elif base == "k2":
        value = k2
    else:
        x = -delta if log_ratios == "unclamped" else (-delta).clamp(-20.0, 20.0)
        value = (x.exp() - x - 1).clamp(-10.0, 10.0)
    return value.detach() + k2 - k2.detach() if kind.endswith("+") else value


def entropy_of_logits(logits: torch.Tensor) -> torch.Tensor:
    """H = logsumexp(z) - sum(softmax(z) z), in nats, over the last dimension."""
    return torch.logsumexp(logits, -1) - (torch.softmax(logits, -1) * logits).sum(-1)


def value_loss(predictions: torch.Tensor, values: torch.Tensor, returns: torch.Tensor, mask: torch.Tensor, *, clip: float = 0.5, factor: float = 0.5) -> tuple[torch.Tensor, dict[str, float]]:
    """Returns (token losses, metrics) of the clipped value loss: factor * max((v - R)^2, (clip(v, old -+ c) - R)^2)."""
    held = torch.minimum(torch.maximum(predictions, values - clip), values + clip)
    free_error, held_error = (predictions - returns).square(), (held - returns).square()
    clipped = held_error > free_error
    losses = factor * torch.where(clipped, held_error.detach(), free_error)
    return losses * mask, {"valueClipFraction": _mean(clipped, mask)}


def _clip(ratio: torch.Tensor, advantages: torch.Tensor, options: Mapping[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
    free = -advantages * ratio
    held = -advantages * ratio.clamp(1 - options["clipLow"], 1 + options["clipHigh"])
    clipped = held > free
    return torch.where(clipped, held, free), clipped


def _mean(values: torch.Tensor, mask: torch.Tensor) -> float:
    return float((values.detach() * mask).sum() / mask.sum().clamp(min=1))
