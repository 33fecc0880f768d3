"""Reads the history of a `.wandb` file: the log of a run that the wandb client writes in offline mode (LevelDB's log format)."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HEADER = b":W&B\xe1\xbe\x00"  # the mark, a number and the version of the format
BLOCK = 32 * 1024
PART = 7  # bytes before each part of a record: checksum, length, kind
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4


def read_history(file: Path) -> Iterator[dict[str, Any]]:
    """Yields what each call of `log` wrote, up to a record that was cut. Needs the package wandb, for the shape of a record."""
    from wandb.proto import wandb_internal_pb2

    for data in read_records(file.read_bytes()):
        record = wandb_internal_pb2.Record.FromString(data)
        if record.WhichOneof("record_type") == "history":
            yield {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}


def read_records(log: bytes) -> Iterator[bytes]:
    """Yields the records of a log whose checksums are right, up to the first that is not there whole."""
    at, parts = len(HEADER), list[bytes]()
    while at + PART <= len(log):
        left = BLOCK - at % BLOCK
        if left < PART:
            at += left  # filled with zeros
            continue
        checksum, length, kind = int.from_bytes(log[at : at + 4], "little"), int.from_bytes(log[at + 4 : at + 6], "little"), log[at + 6]
        data = log[at + PART : at + PART + length]
        if len(data) < length or kind not in (FULL, FIRST, MIDDLE, LAST) or zlib.crc32(data, zlib.crc32(bytes([kind]))) != checksum:
            return
        at += PART + length
        parts = [data] if kind in (FULL, FIRST) else [*parts, data]
        if kind in (FULL, LAST):
            yield b"".join(parts)
