"""Training in a loop of one's own: a policy is declared, its batches are leased, and each update is acknowledged.

    pol = er.connect().training("qwen", estimator="grpo", groups=8, max_staleness=1)
    for batch in pol.batches(renew="auto"):
        tensors = batch.tensors()
        ...  # the update
        model.save_pretrained(f"versions/{batch.version}")
        batch.ack(weights=pol.publish(f"versions/{batch.version}"), metrics={"loss": loss.item()})

`leases` is what it is built on. torch is imported by what returns tensors, and by nothing else.
"""

from ..leases import LeaseLost, RowsUnreadable
from .batch import Batch
from .training import NoBatch, Training
from .weights import Weights, publish_folder

__all__ = ["Batch", "LeaseLost", "NoBatch", "RowsUnreadable", "Training", "Weights", "publish_folder"]
