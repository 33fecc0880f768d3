"""The rows of a leased batch: a safetensors body whose columns are views of the bytes that came over the network.

Nothing here needs a package: a column is a typed `memoryview`; `numpy()` and `torch()` wrap the same bytes where those are there.
"""

import json
import struct
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from .errors import EspalierError

# dtype of the body: code of `memoryview.cast`, name for numpy and torch, bytes of a value
DTYPES = {
    "F64": ("d", "float64", 8),
    "F32": ("f", "float32", 4),
    "I64": ("q", "int64", 8),
    "I32": ("i", "int32", 4),
    "U8": ("B", "uint8", 1),
}


class RowsRefused(EspalierError, ValueError):
    """The rows do not hold what this trainer needs; the message names the row and what to do."""


class RowsDamaged(ValueError):
    """The body is no safetensors, or it is cut; the message names the tensor."""


class Rows:
    """Columns by name. `rows["responses"]` is a flat typed view; `shape(name)` says how it is laid out.

    `batch` is the manifest of the batch, `names` says what each row is, both parsed when they are first asked for; `rewards_at` is the
    position of the rewards in it, which an acknowledgement sends back.
    """

    def __init__(self, body: "bytes | bytearray | memoryview") -> None:
        """Reads the header of a body (bytes, bytearray or memoryview); no value is touched. Raises RowsDamaged."""
        self._body = memoryview(body)
        self._entries, self.metadata, self._start = _header(self._body)
        self.layout = self.metadata.get("layout")
        self.rewards_at = self.metadata.get("rewardsAt")

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __getitem__(self, name: str) -> "memoryview[Any]":
        code, _, _ = DTYPES[self._entry(name)["dtype"]]
        return self._bytes(name).cast(code)  # type: ignore[call-overload, no-any-return]  # a code of DTYPES

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self._entry(name)["shape"])

    def numpy(self, name: str) -> Any:
        """A column as a numpy array over the same bytes."""
        import numpy

        return numpy.frombuffer(self._bytes(name), dtype=DTYPES[self._entry(name)["dtype"]][1]).reshape(self.shape(name))

    def torch(self, name: str) -> Any:
        """A column as a torch tensor over the same bytes, which are writable when the body is a bytearray, as a lease reads it."""
        import torch

        dtype = getattr(torch, DTYPES[self._entry(name)["dtype"]][1])
        raw = self._bytes(name)
        return torch.frombuffer(raw, dtype=dtype).reshape(self.shape(name)) if len(raw) else torch.empty(self.shape(name), dtype=dtype)

    @cached_property
    def batch(self) -> Any:
        return json.loads(self.metadata.get("batch", "{}"))

    @cached_property
    def names(self) -> Any:
        return json.loads(self.metadata.get("rows", "{}"))

    @cached_property
    def texts(self) -> Any:
        """What was said and done, by trajectory; parsed when it is first asked for."""
        return json.loads(bytes(self._bytes("texts"))) if "texts" in self else []

    def rollout(self, row: int) -> str:
        """The rollout of a row; a rollout whose tokens were cut has several rows."""
        return str(self.names["trajectories"][int(self["trajectory_index"][row]) if "trajectory_index" in self else row])

    def refuse_pictures(self) -> None:
        """Raises RowsRefused for rows that were shown pictures: their tokens alone would be read as text."""
        for row, images in enumerate(self.names.get("images", [])):
            if images:
                raise RowsRefused(
                    f"row {row} (rollout {self.rollout(row)}) was shown pictures, which these tensors do not hold; without them its image tokens would be read as text",
                    remedy="train it with `espalier train --backend torch`, or read the columns of `rows` and draw the pictures of rows.names['images'] yourself",
                    field="images",
                )

    @property
    def why_no_advantages(self) -> str:
        """Why there are no columns `advantages` and `returns`."""
        said = json.loads(self.metadata.get("advantages", "{}"))
        return said.get("refused") or "they were not asked for: lease with advantages=True"

    def _entry(self, name: str) -> Any:
        if name not in self._entries:
            raise KeyError(f"the rows of the layout {self.layout} have no column {name}; there are {', '.join(self._entries)}")
        return self._entries[name]

    def _bytes(self, name: str) -> "memoryview[Any]":
        begin, end = self._entry(name)["data_offsets"]
        return self._body[self._start + begin : self._start + end]


def _header(body: "memoryview[Any]") -> tuple[dict[str, Any], dict[str, str], int]:
    if len(body) < 8:
        raise RowsDamaged(f"{len(body)} bytes are too few for a safetensors header")
    (length,) = struct.unpack_from("<Q", body)
    start = 8 + length
    if start > len(body):
        raise RowsDamaged(f"a header of {length} bytes does not fit into {len(body)}")
    try:
        entries = json.loads(bytes(body[8:start]))
        metadata = entries.pop("__metadata__", {})
        for name, entry in entries.items():
            begin, end = entry["data_offsets"]
            if entry["dtype"] not in DTYPES:
                raise RowsDamaged(f"tensor {name} has the dtype {entry['dtype']}, which rows do not have")
            values = 1
            for side in entry["shape"]:
                values *= side
            if begin < 0 or end - begin != values * DTYPES[entry["dtype"]][2] or start + end > len(body):
                raise RowsDamaged(f"tensor {name} does not fit its bytes: the body is cut or damaged")
    except (KeyError, TypeError, AttributeError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise RowsDamaged(f"the safetensors header cannot be read: {error!r}") from error
    return entries, metadata, start
