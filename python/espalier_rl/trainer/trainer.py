"""Holds a model with its optimiser, on one process or spread over several: log-probs of recorded tokens, and updates."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from .language_model import ModelRefused, open_model, value_head
from .objective import check_columns, loss_of, spread, token_columns
from .processes import Alone, share_out
from .sharding import compute_again, exchange_weights, shard

if TYPE_CHECKING:
    from .rows import MicroBatch, Rows


class NotFinite(Exception):
    """No step of an update could be taken, because no gradient was finite."""


class Trainer:
    """A model under training. `settings`: model, seed, device, learningRate, betas, epsilon, weightDecay, valueHead, reference,
    lora, checkpointing, packed."""

    def __init__(self, settings: dict[str, Any], processes: Any = None) -> None:
        self.settings = settings
        self.processes = processes or Alone()
        self.device = settings.get("device") or ("cuda" if torch.cuda.is_available() else "cpu")
        if torch.device(self.device).type == "cuda" and 1 < self.processes.size > torch.cuda.device_count():
            found = torch.cuda.device_count()
            raise ModelRefused(f"{self.processes.size} processes need a GPU each, and this machine shows {found}; declare fewer `processes`")
        seed = settings.get("seed", 0)
        self.model = open_model(settings["model"], seed, self.device)
        if settings.get("packed", True):
            self.model.pack()
        if self.model.reads_pictures and self.processes.size > 1:
            # A process whose rows show no picture would not take part in putting the vision part together.
            raise ModelRefused("a model that reads pictures is trained by one process; declare it without `processes`")
        if settings.get("lora"):
            self.model.adapt(settings["lora"], seed)
        self.head = value_head(self.model.width, self.device) if settings.get("valueHead") else None
        # The backward pass of a block would hold its weights in bfloat16: of all blocks together that is the whole model.
        whole = self.processes.size > 1 and self.model.precision == "bfloat16"
        self.computes_again = bool(settings.get("checkpointing", whole))
        if self.computes_again:
            compute_again(self.model.module)
        if self.processes.size > 1:
            shard(self.model.module, self.processes.size, self.device)
        # What a KL penalty holds to: the weights before any update, also when a checkpoint is loaded later.
        self.reference = self._copied() if settings.get("reference") else None
        self.steps = 0
        groups: list[dict[str, Any]] = [{"params": self.model.trained_parameters()}]
        if self.head:
            groups.append({"params": list(self.head.parameters()), "weight_decay": 0.0})
        self.optimiser = torch.optim.AdamW(
            groups,
            lr=settings.get("learningRate", 1e-6),
            betas=tuple(settings.get("betas", (0.9, 0.999))),
            eps=settings.get("epsilon", 1e-8),
            weight_decay=settings.get("weightDecay", 0.0),
        )

    def hold_to(self, folder: str) -> None:
        """Takes the weights of a folder as what a KL penalty holds to."""
        self.reference = self._copied()
        with self._as_reference():
            self.model.put(self.model.read(folder))

    def _copied(self) -> list[Any]:
        """Returns copies of the weights that are trained, as this process holds them."""
        return [parameter.detach().clone() for parameter in self.model.trained_parameters()]

    def parameters(self) -> list[Any]:
        """Returns what is trained, in the order of the optimiser."""
        return [*self.model.trained_parameters(), *(self.head.parameters() if self.head else [])]

    def read(self, rows: Rows, micro_batches: Sequence[Sequence[int]], temperature: float, squared: bool = False) -> dict[str, torch.Tensor]:
        """Returns flat columns `log_probs` and `entropies` of the trained tokens, `values` with a value head, `ref_log_probs`
        with a reference, and
        `squared_probs` (the sum of squared probabilities of each token's distribution) where they are asked for; 0 elsewhere.
        """
        names = ["log_probs", "entropies", *(["values"] if self.head else []), *(["ref_log_probs"] if self.reference is not None else [])]
        names += ["squared_probs"] if squared else []
        result = {name: torch.zeros(len(rows.ids)) for name in names}
        with torch.no_grad():
            for indices in self._own(rows, micro_batches):
                batch = self._batch(rows, indices)
                found = self.tokens(batch, temperature, squared)
                if self.reference is not None:
                    found["ref_log_probs"] = self.reference_log_probs(batch, temperature)
                for name in names if indices else ():
                    rows.unpad(batch, found[name], result[name])
        self.processes.sum(list(result.values()))  # each token is read by one process
        return result

    def update(self, rows: Rows, settings: dict[str, Any]) -> dict[str, Any]:
        """Takes the optimiser steps of `miniBatches` (steps of micro-batches of row indices), `epochs` times. Returns metrics.

        The denominators of a step are the trained tokens and rows of all its micro-batches, so how a step is cut into them changes nothing.
        """
        if torch.are_deterministic_algorithms_enabled():  # a backward pass that failed may have left it strict
            torch.use_deterministic_algorithms(True, warn_only=True)
        name, options = settings["loss"]["name"], settings["loss"]["options"]
        check_columns(rows, settings, self)
        critic = settings.get("critic")
        for group, part in zip(self.optimiser.param_groups, (settings, critic or {})):
            group["lr"] = part.get("learningRate", group["lr"])
        total = _Metrics()
        skipped = taken = 0
        for _ in range(settings.get("epochs", 1)):
            for micro_batches in settings["miniBatches"]:
                self.optimiser.zero_grad(set_to_none=True)
                every = [i for indices in micro_batches for i in indices]
                counts = [rows.trained(i) for i in every]
                tokens, filled = sum(counts), sum(1 for count in counts if count > 0)
                if tokens == 0:
                    continue
                shared = {"tokens": tokens, "rows": filled, "loss_scale": settings.get("lossScale", 1.0)}
                parts = _Metrics()
                for indices in self._own(rows, micro_batches):
                    loss, means, sums = loss_of(self, self._batch(rows, indices), settings, name, options, shared)
                    loss.backward()
                    parts.add(means, sum(rows.trained(i) for i in indices) / tokens)
                    parts.add({**sums, "loss": float(loss.detach())}, 1)
                parts.sum(self.processes)
                norm = self._clip(settings.get("clipNorm", 1.0))
                if not bool(torch.isfinite(norm)):
                    skipped += 1  # as verl does: one bad batch must not poison the weights
                    continue
                self.optimiser.step()
                taken += 1
                total.add({**parts.values, "gradientNorm": float(norm)}, 1)
        self.optimiser.zero_grad(set_to_none=True)
        self.steps += taken
        if taken == 0:
            raise NotFinite(f"none of {skipped} steps had a finite gradient" if skipped else "no row holds a trained token")
        means = {key: value / taken for key, value in total.values.items()}
        return {**{key: value for key, value in means.items() if math.isfinite(value)}, "steps": taken, "skippedSteps": skipped}

    def tokens(self, batch: MicroBatch, temperature: float, squared: bool = False) -> dict[str, torch.Tensor | None]:
        """Returns columns [rows, longest - 1], 0 outside the mask."""
        logits, hidden = self.model.score(batch, hidden=self.head is not None)
        found = token_columns(logits, batch, temperature, squared)
        # Detached: the critic reads the policy's features and never bends them.
        found["values"] = self.head(hidden.detach().float()).squeeze(-1) if self.head else None
        return {name: None if values is None else spread(values, batch.mask) for name, values in found.items()}

    def reference_log_probs(self, batch: MicroBatch, temperature: float) -> torch.Tensor:
        """Returns the log-probs of the model that a KL penalty holds to, as a column."""
        with torch.no_grad(), self._as_reference():
            return spread(token_columns(self.model.score(batch)[0], batch, temperature)["log_probs"], batch.mask)

    @contextlib.contextmanager
    def _as_reference(self) -> Iterator[None]:
        weights = self.model.trained_parameters()
        exchange_weights(weights, self.reference)
        try:
            yield
        finally:
            exchange_weights(weights, self.reference)

    def _own(self, rows: Rows, micro_batches: Sequence[Sequence[int]]) -> Any:
        """Returns the micro-batches that this process computes; [] is a pass that only takes part in putting the weights together."""
        return share_out(micro_batches, rows.length, self.processes.size)[self.processes.rank]

    def _batch(self, rows: Rows, indices: Sequence[int]) -> MicroBatch:
        if indices:
            return rows.batch(indices, self.device)
        shortest = rows.batch([min(range(len(rows)), key=rows.length)], self.device)
        return dataclasses.replace(shortest, mask=torch.zeros_like(shortest.mask))

    def _clip(self, longest: float) -> torch.Tensor:
        """Clips gradients to a norm, those of policy and critic each. Returns the policy's norm, which is not finite when either is
        not."""
        norm: torch.Tensor = torch.nn.utils.clip_grad_norm_(self.model.trained_parameters(), longest)
        norm = norm.full_tensor() if hasattr(norm, "full_tensor") else norm
        head = self.head
        given = [each.grad for each in head.parameters() if each.grad is not None] if head else []
        if head and given:
            for gradient in given:  # the critic is small and whole on every process
                summed = gradient.cpu()
                self.processes.sum([summed])
                gradient.copy_(summed)
            norm = norm + 0 * torch.nn.utils.clip_grad_norm_(head.parameters(), longest).to(norm.device)
        return norm


class _Metrics:
    def __init__(self) -> None:
        self.values: dict[str, float] = {}

    def add(self, metrics: Mapping[str, Any], weight: float) -> None:
        for key, value in metrics.items():
            self.values[key] = self.values.get(key, 0.0) + weight * value

    def sum(self, processes: Any) -> None:
        names = sorted(self.values)
        values = torch.tensor([self.values[name] for name in names], dtype=torch.float64)
        processes.sum([values])
        self.values = dict(zip(names, values.tolist()))
