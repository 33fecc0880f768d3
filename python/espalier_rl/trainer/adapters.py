"""LoRA by peft: small matrices next to frozen weights are trained, and a checkpoint is the adapter alone.

The folder of a checkpoint is what peft, vLLM and SGLang open: adapter_model.safetensors and adapter_config.json.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from .sharding import like, whole
from .tensors import decode_tensors, write_tensors

if TYPE_CHECKING:
    from .language_model import LanguageModel

ADAPTER = "default"
PREFIX = "base_model.model."  # how peft names the modules of a model
CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"


class AdapterRefused(Exception):
    """LoRA that is not possible here; the message says why."""


def add_adapter(module: Any, lora: Mapping[str, Any], base: Any, seed: int) -> Any:
    """Freezes a model of transformers and adds a LoRA adapter. `lora`: rank, alpha, targets (names of linear layers, or
    `all-linear`). Its product is 0 at first: the model says what it said without."""
    peft = _peft()
    targets = lora.get("targets") or "all-linear"
    config = peft.LoraConfig(
        r=lora["rank"],
        lora_alpha=lora.get("alpha", 2 * lora["rank"]),
        target_modules=targets if isinstance(targets, str) else list(targets),
        lora_dropout=0.0,
        bias="none",
        task_type="CAUSAL_LM",
        base_model_name_or_path=str(base),
    )
    torch.manual_seed(seed)
    return _inject(peft, module, config)


def read_adapter(folder: str | Path) -> dict[str, Any]:
    """Returns the tensors of an adapter by the names of its file."""
    return decode_tensors((Path(folder) / WEIGHTS).read_bytes())


def open_adapter(folder: str | Path, open_base: Callable[[str], LanguageModel]) -> LanguageModel:
    """Opens the model that an adapter names as its base by `open_base(path)`, with the adapter."""
    peft = _peft()
    config = peft.LoraConfig.from_pretrained(str(folder), local_files_only=True)
    model = open_base(config.base_model_name_or_path)
    config.inference_mode = False
    model.adapter = _inject(peft, model.module, config)
    put_adapter(model.module, read_adapter(folder))
    return model


def adapter_tensors(module: Any) -> dict[str, Any]:
    """Returns the weights of the adapter, put together, by the names that its file has."""
    return {_file_name(name): whole(parameter) for name, parameter in _own(module)}


def held_adapter(module: Any) -> list[Any]:
    """Returns copies of the adapter's weights as this process holds them."""
    return [parameter.detach().clone() for _, parameter in _own(module)]


def exchange_adapter(module: Any, held: Any) -> None:
    """Puts `held` into the adapter and what was in it into `held`."""
    with torch.no_grad():
        for (_, parameter), other in zip(_own(module), held):
            kept = parameter.detach().clone()
            parameter.copy_(other)
            other.copy_(kept)


def put_adapter(module: Any, tensors: Mapping[str, Any]) -> None:
    """Puts whole tensors into the adapter. Raises KeyError where names or shapes differ."""
    own = {_file_name(name): parameter for name, parameter in _own(module)}
    if set(own) != set(tensors):
        raise KeyError(f"other tensors: {', '.join(sorted(set(own) ^ set(tensors))[:3])}")
    with torch.no_grad():
        for name, parameter in own.items():
            if parameter.shape != tensors[name].shape:
                raise KeyError(f"{name} of shape {tuple(tensors[name].shape)}, not {tuple(parameter.shape)}")
            parameter.copy_(like(parameter, tensors[name]))


def save_adapter(config: Any, tensors: Mapping[str, Any], folder: str | Path) -> None:
    folder = Path(folder)
    config.save_pretrained(str(folder))
    written = json.loads((folder / CONFIG).read_text())
    # peft writes sets in an order that changes from process to process.
    kept = {name: sorted(value) if isinstance(value, list) else value for name, value in sorted(written.items())}
    (folder / CONFIG).write_text(json.dumps({**kept, "inference_mode": True}, indent=2))
    write_tensors(folder / WEIGHTS, tensors)


def _inject(peft: Any, module: Any, config: Any) -> Any:
    try:
        peft.inject_adapter_in_model(config, module, ADAPTER)
    except ValueError as error:
        raise AdapterRefused(f"no LoRA adapter for this model: {error}") from error
    return config


def _own(module: Any) -> list[tuple[str, Any]]:
    return [(name, each) for name, each in module.named_parameters() if f".{ADAPTER}." in name and "lora_" in name]


def _file_name(name: str) -> str:
    return PREFIX + name.replace(f".{ADAPTER}", "")


def _peft() -> Any:
    try:
        import peft
    except ImportError as error:
        raise AdapterRefused("LoRA needs the package peft; install it with pip") from error
    return peft
