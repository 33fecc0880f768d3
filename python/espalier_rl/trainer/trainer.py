"""Holds a model with its optimiser: log-probs of recorded tokens, updates, checkpoints."""

import copy
import math

import torch

from . import losses
from .language_model import open_model, value_head
from .rows import RowsRefused


class NotFinite(Exception):
    """No step of an update could be taken, because no gradient was finite."""


class Trainer:
    """A model under training. `settings`: model, seed, device, learningRate, betas, epsilon, weightDecay, valueHead,
    reference."""

    def __init__(self, settings):
        self.settings = settings
        self.device = settings.get("device") or ("cuda" if torch.cuda.is_available() else "cpu")
        self.model = open_model(settings["model"], settings.get("seed", 0), self.device)
        if settings.get("packed", True):
            self.model.pack()
        self.head = value_head(self.model.width, self.device) if settings.get("valueHead") else None
        # What a KL penalty holds to: the model before any update, also when a checkpoint is loaded later.
        self.reference = copy.deepcopy(self.model.module).requires_grad_(False) if settings.get("reference") else None
        self.steps = 0
        groups = [{"params": list(self.model.module.parameters())}]
        if self.head:
            groups.append({"params": list(self.head.parameters()), "weight_decay": 0.0})
        self.optimiser = torch.optim.AdamW(
            groups,
            lr=settings.get("learningRate", 1e-6),
            betas=tuple(settings.get("betas", (0.9, 0.999))),
            eps=settings.get("epsilon", 1e-8),
            weight_decay=settings.get("weightDecay", 0.0),
        )

    def hold_to(self, folder):
        """Takes the model of a folder as what a KL penalty holds to."""
        spec = {**self.settings["model"], "kind": "folder", "path": str(folder)}
        model = open_model(spec, 0, self.device)
        if self.model.packed:
            model.pack()
        self.reference = model.module.requires_grad_(False)

    def parameters(self):
        return [*self.model.module.parameters(), *(self.head.parameters() if self.head else [])]

    def read(self, rows, micro_batches, temperature, squared=False):
        """Returns flat columns `log_probs` and `entropies` of the trained tokens, `values` with a value head, `ref_log_probs`
        with a reference, and
        `squared_probs` (the sum of squared probabilities of each token's distribution) where they are asked for; 0 elsewhere.
        """
        names = ["log_probs", "entropies", *(["values"] if self.head else []), *(["ref_log_probs"] if self.reference else [])]
        names += ["squared_probs"] if squared else []
        result = {name: torch.zeros(len(rows.ids)) for name in names}
        with torch.no_grad():
            for indices in micro_batches:
                batch = rows.batch(indices, self.device)
                found = self._tokens(batch, temperature, squared)
                if self.reference:
                    found["ref_log_probs"] = self._reference(batch, temperature)
                for name in names:
                    rows.unpad(batch, found[name], result[name])
        return result

    def update(self, rows, settings):
        """Takes the optimiser steps of `miniBatches` (steps of micro-batches of row indices), `epochs` times. Returns metrics.

        The denominators of a step are the trained tokens and rows of all its micro-batches, so how a step is cut into them changes nothing.
        """
        name = settings["loss"]["name"]
        options = losses.choose_options(name, settings["loss"].get("options", {}))
        if "advantages" not in rows.columns:
            raise RowsRefused("an update needs advantages")
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
                widest = settings.get("lossScale") or max(rows.span(i) for i in every)
                shared = {"tokens": tokens, "rows": filled, "loss_scale": widest}
                parts = _Metrics()
                for indices in micro_batches:
                    loss, means, sums = self._loss(rows, indices, settings, name, options, shared)
                    loss.backward()
                    parts.add(means, sum(rows.trained(i) for i in indices) / tokens)
                    parts.add({**sums, "loss": float(loss.detach())}, 1)
                longest = settings.get("clipNorm", 1.0)
                norm = torch.nn.utils.clip_grad_norm_(self.model.module.parameters(), longest)
                if critic:
                    norm = norm + 0 * torch.nn.utils.clip_grad_norm_(self.head.parameters(), longest)  # not finite when either is not
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

    def _loss(self, rows, indices, settings, name, options, shared):
        """Returns the loss of a micro-batch, means over its tokens, and sums: those add up over micro-batches, shares being of
        the whole step."""
        batch = rows.batch(indices, self.device)
        mask, columns = batch.mask, batch.columns
        coefficient = settings.get("entropyCoefficient", 0.0)
        temperature = settings.get("temperature", 1.0)
        found = self._tokens(batch, temperature)
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
        kl = settings.get("kl")
        if kl:
            reference = columns.get("ref_log_probs")
            if reference is None:
                if self.reference is None:
                    raise RowsRefused("a KL penalty needs the reference, or ref_log_probs")
                with torch.no_grad():
                    reference = self._reference(batch, temperature)
            own, held = torch.where(mask > 0, new, 0.0), torch.where(mask > 0, reference, 0.0)
            estimate = losses.kl_tokens(kl["kind"], own, held, kl.get("logRatios", "clamped"))
            penalty = (estimate * shares).sum()
            loss = loss + kl["coefficient"] * penalty
            sums["klLoss"] = float(penalty.detach())
        critic = settings.get("critic")
        if critic:
            if self.head is None or "returns" not in columns or "values" not in columns:
                raise RowsRefused("a critic needs a value head, returns and values")
            value_tokens, value_metrics = losses.value_loss(
                values, columns["values"], columns["returns"], mask, clip=critic.get("clip", 0.5), factor=critic.get("factor", 0.5)
            )
            value = (value_tokens * losses.token_shares(mask, "token-mean", tokens=shared["tokens"], rows=shared["rows"])).sum()
            loss = loss + critic.get("coefficient", 1.0) * value
            means, sums["valueLoss"] = {**means, **value_metrics}, float(value.detach())
        return loss, means, sums

    def _tokens(self, batch, temperature, squared=False):
        """Returns columns [rows, longest - 1], 0 outside the mask."""
        logits, hidden = self.model.score(batch, hidden=self.head is not None)
        found = _columns(logits, batch, temperature, squared)
        # Detached: the critic reads the policy's features and never bends them.
        found["values"] = self.head(hidden.detach().float()).squeeze(-1) if self.head else None
        return {name: None if values is None else _spread(values, batch.mask) for name, values in found.items()}

    def _reference(self, batch, temperature):
        own, self.model.module = self.model.module, self.reference
        try:
            return _spread(_columns(self.model.score(batch)[0], batch, temperature)["log_probs"], batch.mask)
        finally:
            self.model.module = own


def _columns(logits, batch, temperature, squared=False):
    """Log-probs of the trained tokens, entropies, and sums of squared probabilities where asked for."""
    _, tokens = batch.trained()
    chosen = logits.float() / temperature
    logs = torch.log_softmax(chosen, -1)
    found = {"log_probs": logs.gather(-1, tokens.unsqueeze(-1)).squeeze(-1), "entropies": losses.entropy_of_logits(chosen)}
    if squared:
        found["squared_probs"] = (2 * logs).exp().sum(-1)
    return found


def _spread(values, mask):
    return torch.zeros_like(mask).masked_scatter(mask > 0, values)


class _Metrics:
    def __init__(self):
        self.values = {}

    def add(self, metrics, weight):
        for key, value in metrics.items():
            self.values[key] = self.values.get(key, 0.0) + weight * value
