"""Samples replies with the ids and log-probs of what was drawn."""

import hashlib

import torch


def sample_replies(model, prompt, *, count, longest, temperature, seed, stop=(), pictures=()):
    """Draws `count` replies to one prompt. Returns dicts of ids, log_probs, text, finish (`stop` or `length`).

    Log-probs are of the distribution that was drawn from (logits / temperature): what a trainer needs. At temperature 0 the likeliest token is
    taken, and its log-prob at temperature 1 is returned. Reply i is a function of (prompt, seed, i) alone, whatever `count` is.
    """
    generators = [torch.Generator().manual_seed(_mix(seed, i)) for i in range(count)]
    replies = [{"ids": [], "log_probs": [], "text": "", "finish": "length"} for _ in range(count)]
    active = set(range(count))
    ends = model.end_ids
    ids = torch.tensor([prompt] * count, dtype=torch.long, device=model.device)
    with torch.no_grad():
        step = model.stepper(pictures) if model.reads_pictures else _Stepper(model)
        for _ in range(longest):
            logits = step(ids).float().cpu().double()
            log_probs = torch.log_softmax(logits / (temperature or 1.0), -1)
            draws = torch.stack([torch.rand(1, generator=generator, dtype=torch.float64) for generator in generators])
            if temperature:
                # The smallest token whose cumulative probability exceeds the draw; clamped, for the last sum may fall short of 1.
                chosen = (log_probs.exp().cumsum(-1) <= draws).sum(-1).clamp(max=log_probs.shape[-1] - 1)
            else:
                chosen = logits.argmax(-1)
            for i in sorted(active):
                token, reply = int(chosen[i]), replies[i]
                reply["ids"].append(token)
                reply["log_probs"].append(float(log_probs[i, token]))
                reply["text"] = model.decode([each for each in reply["ids"] if each not in ends])
                cut = min((at for at in (reply["text"].find(mark) for mark in stop) if at >= 0), default=-1)
                if cut >= 0:
                    reply["text"] = reply["text"][:cut]
                if cut >= 0 or token in ends:
                    reply["finish"] = "stop"
                    active.discard(i)
            if not active:
                break
            ids = chosen.to(model.device).unsqueeze(-1)
    return replies


def _mix(seed, place):
    """Spreads neighbouring seeds far apart: generators of neighbouring seeds begin alike."""
    return int.from_bytes(hashlib.sha256(f"{seed} {place}".encode()).digest()[:8], "little") >> 1


class _Stepper:
    """Returns the logits after the newest ids: transformers keep their keys and values, the tiny model reads its few tokens
    again."""

    def __init__(self, model):
        self.model = model
        self.seen = None
        self.past = None

    def __call__(self, ids):
        if self.model.is_tiny:
            self.seen = ids if self.seen is None else torch.cat([self.seen, ids], 1)
            return self.model.module(self.seen)[0][:, -1]
        with torch.autocast(torch.device(self.model.device).type, torch.bfloat16, enabled=self.model.precision == "bfloat16"):
            output = self.model.module(input_ids=ids, past_key_values=self.past, use_cache=True)
        self.past = output.past_key_values
        return output.logits[:, -1]
