"""Counts what a row of each format says is trained on, as a reader returned the row: tokens, and the sum of weights."""

from typing import NamedTuple


class Counted(NamedTuple):
    """`tokens` that are trained on, the ends of replies included. `weight`: the sum of the weights of replies, and of rewards where
    a format has those."""

    tokens: int
    weight: float


class Prompts(NamedTuple):
    """Tokens of prompts that replies are to be sampled for: nothing of them is trained on."""

    prompted: int


def text(content):
    """The texts of a message in parts, of a file with pictures, or of one that is a text."""
    return content if isinstance(content, str) else "".join(part.get("text") or "" for part in content)


def openai(row):
    """A reply without a weight is trained on."""
    return [(text(each["content"]), float(each.get("weight", 1))) for each in row["messages"] if each["role"] == "assistant"]


def sharegpt(row):
    return [(each["value"], float(each["loss"])) for each in row["conversations"] if each["from"] == "gpt"]


def trl(row):
    return [(text(each["content"]), 1.0) for each in row["completion"]]


def xtuner(row):
    return [(each["output"], float(each["output_with_loss"])) for each in row["conversation"]]


def dpo(row):
    return [(text(each["content"]), 1.0) for side in ("chosen", "rejected") for each in row[side] if each["role"] == "assistant"]


def atif(row):
    return [(each["message"], float(not each.get("is_copied_context"))) for each in row["steps"] if each["source"] == "agent"]


def parquet(row):
    return [(each["response"], float(each["weight"])) for each in row["steps"]]


def steps(row):
    return [(row["response_text"], float(not row["policy_id"].endswith(":context")))]


def agent_r(row):
    return [(each["content"], float(each["loss"])) for each in row["revise_log"] if each["role"] == "assistant"]


REPLIES = {"openai": openai, "sharegpt": sharegpt, "trl": trl, "xtuner": xtuner, "dpo": dpo, "atif": atif, "parquet": parquet, "steps": steps, "agent-r": agent_r}


def runs(mask):
    """How many stretches of ones a mask has: replies, between which there is always a token that was shown."""
    return sum(1 for i, one in enumerate(mask) if one and (i == 0 or not mask[i - 1]))


def counted(format, rows, tokenizer):
    """Counts rows of a format. Texts are tokenised, with a token that ends each reply."""

    def size(text):
        return len(tokenizer(text)["input_ids"]) + 1

    if format in REPLIES:
        replies = [reply for row in rows for reply in REPLIES[format](row)]
        return Counted(sum(size(text) for text, weight in replies if weight > 0), float(sum(weight for _, weight in replies)))
    if format == "trl-grpo":
        replies = [text(each["content"]) for row in rows for each in row["completion"] if each["role"] == "assistant"]
        return Counted(sum(map(size, replies)), rounded(sum(row["reward"] for row in rows)))
    if format.startswith("trl-tokens"):
        masks = [list(row["loss_mask"]) for row in rows]
        return Counted(int(sum(map(sum, masks))), float(sum(map(runs, masks))))
    if format == "verl":
        return Counted(int(sum(sum(row["response_mask"]) for row in rows)), rounded(sum(sum(row["token_level_scores"]) for row in rows)))
    if format == "prompts":
        return Prompts(sum(prompted(row["prompt"], tokenizer) for row in rows))
    raise ValueError(f"{format} is no format with a rule")


def prompted(messages, tokenizer):
    plain = [{"role": each["role"], "content": text(each["content"])} for each in messages]
    return len(tokenizer.apply_chat_template(plain, add_generation_prompt=True, tokenize=True, return_dict=True)["input_ids"])


def rounded(total):
    """Rewards of float32 columns have seven digits."""
    return round(float(total), 4)


def trained_by(trainer, count):
    """Trains, and adds up what `count` finds in the batches that the loss is computed of: tokens, and their weight."""
    seen, compute = [], trainer.compute_loss

    def compute_loss(model, inputs, *positional, **options):
        seen.append(count(inputs))
        return compute(model, inputs, *positional, **options)

    trainer.compute_loss = compute_loss
    trainer.train()
    return Counted(sum(tokens for tokens, _ in seen), rounded(sum(weight for _, weight in seen)))


def by_labels(inputs):
    """Tokens with a label, and the replies that they are."""
    mask = (inputs["labels"] != -100).int()
    return int(mask.sum()), sum(map(runs, mask.tolist()))


def by_completions(inputs):
    """Tokens of completions, and the replies that they are."""
    mask = inputs["completion_mask"].int()
    return int(mask.sum()), sum(map(runs, mask.tolist()))
