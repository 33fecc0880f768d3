"""The one exception of the client: what is wrong, which field, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class EspalierError(Exception):
    """A request that was refused, an argument that does not fit, or a fault of the world around the client.

    `field` names what is wrong (`logprobs`, `data.depth`; empty where it is no field), `message` says why, `remedy` what to do.
    `status` is that of HTTP, 0 where no server was asked or none answered; `code` is what a program decides by: the server's word
    (`unauthorized`, `stale-fence`, …), or of the client `argument`, `unreachable`, `disk`, `spool-full`, `lost`, `ended`, `answer-lost`.
    `problems` lists every field that a server refused: `{index, id, path, message}`; `retry_after` is when a busy one asks for another
    try, in seconds."""

    def __init__(
        self,
        message: str,
        *,
        remedy: str = "",
        field: str = "",
        status: int = 0,
        code: str = "argument",
        problems: Sequence[Mapping[str, Any]] = (),
        retry_after: float = 0,
    ) -> None:
        named = message if not field or field in message else f"{field}: {message}"
        super().__init__(f"{named}; {remedy}" if remedy else named)
        self.message, self.remedy, self.field = message, remedy, field
        self.status, self.code, self.problems = status, code, list(problems)
        self.retry_after = retry_after


class Unreachable(EspalierError):
    """No answer within the time that the client was given to try."""
