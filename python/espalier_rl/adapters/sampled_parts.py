"""Cuts the tokens of a rollout of several turns into those of each reply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Tokens", "sampled_parts"]


class Tokens(NamedTuple):
    """Token ids of a completion or of a part of it: what was asked with, what was sampled, and what was shown behind it."""

    prompt: list[int]
    ids: list[int]
    log_probs: list[float] | None
    mask: list[int] | None  # 0 for what the policy was shown
    shown: list[int]


def sampled_parts(tokens: Tokens) -> list[Tokens]:
    """Returns each stretch that was sampled without anything shown in between; the prompt of a later one is all that was before it."""
    mask: Sequence[int] = tokens.mask or [1] * len(tokens.ids)
    starts = [i for i, own in enumerate(mask) if own and (i == 0 or not mask[i - 1])]
    parts = []
    for start, following in zip(starts, [*starts[1:], len(mask)], strict=True):
        end = start + sum(mask[start:following])
        log_probs = None if tokens.log_probs is None else tokens.log_probs[start:end]
        parts.append(Tokens([*tokens.prompt, *tokens.ids[:start]], tokens.ids[start:end], log_probs, None, tokens.ids[end:following]))
    return parts
