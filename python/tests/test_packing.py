"""Rows that lie behind each other yield what padded rows yield."""

import tempfile
import unittest
from pathlib import Path
from unittest import mock

from .device import DEVICE

try:
    import torch

    from espalier_rl.trainer import packing, session
    from espalier_rl.trainer.packing import PackedRows, attend_at_once, attend_rows
    from espalier_rl.trainer.rows import RowsRefused
    from espalier_rl.trainer.tensors import digest_tensors
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
        return Trainer({"model": model, "learningRate": 1e-3, "epsilon": 1e-2, "device": DEVICE, **more})

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
        query, key, value = (torch.randn(1, 4, 11, 8, device=DEVICE) for _ in range(3))
        whole = attend_rows(query, key, value, PackedRows(lengths, DEVICE))
        at = torch.tensor([row for row, length in enumerate(lengths) for _ in range(length)])
        mask = (at[:, None] == at[None, :]) & torch.ones(11, 11, dtype=torch.bool).tril()
        mask = mask.to(DEVICE)
        expected = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        torch.testing.assert_close(whole, expected, rtol=1e-5, atol=1e-6)

    def test_the_kernel_of_all_rows_is_handed_what_each_row_alone_would_be(self):
        def kernel(query, key, value, starts, _, longest, __, *, scale, window_size, enable_gqa=False):
            self.assertEqual((starts.dtype, longest), (torch.int32, 5))
            parts = []
            for start, end in zip(starts.tolist(), starts.tolist()[1:]):
                at = torch.arange(end - start)
                back = at[:, None] - at[None, :]
                mask = (back >= 0) & ((back <= window_size[0]) if window_size[0] >= 0 else True)
                own = (each[start:end].transpose(0, 1) for each in (query, key, value))
                given = {"attn_mask": mask, "scale": scale, "enable_gqa": enable_gqa}
                parts.append(torch.nn.functional.scaled_dot_product_attention(*own, **given).transpose(0, 1))
            return torch.cat(parts)

        rows = PackedRows([3, 3, 5], "cpu")
        query, key, value = torch.randn(1, 4, 11, 8), torch.randn(1, 2, 11, 8), torch.randn(1, 2, 11, 8)
        for scale, window in ((None, None), (0.3, 2), (None, 5)):
            with mock.patch.object(packing, "varlen_attn", kernel):
                found = attend_at_once(query, key, value, rows, scale, window)
            torch.testing.assert_close(found, attend_rows(query, key, value, rows, scale, window), rtol=1e-5, atol=1e-6)

    def test_padded_rows_have_rows_of_the_vocabulary_for_their_trained_tokens_alone(self):
        trainer = self.opened(write_small_qwen(self.folder), packed=False)
        rows, widths = read(skewed(), trainer), []
        trainer.model.module.lm_head.register_forward_hook(lambda _, __, made: widths.append(tuple(made.shape[:2])))
        trainer.read(rows, [list(range(9))], 1.0)
        self.assertEqual(widths, [(1, int(rows.mask.sum()))])
        self.assertEqual(len(trainer.model.module.lm_head._forward_pre_hooks), 0)

    @unittest.skipUnless(DEVICE == "cuda", "needs ESPALIER_TEST_DEVICE=cuda")
    def test_equal_rows_yield_equal_bytes_where_attention_has_several_orders(self):
        folder, found = write_small_qwen(self.folder, tie_word_embeddings=True), []
        for packed in (True, True, False, False):
            session._make_deterministic(1)
            self.addCleanup(torch.use_deterministic_algorithms, False)
            trainer = self.opened(folder, packed=packed, model={"kind": "folder", "path": str(folder), "precision": "bfloat16"})
            rows = read(skewed(20, 400), trainer)
            trainer.update(rows, {**SETTINGS, "miniBatches": [[list(range(20))]]})
            found.append(digest_tensors(trainer.model.tensors()))
        self.assertEqual(found[0], found[1])
        self.assertTrue(torch.is_deterministic_algorithms_warn_only_enabled())

    @unittest.skipUnless(DEVICE == "cuda", "needs ESPALIER_TEST_DEVICE=cuda")
    def test_bfloat16_rows_that_one_kernel_attends_have_the_losses_and_log_probs_of_padded_rows(self):
        for window in ({}, {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1}):
            folder = write_small_qwen(self.folder / f"{len(window)}", **window, tie_word_embeddings=True)
            found = []
            for packed in (True, False):
                trainer = self.opened(folder, packed=packed, model={"kind": "folder", "path": str(folder), "precision": "bfloat16"})
                rows = read(skewed(), trainer)
                with mock.patch.object(packing, "attend_at_once", wraps=attend_at_once) as calls:
                    columns = trainer.read(rows, [list(range(9))], 1.0)
                    metrics = trainer.update(rows, {**SETTINGS, "miniBatches": [[list(range(9))]]})
                self.assertEqual(bool(calls.call_count), packed)
                found.append({**columns, **metrics})
            for name, value in found[0].items():  # weights four times as large as usual: bfloat16 is coarse here
                torch.testing.assert_close(torch.as_tensor(value), torch.as_tensor(found[1][name]), rtol=0.1, atol=0.15, msg=name)


@unittest.skipIf(torch is None or transformers is None, "torch and transformers are not installed")
class PackedOrNot(unittest.TestCase):
    """Rows of a pass yield what each yields alone, whatever the layers do with the keywords of packed rows."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = write_small_qwen(Path(folder.name))  # its tokenizer
        torch.set_num_threads(1)

    def opened(self, config):
        torch.manual_seed(0)
        module = transformers.AutoModelForCausalLM.from_config(config)
        for parameter in module.parameters():
            if parameter.dim() > 1:
                parameter.data.mul_(8)
        module.save_pretrained(self.folder)
        return Trainer({"model": {"kind": "folder", "path": str(self.folder)}, "device": DEVICE})

    def sizes(self):
        return {"vocab_size": 32, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}

    def check_alone(self, trainer):
        ids = torch.randint(2, 32, (40,), generator=torch.Generator().manual_seed(1)).tolist()
        rows = read(rows_of((1, ids[:10], 1.0), (1, ids[10:], 1.0)), trainer)
        together = trainer.read(rows, [[0, 1]], 1.0)["log_probs"]
        torch.testing.assert_close(together, trainer.read(rows, [[0], [1]], 1.0)["log_probs"], rtol=1e-4, atol=1e-4)

    def test_a_model_whose_attention_drops_the_keyword_is_run_padded(self):
        trainer = self.opened(transformers.NemotronConfig(**self.sizes(), head_dim=8, max_position_embeddings=256))
        self.assertFalse(trainer.model.packed)
        self.check_alone(trainer)

    def test_a_model_with_longrope_has_its_original_context(self):
        rope = {"rope_type": "longrope", "short_factor": [1.0] * 4, "long_factor": [4.0, 8.0, 16.0, 32.0], "rope_theta": 10000.0}
        context = {"max_position_embeddings": 128, "original_max_position_embeddings": 16, "pad_token_id": 0}
        trainer = self.opened(transformers.Phi3Config(**self.sizes(), **context, rope_parameters={**rope, "original_max_position_embeddings": 16}))
        self.assertTrue(trainer.model.packed)
        self.assertEqual(trainer.model.context, 16)
        with self.assertRaisesRegex(RowsRefused, "longer than the model's context of 16"):
            read(rows_of((1, [5] * 17, 1.0)), trainer)


if __name__ == "__main__":
    unittest.main()
