"""A tiny byte-level transformer: small enough to learn a toy task on one core, whole enough to go through every path of a large
model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import nn

from .packing import PackedRows, attend_rows

# The vocabulary: the 256 bytes, then the end of a message and the three roles that begin one.
END = 256
ROLES = {"system": 257, "user": 258, "assistant": 259}
VOCABULARY = 260
MODEL_TYPE = "espalier-tiny"


@dataclass(frozen=True)
class TinyConfig:
    """Sizes of the transformer. `context` counts tokens of prompt and reply together."""

    layers: int = 2
    width: int = 64
    heads: int = 4
    context: int = 256

    def to_json(self) -> dict[str, Any]:
        return {"model_type": MODEL_TYPE, **asdict(self)}


class TinyModel(nn.Module):
    """A decoder with learned positions and layer norms before each part. `forward(ids)` returns (logits, last hidden states).

    With `lengths`, the ids are one row of rows that lie behind each other, and do not see each other.
    """

    _no_split_modules = ["Block"]  # by the name that transformers have for it

    def __init__(self, config: TinyConfig) -> None:
        super().__init__()
        if config.width % config.heads != 0:
            raise ValueError(f"the width {config.width} is no multiple of the {config.heads} heads")
        self.config = config
        self.tokens = nn.Embedding(VOCABULARY, config.width)
        self.positions = nn.Embedding(config.context, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        self.head = nn.Linear(config.width, VOCABULARY, bias=False)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                # The scale at which each layer keeps the length of its input; 0.02, as large models have it, is far below that at
                # a width of 64.
                nn.init.normal_(parameter, std=config.width**-0.5)
        nn.init.normal_(self.head.weight, std=0.02)  # the first replies are nearly uniform

    def forward(self, ids: torch.Tensor, lengths: Sequence[int] | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        packed = None if lengths is None else PackedRows(lengths, ids.device)
        places = torch.arange(ids.shape[-1], device=ids.device) if packed is None else packed.positions
        x = self.tokens(ids) + self.positions(places)
        for block in self.blocks:
            x = block(x, packed)
        hidden = self.norm(x)
        return self.head(hidden), hidden


class Block(nn.Module):
    def __init__(self, config: TinyConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.attention_norm = nn.LayerNorm(config.width)
        self.attention = nn.Linear(config.width, 3 * config.width)
        self.attention_out = nn.Linear(config.width, config.width)
        self.mlp_norm = nn.LayerNorm(config.width)
        self.mlp = nn.Sequential(
            nn.Linear(config.width, 4 * config.width), nn.GELU(), nn.Linear(4 * config.width, config.width)
        )

    def forward(self, x: torch.Tensor, packed: PackedRows | None = None) -> torch.Tensor:
        rows, length, width = x.shape
        parts = self.attention(self.attention_norm(x)).view(rows, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        if packed is None:
            mixed = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        else:
            mixed = attend_rows(query, key, value, packed)
        x = x + self.attention_out(mixed.transpose(1, 2).reshape(rows, length, width))
        return x + self.mlp(self.mlp_norm(x))


def encode_chat(messages: Sequence[Mapping[str, Any]]) -> list[int]:
    """Returns the token ids of a chat up to the place where the assistant's reply begins."""
    ids = []
    for message in messages:
        ids += [ROLES[message["role"]], *message["content"].encode("utf-8", "replace"), END]
    return [*ids, ROLES["assistant"]]


def decode_reply(ids: Sequence[int]) -> str:
    """Returns the text of sampled ids; bytes that are no UTF-8 become U+FFFD. Only the ids say exactly what was sampled."""
    return bytes(i for i in ids if i < 256).decode("utf-8", "replace")
