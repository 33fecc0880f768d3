"""The data of the events of the topic `images`, as their JSON has it. Made from the event schemas by `npm run codegen:python`."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from .shared import BlobRef


class SegmentRenderedData(TypedDict):
    """A history segment, the text of one record of history, was drawn for the first time. Topic: images; stream and key: data.segmentId."""

    segmentId: str
    """SHA-256 of the render spec and the text."""
    renderSpecId: str
    """SHA-256 of the canonical JSON of the render spec."""
    text: str | BlobRef
    """Text of the segment."""
    lines: int
    """Number of lines drawn."""
    width: int
    """Width of the segment in pixels."""
    height: int
    """Height of the segment in pixels."""
    rgb: str
    """SHA-256 of the pixels of the segment."""
    cutLines: int
    """Number of lines that the height limit removed."""
    outside: int
    """Number of characters that the font does not have."""
    unshaped: int
    """Number of characters that the published renderer shapes and may draw otherwise."""
