"""Projects random replies as the published programs do (specification of AgentOCR, §2.2 and §4), for a test of ours.

Arguments: a seed and how many replies. Writes one JSON line for each reply, world and setting of compression.
"""

import json
import math
import random
import re
import sys

PIECES = [
    *("<think>", "</think>", "<THINK>", "<action>", "</action>", "<ACTION>", "</Action>"),
    *("<compression>", "</compression>", "<Compression>", "<search>", "</search>", "<SEARCH>", "</SEARCH>"),
    *("<answer>", "</answer>", "</Answer>", "1.5", "2", "0.5", "nan", "inf", "1_0", "abc", " 1.2 ", "-3", "1e1", "٢", "7"),
    *("go to", "look", "search[red shoes]", "click[buy now]", "\n", "", "你好", "İ", "ß", "ﬁ", "🙂", "\u00a0", "\x85", "\x1c"),
]
WHOLE = [
    ["<think>", "t", "</think>", "<action>", "go to desk 1", "</action>", "<compression>", "1.3", "</compression>"],
    ["<think>", "t", "</think>", "<search>", "q", "</search>", "<compression>", "2.5", "</compression>"],
    ["<think>", "t", "</think>", "<answer>", "q", "</answer>", "<compression>", "2.5", "</compression>"],
]


def random_reply(draw: random.Random) -> str:
    pieces = list(draw.choice(WHOLE)) if draw.random() < 0.8 else []
    for _ in range(draw.randint(0, 4)):
        change = draw.random()
        if change < 0.5 or not pieces:
            pieces.insert(draw.randint(0, len(pieces)), draw.choice(PIECES))
        elif change < 0.75:
            pieces.pop(draw.randrange(len(pieces)))
        else:
            pieces[draw.randrange(len(pieces))] = draw.choice(PIECES)
    return "".join(pieces)


def factor_of(reply: str) -> float:
    lower = reply.lower()
    start, end = lower.find("<compression>"), lower.find("</compression>")
    if start < 0 or end < 0:
        return 1.0
    try:
        # places of the lower-cased reply, in the reply itself: İ is one character there and two here
        value = float(reply[start + len("<compression>") : end].strip())
    except ValueError:
        return 1.0
    return min(max(value, 1.0), 5.0) if math.isfinite(value) else 1.0


def tagged_action(reply: str) -> str | None:
    lower = reply.lower()
    start, end = lower.find("<action>"), lower.find("</action>")
    return None if start < 0 or end < 0 else lower[start + len("<action>") : end].strip().lower()


def has_thought(reply: str) -> bool:
    return "<think>" in reply and "</think>" in reply and not re.search("[\u4e00-\u9fff]", reply)


def is_repeated(text: str, tag: str) -> bool:
    return text.count(f"<{tag}>") > 1 or text.count(f"</{tag}>") > 1


def alfworld(reply: str, compression: bool) -> tuple[str, bool, float]:
    lower = reply.lower()
    if is_repeated(lower, "action"):
        return "", False, 1.0
    action = tagged_action(reply)
    valid = action is not None and has_thought(reply) and not is_repeated(reply, "think")
    if not compression:
        return action or "", valid, 1.0
    return action or "", valid and not is_repeated(lower, "compression"), factor_of(reply)


def webshop(reply: str) -> tuple[str, bool, float]:
    action = tagged_action(reply)
    return (reply.lower()[-20:], False, 1.0) if action is None else (action, has_thought(reply), 1.0)


def search(reply: str, compression: bool) -> tuple[str, bool, float]:
    kept = reply
    for closing in ("</search>", "</answer>"):
        if closing in reply:
            kept = reply.split(closing, 1)[0] + closing
            break
    searches, answers = (len(re.findall(f"<{tag}>", reply, re.IGNORECASE)) for tag in ("search", "answer"))
    once = searches <= 1 and answers <= 1 and not (searches and answers)
    for tag in ("search", "answer"):
        block = re.search(f"<{tag}>(.*?)</{tag}>", kept, re.IGNORECASE | re.DOTALL)
        if block:
            factor = factor_of(reply) if compression and tag == "search" else 1.0
            return f"<{tag}>{block.group(1).strip()}</{tag}>", once, factor
    return "", False, factor_of(reply) if compression else 1.0


if __name__ == "__main__":
    draw = random.Random(int(sys.argv[1]))
    for _ in range(int(sys.argv[2])):
        reply = random_reply(draw)
        for compression in (False, True):
            print(json.dumps(["alfworld", reply, compression, *alfworld(reply, compression)]))
            print(json.dumps(["search-qa", reply, compression, *search(reply, compression)]))
        print(json.dumps(["webshop", reply, False, *webshop(reply)]))
