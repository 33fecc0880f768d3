"""Samples replies with the ids and log-probs of what was drawn: of one request, or of several at once."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

LAST = {"logits_to_keep": 1}  # of a long prompt, a row of the vocabulary for each token is gigabytes


@dataclass(frozen=True)
class Asked:
    """Replies that are asked for: `count` of at most `longest` tokens to one prompt, each cut where a text of `stop` begins."""

    prompt: Sequence[int]
    count: int
    longest: int
    temperature: float
    seed: int
    stop: tuple[str, ...] = ()
    pictures: tuple[Any, ...] = ()
    top: int = 0  # likeliest tokens that are told for each


def sample_replies(model: Any, prompt: Sequence[int], *, count: int, longest: int, temperature: float, seed: int, stop: Sequence[str] = (), pictures: Sequence[Any] = ()) -> list[dict[str, Any]]:
    """Draws `count` replies to one prompt. Returns dicts of ids, log_probs, entropies, ends, text, finish (`stop` or `length`)."""
    found = []
    asked = Asked(prompt, count, longest, temperature, seed, tuple(stop), tuple(pictures))
    sample_batch(model, [asked], lambda _, replies: found.extend(replies))
    return found


def sample_batch(model: Any, requests: Sequence[Asked], done: Callable[[int, list[dict[str, Any]]], None]) -> None:
    """Draws the replies of several requests at once; calls `done(place, replies)` as soon as those of a request are whole.

    Log-probs are of the distribution that was drawn from (logits / temperature): what a trainer needs. At temperature 0 the likeliest token is
    taken, and its log-prob at temperature 1 is returned. Entropies are of the same distribution, in nats; `ends` say where in the text
    that of each token ends. Reply i is a function of (prompt, seed, i), up to the rounding of sums, whatever else is
    drawn with it. Requests with pictures come alone. Where layers carry a state, each reply is drawn alone: prompts of other lengths
    would be padded into the state, and a reply that ends cannot be taken out of it.
    """
    rows = [_Row(place, asked, _mix(asked.seed, i)) for place, asked in enumerate(requests) for i in range(asked.count)]
    replies = [[row.reply for row in rows if row.place == place] for place in range(len(requests))]
    left = [asked.count for asked in requests]

    def whole(place: int) -> None:
        left[place] -= 1
        if left[place] == 0:
            done(place, replies[place])

    parts = [[row] for row in rows] if model.carries_state else [rows]
    for part in parts:
        _draw_together(model, part, whole)


def _draw_together(model: Any, rows: list[_Row], whole: Callable[[int], None]) -> None:
    """Draws rows in one batch; calls `whole(place)` for each that ends."""
    ends = model.end_ids
    # Within the outer autocast, which does nothing itself, the steps keep what they cast: weights are cast once.
    with torch.no_grad(), torch.autocast(torch.device(model.device).type, enabled=False):
        step = _Stepper(model)
        logits = step.begin([row.asked.prompt for row in rows], rows[0].asked.pictures)
        while True:
            chosen, log_probs, entropies, tops = _draw(logits, rows)
            for i, row in enumerate(rows):
                if row.open and row.take(chosen[i], log_probs[i], entropies[i], tops[i], model, ends):
                    whole(row.place)
            if not any(row.open for row in rows):
                return
            kept = [i for i, row in enumerate(rows) if row.open]
            rows = [rows[i] for i in kept]
            logits = step.go_on([chosen[i] for i in kept], kept)


def _draw(logits: torch.Tensor, rows: Sequence[_Row]) -> tuple[list[int], list[float], list[float], list[list[tuple[int, float]]]]:
    """Draws a token of each row, where the logits are: a vocabulary is large to copy. Returns tokens, their log-probs and
    entropies, and the likeliest tokens of rows that ask for them."""
    if not logits.is_cuda:
        logits = logits.cpu()  # some devices have no float64
    logits = logits.float().double()
    temperatures = torch.tensor([row.asked.temperature for row in rows], dtype=torch.float64)[:, None].to(logits.device)
    log_probs = torch.log_softmax(logits / torch.where(temperatures > 0, temperatures, 1.0), -1)
    draws = torch.stack([torch.rand(1, generator=row.generator, dtype=torch.float64) for row in rows]).to(logits.device)
    # The smallest token whose cumulative probability exceeds the draw; clamped, for the last sum may fall short of 1.
    probs = log_probs.exp()
    entropies = -torch.where(probs > 0, probs * log_probs, 0.0).sum(-1)
    drawn = (probs.cumsum(-1) <= draws).sum(-1).clamp(max=log_probs.shape[-1] - 1)
    chosen = torch.where(temperatures[:, 0] > 0, drawn, logits.argmax(-1))
    most = min(max(row.asked.top for row in rows), log_probs.shape[-1])
    top = log_probs.topk(most, -1)
    tops = [list(zip(ids, values))[: row.asked.top] for row, ids, values in zip(rows, top.indices.tolist(), top.values.tolist())]
    return chosen.tolist(), log_probs.gather(-1, chosen[:, None])[:, 0].tolist(), entropies.tolist(), tops


def _mix(seed: int, place: int) -> int:
    """Spreads neighbouring seeds far apart: generators of neighbouring seeds begin alike."""
    return int.from_bytes(hashlib.sha256(f"{seed} {place}".encode()).digest()[:8], "little") >> 1


class _Row:
    """One reply as it grows."""

    def __init__(self, place: int, asked: Asked, seed: int) -> None:
        self.place, self.asked, self.open = place, asked, True
        self.generator = torch.Generator().manual_seed(seed)
        self.reply: dict[str, Any] = {"ids": [], "log_probs": [], "entropies": [], "tops": [], "ends": [], "text": "", "finish": "length"}

    def take(self, token: int, log_prob: float, entropy: float, top: list[tuple[int, float]], model: Any, ends: set[int]) -> bool:
        """Adds a token. Returns whether the reply is whole."""
        reply = self.reply
        reply["ids"].append(token)
        reply["log_probs"].append(log_prob)
        reply["entropies"].append(max(entropy, 0.0))  # rounding may leave less than 0
        reply["tops"].append(top)
        reply["text"] = model.decode([each for each in reply["ids"] if each not in ends])
        cut = min((at for at in (reply["text"].find(mark) for mark in self.asked.stop) if at >= 0), default=-1)
        if cut >= 0:
            reply["text"] = reply["text"][:cut]
        if cut >= 0 or token in ends:
            reply["finish"] = "stop"
            self.open = False
        elif len(reply["ids"]) == self.asked.longest:
            self.open = False
        # A character that is not whole yet is written as U+FFFD: the token that completes it has it.
        whole = len(reply["text"].rstrip("\ufffd")) if self.open else len(reply["text"])
        reply["ends"].append(max(whole, reply["ends"][-1] if reply["ends"] else 0))
        if not self.open:
            reply["ends"] = [min(end, len(reply["text"])) for end in reply["ends"]]
        return not self.open


class _Stepper:
    """Returns the logits after the newest ids of each row. Keys and values are kept, with shorter prompts padded on the left."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.past: Any = None
        takes = inspect.signature(model.module.forward).parameters
        self.last = LAST if "logits_to_keep" in takes else {}  # some classes of transformers make logits of every token
        self.cache = "past_key_values" if "past_key_values" in takes else "cache_params"
        self.positioned = "position_ids" in takes

    def begin(self, prompts: Sequence[Sequence[int]], pictures: Sequence[Any]) -> torch.Tensor:
        device, longest = self.model.device, max(map(len, prompts))
        pads = torch.tensor([longest - len(row) for row in prompts], device=device)
        ids = torch.tensor([[0] * (longest - len(row)) + list(row) for row in prompts], device=device)
        self.places = torch.arange(longest, device=device) - pads[:, None]
        self.attention = (self.places >= 0).long() if bool(pads.any()) else None
        extra: dict[str, Any] = {}
        if self.model.reads_pictures:  # positions have three axes, and those of a prompt end with its text
            self.places, extra = self.model.see_prompt(ids, pictures)
        return self._run(ids, self.places.clamp(min=0), **extra)

    def go_on(self, tokens: Sequence[int], kept: Any) -> torch.Tensor:
        """@param kept: which rows of the call before go on, with these tokens."""
        if len(kept) < self.places.shape[-2]:
            chosen = torch.tensor(kept, device=self.places.device)
            self.past.batch_select_indices(chosen)
            self.places = self.places.index_select(-2, chosen)
            self.attention = None if self.attention is None else self.attention[chosen]
        self.places = self.places[..., -1:] + 1
        if self.attention is not None:
            self.attention = torch.cat([self.attention, torch.ones_like(self.places)], 1)
        return self._run(torch.tensor(tokens, device=self.places.device)[:, None], self.places)

    def _run(self, ids: torch.Tensor, places: torch.Tensor, **extra: Any) -> torch.Tensor:
        with torch.autocast(torch.device(self.model.device).type, torch.bfloat16, enabled=self.model.precision == "bfloat16"):
            given = {self.cache: self.past, **({"position_ids": places} if self.positioned else {}), **self.last, **extra}
            output = self.model.module(input_ids=ids, attention_mask=self.attention, use_cache=True, **given)
        self.past = output[self.cache]
        return output.logits[:, -1]
