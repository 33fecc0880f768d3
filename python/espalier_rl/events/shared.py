"""Objects that many events share. Made from the event schemas by `npm run codegen:python`."""

from __future__ import annotations

from typing import Any, Literal, TypedDict


class BlobRef(TypedDict):
    """A payload in the blob store."""

    blob: str
    """SHA-256 of the payload in lower-case hex, which is its key in the blob store."""
    size: int
    """Size of the payload in bytes."""
    mediaType: str
    """Media type of the payload, for example `text/plain; charset=utf-8`."""


class Packed(TypedDict):
    """An array of tokens or bytes, packed."""

    dtype: Literal["int32", "float32", "uint8"]
    """Type of the elements, which are stored in little-endian order."""
    length: int
    """Number of elements."""
    bytes: str | BlobRef
    """Bytes of the elements in base64, or a reference to them in the blob store."""
