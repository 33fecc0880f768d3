"""Calls of tools within a step."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import EspalierError
from .ids import derived_id
from .journal import Draft
from .values import json_of, list_of, milliseconds_of, name_of


def tool_drafts(tools: Sequence[Any], tree_id: str, step_id: str, at: str) -> list[Draft]:
    """Reads the calls that a step made: `{"name", "arguments", "output"}`, with `"error"` in place of `"output"` where a call failed, and
    `"ms"` how long it took. Arguments and output are texts, or any JSON."""
    drafts = []
    for ordinal, call in enumerate(list_of(tools, "tools")):
        where = f"tools[{ordinal}]"
        if not isinstance(call, Mapping):
            raise EspalierError(f"{where} is a {type(call).__name__}", remedy='give {"name", "arguments", "output"}', field=where)
        if "parameters" in call or ("function" in call and "output" not in call and "error" not in call):
            remedy = "give schemas of tools by tool_schemas=, and by tools= the calls that were made, with their output"
            raise EspalierError(f"{where} is the schema of a tool", remedy=remedy, field=where)
        unknown = [name for name in call if name not in ("name", "arguments", "output", "error", "ms")]
        if unknown:
            remedy = 'give {"name", "arguments", "output" or "error", "ms"}'
            raise EspalierError(f"{where}.{unknown[0]} is no field of a call", remedy=remedy, field=f"{where}.{unknown[0]}")
        failed = call.get("error") is not None
        call_id = derived_id("tool-call", step_id, ordinal)
        data = {
            "toolCallId": call_id,
            "treeId": tree_id,
            "stepId": step_id,
            "ordinal": ordinal,
            "tool": name_of(call.get("name"), f"{where}.name"),
            "arguments": _text(call.get("arguments", ""), f"{where}.arguments"),
            "output": _text(call["error"] if failed else call.get("output", ""), f"{where}.output"),
            "outcome": "error" if failed else "ok",
            "durationMs": milliseconds_of(call.get("ms", 0), f"{where}.ms"),
        }
        drafts.append(Draft("ToolCalled", tree_id, call_id, data, at))
    return drafts


def _text(value: object, field: str) -> str:
    return value if isinstance(value, str) else json.dumps(json_of(value, field), ensure_ascii=False)
