"""Which call continues which: digests of conversations, by which a process finds the rollout that a request belongs to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any


class Opening:
    """The conversation of a request: digests of its first 0, 1, … messages without those of the system, and a name for what it is about."""

    def __init__(self, api: str, body: Mapping[str, Any]) -> None:
        messages = _messages(api, body)
        self._keys = [_key(message) for message in messages]
        self.digests = [b""]
        for message, key in zip(messages, self._keys):
            if _role(message) != "system":
                self.digests.append(_extended(self.digests[-1], key))
        self.previous = body.get("previous_response_id") if api == "responses" else None

    @property
    def task(self) -> str:
        """Returns a name of the task that the conversation is about, which says nothing of it, as names are never sealed."""
        return f"task {hashlib.sha256(b', '.join(self._keys)).hexdigest()[:12]}"


def after(digest: bytes, message: Any) -> bytes:
    """Returns the digest of a conversation with one more message."""
    return _extended(digest, _key(message))


def replies(api: str, body: Any, parts: Sequence[Any] | None) -> list[list[Any]]:
    """Returns what the model said, of each choice, as messages that a program sends back."""
    if api == "responses":
        response = body if parts is None else next((part["response"] for part in reversed(parts) if isinstance(part.get("response"), dict)), {})
        return [list(response.get("output") or [])]
    if api == "messages":
        content = body["content"] if parts is None else _blocks(parts)
        return [[{"role": "assistant", "content": content}]]
    if parts is None:
        return [[choice["message"]] for choice in body.get("choices") or []]
    said: dict[int, dict[str, Any]] = {}
    for part in parts:
        for choice in part.get("choices") or []:
            delta = choice.get("delta") or {}
            message = said.setdefault(choice.get("index", 0), {"role": "assistant", "content": "", "tool_calls": []})
            if isinstance(delta.get("content"), str):
                message["content"] += delta["content"]
            message["tool_calls"] += [call for call in delta.get("tool_calls") or [] if call.get("id")]
    return [[message] for message in said.values()]


def _blocks(parts: Sequence[Any]) -> list[dict[str, Any]]:
    """Returns the texts and the calls of tools in a stream of Anthropic's protocol."""
    blocks: dict[int, dict[str, Any]] = {}
    for part in parts:
        if part.get("type") == "content_block_start":
            blocks[part["index"]] = dict(part["content_block"])
        elif part.get("type") == "content_block_delta" and part["index"] in blocks:
            block = blocks[part["index"]]
            block["text"] = f"{block.get('text') or ''}{part['delta'].get('text') or ''}"
    return list(blocks.values())


def _messages(api: str, body: Mapping[str, Any]) -> list[Any]:
    given = body.get("input") if api == "responses" else body.get("messages")
    messages = [{"role": "user", "content": given}] if isinstance(given, str) else [*given] if isinstance(given, list) else []
    system = body.get("system" if api == "messages" else "instructions")
    return [{"role": "system", "content": system}, *messages] if system else messages


def _role(message: Any) -> str:
    role = message.get("role") if isinstance(message, dict) else None
    return "system" if role in ("system", "developer") else str(role or "")


def _extended(digest: bytes, key: bytes) -> bytes:
    return hashlib.sha256(digest + key).digest() if key else digest


def _key(message: Any) -> bytes:
    """Returns what a message of a reply and the same one in a later request have in common: programs write the rest anew, and leave out
    reasoning, of which nothing is returned."""
    if not isinstance(message, dict):
        return str(message).encode("utf-8", "surrogatepass")
    if message.get("type") == "reasoning":
        return b""
    ids = [call.get("id") for call in message.get("tool_calls") or [] if isinstance(call, dict)]
    content = message.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    ids += [each[name] for each in (message, *blocks) for name in ("tool_call_id", "call_id", "tool_use_id") if each.get(name)]
    ids += [block.get("id") for block in blocks if block.get("type") == "tool_use"]
    role = _role(message)
    parts = [role, _text(message).strip(), *map(str, ids), *filter(None, map(_digest, blocks if role == "user" else ()))]
    return "\0".join(parts).encode("utf-8", "surrogatepass")


def _digest(block: dict[str, Any]) -> str:
    """Returns what tells a picture, a sound or a file from another one; nothing for texts and for what an id names. Where a prompt is
    cached programs say anew in each request."""
    if "text" in block or "tool_use_id" in block:
        return ""
    named = {name: value for name, value in block.items() if name != "cache_control"}
    return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text") or "") if isinstance(part, dict) else str(part) for part in content or [])
