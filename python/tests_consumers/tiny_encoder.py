"""An encoder of transformers with random weights and a tokenizer of words, for tests: `python -m tests_consumers.tiny_encoder FOLDER`."""

import sys

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast


def write_encoder(folder, *, seed=0, width=32):
    """Writes a Bert of two layers that reads texts letter by letter."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    letters = [chr(code) for code in range(33, 127)]
    words = {token: number for number, token in enumerate([*special, *letters, *(f"##{letter}" for letter in letters)])}
    tokenizer = Tokenizer(models.WordPiece(words, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    named = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=256, **named).save_pretrained(folder)
    torch.manual_seed(seed)
    sizes = {"hidden_size": width, "intermediate_size": 2 * width, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = BertConfig(vocab_size=len(words), max_position_embeddings=256, initializer_range=0.2, **sizes)
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)


if __name__ == "__main__":
    write_encoder(sys.argv[1])
