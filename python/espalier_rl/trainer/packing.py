"""Runs rows of different lengths behind each other, without padding: positions begin again with each row, and a token looks at
its own row alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.attention.varlen import varlen_attn
from torch.nn.functional import scaled_dot_product_attention

ATTENTION = "espalier_packed"
LAYERS = {"full_attention", "sliding_attention"}  # what `attend_rows` computes; others carry a state from row to row
WIDEST = 256  # dimensions of a head that flash attention takes


class PackedRows:
    """Where rows lie that lie behind each other. `runs` are [(rows, length)] of neighbours of equal length."""

    def __init__(self, lengths: Sequence[int], device: Any) -> None:
        self.runs: list[Any] = []
        for length in lengths:
            if self.runs and self.runs[-1][1] == length:
                self.runs[-1] = (self.runs[-1][0] + 1, length)
            else:
                self.runs.append((1, length))
        self.longest = max(lengths)
        self.starts = torch.tensor([0, *lengths]).cumsum(0).to(device, torch.int32)
        # The place of each token in its own row. Made on the CPU: one copy, not a kernel for each row.
        self.positions = torch.cat([torch.arange(length) for length in lengths]).to(device)


def attend_rows(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, rows: PackedRows, scale: float | None = None, window: int | None = None) -> torch.Tensor:
    """Causal attention within each row of [1, heads, tokens, size]; the work is that of the rows alone.

    `window`: how many tokens back a token sees; None sees its whole row. All rows are one call where a kernel takes them so, else each run is one.
    """
    dtype = _flash_type(query)
    if dtype is not None:
        return attend_at_once(query.to(dtype), key.to(dtype), value.to(dtype), rows, scale, window)
    parts, start = [], 0
    for count, length in rows.runs:
        end = start + count * length

        def cut(part: torch.Tensor) -> torch.Tensor:
            return part[0, :, start:end].unflatten(1, (count, length)).transpose(0, 1)  # [rows, heads, length, size]

        mask = None
        if window is not None and window < length:
            at = torch.arange(length, device=query.device)
            mask = (at[:, None] >= at[None, :]) & (at[:, None] - at[None, :] < window)
        grouped = query.shape[1] != key.shape[1]
        mixed = scaled_dot_product_attention(
            cut(query), cut(key), cut(value), attn_mask=mask, is_causal=mask is None, scale=scale, enable_gqa=grouped
        )
        parts.append(_in_order(mixed).transpose(0, 1).flatten(1, 2))
        start = end
    return torch.cat(parts, 1).unsqueeze(0)


def attend_at_once(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, rows: PackedRows, scale: float | None, window: int | None) -> torch.Tensor:
    """Computes what `attend_rows` does by one call of flash attention, which takes where each row starts."""
    query, key, value = (each[0].transpose(0, 1) for each in (query, key, value))  # [tokens, heads, size]
    back = -1 if window is None or window >= rows.longest else window - 1
    places = (rows.starts, rows.starts, rows.longest, rows.longest)
    mixed = varlen_attn(query, key, value, *places, scale=scale, window_size=(back, 0), enable_gqa=query.shape[1] != key.shape[1])
    return _in_order(mixed).transpose(0, 1).unsqueeze(0)


def _in_order(mixed: torch.Tensor) -> torch.Tensor:
    """Has the backward pass of an attention on a GPU add up in one order: its kernels do so only where anything else is an error, and all of
    training must not stop at an operation that has no such form."""
    node = mixed.grad_fn
    if mixed.is_cuda and node is not None and torch.are_deterministic_algorithms_enabled():
        node.register_prehook(lambda *_: torch.use_deterministic_algorithms(True, warn_only=False))
        node.register_hook(lambda *_: torch.use_deterministic_algorithms(True, warn_only=True))
    return mixed


def _flash_type(query: torch.Tensor) -> torch.dtype | None:
    """Returns the type in which flash attention computes these rows, or None where it cannot."""
    if not query.is_cuda:
        return None
    dtype = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else query.dtype
    size = query.shape[-1]
    if dtype not in (torch.float16, torch.bfloat16) or size % 8 or size > WIDEST:
        return None
    return dtype if torch.version.cuda and torch.cuda.get_device_capability(query.device) >= (8, 0) else None


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


def unpack_attention(module: Any) -> None:
    """Takes `pack_attention` back."""
    module.set_attn_implementation("sdpa")


def _attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: Any,
    scaling: float | None = None,
    sliding_window: int | None = None,
    packed_rows: Any = None,
    **kwargs: Any,
) -> Any:
    if packed_rows is None:  # one row, or several of one length: while sampling
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        return sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **kwargs)
    mixed = attend_rows(query, key, value, packed_rows, scaling, sliding_window)
    return mixed.transpose(1, 2).contiguous(), None
