"""One leased batch: its rows as a trainer reads them, and what becomes of it."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..coroutines import for_coroutines
from ..errors import EspalierError
from ..leases import Lease
from ..log_probs import sampled_only
from ..rows import Rows
from ..metrics import checked_numbers
from .processes import Alone

if TYPE_CHECKING:
    import torch
    from verl import DataProto

    from .tensors import RowDataset


class Batch:
    """The right to train one batch of a policy, until it is acknowledged, returned or abandoned, or its lease is lost.

    `version` is the one that its update makes, `base` what it is trained from, `samples` and `tokens` the size of the whole batch. Of
    several processes each has its own rows: `tensors()` and `dataset()` have those of this process."""

    def __init__(self, lease: Lease, rows: Rows, processes: Alone, acknowledged: Callable[[dict[str, Any]], None]) -> None:
        self.lease, self.rows = lease, rows
        self.batch_id, self.ordinal, self.policy = lease.batch_id, lease.ordinal, lease.policy_id
        self.base, self.version = lease.base, int(lease.base["version"]) + 1
        self.samples, self.tokens, self.estimator = int(lease.samples), int(lease.tokens), lease.estimator
        self._processes, self._acknowledged = processes, acknowledged
        self._columns: dict[str, torch.Tensor] | None = None
        self._verl: Rows | None = None  # read once, so that all that is trained has the rewards of one moment

    def __repr__(self) -> str:
        return f"Batch({self.policy!r}, {self.ordinal}, {self.samples} samples)"

    @property
    def sampled_tokens(self) -> int:
        """Tokens of the whole batch that the policy sampled: what a mean over several processes divides by."""
        return sum(self.rows["response_mask"])

    def tensors(self, *, device: Any = None) -> dict[str, torch.Tensor]:
        """Returns the columns of this process's rows by name: views of the bytes that came over the network, on `device` copies. Their
        shapes are those of the layout that `batches` was asked for, `padded` unless another was; see `tensors.tensors_of`.

        `advantages` and `returns` [rows, R] are by the estimator of the declaration, computed by the server. Where that needs what
        only the model knows, they are missing, and `why_no_advantages` says why."""
        from .tensors import tensors_of

        if device is not None:
            return tensors_of(self.rows, *self._own_rows(), device)
        if self._columns is None:
            self._columns = tensors_of(self.rows, *self._own_rows())
        return self._columns

    @property
    def why_no_advantages(self) -> str | None:
        """Why the rows have no `advantages`; None where they have."""
        return None if "advantages" in self.rows else self.rows.why_no_advantages

    def dataset(self) -> RowDataset:
        """Returns this process's rows as an IterableDataset of torch: one by one, without padding."""
        from .tensors import RowDataset

        return RowDataset(self.rows, *self._own_rows())

    def data_proto(self, **options: Any) -> DataProto:
        """Returns the whole batch as verl's DataProto; `options` are those of `adapters.verl.data_proto`. Where `batches` was asked for another
        layout than `verl`, the rows are read once more, with the rewards of that moment; `ack` then names these as trained on."""
        from ..adapters import verl

        if self._verl is None:
            self._verl = self.rows if self.rows.layout == "verl" else self.lease.read_rows("verl")
        return verl.data_proto(self._verl, **options)

    def log_probs(self, model: Any, *, temperature: float | None = None) -> torch.Tensor:
        """Returns the log-probs of this process's responses under a causal model of transformers, at the temperature of the record unless
        one is given: float32 [rows, R], 0 where nothing was sampled. The layout is `padded`. Gradients flow where they are enabled."""
        from .tensors import log_probs, temperatures

        if self.rows.layout != "padded":
            raise EspalierError(f"the rows have the layout {self.rows.layout}", remedy="lease with batches(layout='padded')", field="layout")
        begin, end = self._own_rows()
        return log_probs(model, self.tensors(), temperatures(self.rows)[begin:end] if temperature is None else temperature)

    def check(self) -> None:
        """Raises LeaseLost where a renewal found that the lease is over: what is computed from here on is dropped."""
        self.lease.check()

    def renew(self) -> None:
        """Moves the deadline; `renew="auto"` does it in the background."""
        self.lease.renew()

    def ack(
        self, *, weights: str, metrics: Mapping[str, Any] | None = None, loss: Mapping[str, Any] | None = None, logprobs: Any = None
    ) -> dict[str, Any]:
        """Acknowledges the batch with the SHA-256 of the weights that its update made (`pol.publish(folder)`): they are version
        `version`. `metrics` are recorded with it: finite numbers by name. `logprobs` are those of this process's responses by the new
        weights, shaped as `response_mask` (`batch.log_probs(model)` after the update, under `torch.no_grad()`): the studio shows them
        next to those recorded when the tokens were sampled. Called by all processes, with or without `logprobs` alike; the first sends
        it. Returns what the server says. Raises LeaseLost where the lease is over: the weights are no version then."""
        values = None if logprobs is None else self._whole(logprobs)
        said = self._processes.by_first(
            lambda: self.lease.ack(weights=str(weights), metrics=checked_numbers(metrics or {}), loss=loss, sampled_logprobs=values)
        )
        self._acknowledged(said)
        return said

    def give_back(self, reason: str) -> None:
        """Returns the batch for another trainer to lease."""
        self._processes.by_first(lambda: self.lease.give_back(reason))

    def abandon(self, reason: str) -> None:
        """Abandons the batch for good: it makes no version."""
        self._processes.by_first(lambda: self.lease.abandon(reason))

    aack, arenew = for_coroutines(ack), for_coroutines(renew)
    agive_back, aabandon = for_coroutines(give_back), for_coroutines(abandon)

    def _whole(self, logprobs: Any) -> array[float]:
        """Returns the log-probs of the sampled tokens of the whole batch: each process has those of its rows."""

        def own() -> array[float]:
            if self._processes.size == 1:
                return sampled_only(logprobs, self.rows["response_mask"], self.rows.shape("response_mask"))
            mask = self.tensors()["response_mask"]
            return sampled_only(logprobs, mask.reshape(-1).tolist(), tuple(mask.shape))

        return array("f", (value for part in self._processes.of_all(own) for value in part))

    def _own_rows(self) -> tuple[int, int]:
        rank, size = self._processes.rank, self._processes.size
        count = self.rows.shape("group_index")[0]
        if count < size:
            raise EspalierError(
                f"batch {self.ordinal} has {count} rows, and {size} processes share them", remedy="start fewer processes, or declare more groups", field="groups"
            )
        return rank * count // size, (rank + 1) * count // size
