"""The server speaks the dialect that Espalier's client reads, and what it samples is what a trainer computes."""

import json
import tempfile
import threading
import unittest
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

from .device import DEVICE

try:
    import torch

    from espalier_rl.trainer.checkpoints import save_checkpoint
    from espalier_rl.trainer.generate import Asked, _Row, sample_batch, sample_replies
    from espalier_rl.trainer.language_model import open_model
    from espalier_rl.trainer.rows import read_rows
    from espalier_rl.trainer import serve
    from espalier_rl.trainer.serve import ModelServer, make_model_server
    from espalier_rl.trainer.trainer import Trainer

    from .test_packing import transformers, write_small_qwen
    from .test_trainer import TINY, opened, rows_of, write_small_llama
except ImportError:
    torch = transformers = None

CHAT = [{"role": "user", "content": "7"}]


@unittest.skipIf(torch is None, "torch is not installed")
class Sampling(unittest.TestCase):
    def test_log_probs_of_samples_equal_those_that_the_trainer_computes(self):
        for temperature in (1.0, 0.5):
            trainer = opened(model={**TINY, "width": 32})
            for parameter in trainer.model.module.parameters():
                parameter.data.mul_(3)  # far from uniform
            prompt = trainer.model.encode_chat(CHAT)
            replies = sample_replies(trainer.model, prompt, count=4, longest=6, temperature=temperature, seed=3)
            tensors = rows_of(*((len(prompt), [*prompt, *reply["ids"]], 1.0) for reply in replies))
            rows = read_rows(tensors, trainer.model.vocabulary, trainer.model.context)
            read = trainer.read(rows, [[0, 1], [2, 3]], temperature)["log_probs"]
            returned = torch.tensor([value for reply in replies for value in reply["log_probs"]])
            torch.testing.assert_close(read[rows.mask == 1], returned, rtol=1e-4, atol=1e-4)

    def test_a_reply_depends_on_prompt_seed_and_place_alone(self):
        model = open_model(TINY, 1, DEVICE)
        draw = lambda count, seed: sample_replies(model, model.encode_chat(CHAT), count=count, longest=5, temperature=1.0, seed=seed)
        for one, other in zip(draw(2, 9), draw(4, 9)):
            self.assertEqual(one["ids"], other["ids"])
            torch.testing.assert_close(torch.tensor(one["log_probs"]), torch.tensor(other["log_probs"]), rtol=1e-6, atol=1e-6)
        self.assertNotEqual(draw(1, 9), draw(1, 10))

    def test_a_reply_does_not_depend_on_what_is_drawn_with_it(self):
        for model in (open_model(TINY, 1, DEVICE), self.qwen()):
            if model is None:
                continue
            prompts = [[3, 4, 5], [6, 7, 8, 9, 10, 11, 12], [13], [14, 15]]
            asked = [
                Asked(prompt, 1 + i % 2, 3 + 2 * i, (0.0, 1.0, 0.7, 1.0)[i], seed=i) for i, prompt in enumerate(prompts)
            ]
            alone, together, order = {}, {}, []
            for i, each in enumerate(asked):
                sample_batch(model, [each], lambda _, replies, i=i: alone.update({i: replies}))
            sample_batch(model, asked, lambda i, replies: (order.append(i), together.update({i: replies})))
            self.assertEqual(sorted(order), [0, 1, 2, 3])
            self.assertEqual(order[0], 0)  # the shortest is answered first
            for i, replies in alone.items():
                self.assertEqual([reply["ids"] for reply in replies], [reply["ids"] for reply in together[i]])
                for one, other in zip(replies, together[i]):
                    torch.testing.assert_close(torch.tensor(one["log_probs"]), torch.tensor(other["log_probs"]), rtol=1e-4, atol=1e-4)

    def qwen(self):
        if transformers is None:
            return None
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return open_model({"kind": "folder", "path": str(write_small_qwen(Path(folder.name)))}, 0, DEVICE)

    def test_samples_follow_the_distribution(self):
        model = open_model(TINY, 1, DEVICE)
        logits = torch.zeros(model.vocabulary)
        logits[65] = 6.0  # e^6 against 262 others: 403 of 665
        model.module.lm_head.register_forward_hook(lambda _, __, made: logits.to(made).expand_as(made))
        replies = sample_replies(model, model.encode_chat(CHAT), count=1000, longest=1, temperature=1.0, seed=0)
        share = sum(reply["ids"] == [65] for reply in replies) / 1000
        self.assertAlmostEqual(share, 403.4 / 665.4, delta=0.06)

    def test_a_character_belongs_to_the_token_that_completes_it(self):
        class Bytes:
            def decode(self, ids):
                return bytes(ids).decode(errors="replace")

        text = "a\u00e9\U0001f333b"
        row = _Row(0, Asked([0], 1, 10, 1.0, 0, ("b",)), 1)
        taken = [row.take(byte, -1.0, 0.5, [], Bytes(), set()) for byte in text.encode()]
        self.assertEqual((row.reply["text"], taken[-1]), (text[:-1], True))
        self.assertEqual(row.reply["ends"], [1, 1, 2, 2, 2, 2, 3, 3])

    def test_a_model_of_transformers_samples_with_the_log_probs_of_its_trainer(self):
        try:
            import transformers
        except ImportError:
            self.skipTest("the package transformers is not installed")
        with tempfile.TemporaryDirectory() as folder:
            base = write_small_llama(transformers, Path(folder) / "base")
            trainer = Trainer({"model": {"kind": "folder", "path": str(base)}, "device": DEVICE})
            prompt = trainer.model.encode_chat([{"role": "user", "content": "a b"}])
            replies = sample_replies(trainer.model, prompt, count=3, longest=6, temperature=1.0, seed=4)
            tensors = rows_of(*((len(prompt), [*prompt, *reply["ids"]], 1.0) for reply in replies))
            rows = read_rows(tensors, trainer.model.vocabulary, trainer.model.context)
            read = trainer.read(rows, [[0, 1, 2]], 1.0)["log_probs"]
            returned = torch.tensor([value for reply in replies for value in reply["log_probs"]])
            torch.testing.assert_close(read[rows.mask == 1], returned, rtol=1e-4, atol=1e-4)
            entropies = trainer.read(rows, [[0, 1, 2]], 1.0)["entropies"]
            returned = torch.tensor([value for reply in replies for value in reply["entropies"]])
            torch.testing.assert_close(entropies[rows.mask == 1], returned, rtol=1e-4, atol=1e-4)
            for reply in replies:
                self.assertEqual(reply["ends"], sorted(reply["ends"]))
                self.assertEqual((len(reply["ends"]), reply["ends"][-1]), (len(reply["ids"]), len(reply["text"])))

    def test_replies_of_a_model_that_carries_a_state_do_not_depend_on_what_is_drawn_with_them(self):
        if transformers is None:
            self.skipTest("the package transformers is not installed")
        sizes = {"vocab_size": 32, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
        linear = {f"linear_{name}": 2 if name.startswith("num") else 8 for name in ("num_key_heads", "num_value_heads", "key_head_dim", "value_head_dim")}
        hybrid = {**sizes, **linear, "head_dim": 8, "layer_types": ["linear_attention", "full_attention"]}
        experts = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "shared_expert_intermediate_size": 16}
        attended = {"attn_layer_period": 2, "attn_layer_offset": 1, "num_experts": 2, "mamba_d_state": 8}
        for kind, options in (
            ("qwen3_5_text", hybrid),
            ("qwen3_next", {**hybrid, **experts}),
            ("jamba", {**sizes, **attended}),
            ("mamba", {"vocab_size": 32, "hidden_size": 32, "state_size": 8, "num_hidden_layers": 2}),
        ):
            with tempfile.TemporaryDirectory() as folder, self.subTest(kind):
                write_small_qwen(folder)  # its tokenizer
                torch.manual_seed(0)
                config = transformers.CONFIG_MAPPING[kind](**options, eos_token_id=1, pad_token_id=0)
                transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
                trainer = Trainer({"model": {"kind": "folder", "path": folder}, "device": DEVICE})
                self.assertTrue(trainer.model.carries_state)
                asked = [Asked([3 + i] * (2 + i), 2, 3 + 2 * i, 1.0, i) for i in range(3)]
                together = [None] * 3
                sample_batch(trainer.model, asked, together.__setitem__)
                for one, replies in zip(asked, together):
                    sample_batch(trainer.model, [one], lambda _, alone, replies=replies: self.assertEqual(replies, alone))
                    tensors = rows_of(*((len(one.prompt), [*one.prompt, *reply["ids"]], 1.0) for reply in replies))
                    rows = read_rows(tensors, trainer.model.vocabulary, trainer.model.context)
                    read = trainer.read(rows, [[0, 1]], 1.0)["log_probs"][rows.mask == 1]
                    torch.testing.assert_close(read, torch.tensor([value for reply in replies for value in reply["log_probs"]]), rtol=1e-4, atol=1e-4)


@unittest.skipIf(torch is None, "torch is not installed")
class Protocol(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.first = save_checkpoint(opened(), folder.name)
        self.second = save_checkpoint(opened(seed=8), folder.name)
        start = Path(folder.name) / self.first["checkpoint"]
        self.model = server = ModelServer(start, name="tiny", device=DEVICE, precision="float32", weights_root=folder.name)
        http = make_model_server(server)
        threading.Thread(target=http.serve_forever, daemon=True).start()
        self.addCleanup(http.server_close)
        self.addCleanup(http.shutdown)
        self.url = f"http://127.0.0.1:{http.server_address[1]}/v1"

    def post(self, path, value):
        request = urllib.request.Request(self.url + path, data=json.dumps(value).encode(), headers={"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def test_the_server_returns_ids_and_log_probs_on_request(self):
        asked = {"model": "tiny", "messages": CHAT, "n": 2, "max_tokens": 4, "seed": 1, "logprobs": True, "return_token_ids": True}
        status, answer = self.post("/chat/completions", asked)
        self.assertEqual((status, len(answer["choices"]), answer["usage"]["prompt_tokens"]), (200, 2, 6))
        self.assertEqual(len(answer["prompt_token_ids"]), 6)
        for choice in answer["choices"]:
            self.assertEqual(len(choice["token_ids"]), len(choice["logprobs"]["content"]))
            self.assertIn(choice["finish_reason"], ("stop", "length"))
            content = choice["logprobs"]["content"]
            self.assertEqual(b"".join(bytes(token["bytes"]) for token in content).decode(), choice["message"]["content"])
            self.assertTrue(all(token["entropy"] > 0 for token in content))
        used = sum(len(choice["token_ids"]) for choice in answer["choices"])
        self.assertEqual(answer["usage"]["completion_tokens"], used)
        self.assertEqual(self.post("/chat/completions", asked)[1]["choices"], answer["choices"])

    def test_the_likeliest_tokens_are_those_of_what_is_drawn_from(self):
        asked = {"model": "tiny", "messages": CHAT, "max_tokens": 1, "seed": 1, "logprobs": True, "top_logprobs": 5}
        gaps = []
        for temperature in (1, 2):
            _, answer = self.post("/chat/completions", {**asked, "temperature": temperature})
            top = [each["logprob"] for each in answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]]
            gaps.append(top[0] - top[4])
        self.assertAlmostEqual(gaps[0], 2 * gaps[1], 6)

    def test_requests_that_wait_are_drawn_together_and_answered_as_they_would_be_alone(self):
        asked = [{"messages": [{"role": "user", "content": "7" * (1 + i)}], "max_tokens": 4, "seed": i, "return_token_ids": True} for i in range(6)]
        alone = [self.post("/chat/completions", each)[1]["choices"] for each in asked]
        sizes, drawn = [], serve.sample_batch
        released = threading.Event()

        def held(model, requests, done):
            sizes.append(len(requests))
            released.wait(60)
            drawn(model, requests, done)

        serve.sample_batch = held
        self.addCleanup(setattr, serve, "sample_batch", drawn)
        with ThreadPoolExecutor(6) as pool:
            answers = [pool.submit(self.post, "/chat/completions", each) for each in asked]
            while sum(sizes) + len(self.model.batches.waiting) < 6:
                threading.Event().wait(0.01)
            released.set()
            together = [each.result()[1]["choices"] for each in answers]
        self.assertEqual(together, alone)
        self.assertEqual(sum(sizes), 6)
        self.assertLessEqual(len(sizes), 2)  # the first may have begun alone

    def test_clients_that_ask_together_again_are_drawn_together_and_none_is_turned_away(self):
        sizes, drawn = [], serve.sample_batch

        def counted(model, requests, done):
            sizes.append(len(requests))
            drawn(model, requests, done)

        self.model.batches.latest.extend([40, 40])  # as many were answered at once before
        with ThreadPoolExecutor(40) as pool, mock.patch.multiple(serve, QUIET=30, GATHER=30, sample_batch=counted):
            answers = list(pool.map(lambda i: self.post("/chat/completions", {"messages": CHAT, "max_tokens": 1, "seed": i}), range(40)))
        self.assertEqual(({status for status, _ in answers}, sizes), ({200}, [40]))

    def test_an_unsupported_request_is_refused_with_the_reason(self):
        for change, reason in (
            ({"messages": []}, "at least one"),
            ({"messages": [{"role": "tool", "content": ""}]}, "role"),
            ({"messages": [{"role": "user", "content": "x" * 40}]}, "maximum context length is 32"),
            ({"n": 0}, "n must be"),
            ({"temperature": "hot"}, "temperature must be"),
            ({"top_p": 0.9}, "top_p must be 1"),
            ({"top_k": 20}, "top_k must be -1"),
            ({"min_p": 0.1}, "min_p must be 0"),
            ({"repetition_penalty": 1.1}, "repetition_penalty must be 1"),
        ):
            status, answer = self.post("/chat/completions", {"messages": CHAT, **change})
            self.assertEqual(status, 400)
            self.assertIn(reason, answer["error"]["message"])

    def test_a_reload_takes_the_weights_of_a_checkpoint_and_nothing_else(self):
        status, answer = self.post("/weights", {"checkpoint": self.second["checkpoint"]})
        self.assertEqual((status, answer["weights"]), (200, self.second["weights"]))
        self.assertEqual(self.post("/chat/completions", {"messages": CHAT, "max_tokens": 1})[1]["system_fingerprint"], self.second["weights"])
        self.assertEqual(self.post("/weights", {"checkpoint": "../elsewhere"})[0], 400)
        self.assertEqual(self.post("/weights", {"checkpoint": "0" * 64})[0], 400)


if __name__ == "__main__":
    unittest.main()
