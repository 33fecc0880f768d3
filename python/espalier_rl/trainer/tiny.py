"""Tiny models with random weights, for tests and first tries: nothing is downloaded.

    python -m espalier_rl.trainer.tiny --out FOLDER [--family qwen2.5-vl] [--seed 0]

Config, tokenizer (the 256 bytes and the special tokens), chat template and, of families that read pictures, image processor are those of
the family, made small.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import torch
import transformers

from .language_model import ModelRefused

FAMILIES = ("qwen2", "qwen2-vl", "qwen2.5-vl", "qwen3-vl", "qwen3.5")  # all but the first read pictures; the last carries a state
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
CHAT_TEMPLATE = """{%- for message in messages -%}
<|im_start|>{{ message['role'] }}
{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for part in message['content'] %}\
{% if part['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ part['text'] }}{% endif %}\
{% endfor %}{% endif %}<|im_end|>
{% endfor -%}
{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
# Of the model that is made in memory: its contexts are short.
SHORT_TEMPLATE = """{% for message in messages %}<|im_start|>{{ message['role'][0] }}{{ message['content'] }}<|im_end|>{% endfor %}\
{% if add_generation_prompt %}<|im_start|>a{% endif %}"""


def tiny_model(seed: int, *, layers: int = 2, width: int = 64, heads: int = 4, context: int = 256) -> tuple[Any, Any]:
    """Returns a Qwen2 over bytes and its tokenizer, made in memory. Equal arguments make equal weights. Raises ModelRefused."""
    tokenizer = byte_tokenizer()
    tokenizer.chat_template = SHORT_TEMPLATE
    return _scaled(_grown(_text_config(tokenizer, layers, width, heads, context), seed)), tokenizer


def write_tiny(folder: str | Path, family: str = "qwen2", *, seed: int = 0, width: int = 32, layers: int = 2, context: int = 16384) -> str | Path:
    """Writes a folder of a tiny model. Equal arguments write equal weights. Raises ModelRefused for a family or a size that there is not."""
    if family not in FAMILIES:
        raise ModelRefused(f"there is no family {family!r}; there are {', '.join(FAMILIES)}")
    tokenizer = byte_tokenizer()
    tokenizer.save_pretrained(folder)
    if family == "qwen2":
        _grown(_text_config(tokenizer, layers, width, 4, context), seed).save_pretrained(folder)
    else:
        _scaled(_grown(_vision_config(family, tokenizer, width, context), seed)).save_pretrained(folder)
        (Path(folder) / "preprocessor_config.json").write_text(json.dumps(_processor(family), indent=2))
    return folder


def _grown(config: Any, seed: int) -> Any:
    torch.manual_seed(seed)
    kind = transformers.AutoModelForImageTextToText if hasattr(config, "vision_config") else transformers.AutoModelForCausalLM
    module = kind.from_config(config, dtype=torch.float32)
    ends = {"eos_token_id": config.get_text_config().eos_token_id, "pad_token_id": config.get_text_config().pad_token_id}
    module.generation_config = transformers.GenerationConfig(**ends)
    return module.eval()


def _scaled(module: Any) -> Any:
    """Draws the weights of a narrow module at the scale at which each layer keeps the length of its input, which 0.02 is far below; the
    output layer keeps 0.02, so that the first replies are nearly uniform."""
    for name, parameter in module.named_parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.02 if "lm_head" in name else parameter[0].numel() ** -0.5)
    return module


def byte_tokenizer() -> Any:
    """The 256 bytes and the special tokens, with the chat template."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE(vocab={byte: i for i, byte in enumerate(alphabet)}, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in SPECIAL])
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    made.chat_template = CHAT_TEMPLATE
    return made


def _text_config(tokenizer: Any, layers: int, width: int, heads: int, context: int) -> Any:
    if width % (2 * heads) != 0:
        raise ModelRefused(f"the width {width} is no multiple of {2 * heads}, twice the heads")
    if heads % max(1, heads // 2) != 0:
        raise ModelRefused(f"{heads} heads cannot share {heads // 2} of keys and values evenly; name an even number")
    return transformers.Qwen2Config(
        **{"vocab_size": len(tokenizer), "hidden_size": width, "intermediate_size": 2 * width, "num_hidden_layers": layers},
        **{"num_attention_heads": heads, "num_key_value_heads": max(1, heads // 2), "max_position_embeddings": context},
        **{"tie_word_embeddings": False, "bos_token_id": None},
        **{"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id},
    )


def _vision_config(family: str, tokenizer: Any, width: int, context: int) -> Any:
    if width % 16 != 0:
        raise ModelRefused(f"the width {width} is no multiple of 16")
    ids = {token: tokenizer.convert_tokens_to_ids(token) for token in SPECIAL}
    half = width // 4 // 2  # of the dimensions of a head, which the three axes of a position share
    sections = [half - 2 * (half // 3), half // 3, half // 3]
    text = {
        **{"vocab_size": len(tokenizer), "hidden_size": width, "intermediate_size": 2 * width, "num_hidden_layers": 2},
        **{"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": context, "head_dim": width // 4},
        **{"bos_token_id": ids["<|endoftext|>"], "eos_token_id": ids["<|im_end|>"], "pad_token_id": ids["<|endoftext|>"]},
        "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0, "mrope_section": sections},
    }
    vision: dict[str, Any] = {"depth": 2, "num_heads": 2, "in_channels": 3, "temporal_patch_size": 2, "spatial_merge_size": 2}
    shared = {
        **{"image_token_id": ids["<|image_pad|>"], "video_token_id": ids["<|video_pad|>"], "tie_word_embeddings": False},
        **{"vision_start_token_id": ids["<|vision_start|>"], "vision_end_token_id": ids["<|vision_end|>"]},
    }
    if family == "qwen2-vl":
        vision |= {"embed_dim": 16, "hidden_size": width, "mlp_ratio": 2, "patch_size": 14}
        return transformers.Qwen2VLConfig(text_config=text, vision_config=vision, **shared)
    if family == "qwen2.5-vl":
        vision |= {"hidden_size": 16, "intermediate_size": 32, "out_hidden_size": width, "patch_size": 14}
        vision |= {"window_size": 56, "fullatt_block_indexes": [1]}
        return transformers.Qwen2_5_VLConfig(text_config=text, vision_config=vision, **shared)
    vision |= {"hidden_size": 16, "intermediate_size": 32, "out_hidden_size": width, "patch_size": 16}
    vision |= {"num_position_embeddings": 256}
    if family == "qwen3.5":
        heads = {"linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 8, "linear_value_head_dim": 8}
        text |= {**heads, "layer_types": ["linear_attention", "full_attention"]}
        text["rope_parameters"] |= {"partial_rotary_factor": 1.0}
        return transformers.Qwen3_5Config(text_config=text, vision_config=vision, **shared)
    vision |= {"deepstack_visual_indexes": [0]}
    return transformers.Qwen3VLConfig(text_config=text, vision_config=vision, **shared)


def _processor(family: str) -> dict[str, Any]:
    # The sizes of the vision presets by which Espalier counts the tokens of a picture: what it counts is what the prompt holds.
    third = family in ("qwen3-vl", "qwen3.5")
    sizes = {"shortest_edge": 65_536, "longest_edge": 16_777_216} if third else {"shortest_edge": 3_136, "longest_edge": 12_845_056}
    grey = [0.5, 0.5, 0.5]
    return {
        **{"image_processor_type": "Qwen2VLImageProcessor", "patch_size": 16 if third else 14, "merge_size": 2},
        **{"temporal_patch_size": 2, "size": sizes, "image_mean": grey, "image_std": grey},
        "processor_class": {"qwen2-vl": "Qwen2VLProcessor", "qwen2.5-vl": "Qwen2_5_VLProcessor"}.get(family, "Qwen3VLProcessor"),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="espalier_rl.trainer.tiny", description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, help="folder to write")
    parser.add_argument("--family", choices=FAMILIES, default="qwen2")
    parser.add_argument("--seed", type=int, default=0, help="of the random weights")
    parser.add_argument("--width", type=int, default=32, help="of the hidden states")
    parser.add_argument("--layers", type=int, default=2, help="of a model that reads no pictures")
    parser.add_argument("--context", type=int, default=16384, help="tokens of prompt and reply together")
    chosen = parser.parse_args()
    try:
        print(write_tiny(chosen.out, chosen.family, seed=chosen.seed, width=chosen.width, layers=chosen.layers, context=chosen.context))
    except (ModelRefused, OSError, ImportError) as error:
        print(f"espalier_rl.trainer.tiny: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
