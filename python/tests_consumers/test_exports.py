"""What the guide to exports says of reading pictures, run as it is written there."""

import json
import os
import re
import tempfile
import unittest
from pathlib import Path

from datasets import load_dataset
from PIL import Image

GUIDE = Path(__file__).parents[2] / "docs/guides/export.md"


class Pictures(unittest.TestCase):
    def test_the_block_of_the_guide_reads_the_pictures_next_to_a_file(self):
        [block] = [each for each in re.findall(r"```python run\n(.*?)```", GUIDE.read_text(), re.DOTALL) if "cast_column" in each]
        home = os.getcwd()
        self.addCleanup(os.chdir, home)
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            os.makedirs("__images__/data.jsonl")
            for name in "abcdefgh":  # more of them than files of rows
                Image.new("RGB", (3, 2), (10, 20, 30)).save(f"__images__/data.jsonl/{name}.png")
            os.mkdir("_manifests")
            Path("_manifests/data.manifest-jsonl").write_text("{}")
            content = [{"type": "image"}, {"type": "text", "text": "x"}]
            rows = [{"messages": [{"role": "user", "content": content}], "images": ["__images__/data.jsonl/a.png"]}, {"messages": [], "images": []}]
            Path("data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
            scope = {}
            exec(block, scope)
            [picture] = scope["rows"][0]["images"]
            self.assertEqual((picture.size, picture.getpixel((0, 0)), scope["rows"][1]["images"]), ((3, 2), (10, 20, 30), []))
            read = load_dataset(folder, split="train")
            self.assertEqual(read["images"], [["__images__/data.jsonl/a.png"], []])
            os.chdir(home)


if __name__ == "__main__":
    unittest.main()
