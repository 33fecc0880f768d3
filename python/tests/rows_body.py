"""Writes the body of a leased batch as the server does: safetensors, wide types first."""

import array
import json
import struct

CODES = {"F64": "d", "F32": "f", "I32": "i", "U8": "B"}
DTYPES = {
    "token_level_scores": "F32",
    "rollout_log_probs": "F32",
    "advantages": "F32",
    "returns": "F32",
    "attention_mask": "U8",
    "rewards": "F64",
    "response_mask": "U8",
    "has_log_probs": "U8",
    "has_prompts": "U8",
    "texts": "U8",
}


def write_body(columns, *, layout="verl", batch=None, names=None, rewards_at="trees.0:7", shapes=None):
    """Returns the bytes of columns (flat lists by name), of these shapes where they have more than one dimension."""
    parts = {name: array.array(CODES[DTYPES.get(name, "I32")], values) for name, values in columns.items()}
    ordered = sorted(parts, key=lambda name: -parts[name].itemsize)
    header, offset = {}, 0
    header["__metadata__"] = {"format": "espalier.rows/1", "layout": layout, "batch": json.dumps(batch or {}), "rows": json.dumps(names or {})}
    if rewards_at is not None:
        header["__metadata__"]["rewardsAt"] = rewards_at
    for name in ordered:
        size = len(parts[name]) * parts[name].itemsize
        header[name] = {"dtype": DTYPES.get(name, "I32"), "shape": (shapes or {}).get(name, [len(parts[name])]), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(parts[name].tobytes() for name in ordered)


def body_of(*rows, temperature=1.0, prompt_column=True):
    """Returns a body of the layout verl. A row: group, prompt, tokens as (id, mask, log-prob), score on its last sampled token, and where it
    is another cut of a rollout, the rollout's place. Without `prompt_column` prompts lead the responses, as a producer may record them."""
    columns = {name: [] for name in ("responses", "response_mask", "rollout_log_probs", "token_level_scores", "group_index", "num_turns")}
    columns |= {"cu_seqlens": [0], "has_log_probs": [], "trajectory_index": [], "cut_index": []}
    if prompt_column:
        columns |= {"prompts": [], "prompt_cu_seqlens": [0], "has_prompts": []}
    for place, row in enumerate(rows):
        group, prompt, tokens, score = row["group"], row["prompt"], row["tokens"], row["score"]
        if prompt_column:
            columns["prompts"] += prompt
            columns["prompt_cu_seqlens"].append(len(columns["prompts"]))
            columns["has_prompts"].append(1)
        else:
            tokens = [(token, 0, 0.0) for token in prompt] + tokens
        last = max((i for i, (_, mask, _) in enumerate(tokens) if mask), default=-1)
        columns["responses"] += [token for token, _, _ in tokens]
        columns["response_mask"] += [mask for _, mask, _ in tokens]
        columns["rollout_log_probs"] += [log_prob for _, _, log_prob in tokens]
        columns["token_level_scores"] += [score if i == last else 0.0 for i in range(len(tokens))]
        columns["cu_seqlens"].append(len(columns["responses"]))
        columns["has_log_probs"].append(1)
        columns["group_index"].append(group)
        columns["num_turns"].append(1)
        columns["trajectory_index"].append(row.get("rollout", place))
        columns["cut_index"].append(0)
    rollouts = max(columns["trajectory_index"]) + 1
    groups = max(columns["group_index"]) + 1
    columns["texts"] = list(json.dumps([{"temperature": temperature}] * rollouts).encode())
    batch = {"batchId": "batch", "ordinal": 0, "groups": [{"treeId": f"tree {group}"} for group in range(groups)]}
    return bytearray(write_body(columns, batch=batch, names={"trajectories": [f"rollout {place}" for place in range(rollouts)]}))


def padded_body_of(*rows, temperature=0.5, advantages=None, prompts=True):
    """Returns a body of the layout padded. A row as in `body_of`; `advantages` are one for each row, on its sampled tokens."""
    asked = [row["prompt"] if prompts else [] for row in rows]
    said = [row["tokens"] for row in rows]
    before, width = (max(map(len, parts)) for parts in (asked, said))

    def right(values, fill=0):
        return values + [fill] * (width - len(values))

    flat = {"responses": [], "response_mask": [], "rollout_log_probs": [], "token_level_scores": [], "attention_mask": [], "position_ids": []}
    flat |= {"prompts": [], "input_ids": []} if prompts else {}
    flat |= {"advantages": [], "returns": []} if advantages else {}
    for place, (prompt, tokens) in enumerate(zip(asked, said)):
        ids = [token for token, _, _ in tokens]
        mask = [0] * (before - len(prompt)) + [1] * len(prompt) + right([1] * len(ids))
        flat["responses"] += right(ids)
        flat["response_mask"] += right([sampled for _, sampled, _ in tokens])
        flat["rollout_log_probs"] += right([log_prob for _, _, log_prob in tokens], 0.0)
        flat["token_level_scores"] += right([0.0] * (len(ids) - 1) + [rows[place]["score"]], 0.0)
        flat["attention_mask"] += mask
        flat["position_ids"] += [max(0, sum(mask[: i + 1]) - 1) for i in range(len(mask))]
        if prompts:
            flat["prompts"] += [0] * (before - len(prompt)) + prompt
            flat["input_ids"] += [0] * (before - len(prompt)) + prompt + right(ids)
        for name in ("advantages", "returns") if advantages else ():
            flat[name] += right([advantages[place] * sampled for _, sampled, _ in tokens], 0.0)
    shapes = {name: [len(rows), len(values) // len(rows)] for name, values in flat.items()}
    columns = {**flat, "group_index": [row["group"] for row in rows], "num_turns": [1] * len(rows), "trajectory_index": list(range(len(rows)))}
    columns |= {"has_prompts": [int(prompts)] * len(rows), "texts": list(json.dumps([{"temperature": temperature}] * len(rows)).encode())}
    batch = {"batchId": "batch", "ordinal": 0, "groups": [{"treeId": f"tree {group}"} for group in range(max(columns["group_index"]) + 1)]}
    names = {"trajectories": [f"rollout {place}" for place in range(len(rows))]}
    return bytearray(write_body(columns, layout="padded", batch=batch, names=names, shapes=shapes))
