"""What a model server is asked for besides what the program asks, and how that is taken out of its answer again; as
the server does on the way through the proxy."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from secrets import token_hex
from typing import Any, NamedTuple

ASKS = ("all", "log-probs", "none", "untouched")  # "none" still asks for the usage of a stream
PLAIN_HOSTS = ("api.openai.com", "api.anthropic.com")  # which refuse fields that they do not know


class Added(NamedTuple):
    """What was added to a request."""

    log_probs: bool = False
    token_ids: bool = False
    usage: bool = False


def with_extras(api: str, body: Mapping[str, Any], raw: bytes, ask: str) -> tuple[bytes, Added]:
    """Adds to a request, which is `body` written as `raw`, what the record needs for training. What the program asks for itself stays as it is."""
    if api != "chat.completions":
        return raw, Added()
    options = body.get("stream_options")
    options = options if isinstance(options, dict) else {}
    added = Added(
        log_probs=ask in ("all", "log-probs") and body.get("logprobs") is not True,
        token_ids=ask == "all" and body.get("return_token_ids") is not True,
        usage=ask != "untouched" and body.get("stream") is True and options.get("include_usage") is not True,
    )
    asked: dict[str, Any] = {}
    if added.log_probs:
        asked["logprobs"] = True
        if ask == "all":
            asked["return_tokens_as_token_ids"] = True  # who asks for log-probabilities reads the words of tokens in them
    if added.token_ids:
        asked |= {"return_token_ids": True, "return_meta_info": True}
    if added.usage:
        asked["stream_options"] = {**options, "include_usage": True}
    if not asked:
        return raw, added
    bare = raw.strip()
    if asked.keys().isdisjoint(body) and bare[:1] + bare[-1:] == b"{}":  # in UTF-16 it is neither
        return b"%b,%b" % (bare[:-1], json.dumps(asked, separators=(",", ":")).encode()[1:]), added
    try:
        return json.dumps({**body, **asked}, ensure_ascii=False, separators=(",", ":")).encode(), added
    except UnicodeEncodeError:  # half of a pair of surrogates, which only an escape can say
        return json.dumps({**body, **asked}, separators=(",", ":")).encode(), added


_PROMPT_IDS = b'"prompt_token_ids"'  # no text holds it: quotes within one are escaped


def read_reply(raw: bytes, added: Added) -> Any:
    """Parses a reply, or a part of a stream: with None for the token ids of the prompt where they were added, as parsing thousands of numbers that are
    taken out again would take the program most of the time. Raises ValueError."""
    at = raw.find(_PROMPT_IDS) + len(_PROMPT_IDS) if added.token_ids else -1
    end = raw.find(b"]", at) + 1
    if at >= len(_PROMPT_IDS) and end > 0 and _is_list_of_ids(raw[at:end]):
        marker = token_hex(16)  # a null, or a list in a choice, may be of the model server
        reply = json.loads(b'%b:"%b"%b' % (raw[:at], marker.encode(), raw[end:]))
        if isinstance(reply, dict) and reply.get("prompt_token_ids") == marker:
            return {**reply, "prompt_token_ids": None}
    return json.loads(raw)


def _is_list_of_ids(raw: bytes) -> bool:
    """Whether that is `:` and a list of numbers; a pattern would take as long as parsing them."""
    before, opening, rest = raw[:-1].partition(b"[")
    numbers = rest.replace(b", ", b",")
    return before + opening in (b":[", b": [") and not numbers.translate(None, b"0123456789,") and (not numbers or b",," not in b",%b," % numbers)


def without_extras(reply: dict[str, Any], added: Added, *, part: bool) -> dict[str, Any] | None:
    """Takes out of a reply, or out of a part of a stream, what was added: the same object where it holds nothing of that, None for a part
    that holds nothing else."""
    choices = reply.get("choices")
    if part and added.usage and choices == [] and reply.get("usage") is not None:
        return None
    gone = ("prompt_token_ids",) * added.token_ids + ("usage",) * (part and added.usage)
    kept = {name: value for name, value in reply.items() if name not in gone}
    cleaned = [_cleaned(choice, added) if isinstance(choice, dict) else choice for choice in choices] if isinstance(choices, list) else []
    if len(kept) == len(reply) and all(new is old for new, old in zip(cleaned, choices or [])):
        return reply
    return kept if choices is None else {**kept, "choices": cleaned}


def _cleaned(choice: dict[str, Any], added: Added) -> dict[str, Any]:
    gone = ("token_ids", "meta_info") * added.token_ids
    has_log_probs = added.log_probs and choice.get("logprobs") is not None
    if not has_log_probs and not any(name in choice for name in gone):
        return choice
    kept = {name: value for name, value in choice.items() if name not in gone}
    return {**kept, "logprobs": None} if has_log_probs else kept


def written_as(value: Any, raw: bytes) -> bytes:
    """Writes JSON as the server wrote it that was read from `raw`: with its blanks and escapes."""
    ascii_only = raw.isascii() and b"\\u" in raw
    return _WRITTEN[_SPACED.match(raw) is not None, ascii_only](value).encode("utf-8")


_SPACED = re.compile(rb'\s*\{"[^"]*": ')
_WRITTEN = {  # by whether there are blanks, and whether there are escapes
    (spaced, ascii_only): json.JSONEncoder(ensure_ascii=ascii_only, separators=(", ", ": ") if spaced else (",", ":")).encode
    for spaced in (False, True)
    for ascii_only in (False, True)
}
