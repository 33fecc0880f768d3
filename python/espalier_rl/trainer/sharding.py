"""Spreads a model over processes (FSDP2): each holds its part of every weight, gradient and moment, in float32.

A block is put together while it is computed. In bfloat16 autocast casts it then, as on one process: weights that come together in
bfloat16 would compute norms and residuals otherwise. All functions are called by all processes at once.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import torch
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, set_model_state_dict
from torch.utils.checkpoint import checkpoint

from .adapters import has_adapter


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


def exchange_weights(parameters: Any, held: Any) -> None:
    """Puts `held` into parameters, both as this process holds them, and what was in these into `held`."""
    with torch.no_grad():
        for parameter, other in zip(parameters, held):
            kept = parameter.detach().clone()
            parameter.copy_(other)
            other.copy_(kept)


def whole_tensors(module: Any) -> dict[str, Any]:
    """Returns the weights of a module that its folder holds, by name, put together; tied ones share their memory, under each of their names.
    The first process has them, the others nothing."""
    options = StateDictOptions(full_state_dict=True, cpu_offload=True, ignore_frozen_params=has_adapter(module))
    found = get_model_state_dict(module, options=options)
    first: dict[int, str] = {}
    return {name: found[first.setdefault(id(each), name)] for name, each in _held(module).items() if name in found}


def put_tensors(module: Any, tensors: Mapping[str, Any]) -> None:
    """Puts whole tensors into a module. Raises KeyError where their names or shapes are not those of what its folder holds."""
    own, given = ({(name, tuple(each.shape)) for name, each in part.items()} for part in (_held(module), tensors))
    if others := own ^ given:
        raise KeyError(f"other tensors: {', '.join(sorted({name for name, _ in others})[:3])}")
    ordered = dict(sorted(tensors.items()))  # all processes hand each out at the same time, and files are read in any order
    set_model_state_dict(module, ordered, options=StateDictOptions(full_state_dict=True, strict=False))


def _held(module: Any) -> dict[str, Any]:
    """Returns the parameters and buffers that the folder of a module holds: of one with an adapter, the parameters of that alone."""
    parameters = dict(module.named_parameters(remove_duplicate=False))
    own = {name: parameters.get(name, tensor) for name, tensor in module.state_dict().items()}
    return {name: each for name, each in own.items() if each.requires_grad} if has_adapter(module) else own
