"""Writes a folder of a tiny language model with random weights, for tests and first tries: nothing is downloaded.

    python -m espalier_rl.trainer.tiny --out FOLDER [--seed 0]

A Qwen2 of two layers over bytes, with the tokenizer and chat template of such a folder. `espalier_rl.trainer.tiny_vision` writes one that reads
pictures too.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch

from .language_model import ModelRefused
from .tiny_vision import byte_tokenizer

HEADS = 4


def write_tiny(folder: str | Path, seed: int = 0, width: int = 32, layers: int = 2, context: int = 16384) -> str | Path:
    """Writes the folder. Equal arguments write equal weights. Raises ModelRefused for a size that there is not."""
    import transformers

    if width % (2 * HEADS) != 0:
        raise ModelRefused(f"the width {width} is no multiple of {2 * HEADS}")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = byte_tokenizer(transformers)
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    config = transformers.Qwen2Config(
        **{"vocab_size": len(tokenizer), "hidden_size": width, "intermediate_size": 2 * width, "num_hidden_layers": layers},
        **{"num_attention_heads": HEADS, "num_key_value_heads": HEADS // 2, "max_position_embeddings": context},
        **{"tie_word_embeddings": False, "bos_token_id": None, **ends},
    )
    torch.manual_seed(seed)
    module = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    module.generation_config = transformers.GenerationConfig(**ends)
    module.save_pretrained(folder, safe_serialization=True)
    tokenizer.save_pretrained(folder)
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(prog="espalier_rl.trainer.tiny", description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, help="folder to write")
    parser.add_argument("--seed", type=int, default=0, help="of the random weights")
    parser.add_argument("--width", type=int, default=32, help="of the hidden states")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--context", type=int, default=16384, help="tokens of prompt and reply together")
    chosen = parser.parse_args()
    try:
        folder = write_tiny(chosen.out, chosen.seed, chosen.width, chosen.layers, chosen.context)
    except (ModelRefused, OSError, ImportError) as error:
        print(f"espalier_rl.trainer.tiny: {error}", file=sys.stderr)
        return 1
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
