"""Two processes that share a model come to the weights of one, and their checkpoints are the same."""

import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from espalier_rl.trainer import PROTOCOL
from espalier_rl.trainer.frames import read_frame, write_frame

try:
    import torch

    from espalier_rl.trainer.session import Session
    from espalier_rl.trainer.tensors import decode_tensors, encode_tensors

    from .test_packing import skewed, transformers, write_small_qwen
    from .test_trainer import SETTINGS
except ImportError:
    torch = transformers = None

PACKAGE = Path(__file__).parents[1]


class Together:
    """A session whose model is spread over processes that torchrun starts."""

    def __init__(self, module="espalier_rl.trainer"):
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m", module]
        env = {**os.environ, "OMP_NUM_THREADS": "1"}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.child = subprocess.Popen(command, cwd=PACKAGE, env=env, start_new_session=True, **pipes)

    def answer(self, message, body):
        write_frame(self.child.stdin, message, body)
        frame = read_frame(self.child.stdout)
        if frame is None:
            raise AssertionError(self.child.communicate()[1].decode()[-4000:])
        return frame

    def close(self):
        self.child.kill()  # the others notice that it is gone, as they do after a crash
        self.child.communicate()


@unittest.skipIf(torch is None or transformers is None, "torch and transformers are not installed")
class Sharded(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.two = Together()  # one start for all tests that leave it running: each opens its own model in it
        cls.addClassCleanup(cls.two.close)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.base = write_small_qwen(self.folder / "base", tie_word_embeddings=True)
        torch.set_num_threads(1)

    def ask(self, session, kind, body=b"", **message):
        answer, data = session.answer({"id": 1, "kind": kind, **message}, body)
        self.assertEqual(answer["kind"], "ok", answer)
        return answer, data

    def open(self, session, precision="float32", **more):
        self.ask(session, "hello", protocol=PROTOCOL)
        model = {"kind": "folder", "path": str(self.base), "precision": precision}
        settings = {"learningRate": 1e-3, "epsilon": 1e-2, "device": "cpu", "threads": 1, "valueHead": True, "reference": True}
        return self.ask(session, "open", model=model, **settings, **more)[0]

    def update(self, session):
        rows = skewed()
        rows["values"], rows["returns"] = torch.zeros(len(rows["ids"])), torch.full((len(rows["ids"]),), 0.5)
        steps = [[[0, 1, 2], [3], [4]], [[5, 6, 7, 8]]]
        settings = {**SETTINGS, "epochs": 1, "miniBatches": steps, "kl": {"kind": "k3", "coefficient": 0.1}, "critic": {}}
        return self.ask(session, "update", encode_tensors(rows), settings=settings)[0]["metrics"]

    def weights(self, state, file="model.safetensors"):
        return decode_tensors((self.folder / "kept" / state["checkpoint"] / file).read_bytes())

    def test_two_processes_train_as_one_does_and_either_goes_on_from_the_others_checkpoint(self):
        one, two = Session(), self.two
        states, reads, metrics = [], [], []
        for session in (one, two):
            facts = self.open(session, checkpointing=session is two)
            self.assertEqual(facts["memory"]["processes"], 1 if session is one else 2)
            asked = {"microBatches": [list(range(9))], "temperature": 0.7, "squaredProbs": True}
            reads.append(decode_tensors(self.ask(session, "read", encode_tensors(skewed()), **asked)[1]))
            metrics.append(self.update(session))
            states.append(self.ask(session, "save", folder=str(self.folder / "kept"))[0]["state"])
        for name, column in reads[0].items():
            torch.testing.assert_close(reads[1][name], column, rtol=1e-5, atol=1e-5)
        self.assertEqual(set(metrics[0]), set(metrics[1]))
        for name, value in metrics[0].items():
            self.assertAlmostEqual(value, metrics[1][name], places=3, msg=name)
        self.close(states)
        # Each goes on from what the other left: weights, moments and critic are those of one training.
        for session, state in ((one, states[1]), (two, states[0])):
            self.assertEqual(self.ask(session, "load", folder=str(self.folder / "kept" / state["checkpoint"]))[0]["state"], state)
            self.assertEqual(self.ask(session, "save", folder=str(self.folder / "kept"))[0]["state"], state)
            self.update(session)
        self.close([self.ask(session, "save", folder=str(self.folder / "kept"))[0]["state"] for session in (one, two)])

    def close(self, states):
        first, second = (self.weights(state) for state in states)
        self.assertEqual(set(first), set(second))
        before = decode_tensors((self.base / "model.safetensors").read_bytes())
        self.assertTrue(any(not torch.equal(first[name], before[name]) for name in first))
        for name, tensor in first.items():
            torch.testing.assert_close(second[name], tensor, rtol=1e-5, atol=1e-5, msg=name)

    def test_two_processes_train_an_adapter_as_one_does(self):
        found = []
        for session in (Session(), self.two):
            self.open(session, lora={"rank": 4, "targets": "all-linear"})
            start = self.ask(session, "save", folder=str(self.folder / "kept"))[0]["state"]
            self.update(session)
            state = self.ask(session, "save", folder=str(self.folder / "kept"))[0]["state"]
            self.ask(session, "hold", folder=str(self.folder / "kept" / start["checkpoint"]))
            self.update(session)
            found.append((start, self.weights(state, "adapter_model.safetensors")))
        self.assertEqual(found[0][0], found[1][0])
        for name, tensor in found[0][1].items():
            torch.testing.assert_close(found[1][1][name], tensor, rtol=1e-5, atol=1e-5, msg=name)

    def test_bfloat16_is_how_passes_are_computed_on_one_process_as_on_two_and_what_is_kept_is_float32(self):
        reads, losses = [], []
        asked = {"microBatches": [[0, 1, 2, 3], [4, 5, 6, 7, 8]], "temperature": 1.0}
        for session, precision in ((Session(), "float32"), (Session(), "bfloat16"), (self.two, "bfloat16")):
            self.open(session, precision=precision)
            reads.append(decode_tensors(self.ask(session, "read", encode_tensors(skewed()), **asked)[1])["log_probs"])
            losses.append(self.update(session)["klLoss"])
            state = self.ask(session, "save", folder=str(self.folder / "kept"))[0]["state"]
        self.assertEqual({tensor.dtype for tensor in self.weights(state).values()}, {torch.float32})
        moments = decode_tensors((self.folder / "kept" / state["checkpoint"] / "trainer.safetensors").read_bytes())
        self.assertEqual({tensor.dtype for tensor in moments.values()}, {torch.float32})
        self.assertNotEqual(losses[0], losses[1])
        self.assertGreater(float((reads[0] - reads[1]).abs().max()), 0.01)
        torch.testing.assert_close(reads[2], reads[1], rtol=0, atol=1e-4)
        self.assertAlmostEqual(losses[1], losses[2], places=3)

    def test_a_refused_request_is_answered_once_and_the_processes_go_on(self):
        two = self.two
        self.open(two)
        answer, _ = two.answer({"id": 7, "kind": "load", "folder": "/nowhere"}, b"")
        self.assertEqual((answer["id"], answer["code"]), (7, "damaged"))
        self.update(two)

    def test_what_struck_one_process_alone_is_answered_and_ends_them_all(self):
        two = Together("tests.failing_process")
        self.addCleanup(two.close)
        self.ask(two, "hello", protocol=PROTOCOL)
        answer, _ = two.answer({"id": 7, "kind": "read"}, b"")
        self.assertEqual((answer["id"], answer["code"], answer["message"]), (7, "memory", "the second device is full"))
        two.child.communicate(timeout=60)
        self.assertNotEqual(two.child.returncode, 0)

    def test_one_process_that_is_killed_ends_all_of_them(self):
        two = Together()
        self.addCleanup(two.close)
        self.ask(two, "hello", protocol=PROTOCOL)
        listed = subprocess.run(["ps", "-eo", "pid,ppid"], capture_output=True, text=True, check=True).stdout.split("\n")[1:]
        children = [int(line.split()[0]) for line in listed if line.strip() and int(line.split()[1]) == two.child.pid]
        self.assertEqual(len(children), 2)
        os.kill(children[-1], signal.SIGKILL)
        two.child.communicate(timeout=60)  # every process that held the streams is gone
        self.assertNotEqual(two.child.returncode, 0)


if __name__ == "__main__":
    unittest.main()
