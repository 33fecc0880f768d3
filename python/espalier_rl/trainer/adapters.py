"""LoRA by peft: small matrices next to frozen weights are trained, and a checkpoint is the adapter alone.

The folder of a checkpoint is what peft, vLLM and SGLang open: adapter_model.safetensors and adapter_config.json.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from .tensors import decode_tensors

ADAPTER = "default"
PREFIX = "base_model.model."  # how peft names the modules of a model
ADAPTER_CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"


def add_adapter(module: Any, lora: Mapping[str, Any], seed: int) -> None:
    """Freezes a model of transformers and adds a LoRA adapter. `lora`: rank, alpha, targets (names of linear layers, or
    `all-linear`). Its product is 0 at first: the model says what it said without. Raises ValueError for layers that get none."""
    from peft import LoraConfig

    targets = lora.get("targets") or "all-linear"
    torch.manual_seed(seed)
    module.add_adapter(
        LoraConfig(
            r=lora["rank"],
            lora_alpha=lora.get("alpha", 2 * lora["rank"]),
            target_modules=targets if isinstance(targets, str) else list(targets),
            task_type="CAUSAL_LM",
        )
    )
    _refuse_embeddings(module)


def load_adapter(module: Any, folder: str | Path) -> None:
    """Adds the adapter of a folder to the model that it was made for. Raises ValueError for one of another model."""
    found = module.load_adapter(str(folder), is_trainable=True, adapter_kwargs={"local_files_only": True}, ignore_mismatched_sizes=True)
    # transformers only logs them, and leaves the weights fresh
    if others := {*found.missing_keys, *found.unexpected_keys, *(name for name, *_ in found.mismatched_keys)}:
        raise ValueError(f"the adapter has other tensors than the model: {', '.join(sorted(others)[:3])}")
    _refuse_embeddings(module)


def _refuse_embeddings(module: Any) -> None:
    if any("lora_embedding_" in name for name, _ in module.named_parameters()):
        raise ValueError("an adapter of embeddings is not trained; name linear layers")


def has_adapter(module: Any) -> bool:
    return bool(getattr(module, "_hf_peft_config_loaded", False))


def file_name(name: str) -> str:
    """Returns the name that a weight of the module has in the file of the adapter."""
    return PREFIX + name.replace(f".{ADAPTER}.", ".")


def module_name(name: str) -> str:
    """Returns the name in the module of a weight in the file of the adapter."""
    return re.sub(r"\.(lora_\w+)", rf".\1.{ADAPTER}", name.removeprefix(PREFIX))


def read_adapter(folder: str | Path) -> dict[str, Any]:
    """Returns the tensors of an adapter by the names of its file."""
    return decode_tensors((Path(folder) / WEIGHTS).read_bytes())
