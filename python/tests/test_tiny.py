"""The tiny model that a command writes, and folders that lack a part of one."""

import shutil
import tempfile
import unittest
from pathlib import Path

try:
    import torch
    import transformers
except ImportError:
    torch = transformers = None


@unittest.skipUnless(torch and transformers, "needs torch and transformers")
class TinyFolder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        from espalier_rl.trainer.tiny import write_tiny

        cls.home = Path(tempfile.mkdtemp())
        cls.folder = write_tiny(cls.home / "tiny", seed=3)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.home)

    def opened(self, folder):
        from espalier_rl.trainer.language_model import open_model

        return open_model({"kind": "folder", "path": str(folder)}, 0, "cpu")

    def without(self, name, *files):
        folder = self.home / name
        shutil.copytree(self.folder, folder, ignore=shutil.ignore_patterns(*files))
        return folder

    def test_the_folder_opens_with_its_chat_template(self):
        model = self.opened(self.folder)
        chat = model.encode_chat([{"role": "user", "content": "hi"}])
        self.assertEqual(model.decode_whole(chat), "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n")
        self.assertFalse(model.reads_pictures)
        self.assertGreater(model.context, len(chat))

    def test_equal_seeds_write_equal_weights(self):
        from espalier_rl.trainer.tensors import digest_tensors
        from espalier_rl.trainer.tiny import write_tiny

        digest = lambda folder: digest_tensors(self.opened(folder).tensors())  # noqa: E731
        self.assertEqual(digest(write_tiny(self.home / "same", seed=3)), digest(self.folder))
        self.assertNotEqual(digest(write_tiny(self.home / "other", seed=4)), digest(self.folder))

    def test_heads_that_cannot_share_keys_and_values_evenly_are_refused(self):
        from espalier_rl.trainer.language_model import ModelRefused
        from espalier_rl.trainer.tiny import tiny_model

        with self.assertRaisesRegex(ModelRefused, "5 heads"):
            tiny_model(0, layers=1, width=20, heads=5, context=8)
        self.assertEqual(tiny_model(0, layers=1, width=12, heads=3, context=8)[0].config.num_key_value_heads, 1)

    def test_a_folder_without_tokenizer_is_refused_with_the_files_that_it_lacks(self):
        from espalier_rl.trainer.language_model import ModelRefused

        with self.assertRaisesRegex(ModelRefused, "has no tokenizer .tokenizer.json"):
            self.opened(self.without("no tokenizer", "tokenizer*"))

    def test_a_folder_without_weights_is_refused(self):
        from espalier_rl.trainer.language_model import ModelRefused

        with self.assertRaisesRegex(ModelRefused, "holds no model that transformers opens"):
            self.opened(self.without("no weights", "*.safetensors"))


if __name__ == "__main__":
    unittest.main()
