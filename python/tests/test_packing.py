"""Rows that lie behind each other yield what padded rows yield."""

import tempfile
import unittest
from pathlib import Path

try:
    import torch

    from espalier_rl.trainer.packing import attend_rows, runs_of
    from espalier_rl.trainer.trainer import Trainer

    from .test_trainer import SETTINGS, read, rows_of
except ImportError:
    torch = None

try:
    import transformers
except ImportError:
    transformers = None


def write_small_qwen(folder, **more):
    """Writes a Qwen2 of random weights with grouped heads, and a tokenizer of bytes."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = {word: i for i, word in enumerate(["<unk>", "</s>", *(f"w{i}" for i in range(30))])}
    backend = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    ends = {"max_position_embeddings": 512, "eos_token_id": 1, "bos_token_id": None, "pad_token_id": None}
    config = transformers.Qwen2Config(**{"vocab_size": 32, **sizes, **ends, **more})
    torch.manual_seed(3)
    module = transformers.Qwen2ForCausalLM(config)
    for parameter in module.parameters():
        parameter.data.mul_(4)  # far from uniform, so that a token that sees too much is noticed
    module.save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>", eos_token="</s>").save_pretrained(folder)
    return folder


def skewed(count=9, longest=40):
    """Rows of which one is long and most are short; two have one length."""
    generator = torch.Generator().manual_seed(5)
    rows = []
    for i in range(count):
        length = longest if i == 4 else 4 + i // 2
        rows.append((2, torch.randint(2, 32, (length,), generator=generator).tolist(), 1.0 - 0.3 * i))
    return rows_of(*rows)


@unittest.skipIf(torch is None or transformers is None, "torch and transformers are not installed")
class Packing(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def opened(self, folder, **more):
        torch.set_num_threads(1)
        model = {"kind": "folder", "path": str(folder)}
        return Trainer({"model": model, "learningRate": 1e-3, "epsilon": 1e-2, "device": "cpu", **more})

    def test_a_packed_qwen2_has_the_loss_gradients_and_log_probs_of_padded_rows(self):
        folder = write_small_qwen(self.folder)
        found = {}
        for packed in (True, False):
            trainer = self.opened(folder, packed=packed, valueHead=True, reference=True)
            self.assertEqual(trainer.model.packed, packed)
            rows = read(skewed(), trainer)
            columns = trainer.read(rows, [list(range(len(rows)))], 0.7, squared=True)
            settings = {**SETTINGS, "epochs": 1, "miniBatches": [[list(range(5)), list(range(5, 9))]], "entropyCoefficient": 0.1}
            metrics = trainer.update(rows, {**settings, "kl": {"kind": "k3", "coefficient": 0.1}})
            found[packed] = (columns, metrics, trainer.model.tensors())
        for packed, padded in zip(found[True], found[False]):
            self.assertEqual(set(packed), set(padded))
            for name, value in packed.items():
                with self.subTest(name):
                    torch.testing.assert_close(torch.as_tensor(value), torch.as_tensor(padded[name]), rtol=1e-5, atol=1e-5)

    def test_a_window_reaches_no_further_back_in_packed_rows(self):
        window = {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1}
        folder = write_small_qwen(self.folder, **window)
        packed, padded = self.opened(folder), self.opened(folder, packed=False)
        self.assertEqual((packed.model.packed, padded.model.packed), (True, False))
        rows = read(skewed(), packed)
        one, other = (each.read(rows, [list(range(len(rows)))], 1.0)["log_probs"] for each in (packed, padded))
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)

    def test_a_model_whose_layers_carry_a_state_is_run_padded(self):
        trainer = self.opened(write_small_qwen(self.folder))
        trainer.model.module.config.layer_types = ["linear_attention", "full_attention"]
        self.assertFalse(trainer.model.pack())

    def test_a_token_sees_its_own_row_alone(self):
        lengths = [3, 3, 5]
        query, key, value = (torch.randn(1, 4, 11, 8) for _ in range(3))
        whole = attend_rows(query, key, value, runs_of(lengths))
        at = torch.tensor([row for row, length in enumerate(lengths) for _ in range(length)])
        mask = (at[:, None] == at[None, :]) & torch.ones(11, 11, dtype=torch.bool).tril()
        expected = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        torch.testing.assert_close(whole, expected, rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    unittest.main()
