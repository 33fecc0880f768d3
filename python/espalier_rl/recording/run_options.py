"""The options of a run by their types, for who calls `db.run`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

from .spool import Durable, Full


class RunOptions(TypedDict, total=False):
    """What `Run` takes besides its name; `Database.run` says what each means."""

    policy: str | tuple[str, int] | None
    key: str | None
    recorder: str | None
    take_over: bool
    training: bool | str
    environment: str
    fingerprint: str
    renderer: str | Path | None
    seed: int
    config: Mapping[str, Any] | None
    code_version: str | None
    scorer: str | None
    experiment: str | None
    durable: Durable
    spool_bytes: int
    full: Full
    wait_s: float | None
