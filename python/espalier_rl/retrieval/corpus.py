"""A corpus as Search-R1 has it: one JSON object per line, {"id", "contents"}; a title is the first line of the contents."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any


class Corpus:
    """The documents of a file, read one by one by their places: a corpus may be larger than memory."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path, self._places = path, []
        with open(path, "rb") as file:
            place = 0
            for line in file:
                if line.strip():
                    self._places.append(place)
                place += len(line)
        if not self._places:
            raise ValueError(f"{path} holds no document")

    def __len__(self) -> int:
        return len(self._places)

    def read(self, numbers: Sequence[Any]) -> list[dict[str, Any]]:
        """Returns documents by their numbers, from 0. Raises ValueError naming the one that is none."""
        with open(self.path, "rb") as file:
            return [self._at(file, int(number)) for number in numbers]

    def _at(self, file: Any, number: int) -> dict[str, Any]:
        file.seek(self._places[number])
        try:
            document = json.loads(file.readline())
        except ValueError as error:
            raise ValueError(f"{self.path}: document {number + 1} is no JSON ({error})") from error
        if not isinstance(document, dict) or not isinstance(document.get("contents"), str):
            raise ValueError(f'{self.path}: document {number + 1} has no text "contents"')
        return document
