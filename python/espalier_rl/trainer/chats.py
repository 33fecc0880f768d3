"""Chats as the server sends them with rows: messages, the tools that were offered, and the step that they asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

PLAIN = {"role", "content"}


class ChatRefused(Exception):
    """The model has no place for what a chat holds; the message names the step."""


def encode_offered(model: Any, chat: Mapping[str, Any]) -> list[int]:
    """Returns the token ids of a chat by the template of the model, up to where the reply begins. Raises ChatRefused."""
    where, messages = chat.get("where", "a chat"), [_with_values(message) for message in chat["messages"]]
    tools = json.loads(chat["tools"]) if chat.get("tools") else None
    if not model.has_template and (tools or any(set(message) - PLAIN or message["role"] == "tool" for message in messages)):
        raise ChatRefused(f"{where} was asked with tools, results of tools or reasoning, and the model has no chat template to write them; train a model with one")
    try:
        return list(model.encode_chat(messages, tools))
    except Exception as error:
        raise ChatRefused(f"{where}: the chat template of the model does not take its chat: {error}") from error


def _with_values(message: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a message with the arguments of its calls as templates take them: as the object that they are JSON of."""
    calls: Sequence[Mapping[str, Any]] = message.get("tool_calls", ())
    if not calls:
        return dict(message)
    return {**message, "tool_calls": [{**call, "function": {**call["function"], "arguments": _value(call["function"]["arguments"])}} for call in calls]}


def _value(text: str) -> Any:
    try:
        value = json.loads(text) if text.strip() else {}
    except ValueError:
        return text  # as the model wrote them
    return value if isinstance(value, dict) else text
