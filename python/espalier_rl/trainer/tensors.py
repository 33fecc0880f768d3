"""Packs tensors as safetensors bytes and reads them: an 8-byte length, a JSON header, the raw values. Names are sorted, so equal
tensors are equal bytes.

Written here, because the protocol needs it where the safetensors package is not installed; files are the same format.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import mmap
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


class TensorError(Exception):
    """The bytes are no tensors that can be read here."""


def encode_tensors(tensors: Mapping[str, torch.Tensor]) -> bytes:
    """Returns the safetensors bytes of named tensors."""
    header, parts = _lay_out(tensors)
    return b"".join([header, *parts])


def write_tensors(path: str | Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """Writes the safetensors bytes of named tensors to a file, and syncs it. Nothing is copied in memory."""
    header, parts = _lay_out(tensors)
    with open(path, "wb", buffering=0) as file:
        for part in (header, *parts):
            rest = memoryview(part)
            while rest:  # Linux writes 2 GiB at a time at most
                rest = rest[file.write(rest) :]
        os.fsync(file.fileno())


def read_tensors(path: str | Path) -> dict[str, torch.Tensor]:
    """Reads named tensors from a file. They lie over its pages, which are copied where a tensor is written to. Raises TensorError."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise TensorError(f"{path} is empty")
        return _read(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))


def decode_tensors(data: bytes) -> dict[str, torch.Tensor]:
    """Reads named tensors. Raises TensorError that says what is wrong."""
    # A copy, because a tensor over bytes that Python owns must not be written to.
    return _read(bytearray(data))


def _read(data: bytearray | mmap.mmap) -> dict[str, torch.Tensor]:
    if len(data) < 8:
        raise TensorError(f"{len(data)} bytes are too few for a safetensors header")
    (length,) = struct.unpack_from("<Q", data)
    if length > len(data) - 8:
        raise TensorError(f"a header of {length} bytes does not fit into {len(data)}")
    try:
        entries = json.loads(data[8 : 8 + length])
        start = 8 + length
        result = {}
        for name, entry in entries.items():
            if name == "__metadata__":
                continue
            dtype, shape = DTYPES[entry["dtype"]], entry["shape"]
            begin, end = entry["data_offsets"]
            count = 1
            for side in shape:
                count *= side
            if begin < 0 or end - begin != count * dtype.itemsize or start + end > len(data):
                raise TensorError(f"tensor {name} does not fit its bytes")
            aligned = data if (start + begin) % dtype.itemsize == 0 else bytearray(data[start + begin : start + end])
            at = start + begin if aligned is data else 0
            values = torch.frombuffer(aligned, dtype=dtype, count=count, offset=at) if count else torch.empty(0, dtype=dtype)
            result[name] = values.reshape(shape)
        return result
    except (ValueError, KeyError, TypeError) as error:
        raise TensorError(f"the safetensors header cannot be read: {error!r}") from error


def digest_tensors(tensors: Mapping[str, torch.Tensor]) -> str:
    """Returns the SHA-256 (hex) of named tensors: equal names, types, shapes and values give equal digests."""
    header, parts = _lay_out(tensors)
    digest = hashlib.sha256(header)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def _lay_out(tensors: Mapping[str, torch.Tensor]) -> tuple[bytes, list[Any]]:
    entries, parts, offset = {}, [], 0
    for name in sorted(tensors):
        tensor = tensors[name].detach().to("cpu").contiguous()
        size = tensor.numel() * tensor.element_size()
        parts.append(_memory(tensor, size) if size else b"")
        entries[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text, parts


def _memory(tensor: torch.Tensor, size: int) -> Any:
    """Returns the memory of a tensor as a buffer, which keeps the tensor alive; numpy would need a package more."""
    memory: Any = (ctypes.c_char * size).from_address(tensor.data_ptr())
    memory.tensor = tensor
    return memory
