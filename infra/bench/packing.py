"""Trains one step on a skewed mix of row lengths, packed and padded in turn, and prints what it found as JSON.

    python packing.py ROWS LONGEST REPEATS

One row in sixteen has the full length, the others an eighth of it at most, as answers of an agent have it. Both ways get the same rows in the same
micro-batches and run the same Qwen2 of random weights on one thread.
"""

import json
import statistics
import sys
import tempfile
import time

import torch
import transformers

from espalier_rl.trainer.rows import Rows
from espalier_rl.trainer.trainer import Trainer

BUDGET = 2048  # tokens of a micro-batch
VOCABULARY = 512


def main(count, longest, repeats):
    torch.set_num_threads(1)
    rows = make_rows(count, longest)
    cut = cut_by_tokens(rows, max(BUDGET, longest))
    settings = {"loss": {"name": "dual_clip"}, "miniBatches": [cut], "learningRate": 1e-5}
    found = {"packed": {"seconds": []}, "padded": {"seconds": []}}
    with tempfile.TemporaryDirectory() as folder:
        write_model(folder, longest)
        model = {"kind": "folder", "path": folder}
        trainers = {way: Trainer({"model": model, "device": "cpu", "packed": way == "packed"}) for way in found}
    for repeat in range(repeats + 1):
        for way, trainer in trainers.items():
            began = time.perf_counter()
            metrics = trainer.update(rows, settings)
            if repeat == 0:
                found[way]["loss"] = metrics["loss"]  # of equal weights; this pass only warms up
            else:
                found[way]["seconds"].append(time.perf_counter() - began)
    tokens = len(rows.ids)
    for each in found.values():
        each["tokensPerSecond"] = tokens / statistics.median(each.pop("seconds"))
    slots = sum(len(part) * max(rows.length(i) for i in part) for part in cut)
    parameters = sum(parameter.numel() for parameter in trainers["packed"].parameters())
    facts = {"rows": count, "tokens": tokens, "paddedTokens": slots, "parameters": parameters, "torch": torch.__version__}
    print(json.dumps({**found, **facts}))


def make_rows(count, longest):
    generator = torch.Generator().manual_seed(1)
    lengths = [longest if i % 16 == 0 else int(torch.randint(8, longest // 8, (1,), generator=generator)) for i in range(count)]
    offsets = [0]
    for length in lengths:
        offsets.append(offsets[-1] + length)
    mask = torch.zeros(offsets[-1], dtype=torch.uint8)
    for start, length in zip(offsets, lengths):
        mask[start + length // 2 : start + length] = 1
    ids = torch.randint(2, VOCABULARY, (offsets[-1],), generator=generator, dtype=torch.int32)
    return Rows(ids, offsets, mask, {"advantages": torch.randn(offsets[-1], generator=generator)})


def cut_by_tokens(rows, budget):
    parts, held = [[]], 0
    for i in range(len(rows)):
        if held + rows.length(i) > budget:
            parts.append([])
            held = 0
        parts[-1].append(i)
        held += rows.length(i)
    return parts


def write_model(folder, longest):
    from tokenizers import Tokenizer, models

    torch.manual_seed(0)
    sizes = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 4}
    config = transformers.Qwen2Config(vocab_size=VOCABULARY, max_position_embeddings=longest, **sizes)
    transformers.Qwen2ForCausalLM(config).save_pretrained(folder)
    backend = Tokenizer(models.WordLevel({"<unk>": 0, "</s>": 1}, unk_token="<unk>"))
    transformers.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>", eos_token="</s>").save_pretrained(folder)


if __name__ == "__main__":
    main(*(int(each) for each in sys.argv[1:]))
