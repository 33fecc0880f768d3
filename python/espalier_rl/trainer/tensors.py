"""Named tensors as safetensors, in memory and in files, and their digest."""

from __future__ import annotations

import ctypes
import hashlib
import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, load_file, save, save_file

# The types that a body or a checkpoint has, as the format names them.
NAMES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}


class TensorError(Exception):
    """The bytes are no tensors that can be read here."""


def encode_tensors(tensors: Mapping[str, torch.Tensor]) -> bytes:
    """Returns the safetensors bytes of named tensors."""
    return bytes(save(_dense(tensors)))


def write_tensors(path: str | Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """Writes named tensors to a file."""
    save_file(_dense(tensors), path)


def read_tensors(path: str | Path) -> dict[str, torch.Tensor]:
    """Reads named tensors from a file. They are mapped from its pages. Raises TensorError."""
    try:
        return dict(load_file(path))
    except SafetensorError as error:
        raise TensorError(f"{path} is no safetensors file: {error}") from error


def decode_tensors(data: bytes) -> dict[str, torch.Tensor]:
    """Reads named tensors. Raises TensorError that says what is wrong."""
    try:
        return dict(load(data))
    except SafetensorError as error:
        raise TensorError(f"these {len(data)} bytes are no safetensors: {error}") from error


def digest_tensors(tensors: Mapping[str, torch.Tensor]) -> str:
    """Returns the SHA-256 (hex) of named tensors, laid out by name: equal names, types, shapes and values give equal digests."""
    entries, offset = {}, 0
    dense = _dense(tensors)
    for name, tensor in dense.items():
        entries[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [offset, offset := offset + tensor.nbytes]}
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    digest = hashlib.sha256(struct.pack("<Q", len(text)) + text)
    for tensor in dense.values():
        if tensor.nbytes:
            memory: Any = (ctypes.c_char * tensor.nbytes).from_address(tensor.data_ptr())
            digest.update(memory)
    return digest.hexdigest()


def _dense(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: tensors[name].detach().cpu().contiguous() for name in sorted(tensors)}
