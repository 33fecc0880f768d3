"""Rows of a leased batch as torch tensors: views of the bytes that came over the network, and what is computed from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ..errors import EspalierError
from ..rows import Rows

# What a column of the layouts without padding has a value for; all others have one for each row.
OF_TOKENS = {"responses", "response_mask", "rollout_log_probs", "policy_versions", "token_level_scores", "advantages", "returns"}
BORDERS = {"cu_seqlens", "prompt_cu_seqlens"}
TEXTS = "texts"  # JSON as bytes, which `Rows.texts` parses
IN_ROWS = ("response_mask", "rollout_log_probs", "token_level_scores", "advantages", "returns", "policy_versions", "step_indices")


def tensors_of(rows: Rows, begin: int, end: int, device: Any = None) -> dict[str, torch.Tensor]:
    """Returns the columns of the rows [begin, end) by name, as views wherever the type allows one; on another device as copies.

    Layout `padded`, with P and R the longest prompt and response: `input_ids`, `attention_mask`, `position_ids` [rows, P + R];
    `prompts` [rows, P] padded on the left; `responses`, `response_mask`, `rollout_log_probs`, `advantages`, `returns`,
    `token_level_scores`, `policy_versions` [rows, R] padded on the right. `verl` and `step` have the same token columns one row
    behind the other, and their borders in `cu_seqlens` [rows + 1]. Raises RowsRefused for rows that were shown pictures."""
    rows.refuse_pictures()
    count = row_count(rows)
    columns = {name: rows.torch(name) for name in rows if name != TEXTS}
    if (begin, end) != (0, count):
        columns = {name: _narrow(rows, name, column, begin, end) for name, column in columns.items()}
    return columns if device is None else {name: column.to(device) for name, column in columns.items()}


def row_count(rows: Rows) -> int:
    """The number of rows of a body."""
    return rows.shape("group_index")[0]


def _narrow(rows: Rows, name: str, column: torch.Tensor, begin: int, end: int) -> torch.Tensor:
    if name in BORDERS:
        return column[begin : end + 1] - column[begin]
    if name == "step_ends":
        turns = rows.torch("num_turns").cumsum(0)
        return column[_before(turns, begin) : _before(turns, end)]
    flat = rows.layout != "padded"
    if flat and (name in OF_TOKENS or (name == "step_indices" and rows.layout == "verl")):
        borders = rows.torch("cu_seqlens")
        return column[int(borders[begin]) : int(borders[end])]
    if flat and name == "prompts":
        borders = rows.torch("prompt_cu_seqlens")
        return column[int(borders[begin]) : int(borders[end])]
    return column[begin:end]


def _before(sums: torch.Tensor, row: int) -> int:
    return int(sums[row - 1]) if row > 0 else 0


def temperatures(rows: Rows) -> torch.Tensor:
    """The temperature that each row was sampled at, float32 [rows]. Raises EspalierError where the record does not say."""
    said = [text.get("temperature") for text in rows.texts]
    if any(value is None for value in said):
        raise EspalierError(
            f"the record does not say at which temperature rollout {rows.names['trajectories'][said.index(None)]} was sampled",
            remedy="pass temperature=, or record it in the config of the run",
            field="temperature",
        )
    return torch.tensor(said, dtype=torch.float32)[rows.torch("trajectory_index").long()]


def log_probs(model: Any, columns: dict[str, torch.Tensor], temperature: float | torch.Tensor) -> torch.Tensor:
    """Returns the log-probs of the tokens of `responses` under a causal model of transformers, float32 [rows, R], 0 where nothing was
    sampled. `columns` are those of the layout `padded`; `temperature` is one, or one for each row. Gradients flow where they are
    enabled. Raises EspalierError for rows without token ids of their prompts."""
    if "input_ids" not in columns or bool((columns["has_prompts"] == 0).any()):
        raise EspalierError(
            "rows have no token ids of their prompts, so nothing comes before their first token",
            remedy="record prompt_ids with each step (vLLM returns prompt_token_ids from 0.10.2)",
            field="input_ids",
        )
    device = next(model.parameters()).device
    ids, mask, positions = (columns[name].to(device).long() for name in ("input_ids", "attention_mask", "position_ids"))
    logits = model(input_ids=ids, attention_mask=mask, position_ids=positions).logits
    responses = columns["responses"].to(device).long()
    before = logits[:, -responses.shape[1] - 1 : -1].float()  # what predicts each of them
    scale = temperature.to(device).reshape(-1, 1, 1) if isinstance(temperature, torch.Tensor) else temperature
    found = torch.log_softmax(before / scale, dim=-1).gather(2, responses.unsqueeze(2)).squeeze(2)
    return found * columns["response_mask"].to(device)


class RowDataset(torch.utils.data.IterableDataset[dict[str, Any]]):
    """The rows [begin, end) one by one, without padding: `prompt_ids`, `response_ids`, `response_mask`, `rollout_log_probs`,
    `token_level_scores`, `advantages`, `returns`, `policy_versions`, `step_indices` as views of the body; `rollout` and `group` by
    id. Workers of a DataLoader share the rows out."""

    def __init__(self, rows: Rows, begin: int, end: int) -> None:
        if rows.layout not in ("padded", "verl"):
            raise EspalierError(f"the rows have the layout {rows.layout}", remedy="lease with layout='padded' or 'verl'", field="layout")
        rows.refuse_pictures()
        self._rows, self._begin, self._end = rows, begin, end

    def __len__(self) -> int:
        return self._end - self._begin

    def __iter__(self) -> Iterator[dict[str, Any]]:
        worker = torch.utils.data.get_worker_info()
        first, every = (0, 1) if worker is None else (worker.id, worker.num_workers)
        columns = {name: self._rows.torch(name) for name in self._rows if name != TEXTS}
        groups = [group["treeId"] for group in self._rows.batch["groups"]]
        for row in range(self._begin + first, self._end, every):
            asked, said = self._spans(columns, row)
            ids = {"prompt_ids": asked, "response_ids": said(columns["responses"])}
            tokens = {name: said(columns[name]) for name in IN_ROWS if name in columns}
            rollout = self._rows.names["trajectories"][int(columns["trajectory_index"][row])]
            yield {**ids, **tokens, "rollout": rollout, "group": groups[int(columns["group_index"][row])]}

    def _spans(self, columns: dict[str, torch.Tensor], row: int) -> tuple[torch.Tensor, Any]:
        if self._rows.layout == "verl":
            begin, end = (int(columns["cu_seqlens"][row + side]) for side in (0, 1))
            first, last = (int(columns["prompt_cu_seqlens"][row + side]) for side in (0, 1))
            return columns["prompts"][first:last], lambda column: column[begin:end]
        width = columns["responses"].shape[1]
        mask = columns["attention_mask"][row]
        before = len(mask) - width
        asked, length = int(mask[:before].sum()), int(mask[before:].sum())
        prompt = columns["prompts"][row, before - asked :] if before else columns["responses"][row, :0]
        return prompt, lambda column: column[row, :length]
