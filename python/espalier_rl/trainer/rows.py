"""Ragged rows as they come over the wire, and the micro-batches that are made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch


class RowsRefused(Exception):
    """The tensors of a request do not fit together; the message names the one that does not."""


@dataclass(frozen=True)
class Rows:
    """Rows of `ids` between `offsets`, and columns of the same length: the value of a token is at its own place. Prompts have
    mask 0."""

    ids: torch.Tensor
    offsets: list[int]
    mask: torch.Tensor
    columns: dict[str, torch.Tensor]
    # For each row a list of (picture, start, length); empty where no row shows one.
    pictures: tuple[Any, ...] = ()

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def trained(self, index: int) -> int:
        return int(self.mask[self.offsets[index] : self.offsets[index + 1]].sum())

    def length(self, index: int) -> int:
        return self.offsets[index + 1] - self.offsets[index]

    def batch(self, indices: Sequence[int], device: Any) -> MicroBatch:
        """Returns a micro-batch of rows, shortest first."""
        indices = sorted(indices, key=self.length)
        lengths = [self.length(i) for i in indices]
        longest = lengths[-1]

        def padded(column: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
            result = torch.zeros(len(indices), longest, dtype=dtype)
            for place, i in enumerate(indices):
                result[place, : lengths[place]] = column[self.offsets[i] : self.offsets[i + 1]]
            return result.to(device)

        ids = torch.cat([self.ids[self.offsets[i] : self.offsets[i + 1]] for i in indices]).to(device, torch.long)
        columns = {name: padded(column, torch.float32)[:, 1:] for name, column in self.columns.items()}
        pictures = [self.pictures[i] if self.pictures else () for i in indices]
        return MicroBatch(indices, lengths, ids, padded(self.mask, torch.float32)[:, 1:], columns, pictures)

    def unpad(self, batch: MicroBatch, padded: torch.Tensor, into: torch.Tensor) -> None:
        """Writes [rows, longest - 1] values back to their places in a flat column."""
        padded = padded.detach().float().cpu()
        for place, i in enumerate(batch.indices):
            into[self.offsets[i] + 1 : self.offsets[i + 1]] = padded[place, : self.length(i) - 1]


@dataclass(frozen=True)
class MicroBatch:
    """Rows of one pass. `ids` are flat, one row behind the other; `mask` and `columns` are [rows, longest - 1], column t
    describing token t + 1."""

    indices: list[int]
    lengths: list[int]
    ids: torch.Tensor
    mask: torch.Tensor
    columns: dict[str, torch.Tensor]
    pictures: list[Any]

    def trained(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the flat places whose next token is trained, row after row, and those tokens."""
        starts = torch.tensor([0, *self.lengths[:-1]]).cumsum(0).to(self.ids.device)
        rows, places = (self.mask > 0).nonzero(as_tuple=True)
        at = starts[rows] + places
        return at, self.ids[at + 1]

    def padded_ids(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns ids as [rows, longest], padded on the right, and the lengths."""
        result = torch.zeros(len(self.lengths), self.lengths[-1], dtype=torch.long, device=self.ids.device)
        lengths = torch.tensor(self.lengths, device=self.ids.device)
        result[torch.arange(self.lengths[-1], device=self.ids.device)[None, :] < lengths[:, None]] = self.ids
        return result, lengths


COLUMNS = ("old_log_probs", "ref_log_probs", "advantages", "returns", "values", "weights")


def read_rows(tensors: Mapping[str, torch.Tensor], vocabulary: int, context: int) -> Rows:
    """Checks the tensors of a request. Raises RowsRefused."""
    for name in ("ids", "offsets", "mask"):
        if name not in tensors:
            raise RowsRefused(f"the request has no tensor {name}")
    ids, mask, offsets = tensors["ids"], tensors["mask"], tensors["offsets"].tolist()
    if not offsets or offsets[0] != 0 or offsets[-1] != len(ids) or any(b - a < 2 for a, b in zip(offsets, offsets[1:])):
        raise RowsRefused("offsets do not cut the ids into rows of two tokens and more")
    if len(ids) and (int(ids.min()) < 0 or int(ids.max()) >= vocabulary):
        raise RowsRefused(f"a token id lies outside the vocabulary of {vocabulary}")
    if max((b - a for a, b in zip(offsets, offsets[1:])), default=0) > context:
        raise RowsRefused(f"a row is longer than the model's context of {context}")
    columns = {name: tensors[name] for name in COLUMNS if name in tensors}
    for name, column in {"mask": mask, **columns}.items():
        if column.shape != ids.shape:
            raise RowsRefused(f"{name} has {tuple(column.shape)} values for {len(ids)} tokens")
    if any(int(mask[start]) for start in offsets[:-1]):
        raise RowsRefused("the first token of a row cannot be trained: nothing comes before it")
    for name, column in columns.items():
        if not bool(torch.isfinite(column[mask == 1]).all()):
            raise RowsRefused(f"{name} holds a number that is not finite on a trained token")
    return Rows(ids, offsets, mask, columns)
