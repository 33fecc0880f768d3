"""Rollout dumps of slime as lines of JSON. slime is no package of PyPI: a dump is written as its `save_debug_rollout_data` does."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

try:
    import torch
except ImportError:
    torch = None

from espalier_rl.adapters.slime import samples_of

SAMPLE = {"group_index": 0, "prompt": "q", "response": "a", "response_length": 1, "loss_mask": None, "status": "completed", "metadata": {"level": 1}}


@unittest.skipIf(torch is None, "torch is not installed")
class Slime(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name, "rollout_3.pt")

    def dump(self, **fields):
        torch.save({"rollout_id": 3, "samples": [{**SAMPLE, **fields}]}, self.path)

    def run_it(self):
        return subprocess.run([sys.executable, "-m", "espalier_rl.adapters.slime", str(self.path)], capture_output=True, text=True, check=False)

    def test_tensors_become_lists_and_those_of_more_dimensions_are_left_out_and_counted(self):
        self.dump(tokens=torch.tensor([1, 2]), rollout_log_probs=[-0.5], rollout_routed_experts=torch.zeros(2, 2), multimodal_train_inputs={"pixels": torch.zeros(1, 1)})
        done = self.run_it()
        self.assertEqual({**SAMPLE, "tokens": [1, 2], "rollout_log_probs": [-0.5]}, json.loads(done.stdout))
        self.assertEqual(["rollout_routed_experts", "multimodal_train_inputs"], [line.split()[1] for line in done.stderr.splitlines()])

    def test_arrays_of_numpy_are_read_as_tensors_are(self):
        self.dump(tokens=torch.tensor([1, 2]).numpy(), rollout_routed_experts=torch.zeros(2, 2, dtype=torch.int32).numpy())
        [sample] = samples_of(self.path)
        self.assertEqual(({**SAMPLE, "tokens": [1, 2]}), sample)

    def test_a_dump_that_would_run_code_and_a_file_of_something_else_are_refused(self):
        class Runs:
            def __reduce__(self):
                return os.system, ("false",)

        self.dump(metadata=Runs())
        self.assertEqual(1, self.run_it().returncode)
        with self.assertRaisesRegex(ValueError, "without running its code"):
            next(samples_of(self.path))
        torch.save([1], self.path)
        with self.assertRaisesRegex(ValueError, "holds no list `samples`"):
            next(samples_of(self.path, Counter()))
