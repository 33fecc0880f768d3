"""What a sink posts: points of a policy's training or of a run, and what they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True)
class Subject:
    """What points belong to. `link` is its page in the studio; `marker` names the metric whose value is the step of each point, which
    is written with a point or behind it: where it is, the point is whole."""

    kind: Literal["policy", "run"]
    id: str
    name: str
    link: str
    marker: str


@dataclass(frozen=True)
class Point:
    """Numbers at one step: a version of a policy, or a finished rollout of a run, counted from 1 in the order of the log. `key` is what
    it is of, `at` in seconds since 1970, `link` its page in the studio."""

    key: str
    step: int
    metrics: dict[str, float]
    at: float
    link: str


class Sink(Protocol):
    """A place that points are posted to. All but `close` raise Away where its server does not answer: they are called again then."""

    def last(self) -> int | None:
        """The greatest step that is there whole; None where none is."""

    def post(self, points: Sequence[Point]) -> None:
        """Writes points in their order. They are there whole when it returns; of those that a kill cut, the first ones are."""

    def close(self, over: bool) -> None:
        """Writes out what the system holds back; `over` says that no further points follow."""


class Away(Exception):
    """A server does not answer now: what was asked of it is asked again."""
