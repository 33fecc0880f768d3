"""What a policy was shown, as PromptShown records it: what is new since the prompt before it, and the digest of the whole."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from ..errors import EspalierError
from .arrays import packed_ids
from .values import Json, address_of, count_of, cut, json_of, list_of, refuse, shown, storable, text_of, texts_of

ROLES = ("system", "user", "assistant", "tool")
SHORTEST = 160  # characters of a block: a reference takes 67, so a shorter one costs more to name than to repeat
LONGEST_VALUE = 10_000  # characters of a parameter
MOST = 64  # blocks of one text: a long text is cut coarser

FIELDS = ("role", "content", "reasoning_content", "reasoning", "tool_calls", "function_call", "tool_call_id", "name")

# {"role", "parts": [{"kind": "text" | "reasoning", "text"} | {"kind": "tool-call", "id", "name", "arguments"} | {"kind": "image", "imageId"}],
#  "toolCallId", "name"}
Message = dict[str, Any]


class Shown(NamedTuple):
    """A prompt that was recorded, as far as the next one needs it."""

    step_id: str
    messages: list[Message]
    token_ids: list[int] | None  # of the prompt, then of the reply
    blocks: frozenset[str]


class Known(NamedTuple):
    """A text that the record of a step holds."""

    step_id: str
    field: str  # instruction, observation or response


def messages_of(prompt: object, images: Mapping[str, str], where: str = "prompt") -> list[Message]:
    """Reads a prompt: a text (one user message), or chat messages with role and content, as OpenAI's have them. `images` names pictures on
    record by what a part of a message may hold: a data URL, or the picture's own id."""
    if isinstance(prompt, str):
        return [{"role": "user", "parts": [_text(prompt)]}]
    if not isinstance(prompt, Sequence) or not all(isinstance(each, Mapping) for each in prompt):
        raise EspalierError(f"{where} is a {type(prompt).__name__}", remedy="give a text, or chat messages with role and content", field=where)
    return [_message(each, f"{where}[{i}]", images) for i, each in enumerate(prompt)]


class Reply(NamedTuple):
    """What a policy said: its text, what it thought apart from it, and its calls of tools; `message` is all of it."""

    text: str
    thought: str
    calls: list[Json]
    message: Message | None  # None where the reply is its text

    @property
    def action(self) -> str:
        """What is executed: the calls of tools, a line for each, else the text."""
        return "\n".join(f"{call['name']} {call['arguments']}" for call in self.calls) if self.calls else self.text


def reply_of(response: object) -> Reply:
    """Reads a reply: a text, or the message of the assistant as its server returned it."""
    if isinstance(response, str):
        return Reply(response, "", [], None)
    if not isinstance(response, Mapping):
        refuse("response", f"response is {shown(response)}", "give a str, or the message of the assistant with content, tool_calls, reasoning_content")
    message = _message({"role": "assistant", **response}, "response", {})
    if message["role"] != "assistant":
        _refuse("response.role", f"response.role is {message['role']!r}", "give the message of the assistant")
    text, thought = ("".join(part["text"] for part in message["parts"] if part["kind"] == kind) for kind in ("text", "reasoning"))
    calls = [{name: part[name] for name in ("id", "name", "arguments")} for part in message["parts"] if part["kind"] == "tool-call"]
    return Reply(text, thought, calls, message if thought or calls else None)


def prompt_data(
    tree_id: str, step_id: str, messages: list[Message], *, before: Shown | None, known: Mapping[str, Known], token_ids: list[int] | None, sampled: list[int] | None,
    tools: object, sampling: Mapping[str, Any] | None, model: str | None, server: str | None,
) -> tuple[Json, Shown]:  # fmt: skip
    """Makes the data of PromptShown, and what the next prompt of the path builds on. `known` are the texts that steps hold."""
    same = _shared(before.messages if before else [], messages)
    shown = set(before.blocks) if before else set()
    blocks: list[str] = []
    fresh = [{**each, "parts": [_recorded(part, known, shown, blocks) for part in each["parts"]]} for each in messages[same:]]
    data: Json = {
        "treeId": tree_id,
        "stepId": step_id,
        "base": {"stepId": before.step_id, "messages": same} if before else None,
        "messages": fresh,
        "blocks": blocks,
        "sha256": digest_of(messages),
        "template": None,
        "tools": None if tools is None else json.dumps(json_of(tools, "tool_schemas"), ensure_ascii=False, separators=(",", ":")),
        "sampling": sampling_of(sampling or {}),
        "server": address_of(server, "server"),
        "model": address_of(model, "model"),
        "tokens": None,
    }
    if token_ids is not None:
        earlier = before.token_ids if before else None
        keep = _shared(earlier or [], token_ids)
        data["tokens"] = {"before": len(earlier or []), "keep": keep, "ids": packed_ids(token_ids[keep:])}
    both = [*token_ids, *sampled] if token_ids is not None and sampled is not None else None
    return data, Shown(step_id, messages, both, frozenset(shown))


def digest_of(messages: list[Message]) -> str:
    """Computes the SHA-256 (hex) over the canonical JSON of messages as the record holds them: keys sorted, no blanks."""
    text = json.dumps(_stored(messages), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _stored(value: Any) -> Any:
    """Returns messages with the texts that the record holds. The events have them as given: the server replaces what it cannot store, and says where."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [_stored(each) for each in value]
    return {name: _stored(held) for name, held in value.items()} if isinstance(value, dict) else value


def sampling_of(given: Mapping[str, Any]) -> Json:
    """Reads how a reply was sampled: `temperature`, `top_p`, `top_k` (-1: all), `min_p`, `repetition_penalty`, `max_tokens`,
    `stop` (texts), `seed`, and `others`, by name what else of the request changed the distribution (penalties, biases, a form of the
    reply). What is left out was left to the server; a run that says its temperature in `config` says that of such steps."""
    known: dict[str, Any] = {
        **{"temperature": None, "top_p": None, "top_k": None, "min_p": None, "repetition_penalty": None},
        **{"max_tokens": None, "stop": [], "seed": None, "others": {}},
    }
    if not isinstance(given, Mapping):
        refuse("sampling", f"sampling is {shown(given)}", f"give a dict with {', '.join(known)}")
    unknown = [name for name in given if name not in known]
    if unknown:
        refuse(f"sampling.{unknown[0]}", f"sampling has the field {unknown[0]!r}", f"give {', '.join(known)}")
    read = {**known, **given}
    stop = [read["stop"]] if isinstance(read["stop"], str) else read["stop"] or []
    for name in ("temperature", "top_p", "min_p", "repetition_penalty"):
        value = read[name]
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value)):
            refuse(f"sampling.{name}", f"sampling.{name} is {value!r}", "give a finite number")
    others = read["others"] or {}
    if not isinstance(others, Mapping):
        refuse("sampling.others", f"sampling.others is {shown(others)}", "give a dict of parameters by name")
    return {
        "temperature": read["temperature"],
        "topP": read["top_p"],
        "topK": None if read["top_k"] is None else count_of(read["top_k"], "sampling.top_k", least=-1),
        "minP": read["min_p"],
        "repetitionPenalty": read["repetition_penalty"],
        "maxTokens": None if read["max_tokens"] is None else count_of(read["max_tokens"], "sampling.max_tokens"),
        "stop": texts_of(stop, "sampling.stop", 100),
        "seed": None if read["seed"] is None else count_of(read["seed"], "sampling.seed", least=-(2**53) + 1, most=2**53 - 1),
        "others": [_parameter(name, value) for name, value in others.items()],
    }


def _parameter(name: object, value: object) -> Json:
    where = f"sampling.others.{name}"
    written = json.dumps(json_of(value, where), ensure_ascii=False, separators=(",", ":"))
    return {"name": text_of(name, where), "value": cut(written, LONGEST_VALUE)}


def _message(given: Mapping[str, Any], where: str, images: Mapping[str, str]) -> Message:
    role, content = given.get("role"), given.get("content")
    role = {"developer": "system", "function": "tool"}.get(str(role), role)
    if role not in ROLES:
        _refuse(f"{where}.role", f"{where}.role is {role!r}", f"give one of {', '.join(ROLES)}")
    unknown = [name for name, value in given.items() if name not in FIELDS and value]
    if unknown:
        remedy = f"leave it out, or give it as one of {', '.join(FIELDS)}"
        _refuse(f"{where}.{unknown[0]}", f"{where}.{unknown[0]} is no field that a message is recorded with", remedy)
    thoughts = given.get("reasoning_content") or given.get("reasoning")
    parts = [] if not thoughts else [{"kind": "reasoning", "text": text_of(thoughts, f"{where}.reasoning_content")}]
    calls = list_of(given.get("tool_calls"), f"{where}.tool_calls") + ([given["function_call"]] if given.get("function_call") else [])
    called = [_tool_call(call, f"{where}.tool_calls[{i}]") for i, call in enumerate(calls)]
    if (parts or called) and role != "assistant":
        _refuse(f"{where}.role", f"{where} has reasoning or calls of tools, and its role is {role}", "give them in messages of the assistant")
    if isinstance(content, str):
        parts += [_text(content)] if content or not (parts or called) else []  # servers write the text of a reply that has none either way
    elif isinstance(content, Sequence):
        parts += [_part(part, f"{where}.content[{i}]", images) for i, part in enumerate(content)]
    elif content is not None:
        _refuse(f"{where}.content", f"{where}.content is a {type(content).__name__}")
    message: Message = {"role": role, "parts": [*parts, *called]}
    for name, of_record in (("tool_call_id", "toolCallId"), ("name", "name")):
        if given.get(name) is not None:
            message[of_record] = text_of(given[name], f"{where}.{name}")
    return message


def _tool_call(call: object, where: str) -> Json:
    """Reads a call of a tool as chat servers write it; arguments that are no text become the JSON of it."""
    if isinstance(call, str):  # as some columns of data sets hold it
        try:
            call = json.loads(call)
        except ValueError:
            pass
    if not isinstance(call, Mapping):
        _refuse(where, f"{where} is a {type(call).__name__}", 'give {"id", "type": "function", "function": {"name", "arguments"}}')
    called = call.get("function") or call.get("custom") or call
    given = called.get("arguments", called.get("input"))
    arguments = "" if given is None else given if isinstance(given, str) else json.dumps(json_of(given, f"{where}.arguments"), ensure_ascii=False)
    call_id = call.get("id")
    return {
        "kind": "tool-call",
        "id": None if call_id is None else text_of(call_id, f"{where}.id"),
        "name": text_of(called.get("name"), f"{where}.name"),
        "arguments": arguments,
    }


def _part(part: object, where: str, images: Mapping[str, str]) -> Json:
    if isinstance(part, str):
        return _text(part)
    if isinstance(part, Mapping) and isinstance(part.get("text"), str):
        return _text(part["text"])
    if isinstance(part, Mapping):
        held = part.get("image_url", part.get("image", part.get("imageId")))
        named = held.get("url") if isinstance(held, Mapping) else held
        found = images.get(named) if isinstance(named, str) else None
        if found is not None:
            return {"kind": "image", "imageId": found}
        if held is not None:
            remedy = "record it as a picture of the observation that showed it: images=[…] of step, or pictures of the task"
            _refuse(where, f"{where} is a picture that no observation of this episode holds", remedy)
    remedy = 'give {"type": "text", "text": …} or a picture that is on record'
    raise EspalierError(f"{where} is no part of a message", remedy=remedy, field=where)


def _text(text: str) -> Json:
    return {"kind": "text", "text": text}


def _recorded(part: Json, known: Mapping[str, Known], shown: set[str], blocks: list[str]) -> Json:
    if part["kind"] == "image":
        return part
    if part["kind"] == "tool-call":
        return {"kind": "tool-call", "id": part["id"], "name": part["name"], "blocks": _blocks_of(part["arguments"], shown, blocks)}
    text = part["text"]
    source = known.get(storable(text)) if part["kind"] == "text" else None
    if source is not None:
        return {"kind": "step", "stepId": source.step_id, "field": source.field}
    return {"kind": part["kind"], "blocks": _blocks_of(text, shown, blocks)}


def _blocks_of(text: str, shown: set[str], blocks: list[str]) -> list[str]:
    digests = []
    for block in cut_blocks(text):
        digest = hashlib.sha256(storable(block).encode()).hexdigest()
        digests.append(digest)
        if digest not in shown:
            shown.add(digest)
            blocks.append(block)
    return digests


def cut_blocks(text: str) -> list[str]:
    """Cuts a text into blocks that end at line ends: texts that repeat lines of earlier ones share most of them."""
    shortest = max(SHORTEST, -(-len(text) // MOST))
    blocks, start = [], 0
    while start < len(text):
        end = text.find("\n", start + shortest - 1)
        to = len(text) if end < 0 else end + 1
        blocks.append(text[start:to])
        start = to
    return blocks


def _shared(a: Sequence[object], b: Sequence[object]) -> int:
    same = 0
    for one, other in zip(a, b, strict=False):
        if one != other:
            break
        same += 1
    return same


def _refuse(field: str, message: str, remedy: str = "give a text, or chat messages with role and content") -> NoReturn:
    raise EspalierError(message, remedy=remedy, field=field)
