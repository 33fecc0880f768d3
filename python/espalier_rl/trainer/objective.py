"""The loss of a micro-batch: policy loss, entropy, KL penalty, critic. Shares of tokens are those of the whole optimiser step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.checkpoint import checkpoint

from . import losses
from .rows import RowsRefused

if TYPE_CHECKING:
    from .rows import MicroBatch, Rows

PIECE = 2**26  # logits whose columns are computed at once: 256 MiB for each copy in float32


def check_columns(rows: Rows, settings: Mapping[str, Any], trainer: Any) -> None:
    """Raises RowsRefused where a column is missing that the loss needs: before any pass, for all processes alike."""
    columns = rows.columns
    if "advantages" not in columns:
        raise RowsRefused("an update needs advantages")
    if settings.get("kl") and "ref_log_probs" not in columns and trainer.reference is None:
        raise RowsRefused("a KL penalty needs the reference, or ref_log_probs")
    if settings.get("critic") and (trainer.head is None or "returns" not in columns or "values" not in columns):
        raise RowsRefused("a critic needs a value head, returns and values")
    if settings.get("aggregation") == "seq-mean-token-sum-norm" and not settings.get("lossScale"):
        raise RowsRefused("seq-mean-token-sum-norm needs lossScale, one number for the whole training")


def loss_of(trainer: Any, batch: MicroBatch, settings: Mapping[str, Any], name: str, options: Mapping[str, Any], shared: Any) -> tuple[torch.Tensor, dict[str, Any], dict[str, Any]]:
    """Returns the loss of a micro-batch, means over its tokens, and sums: those add up over micro-batches, shares being of the
    whole step."""
    mask, columns = batch.mask, batch.columns
    coefficient = settings.get("entropyCoefficient", 0.0)
    temperature = settings.get("temperature", 1.0)
    kl, critic = settings.get("kl"), settings.get("critic")
    reference = columns.get("ref_log_probs") if kl else None
    if kl and reference is None:
        reference = trainer.reference_log_probs(batch, temperature)  # before the pass whose weights it would disturb
    found = trainer.tokens(batch, temperature)
    new, entropies, values = found["log_probs"], found["entropies"], found["values"]
    old = columns.get("old_log_probs", new.detach())
    mode = settings.get("aggregation", "token-mean")
    shares = losses.token_shares(mask, mode, **shared)
    policy_shares = losses.token_shares(mask, losses.aggregation_of(name, mode), **shared)
    tokens, means = losses.policy_loss(name, options, new, old, columns["advantages"], mask)
    loss = (tokens * columns.get("weights", 1.0) * policy_shares).sum()
    sums = {"policyLoss": float(loss.detach())}
    entropy = (entropies * shares).sum()
    sums["entropy"] = float(entropy.detach())
    if coefficient:
        loss = loss - coefficient * entropy
    if kl:
        own, held = torch.where(mask > 0, new, 0.0), torch.where(mask > 0, reference, 0.0)
        estimate = losses.kl_tokens(kl["kind"], own, held, kl.get("logRatios", "clamped"))
        penalty = (estimate * shares).sum()
        loss = loss + kl["coefficient"] * penalty
        sums["klLoss"] = float(penalty.detach())
    if critic:
        value_tokens, value_metrics = losses.value_loss(
            values, columns["values"], columns["returns"], mask, clip=critic.get("clip", 0.5), factor=critic.get("factor", 0.5)
        )
        value = (value_tokens * losses.token_shares(mask, "token-mean", tokens=shared["tokens"], rows=shared["rows"])).sum()
        loss = loss + critic.get("coefficient", 1.0) * value
        means, sums["valueLoss"] = {**means, **value_metrics}, float(value.detach())
    return loss, means, sums


def token_columns(logits: torch.Tensor, batch: MicroBatch, temperature: float, squared: bool = False) -> dict[str, Any]:
    """Log-probs of the trained tokens, entropies, and sums of squared probabilities where asked for.

    A piece of the tokens at a time, computed again in the backward pass: else several float32 copies of all logits lie in memory at once.
    """
    _, tokens = batch.trained()
    names = ["log_probs", "entropies", *(["squared_probs"] if squared else [])]
    size = max(1, PIECE // logits.shape[-1])
    if len(tokens) <= size:
        return dict(zip(names, _columns(logits, tokens, temperature, squared)))
    pieces = zip(logits.split(size), tokens.split(size))
    parts = [checkpoint(_columns, *piece, temperature, squared, use_reentrant=False, preserve_rng_state=False) for piece in pieces]
    return {name: torch.cat(part) for name, part in zip(names, zip(*parts))}


def _columns(logits: torch.Tensor, tokens: torch.Tensor, temperature: float, squared: bool) -> tuple[torch.Tensor, ...]:
    chosen = logits.float() / temperature
    logs = torch.log_softmax(chosen, -1)
    found = (logs.gather(-1, tokens.unsqueeze(-1)).squeeze(-1), losses.entropy_of_logits(chosen))
    return (*found, (2 * logs).exp().sum(-1)) if squared else found


def spread(values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Returns values of trained tokens as a column [rows, longest - 1], 0 elsewhere."""
    return torch.zeros_like(mask).masked_scatter(mask > 0, values)
