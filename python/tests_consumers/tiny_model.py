"""A Qwen2 of random weights and a tokenizer, made here: nothing is downloaded.

    python -m tests_consumers.tiny_model FOLDER
"""

import sys

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

WORDS = 100
PAD, END = 0, 1


def tiny_qwen2(seed=0, vocabulary=WORDS, context=128, pad=PAD, end=END):
    torch.manual_seed(seed)
    config = transformers.Qwen2Config(
        vocab_size=vocabulary,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=context,
        bos_token_id=end,
        eos_token_id=end,
        pad_token_id=pad,
        attn_implementation="eager",
    )
    return transformers.Qwen2ForCausalLM(config)


def tiny_tokenizer():
    words = {"<pad>": PAD, "<end>": END, **{f"w{i}": i for i in range(2, WORDS)}}
    backend = Tokenizer(models.WordLevel(words, unk_token="<pad>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="<pad>", eos_token="<end>")


SIGNS = "abcdefghijklmnopqrstuvwxyz0123456789:"
TEMPLATE = "{% for m in messages %}{{ m.role }}:{{ m.content }}<end>{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"


def write_talker(folder, template=TEMPLATE):
    """Writes a Qwen2 that says lower-case letters and digits, with the tokenizer and chat template that it needs, as a user's folder is."""
    # One special token, which ends a reply: another one that is sampled would be lost where replies become text.
    signs = {"<end>": 0, **{sign: i + 1 for i, sign in enumerate(SIGNS)}}
    backend = Tokenizer(models.WordLevel(signs, unk_token="<end>"))
    backend.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    backend.decoder = decoders.Fuse()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="<end>", eos_token="<end>", chat_template=template)
    tokenizer.save_pretrained(folder)
    model = tiny_qwen2(vocabulary=len(signs), context=1024, pad=0, end=0)
    model.save_pretrained(folder)


def log_probs_of(model, prompt, response, temperature=1.0):
    """The log-prob of each token of a response after its prompt."""
    with torch.no_grad():
        logits = model(torch.tensor([prompt + response])).logits[0, len(prompt) - 1 : -1] / temperature
    return torch.log_softmax(logits, -1)[range(len(response)), response].tolist()


def sampled_rows(model, temperature=1.0):
    """Eight rows in two groups with prompts and responses of many lengths, observations in between (mask 0), and the log-probs that the
    model itself computes for them."""
    rows = []
    for place in range(8):
        prompt = [2 + (place * 7 + i) % 90 for i in range(3 + place // 4 * 2)] if place % 4 == 0 else rows[-1]["prompt"]
        response = [2 + (place * 13 + i * 5) % 90 for i in range(4 + place % 3)]
        masks = [0 if i == 2 else 1 for i in range(len(response))]
        log_probs = log_probs_of(model, prompt, response, temperature)
        tokens = [(token, mask, log_prob if mask else 0.0) for token, mask, log_prob in zip(response, masks, log_probs)]
        rows.append({"group": place // 4, "prompt": prompt, "tokens": tokens, "score": float(place % 4 in (1, 2))})
    return rows


def count_sampled(rows):
    return sum(mask for row in rows for _, mask, _ in row["tokens"])


if __name__ == "__main__":
    write_talker(sys.argv[1])
