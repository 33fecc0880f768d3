"""Reads and writes frames: `ESPF`, two little-endian uint32 lengths, a JSON object of the first and raw bytes of the second
length.

Needs nothing but the standard library, so that the protocol can be tested where torch is not.
"""

from __future__ import annotations

import json
import struct
from typing import Any

MAGIC = b"ESPF"
HEADER = struct.Struct("<4sII")
LONGEST_JSON = 64 * 2**20
LONGEST_BODY = 2**32 - 1


class FrameError(Exception):
    """The stream does not hold a frame here; there is no way to find the next one."""


def read_frame(stream: Any) -> tuple[dict[str, Any], bytes] | None:
    """Reads one frame. Returns (message, body), or None where the stream ended between two frames. Raises FrameError."""
    head = _read(stream, HEADER.size)
    if head == b"":
        return None
    if len(head) < HEADER.size:
        raise FrameError(f"the stream ended within the head of a frame, after {len(head)} bytes")
    magic, json_length, body_length = HEADER.unpack(head)
    if magic != MAGIC:
        raise FrameError(f"a frame begins with {MAGIC!r}, not {magic!r}")
    if json_length > LONGEST_JSON:
        raise FrameError(f"a message of {json_length} bytes is longer than {LONGEST_JSON}")
    text = _read(stream, json_length)
    body = _read(stream, body_length)
    if len(text) < json_length or len(body) < body_length:
        raise FrameError("the stream ended within a frame")
    try:
        message = json.loads(text)
    except ValueError as error:
        raise FrameError(f"the message of a frame is not JSON: {error}") from error
    if not isinstance(message, dict):
        raise FrameError("the message of a frame is not an object")
    return message, body


def write_frame(stream: Any, message: dict[str, Any], body: bytes = b"") -> None:
    """Writes one frame whole and flushes it."""
    text = json.dumps(message, allow_nan=False, separators=(",", ":")).encode()
    if len(text) > LONGEST_JSON or len(body) > LONGEST_BODY:
        raise FrameError("the frame is too long")
    stream.write(HEADER.pack(MAGIC, len(text), len(body)))
    stream.write(text)
    stream.write(body)
    stream.flush()


def _read(stream: Any, length: int) -> bytes:
    parts = []
    missing = length
    while missing > 0:
        part = stream.read(min(missing, 2**20))
        if not part:
            break
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
