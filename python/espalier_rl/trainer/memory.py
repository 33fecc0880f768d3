"""What training keeps for each parameter, known before the first step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def memory_of(trainer: Any) -> dict[str, int]:
    """Returns bytes of each kind on each process, `perParameter` of them all together, and what they are spread over.

    Activations come on top: they grow with the tokens of a micro-batch.
    """
    trained = frozen = 0
    for parameter in trainer.model.module.parameters():
        if parameter.requires_grad:
            trained += parameter.numel()
        else:
            frozen += parameter.numel()
    held = sum(parameter.numel() for parameter in trainer.reference or ())
    half = trainer.model.precision == "bfloat16"
    size = trainer.processes.size
    kinds = {
        "weights": 4 * (trained + frozen),
        "gradients": 4 * trained,
        "moments": 8 * trained,
        "reference": 4 * held,
    }
    shares = {name: -(-value // size) for name, value in kinds.items()}
    # One process casts the weights of a pass. Sharded, a block at a time is cast, and each process keeps it for the backward pass
    # unless that computes it again.
    shares["bfloat16"] = 2 * (trained + frozen) if half and (size == 1 or not trainer.computes_again) else 0
    total = sum(kinds.values()) + size * shares["bfloat16"]
    return {**shares, "total": sum(shares.values()), "perParameter": round(total / max(1, trained + frozen), 3), "processes": size}


def describe_memory(memory: Mapping[str, int], parameters: int) -> str:
    """Returns one line for people."""
    kinds = ("weights", "gradients", "moments", "reference", "bfloat16")
    parts = ", ".join(f"{name} {_amount(memory[name])}" for name in kinds if memory[name])
    where = f" on each of {memory['processes']} processes" if memory["processes"] > 1 else ""
    return (
        f"{parameters:,} parameters, {memory['perParameter']} bytes each: {_amount(memory['total'])}{where} ({parts}); "
        "activations come on top"
    )


def _amount(count: int) -> str:
    return f"{count / 2**30:.2f} GiB" if count >= 2**30 else f"{count / 2**20:.1f} MiB"
