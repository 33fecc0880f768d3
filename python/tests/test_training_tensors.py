"""Rows of a leased batch as tensors, log-probs under a model, and a batch that two processes train together."""

import importlib.util
import multiprocessing
import os
import tempfile
import types
import unittest
from pathlib import Path

from espalier_rl.errors import EspalierError
from espalier_rl.rows import Rows, RowsRefused

from .rows_body import padded_body_of
from .test_leases import Installation, refusal

HAS_TORCH = importlib.util.find_spec("torch") is not None
ROWS = [
    {"group": 0, "prompt": [7, 8], "tokens": [(1, 1, -0.5), (2, 0, 0.0), (3, 1, -0.25)], "score": 1.0},
    {"group": 0, "prompt": [9], "tokens": [(4, 1, -0.5)], "score": 0.0},
    {"group": 1, "prompt": [5, 6, 7], "tokens": [(2, 1, -1.0), (3, 1, -1.0)], "score": 1.0},
    {"group": 1, "prompt": [5], "tokens": [(8, 1, -0.125)], "score": 0.5},
]


@unittest.skipUnless(HAS_TORCH, "torch is not installed")
class Tensors(unittest.TestCase):
    def setUp(self):
        self.rows = Rows(bytearray(padded_body_of(*ROWS, advantages=[1.0, -1.0, 0.5, -0.5])))

    def test_columns_are_views_of_the_body_by_whatever_rows_of_it(self):
        from espalier_rl.training.tensors import tensors_of

        whole, part = tensors_of(self.rows, 0, 4), tensors_of(self.rows, 2, 4)
        self.assertEqual({name: tuple(column.shape) for name, column in part.items() if name in ("input_ids", "responses", "advantages", "num_turns")},
                         {"input_ids": (2, 6), "responses": (2, 3), "advantages": (2, 3), "num_turns": (2,)})
        part["advantages"].zero_()
        self.assertEqual(whole["advantages"].sum().item(), 1.0)  # two tokens of the first row, one of the second, by the same memory
        self.assertEqual(part["responses"].tolist(), [[2, 3, 0], [8, 0, 0]])
        copied = tensors_of(self.rows, 0, 4, "cpu")
        self.assertEqual(copied["responses"].tolist(), whole["responses"].tolist())

    def test_a_dataset_yields_each_row_without_its_padding_and_workers_share_them_out(self):
        import torch
        from espalier_rl.training.tensors import RowDataset

        dataset = RowDataset(self.rows, 1, 4)
        seen = list(dataset)
        self.assertEqual(len(dataset), 3)
        self.assertEqual([row["prompt_ids"].tolist() for row in seen], [[9], [5, 6, 7], [5]])
        self.assertEqual([row["response_ids"].tolist() for row in seen], [[4], [2, 3], [8]])
        self.assertEqual([row["advantages"].tolist() for row in seen], [[-1.0], [0.5, 0.5], [-0.5]])
        self.assertEqual([row["group"] for row in seen], ["tree 0", "tree 1", "tree 1"])
        loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=2)
        self.assertEqual(sorted(row["response_ids"].tolist() for row in loader), [[2, 3], [4], [8]])

    def test_log_probs_are_those_of_the_sampled_tokens_at_the_temperature_of_the_record(self):
        import torch
        from espalier_rl.training.tensors import log_probs, temperatures, tensors_of
        from transformers import Qwen2Config, Qwen2ForCausalLM

        torch.manual_seed(0)
        config = Qwen2Config(vocab_size=16, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1)
        model = Qwen2ForCausalLM(config).eval()
        found = log_probs(model, tensors_of(self.rows, 0, 4), temperatures(self.rows))
        for place, row in enumerate(ROWS):
            ids = torch.tensor([row["prompt"] + [token for token, _, _ in row["tokens"]]])
            exact = torch.log_softmax(model(ids).logits[0] / 0.5, -1)
            for i, (token, mask, _) in enumerate(row["tokens"]):
                wanted = exact[len(row["prompt"]) + i - 1, token].item() if mask else 0.0
                self.assertAlmostEqual(found[place, i].item(), wanted, places=5)
        self.assertTrue(found.requires_grad)

    def test_rows_without_token_ids_of_prompts_have_no_log_probs(self):
        from espalier_rl.training.tensors import log_probs, tensors_of

        rows = Rows(bytearray(padded_body_of(*ROWS, prompts=False)))
        with self.assertRaisesRegex(EspalierError, "no token ids of their prompts.*record prompt_ids"):
            log_probs(None, tensors_of(rows, 0, 4), 1.0)

    def test_rows_that_were_shown_pictures_are_refused_by_every_way_of_reading_them(self):
        from espalier_rl.training.batch import Batch
        from espalier_rl.training.processes import Alone

        self.rows.names["images"] = [[], [], ["a" * 64], []]
        lease = types.SimpleNamespace(batch_id="b", ordinal=0, policy_id="p", base={"version": 0}, samples=4, tokens=7, estimator={})
        batch = Batch(lease, self.rows, Alone(), lambda made: None)
        for read in (batch.tensors, batch.dataset, lambda: batch.log_probs(None), lambda: batch.log_probs(None, temperature=1.0)):
            with self.assertRaisesRegex(RowsRefused, r"row 2 \(rollout .*\) was shown pictures.*espalier train --backend torch"):
                read()

    def test_columns_of_a_layout_without_padding_are_cut_at_the_borders_of_rows(self):
        from espalier_rl.training.tensors import tensors_of

        from .rows_body import body_of

        part = tensors_of(Rows(bytearray(body_of(*ROWS))), 1, 3)
        self.assertEqual(part["responses"].tolist(), [4, 2, 3])
        self.assertEqual(part["cu_seqlens"].tolist(), [0, 1, 3])
        self.assertEqual(part["prompts"].tolist(), [9, 5, 6, 7])
        self.assertEqual(part["prompt_cu_seqlens"].tolist(), [0, 1, 4])


@unittest.skipUnless(HAS_TORCH, "torch is not installed")
class Processes(unittest.TestCase):
    """Two processes of gloo, started as torchrun starts them, against one server."""

    def setUp(self):
        self.installation = Installation()
        self.addCleanup(self.installation.close)
        self.installation.body = bytes(padded_body_of(*ROWS, advantages=[1.0, -1.0, 0.5, -0.5]))
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_two_processes_have_one_lease_and_each_its_rows_and_one_acknowledges(self):
        said = self.run_both("train")
        self.assertEqual(said, [([1, 3], 6, 5), ([2, 3, 8], 6, 5)])
        verbs = [verb for verb, _, _ in self.installation.seen]
        self.assertEqual((verbs.count("lease"), verbs.count("rows"), verbs.count("ack")), (1, 2, 1))

    def test_what_the_first_process_is_refused_is_raised_in_both(self):
        self.installation.script("ack", refusal(409, "stale-fence", "lease l1 ended at its deadline", "drop it"))
        said = self.run_both("train")
        self.assertEqual(said, ["LeaseLost: lease l1 ended at its deadline; drop it"] * 2)

    def test_processes_that_are_not_joined_are_refused_before_any_lease(self):
        said = self.run_both("unjoined")
        for each in said:
            self.assertIn("torchrun started 2 processes, and they are not joined", each)
        self.assertEqual(self.installation.bodies("lease"), [])

    def run_both(self, what):
        context = multiprocessing.get_context("spawn")
        answers = context.Queue()
        processes = [context.Process(target=train, args=(rank, what, self.installation.url, str(self.folder), answers)) for rank in (0, 1)]
        for process in processes:
            process.start()
        found = dict(answers.get(timeout=300) for _ in processes)
        for process in processes:
            process.join(60)
        return [found[0], found[1]]


def train(rank, what, url, folder, answers):
    os.environ.update(WORLD_SIZE="2", RANK=str(rank))
    from torch import distributed

    from espalier_rl.database import connect

    try:
        pol = connect(url, token="key", retry_s=20).training("qwen", consumer="both")
        if what == "train":
            distributed.init_process_group("gloo", init_method=f"file://{folder}/{what}", rank=rank, world_size=2)
        for batch in pol.batches(updates=1, prefetch=False):
            columns = batch.tensors()
            own = columns["responses"][columns["response_mask"] == 1].tolist()
            said = batch.ack(weights="b" * 64, metrics={"loss": 1.0})
            found = (own[:2] if rank == 0 else own, batch.sampled_tokens, said["version"])
        answers.put((rank, found))
    except Exception as error:
        answers.put((rank, f"{type(error).__name__}: {error}"))
    finally:
        if distributed.is_initialized():
            distributed.destroy_process_group()


if __name__ == "__main__":
    unittest.main()
