"""Rows of tokens out of a leased body: where each begins, which tokens the policy sampled, and what came before its first.

What comes before the first sampled token of a row is its prompt. No loop touches a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..rows import RowsRefused

if TYPE_CHECKING:
    from ..rows import Rows


class TokenRows:
    """Rows of the layout `verl`. Columns are views of the body wherever they can be.

    The prompt of row i is `prompt_ids[prompt_starts[i]:prompt_ends[i]]`; its response is [firsts[i], ends[i]) of `ids`, `mask` and the
    other token columns: from its first to its last sampled token."""

    def __init__(self, rows: Rows) -> None:
        if rows.layout != "verl":
            raise RowsRefused(f"the rows have the layout {rows.layout}: lease with layout='verl', a row of tokens per trajectory")
        self.rows = rows
        self.ids, self.mask = rows.torch("responses"), rows.torch("response_mask")
        borders = rows.torch("cu_seqlens").long()
        starts, whole_ends = borders[:-1], borders[1:]
        sampled = self.mask.nonzero().squeeze(1)
        row_of = torch.searchsorted(whole_ends, sampled, right=True)
        self.sampled = torch.bincount(row_of, minlength=len(starts))
        self._refuse(self.sampled == 0, "has no sampled token")
        self.firsts = whole_ends.clone().scatter_reduce(0, row_of, sampled, "amin")
        self.ends = starts.clone().scatter_reduce(0, row_of, sampled, "amax") + 1
        self.prompt_ids, self.prompt_starts, self.prompt_ends = self._prompts(starts)
        self._refuse(
            self.prompt_ends == self.prompt_starts,
            "has no token before its first sampled one: token ids of its prompt are not on record; collect from a server that returns "
            "prompt_token_ids (vLLM 0.10.2 and newer)",
        )
        rows.refuse_pictures()

    def _prompts(self, starts: Any) -> tuple[Any, Any, Any]:
        """Token ids of prompts: a column of their own, and what a producer recorded as shown before the first sampled token."""
        if "prompts" not in self.rows:
            return self.ids, starts, self.firsts
        borders, asked = self.rows.torch("prompt_cu_seqlens").long(), self.rows.torch("prompts")
        shown = self.firsts - starts
        if not bool(shown.any()):
            return asked, borders[:-1], borders[1:]
        lengths = borders.diff() + shown
        ends = lengths.cumsum(0)
        both = torch.empty(int(ends[-1]), dtype=asked.dtype)
        both[places(ends - lengths, ends - shown)] = asked
        both[places(ends - shown, ends)] = self.ids[places(starts, self.firsts)]
        return both, ends - lengths, ends

    def _refuse(self, wrong: Any, why: str) -> None:
        if bool(wrong.any()):
            row = int(wrong.nonzero()[0])
            raise RowsRefused(f"row {row} (rollout {self.rows.rollout(row)}) {why}")

    def __len__(self) -> int:
        return len(self.firsts)

    def groups(self) -> list[str]:
        """The group (tree) of each row, by its id."""
        groups = [group["treeId"] for group in self.rows.batch["groups"]]
        return [groups[place] for place in self.rows["group_index"]]

    def log_probs(self) -> torch.Tensor:
        """The recorded log-probs of all tokens. Raises RowsRefused for a row without them, or with one that is not finite."""
        self._refuse(self.rows.torch("has_log_probs") == 0, "has no recorded log-probs of its tokens")
        found = self.rows.torch("rollout_log_probs")
        wrong = torch.zeros(len(self)).index_add(0, self._row_of_tokens(), (~torch.isfinite(found[self._tokens()])).float())
        self._refuse(wrong > 0, "has a log-prob that is not finite")
        return found

    def scores(self) -> torch.Tensor:
        """What each row is worth: the sum of its rewards by the weights of the declaration."""
        values = self.rows.torch("token_level_scores")[self._tokens()].double()
        return torch.zeros(len(self), dtype=torch.float64).index_add(0, self._row_of_tokens(), values)

    def temperature(self) -> float:
        """The temperature that the rows were sampled at. Raises RowsRefused when the record does not say, or says several."""
        said = {text.get("temperature") for text in self.rows.texts}
        if len(said) != 1 or None in said:
            raise RowsRefused(f"the record says {sorted(map(str, said))} for the temperature of these rows: pass temperature=")
        return float(said.pop())

    def _tokens(self) -> torch.Tensor:
        return places(self.firsts, self.ends)

    def _row_of_tokens(self) -> torch.Tensor:
        return torch.repeat_interleave(torch.arange(len(self)), self.ends - self.firsts)


def padded(column: Any, begins: Any, ends: Any, *, side: str = "right", fill: float = 0, dtype: Any = None) -> torch.Tensor:
    """Copies [begins, ends) of a flat column to a row each, padded on a side. Returns [rows, longest]."""
    spans = list(zip(begins.tolist(), ends.tolist()))
    width = max((end - begin for begin, end in spans), default=0)
    result = torch.full((len(spans), width), fill, dtype=dtype or column.dtype)
    for row, (begin, end) in enumerate(spans):  # a copy per row: an index per value takes ten times as long
        if side == "right":
            result[row, : end - begin] = column[begin:end]
        else:
            result[row, width - (end - begin) :] = column[begin:end]
    return result


def places(begins: Any, ends: Any) -> torch.Tensor:
    """Every place of every [begin, end), one after the other."""
    lengths = ends - begins
    before = torch.cumsum(lengths, 0) - lengths
    return torch.arange(int(lengths.sum())) + torch.repeat_interleave(begins - before, lengths)
