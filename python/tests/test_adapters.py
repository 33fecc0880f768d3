"""A LoRA adapter is trained, saved, resumed and served; the model below it is never changed."""

import json
import tempfile
import unittest
from pathlib import Path

from .device import DEVICE

try:
    import torch

    from espalier_rl.trainer.checkpoints import load_checkpoint, save_checkpoint
    from espalier_rl.trainer.generate import sample_replies
    from espalier_rl.trainer.language_model import ModelRefused, open_model
    from espalier_rl.trainer.memory import memory_of
    from espalier_rl.trainer.tensors import decode_tensors, digest_tensors, write_tensors
    from espalier_rl.trainer.trainer import Trainer

    from .test_packing import skewed, transformers, write_small_qwen
    from .test_trainer import SETTINGS, TINY, read
except ImportError:
    torch = transformers = None

try:
    import peft
except ImportError:
    peft = None

LORA = {"rank": 4, "alpha": 8, "targets": ["q_proj", "v_proj"]}
STEPS = {**SETTINGS, "miniBatches": [[[0, 1, 2, 3], [4, 5, 6, 7, 8]]]}


@unittest.skipIf(torch is None or transformers is None or peft is None, "torch, transformers and peft are not installed")
class Adapters(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.base = write_small_qwen(self.folder / "base")
        torch.set_num_threads(1)

    def opened(self, **more):
        settings = {"learningRate": 1e-2, "device": DEVICE, "reference": True, "lora": LORA, **more}
        return Trainer({"model": {"kind": "folder", "path": str(self.base)}, **settings})

    def test_a_fresh_adapter_says_what_the_model_says_and_is_all_that_is_trained(self):
        trainer, bare = self.opened(), self.opened(lora=None)
        rows = read(skewed(), trainer)
        before, expected = (each.read(rows, [list(range(9))], 1.0) for each in (trainer, bare))
        torch.testing.assert_close(before["log_probs"], expected["log_probs"])
        frozen = {name: each.clone() for name, each in trainer.model.module.named_parameters() if "lora_" not in name}
        trainer.update(rows, {**STEPS, "kl": {"kind": "k3", "coefficient": 0.1}})
        after = trainer.read(rows, [list(range(9))], 1.0)
        self.assertGreater(float((after["log_probs"] - before["log_probs"]).abs().max()), 1e-3)
        torch.testing.assert_close(after["ref_log_probs"], before["log_probs"])
        for name, tensor in frozen.items():
            self.assertTrue(torch.equal(trainer.model.module.get_parameter(name), tensor), name)
        self.assertLess(memory_of(trainer)["perParameter"], memory_of(bare)["perParameter"] / 2)

    def test_a_checkpoint_is_an_adapter_that_peft_opens_with_the_log_probs_of_the_trainer(self):
        trainer = self.opened()
        rows = read(skewed(), trainer)
        trainer.update(rows, STEPS)
        state = save_checkpoint(trainer, self.folder / "kept")
        kept = self.folder / "kept" / state["checkpoint"]
        self.assertFalse((kept / "model.safetensors").exists())
        self.assertEqual(digest_tensors(decode_tensors((kept / "adapter_model.safetensors").read_bytes())), state["weights"])
        config = json.loads((kept / "adapter_config.json").read_text())
        self.assertEqual((config["r"], config["lora_alpha"], set(config["target_modules"])), (4, 8, {"q_proj", "v_proj"}))
        opened = peft.PeftModel.from_pretrained(transformers.AutoModelForCausalLM.from_pretrained(self.base), str(kept)).eval()
        start, end = rows.offsets[4], rows.offsets[5]
        ids = rows.ids[start:end].long()[None]
        with torch.no_grad():
            logs = torch.log_softmax(opened(input_ids=ids).logits[0, :-1].float(), -1)
        expected = logs.gather(-1, ids[0, 1:, None])[:, 0] * rows.mask[start + 1 : end]
        found = trainer.read(rows, [list(range(9))], 1.0)["log_probs"][start + 1 : end]
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)

    def test_a_training_resumed_from_an_adapter_equals_one_without_interruption(self):
        steady, resumed = self.opened(), self.opened(seed=5)
        rows = read(skewed(), steady)
        start = save_checkpoint(steady, self.folder)
        steady.update(rows, STEPS)
        state = save_checkpoint(steady, self.folder)
        load_checkpoint(resumed, self.folder / state["checkpoint"])
        resumed.hold_to(self.folder / start["checkpoint"])
        for each in (steady, resumed):
            each.update(rows, {**STEPS, "kl": {"kind": "k2", "coefficient": 0.1}})
        self.assertEqual(save_checkpoint(resumed, self.folder), save_checkpoint(steady, self.folder))

    def test_the_folder_of_an_adapter_is_served_as_the_model_that_was_trained(self):
        trainer = self.opened()
        trainer.update(read(skewed(), trainer), STEPS)
        state = save_checkpoint(trainer, self.folder)
        served = open_model({"kind": "folder", "path": str(self.folder / state["checkpoint"])}, 0, DEVICE)
        self.assertEqual(digest_tensors(served.tensors()), state["weights"])
        draw = lambda model: sample_replies(model, [3, 4, 5], count=2, longest=6, temperature=1.0, seed=1)
        for one, other in zip(draw(served), draw(trainer.model)):
            self.assertEqual(one["ids"], other["ids"])

    def test_the_folder_of_an_adapter_whose_tensors_do_not_fit_is_refused(self):
        folder = self.folder / save_checkpoint(self.opened(), self.folder)["checkpoint"]
        file = folder / "adapter_model.safetensors"
        whole = decode_tensors(file.read_bytes())
        name, tensor = sorted(whole.items())[0]
        less = {other: each for other, each in whole.items() if other != name}
        for change in (less, {**less, name: tensor[:, 1:]}, {**whole, name.replace("layers.0", "layers.9"): tensor.clone()}):
            file.unlink()
            write_tensors(file, change)
            with self.assertRaisesRegex(ModelRefused, "other tensors than the model"):
                open_model({"kind": "folder", "path": str(folder)}, 0, DEVICE)

    def test_an_adapter_that_is_not_possible_is_refused_with_the_reason(self):
        with self.assertRaisesRegex(ModelRefused, "nowhere_proj"):
            self.opened(lora={"rank": 4, "targets": ["nowhere_proj"]})
        with self.assertRaisesRegex(ModelRefused, "adapter of embeddings"):
            self.opened(lora={"rank": 4, "targets": ["embed_tokens"]})
        with self.assertRaisesRegex(ModelRefused, "not a tiny model"):
            Trainer({"model": TINY, "lora": LORA, "device": DEVICE})


if __name__ == "__main__":
    unittest.main()
