"""Packs tensors as safetensors bytes and reads them: an 8-byte length, a JSON header, the raw values. Names are sorted, so equal
tensors are equal bytes.

Written here, because the protocol needs it where the safetensors package is not installed; files are the same format.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import struct
from collections.abc import Mapping
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


def decode_tensors(data: bytes) -> dict[str, torch.Tensor]:
    """Reads named tensors. Raises TensorError that says what is wrong."""
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
            # A copy, because a tensor over bytes that Python owns must not be written to.
            raw = bytearray(data[start + begin : start + end])
            result[name] = torch.frombuffer(raw, dtype=dtype).reshape(shape) if count else torch.empty(shape, dtype=dtype)
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
        # string_at copies the memory in one piece; tolist or numpy would need a pass per value, or a package more.
        parts.append(ctypes.string_at(tensor.data_ptr(), size) if size else b"")
        entries[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text, parts
