"""A tiny model trains as it should.

What is recorded is what is trained, and no cut, padding, kill or restart changes the result.
"""

import copy
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from .device import DEVICE
from .test_losses import DEFAULTS

try:
    import torch

    from espalier_rl.trainer import objective
    from espalier_rl.trainer.checkpoints import CheckpointDamaged, load_checkpoint, save_checkpoint
    from espalier_rl.trainer.language_model import ModelRefused, open_model
    from espalier_rl.trainer.memory import memory_of
    from espalier_rl.trainer.rows import RowsRefused, read_rows
    from espalier_rl.trainer.session import Session
    from espalier_rl.trainer.tensors import TensorError, decode_tensors, digest_tensors, encode_tensors, read_tensors, write_tensors
    from espalier_rl.trainer.trainer import NotFinite, Trainer
except ImportError:
    torch = None

TINY = {"kind": "tiny", "layers": 1, "width": 16, "heads": 2, "context": 32}


def opened(**more):
    torch.set_num_threads(1)
    return Trainer({"model": TINY, "seed": 7, "learningRate": 1e-2, "device": DEVICE, **more})


def rows_of(*rows):
    """Rows as (prompt length, ids, advantage)."""
    offsets = [0]
    for _, ids, _ in rows:
        offsets.append(offsets[-1] + len(ids))
    flat = [i for _, ids, _ in rows for i in ids]
    mask = [int(place >= prompt) for prompt, ids, _ in rows for place in range(len(ids))]
    advantages = [advantage for _, ids, advantage in rows for _ in ids]
    return {
        "ids": torch.tensor(flat, dtype=torch.int32),
        "offsets": torch.tensor(offsets, dtype=torch.int32),
        "mask": torch.tensor(mask, dtype=torch.uint8),
        "advantages": torch.tensor(advantages, dtype=torch.float32),
    }


ROWS = ((3, [258, 65, 259, 66, 67], 1.0), (2, [258, 259, 70], -0.5), (4, [258, 1, 2, 259, 9, 8, 7], 0.25))
SETTINGS = {"loss": {"name": "dual_clip", "options": DEFAULTS["dual_clip"]}, "miniBatches": [[[0, 1, 2]]], "epochs": 2}


def read(tensors, trainer):
    return read_rows(tensors, trainer.model.vocabulary, trainer.model.context)


def weights_after(settings, tensors=None, **more):
    trainer = opened(**more)
    metrics = trainer.update(read(tensors or rows_of(*ROWS), trainer), settings)
    return trainer.model.tensors(), metrics


@unittest.skipIf(torch is None, "torch is not installed")
class Updates(unittest.TestCase):
    def test_equal_seeds_and_rows_yield_equal_weights(self):
        first, second = weights_after(SETTINGS)[0], weights_after(SETTINGS)[0]
        self.assertEqual(digest_tensors(first), digest_tensors(second))
        self.assertNotEqual(digest_tensors(first), digest_tensors(opened().model.tensors()))

    def test_squared_probabilities_are_those_of_the_whole_distribution(self):
        trainer = opened()
        rows = read(rows_of(*ROWS), trainer)
        columns = trainer.read(rows, [[0], [1, 2]], 0.5, squared=True)
        batch = rows.batch([0, 1, 2], DEVICE)
        ids, _ = batch.padded_ids()
        with torch.no_grad():
            expected = torch.softmax(trainer.model.module(input_ids=ids).logits[:, :-1] / 0.5, -1).square().sum(-1) * batch.mask
        found = torch.zeros_like(batch.mask)
        for place, i in enumerate(batch.indices):
            start, end = rows.offsets[i], rows.offsets[i + 1]
            found[place, : end - start - 1] = columns["squared_probs"][start + 1 : end]
        self.assertTrue(torch.allclose(found, expected, atol=1e-6))
        self.assertNotIn("squared_probs", trainer.read(rows, [[0, 1, 2]], 0.5))

    def test_columns_made_a_piece_of_the_tokens_at_a_time_have_the_values_and_gradients_of_the_whole(self):
        found = []
        for piece in (objective.PIECE, 2 * 263):  # all at once, and two of six tokens at a time
            with mock.patch.object(objective, "PIECE", piece):
                weights, metrics = weights_after({**SETTINGS, "epochs": 1, "entropyCoefficient": 0.1}, epsilon=1e-2)
                trainer = opened()
                found.append({**weights, **metrics, **trainer.read(read(rows_of(*ROWS), trainer), [[0, 1, 2]], 0.5, squared=True)})
        for name, value in found[0].items():
            torch.testing.assert_close(found[1][name], value, rtol=1e-6, atol=1e-6, msg=name)

    def test_a_process_that_keeps_its_bfloat16_weights_for_the_backward_pass_holds_the_whole_model_in_them(self):
        trainer = opened()
        trainer.model.precision = "bfloat16"
        trainer.processes = mock.Mock(size=4)
        whole = 2 * sum(parameter.numel() for parameter in trainer.model.module.parameters())
        trainer.computes_again = True
        shared = memory_of(trainer)
        trainer.computes_again = False
        kept = memory_of(trainer)
        self.assertEqual((shared["bfloat16"], kept["bfloat16"]), (0, whole))
        self.assertEqual(kept["total"] - shared["total"], whole)
        self.assertAlmostEqual(kept["perParameter"] - shared["perParameter"], 4 * 2, delta=0.01)

    def test_more_processes_than_gpus_are_refused_before_a_model_is_read(self):
        class Two:
            rank, size = 0, 2

        with mock.patch.object(torch.cuda, "device_count", return_value=1), self.assertRaisesRegex(ModelRefused, "this machine shows 1"):
            Trainer({"model": TINY, "device": "cuda"}, Two())

    def test_micro_batches_and_padding_change_nothing_but_rounding(self):
        for mode in ("token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"):
            settings = {**SETTINGS, "epochs": 1, "aggregation": mode, "lossScale": 4.0, "entropyCoefficient": 0.01}
            # A large epsilon: Adam makes a whole step of a gradient that is nothing but rounding (a bias of the keys has none).
            whole, metrics = weights_after(settings, epsilon=1e-2)
            cut, cut_metrics = weights_after({**settings, "miniBatches": [[[2], [0], [1]]]}, epsilon=1e-2)
            self.assertNotEqual(digest_tensors(whole), digest_tensors(opened().model.tensors()))
            with self.subTest(mode):
                for name, tensor in whole.items():
                    torch.testing.assert_close(tensor, cut[name], rtol=1e-4, atol=2e-5)
                self.assertEqual(set(metrics), set(cut_metrics))
                for name, value in metrics.items():
                    self.assertAlmostEqual(value, cut_metrics[name], places=4)

    def test_log_probs_belong_to_the_recorded_ids_and_are_zero_elsewhere(self):
        trainer = opened(valueHead=True, reference=True)
        rows = read(rows_of(*ROWS), trainer)
        found = trainer.read(rows, [[0, 1], [2]], 0.5)
        logits = trainer.model.module(rows.ids[:5].long()[None].to(DEVICE))[0].cpu()
        expected = torch.log_softmax(logits[0] / 0.5, -1)
        torch.testing.assert_close(found["log_probs"][3:5], torch.stack([expected[2, 66], expected[3, 67]]).detach(), rtol=1e-5, atol=1e-6)
        self.assertTrue(bool((found["log_probs"][rows.mask == 0] == 0).all()))
        torch.testing.assert_close(found["ref_log_probs"], found["log_probs"])
        self.assertEqual(float(found["values"].abs().sum()), 0.0)

    def test_a_positive_advantage_makes_its_tokens_likelier_and_a_negative_one_less_likely(self):
        trainer = opened()
        rows = read(rows_of(*ROWS), trainer)
        before = trainer.read(rows, [[0, 1, 2]], 1.0)["log_probs"]
        trainer.update(rows, SETTINGS)
        after = trainer.read(rows, [[0, 1, 2]], 1.0)["log_probs"]
        self.assertGreater(float((after - before)[3:5].sum()), 0.0)
        self.assertLess(float((after - before)[7]), 0.0)

    def test_masked_tokens_are_context_and_never_trained(self):
        tensors = rows_of(*ROWS)
        spoilt = copy.deepcopy(tensors)
        spoilt["advantages"][tensors["mask"] == 0] = float("nan")
        self.assertEqual(digest_tensors(weights_after(SETTINGS)[0]), digest_tensors(weights_after(SETTINGS, spoilt)[0]))

    def test_a_kl_penalty_and_a_critic_change_the_update(self):
        trainer = opened(valueHead=True, reference=True)
        tensors = rows_of(*ROWS)
        tensors["values"], tensors["returns"] = torch.zeros(len(tensors["ids"])), torch.full((len(tensors["ids"]),), 0.8)
        settings = {**SETTINGS, "epochs": 20, "kl": {"kind": "k3+", "coefficient": 0.1}, "critic": {"clip": 10, "learningRate": 0.1}}
        metrics = trainer.update(read(tensors, trainer), settings)
        self.assertLessEqual({"klLoss", "valueLoss", "valueClipFraction", "policyLoss", "entropy", "gradientNorm"}, set(metrics))
        values = trainer.read(read(rows_of(*ROWS), trainer), [[0, 1, 2]], 1.0)["values"]
        self.assertAlmostEqual(float(values[3]), 0.8, delta=0.4)

    def test_a_gradient_that_is_not_finite_changes_nothing(self):
        trainer = opened()
        tensors = rows_of(*ROWS)
        tensors["weights"] = torch.full((len(tensors["ids"]),), 3e38)
        tensors["advantages"] *= 1e30
        before = digest_tensors(trainer.model.tensors())
        with self.assertRaises(NotFinite):
            trainer.update(read(tensors, trainer), SETTINGS)
        self.assertEqual(digest_tensors(trainer.model.tensors()), before)

    def test_mismatched_rows_are_refused_with_the_reason(self):
        good = rows_of(*ROWS)
        for change, reason in (
            ({"ids": good["ids"] + 200}, "outside the vocabulary"),
            ({"offsets": torch.tensor([0, 5, 8])}, "offsets"),
            ({"mask": torch.ones_like(good["mask"])}, "first token"),
            ({"advantages": good["advantages"][:-1]}, "advantages has"),
            ({"advantages": good["advantages"] / 0}, "not finite"),
        ):
            with self.assertRaisesRegex(RowsRefused, reason):
                read({**good, **change}, opened())


@unittest.skipIf(torch is None, "torch is not installed")
class Checkpoints(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_a_training_resumed_from_a_checkpoint_equals_one_without_interruption(self):
        steady = opened(valueHead=True)
        rows = read(rows_of(*ROWS), steady)
        steady.update(rows, SETTINGS)
        state = save_checkpoint(steady, self.folder)
        steady.update(rows, SETTINGS)

        resumed = opened(valueHead=True, seed=99)
        self.assertEqual(load_checkpoint(resumed, self.folder / state["checkpoint"]), state)
        resumed.update(rows, SETTINGS)
        self.assertEqual(save_checkpoint(resumed, self.folder), save_checkpoint(steady, self.folder))
        self.assertEqual(resumed.steps, 4)

    @unittest.skipUnless(Path("/proc/self/maps").exists(), "the system does not list what is mapped")
    def test_a_checkpoint_that_was_loaded_is_not_held_open_so_that_one_that_is_removed_frees_its_disk(self):
        before = opened(valueHead=True)
        before.update(read(rows_of(*ROWS), before), SETTINGS)
        folder = self.folder / save_checkpoint(before, self.folder)["checkpoint"]
        resumed = opened(valueHead=True, seed=99)
        load_checkpoint(resumed, folder)
        self.assertFalse(str(folder) in Path("/proc/self/maps").read_text())
        self.assertEqual(resumed.steps, before.steps)

    def test_equal_states_share_a_folder_and_nothing_partial_is_left(self):
        states = [save_checkpoint(opened(), self.folder) for _ in range(2)]
        self.assertEqual(states[0], states[1])
        self.assertEqual([path.name for path in self.folder.iterdir()], [states[0]["checkpoint"]])

    def test_a_folder_opens_as_a_model_of_the_same_digest(self):
        state = save_checkpoint(opened(), self.folder)
        model = open_model({"kind": "folder", "path": str(self.folder / state["checkpoint"])}, 0, DEVICE)
        self.assertEqual(digest_tensors(model.tensors()), state["weights"])

    def test_weights_that_are_frozen_are_kept_too(self):
        before, after = opened(), opened(seed=99)
        for each in (before, after):
            each.model.module.get_input_embeddings().requires_grad_(False)
        state = save_checkpoint(before, self.folder)
        load_checkpoint(after, self.folder / state["checkpoint"])
        self.assertEqual(digest_tensors(after.model.tensors()), digest_tensors(opened().model.tensors()))

    def test_weights_of_another_shape_are_refused_as_what_a_penalty_holds_to(self):
        state = save_checkpoint(opened(model={**TINY, "width": 8}), self.folder)
        session = Session()
        session.greeted, session.trainer = True, opened(reference=True)
        answer, _ = session.answer({"id": 1, "kind": "hold", "folder": str(self.folder / state["checkpoint"])}, b"")
        self.assertEqual(answer["code"], "refused")

    def test_a_damaged_or_foreign_checkpoint_is_refused(self):
        state = save_checkpoint(opened(), self.folder)
        with self.assertRaises(CheckpointDamaged):
            load_checkpoint(opened(model={**TINY, "width": 8}), self.folder / state["checkpoint"])
        file = self.folder / state["checkpoint"] / "model.safetensors"
        data = bytearray(file.read_bytes())
        data[-1] ^= 1
        file.write_bytes(bytes(data))
        with self.assertRaises(CheckpointDamaged):
            load_checkpoint(opened(), self.folder / state["checkpoint"])
        with self.assertRaises(CheckpointDamaged):
            load_checkpoint(opened(), self.folder / "nowhere")


@unittest.skipIf(torch is None, "torch is not installed")
class Tensors(unittest.TestCase):
    def test_named_tensors_are_written_and_read_and_have_the_digest_of_their_values_by_name(self):
        tensors = {"b": torch.arange(6, dtype=torch.float32).reshape(2, 3), "a": torch.tensor([1], dtype=torch.int8), "e": torch.empty(0), "t": torch.ones(4, 2).T}
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "some.safetensors"
            write_tensors(file, tensors)
            for again in (read_tensors(file), decode_tensors(encode_tensors(tensors))):
                self.assertEqual(set(again), set(tensors))
                for name, tensor in tensors.items():
                    torch.testing.assert_close(again[name], tensor)
                self.assertEqual(digest_tensors(again), digest_tensors(tensors))
            self.assertNotEqual(digest_tensors({**tensors, "a": torch.tensor([2], dtype=torch.int8)}), digest_tensors(tensors))
            for damaged in (b"", b"short", file.read_bytes()[:-1]):
                file.write_bytes(damaged)
                with self.assertRaises(TensorError):
                    read_tensors(file)
                with self.assertRaises(TensorError):
                    decode_tensors(damaged)


@unittest.skipIf(torch is None, "torch is not installed")
class FoldersOfTransformers(unittest.TestCase):
    def test_a_folder_is_trained_and_saved_and_resumes_without_a_difference(self):
        try:
            import transformers
        except ImportError:
            self.skipTest("the package transformers is not installed")
        with tempfile.TemporaryDirectory() as folder:
            base = write_small_llama(transformers, Path(folder) / "base")
            settings = {"model": {"kind": "folder", "path": str(base)}, "learningRate": 1e-3, "device": DEVICE, "valueHead": True, "reference": True}
            trainer = Trainer(settings)
            chat = trainer.model.encode_chat([{"role": "user", "content": "ab"}])
            rows = read(rows_of((len(chat), [*chat, 5, 6], 1.0), (len(chat), [*chat, 7], -1.0)), trainer)
            metrics = trainer.update(rows, {**SETTINGS, "miniBatches": [[[0], [1]]], "kl": {"kind": "k2", "coefficient": 0.1}})
            self.assertEqual(metrics["steps"], 2)
            state = save_checkpoint(trainer, Path(folder) / "kept")
            resumed = Trainer(settings)
            load_checkpoint(resumed, Path(folder) / "kept" / state["checkpoint"])
            for each in (trainer, resumed):
                each.update(rows, {**SETTINGS, "miniBatches": [[[0], [1]]]})
            self.assertEqual(digest_tensors(resumed.model.tensors()), digest_tensors(trainer.model.tensors()))

    def test_a_wrong_path_is_refused_and_never_looked_up_elsewhere(self):
        with self.assertRaisesRegex(ModelRefused, "no folder of a model"):
            open_model({"kind": "folder", "path": "/nowhere/model"}, 0, DEVICE)


def write_small_llama(transformers, folder):
    """Writes a Llama of random weights with a tokenizer of ten words, as a user's folder would be."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = {word: i for i, word in enumerate(["<unk>", "</s>", "user:", "assistant:", "a", "b", "c", "d", "ab", "e"])}
    backend = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>", eos_token="</s>")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=10, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, max_position_embeddings=64, eos_token_id=1
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


if __name__ == "__main__":
    unittest.main()
