"""Ragged rows as they come over the wire, and the padded micro-batches that are made of them."""

from dataclasses import dataclass

import torch

from . import losses


class RowsRefused(Exception):
    """The tensors of a request do not fit together; the message names the one that does not."""


@dataclass(frozen=True)
class Rows:
    """Rows of `ids` between `offsets`, and columns of the same length: the value of a token is at its own place. Prompts have
    mask 0."""

    ids: torch.Tensor
    offsets: list
    mask: torch.Tensor
    columns: dict

    def __len__(self):
        return len(self.offsets) - 1

    def trained(self, index):
        return int(self.mask[self.offsets[index] : self.offsets[index + 1]].sum())

    def span(self, index):
        return losses.trained_span(self.mask[self.offsets[index] : self.offsets[index + 1]])

    def length(self, index):
        return self.offsets[index + 1] - self.offsets[index]

    def pad(self, indices, device):
        """Returns a micro-batch: `ids` [rows, longest], `lengths`, and mask and columns [rows, longest - 1], column t describing
        token t + 1."""
        longest = max(self.length(i) for i in indices)

        def padded(column, dtype):
            result = torch.zeros(len(indices), longest, dtype=dtype)
            for place, i in enumerate(indices):
                result[place, : self.length(i)] = column[self.offsets[i] : self.offsets[i + 1]]
            return result.to(device)

        lengths = torch.tensor([self.length(i) for i in indices], device=device)
        columns = {name: padded(column, torch.float32)[:, 1:] for name, column in self.columns.items()}
        return padded(self.ids, torch.long), lengths, padded(self.mask, torch.float32)[:, 1:], columns

    def unpad(self, indices, padded, into):
        """Writes [rows, longest - 1] values back to their places in a flat column."""
        for place, i in enumerate(indices):
            into[self.offsets[i] + 1 : self.offsets[i + 1]] = padded[place, : self.length(i) - 1].detach().float().cpu()


COLUMNS = ("old_log_probs", "ref_log_probs", "advantages", "returns", "values", "weights")


def read_rows(tensors, vocabulary, context):
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
