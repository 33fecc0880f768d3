"""Spreads a model over processes (FSDP2): each holds its part of every weight, gradient and moment, in float32.

A block is put together while it is computed. In bfloat16 autocast casts it then, as on one process: weights that come together in
bfloat16 would compute norms and residuals otherwise. All functions are called by all processes at once.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint


def blocks_of(module: Any) -> list[Any]:
    """Returns the layers of a model that repeat: what is put together at a time, and computed again in the backward pass."""
    names = set(getattr(module, "_no_split_modules", None) or [])
    return [each for each in module.modules() if type(each).__name__ in names]


def compute_again(module: Any) -> None:
    """Keeps only the input of each block for the backward pass, which computes the rest again."""
    for block in blocks_of(module):
        block.forward = functools.partial(checkpoint, block.forward, use_reentrant=False)


def shard(module: Any, size: int, device: Any) -> None:
    """Spreads the weights of a module over `size` processes. Gradients are summed over them, never averaged: losses are shares of
    a whole step."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(torch.device(device).type, (size,))
    parts = [*blocks_of(module), module]
    for part in parts:
        fully_shard(part, mesh=mesh, reshard_after_forward=True)
    for part in parts:
        part.set_gradient_divide_factor(1.0)
        part.set_force_sum_reduction_for_comms(True)


def whole(tensor: Any) -> Any:
    """Returns a tensor put together from all processes, on the CPU."""
    tensor = tensor.detach()
    return (tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor).cpu()


def like(tensor: Any, whole_tensor: Any) -> Any:
    """Returns this process's part of a whole tensor, spread as `tensor` is."""
    if not hasattr(tensor, "full_tensor"):
        return whole_tensor
    from torch.distributed.tensor import distribute_tensor

    # No process sends: each reads the whole and takes its own part.
    given = whole_tensor.to(tensor.device, tensor.dtype)
    return distribute_tensor(given, tensor.device_mesh, tensor.placements, src_data_rank=None)


def whole_tensors(module: Any, keep: bool = True) -> dict[str, Any]:
    """Returns the weights of a module by name, put together; tied ones share their memory, under each of their names. Without
    `keep` they are empty: this process only takes part."""
    found, kept = {}, {}
    parameters = dict(module.named_parameters(remove_duplicate=False))
    for name, tensor in module.state_dict().items():
        parameter = parameters.get(name)
        if parameter is None:
            found[name] = whole(tensor)
            continue
        if id(parameter) not in kept:
            put_together = whole(parameter)
            kept[id(parameter)] = put_together if keep else torch.empty(0)
        found[name] = kept[id(parameter)]
    return found


def put_tensors(module: Any, tensors: Mapping[str, Any]) -> None:
    """Puts whole tensors into a module. Raises KeyError where names or shapes differ."""
    own = {**dict(module.named_buffers()), **dict(module.named_parameters(remove_duplicate=False))}
    names = set(module.state_dict())
    if names != set(tensors):
        raise KeyError(f"other tensors: {', '.join(sorted(names ^ set(tensors))[:3])}")
    with torch.no_grad():
        for name, tensor in tensors.items():
            if own[name].shape != tensor.shape:
                raise KeyError(f"{name} of shape {tuple(tensor.shape)}, not {tuple(own[name].shape)}")
            own[name].copy_(like(own[name], tensor))
