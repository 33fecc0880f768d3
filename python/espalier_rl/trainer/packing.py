"""Runs rows of different lengths behind each other, without padding: positions begin again with each row, and a token looks at
its own row alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention

ATTENTION = "espalier_packed"
LAYERS = {"full_attention", "sliding_attention"}  # what `attend_rows` computes; others carry a state from row to row


def runs_of(lengths: Sequence[int]) -> list[Any]:
    """Returns [(rows, length)] of neighbours of equal length: each is one batch of the attention."""
    runs: list[Any] = []
    for length in lengths:
        if runs and runs[-1][1] == length:
            runs[-1] = (runs[-1][0] + 1, length)
        else:
            runs.append((1, length))
    return runs


def positions_of(lengths: Sequence[int], device: Any) -> torch.Tensor:
    """Returns the place of each token in its own row."""
    return torch.cat([torch.arange(length, device=device) for length in lengths])


def attend_rows(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, runs: Any, scale: float | None = None, window: int | None = None) -> torch.Tensor:
    """Causal attention within each row of [1, heads, tokens, size]; the work is that of the rows alone.

    `window`: how many tokens back a token sees; None sees its whole row.
    """
    parts, start = [], 0
    for rows, length in runs:
        end = start + rows * length

        def cut(part: torch.Tensor) -> torch.Tensor:
            return part[0, :, start:end].unflatten(1, (rows, length)).transpose(0, 1)  # [rows, heads, length, size]

        mask = None
        if window is not None and window < length:
            at = torch.arange(length, device=query.device)
            mask = (at[:, None] >= at[None, :]) & (at[:, None] - at[None, :] < window)
        grouped = query.shape[1] != key.shape[1]
        mixed = scaled_dot_product_attention(
            cut(query), cut(key), cut(value), attn_mask=mask, is_causal=mask is None, scale=scale, enable_gqa=grouped
        )
        parts.append(mixed.transpose(0, 1).flatten(1, 2))
        start = end
    return torch.cat(parts, 1).unsqueeze(0)


def pack_attention(module: Any) -> bool:
    """Lets a model of transformers run packed rows. Returns whether it can: whether all its layers are attention as
    `attend_rows` computes it."""
    config = module.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    if config is not module.config or not getattr(module, "_supports_attention_backend", False):
        return False
    if config._attn_implementation not in ("sdpa", ATTENTION) or not kinds <= LAYERS:
        return False
    from transformers import AttentionInterface

    # No function for masks goes with it: transformers then make none, which would be tokens by tokens in size.
    AttentionInterface.register(ATTENTION, _attention)
    module.set_attn_implementation(ATTENTION)
    return bool(config._attn_implementation == ATTENTION)


def _attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: Any,
    scaling: float | None = None,
    sliding_window: int | None = None,
    row_runs: Any = None,
    **kwargs: Any,
) -> Any:
    if row_runs is None:  # one row, or several of one length: while sampling
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        return sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **kwargs)
    mixed = attend_rows(query, key, value, row_runs, scaling, sliding_window)
    return mixed.transpose(1, 2).contiguous(), None
