"""Trains one step on a skewed mix of row lengths, packed and padded in turn, and prints what it found as JSON.

    python packing.py ROWS LONGEST REPEATS [DEVICE SHAPE]

One row in sixteen has the full length, the others an eighth of it at most, as answers of an agent have it. Both ways get the same rows in the same
micro-batches and run the same Qwen2 of random weights: a small one on one thread of the CPU, or on another device, in bfloat16, one of the shape that
is named. `peak` is the memory of that device, beyond which nothing was held at once.
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

SHAPES = {
    "small": {
        **{"vocab_size": 512, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4},
        **{"num_attention_heads": 8, "num_key_value_heads": 4},
    },
    "qwen2.5-0.5b": {
        **{"vocab_size": 151_936, "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24},
        **{"num_attention_heads": 14, "num_key_value_heads": 2, "tie_word_embeddings": True},
    },
    "qwen2.5-1.5b": {
        **{"vocab_size": 151_936, "hidden_size": 1536, "intermediate_size": 8960, "num_hidden_layers": 28},
        **{"num_attention_heads": 12, "num_key_value_heads": 2, "tie_word_embeddings": True},
    },
}
BUDGETS = {"cpu": 2048, "cuda": 8192}  # tokens of a micro-batch


def main(count, longest, repeats, device="cpu", shape="small"):
    torch.set_num_threads(1)
    rows = make_rows(count, longest, SHAPES[shape]["vocab_size"])
    cut = cut_by_tokens(rows, max(BUDGETS[device], longest))
    settings = {"loss": {"name": "dual_clip"}, "miniBatches": [cut], "learningRate": 1e-5}
    found = {"packed": {"seconds": []}, "padded": {"seconds": []}}
    with tempfile.TemporaryDirectory() as folder:
        write_model(folder, longest, SHAPES[shape])
        model = {"kind": "folder", "path": folder, "precision": "float32" if device == "cpu" else "bfloat16"}
        trainers = {way: Trainer({"model": model, "device": device, "packed": way == "packed"}) for way in found}
    for repeat in range(repeats + 1):
        for way, trainer in trainers.items():
            finish(device)
            began = time.perf_counter()
            metrics = trainer.update(rows, settings)
            found[way].update(finish(device))
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


def finish(device):
    """Waits until the device has done what it was asked. Returns the most bytes that were held there since the last call."""
    if device == "cpu":
        return {}
    torch.cuda.synchronize()
    peak = torch.cuda.max_memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    return {"peak": peak}


def make_rows(count, longest, vocabulary):
    generator = torch.Generator().manual_seed(1)
    lengths = [longest if i % 16 == 0 else int(torch.randint(8, longest // 8, (1,), generator=generator)) for i in range(count)]
    offsets = [0]
    for length in lengths:
        offsets.append(offsets[-1] + length)
    mask = torch.zeros(offsets[-1], dtype=torch.uint8)
    for start, length in zip(offsets, lengths):
        mask[start + length // 2 : start + length] = 1
    ids = torch.randint(2, vocabulary, (offsets[-1],), generator=generator, dtype=torch.int32)
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


def write_model(folder, longest, sizes):
    from tokenizers import Tokenizer, models

    torch.manual_seed(0)
    config = transformers.Qwen2Config(max_position_embeddings=longest, **sizes)
    transformers.Qwen2ForCausalLM(config).save_pretrained(folder)
    backend = Tokenizer(models.WordLevel({"<unk>": 0, "</s>": 1}, unk_token="<unk>"))
    transformers.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>", eos_token="</s>").save_pretrained(folder)


if __name__ == "__main__":
    main(*(int(each) for each in sys.argv[1:4]), *sys.argv[4:])
