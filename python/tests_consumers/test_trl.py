"""A leased body trained by TRL itself, on CPU: SFTTrainer, DPOTrainer and GRPOTrainer count the tokens that the policy sampled."""

import json
import tempfile
import types
import unittest
from pathlib import Path

import torch
import transformers
from trl import DPOConfig, GRPOConfig, SFTConfig, SFTTrainer

from espalier_rl.adapters.trl import (
    LeasedRollouts,
    RecordedDPOTrainer,
    RecordedGRPOTrainer,
    RowsRefused,
    ScoredCompletions,
    preference_dataset,
    sft_dataset,
)
from espalier_rl.rows import Rows
from tests.rows_body import body_of

from .tiny_model import count_sampled, sampled_rows, tiny_qwen2, tiny_tokenizer, write_talker


class Recorded(unittest.TestCase):
    def setUp(self):
        self.model = tiny_qwen2()
        self.rows = sampled_rows(self.model)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.common = {"output_dir": folder.name, "use_cpu": True, "bf16": False, "report_to": [], "log_level": "error", "save_strategy": "no", "logging_steps": 1, "disable_tqdm": True}

    def counted(self, trainer, label):
        """Trains, and adds up what `label` counts in the batches that the loss is computed of."""
        seen = []
        compute = trainer.compute_loss

        def compute_loss(model, inputs, *positional, **options):
            seen.append(label(inputs))
            return compute(model, inputs, *positional, **options)

        trainer.compute_loss = compute_loss
        trainer.train()
        return sum(seen)


class Sft(Recorded):
    def test_sft_trains_the_sampled_tokens_and_no_other(self):
        for prompt_column in (True, False):
            dataset = sft_dataset(Rows(body_of(*self.rows, prompt_column=prompt_column)))
            self.assertEqual(dataset[0]["input_ids"], [*self.rows[0]["prompt"], *(token for token, _, _ in self.rows[0]["tokens"])])
            wanted = [-100] * len(self.rows[0]["prompt"]) + [token if mask else -100 for token, mask, _ in self.rows[0]["tokens"]]
            self.assertEqual(dataset[0]["labels"], wanted)
        args = SFTConfig(**self.common, per_device_train_batch_size=4, num_train_epochs=1, max_length=64)
        trainer = SFTTrainer(model=self.model, args=args, train_dataset=dataset, processing_class=tiny_tokenizer())
        before = [weights.clone() for weights in self.model.parameters()]
        trained = self.counted(trainer, lambda inputs: int((inputs["labels"] != -100).sum()))
        self.assertEqual(trained, count_sampled(self.rows))
        self.assertTrue(any(not torch.equal(old, new) for old, new in zip(before, self.model.parameters())))

    def test_rows_below_a_score_are_left_out_and_none_left_is_refused(self):
        body = Rows(body_of(*self.rows))
        good = [row for row in self.rows if row["score"] >= 1]
        dataset = sft_dataset(body, at_least=1.0)
        self.assertEqual(sum(label != -100 for row in dataset for label in row["labels"]), count_sampled(good))
        with self.assertRaisesRegex(RowsRefused, "no row of 8 has a score of 2.0 or more"):
            sft_dataset(body, at_least=2.0)


class Dpo(Recorded):
    def test_dpo_compares_the_best_with_the_worst_row_of_a_group_by_their_sampled_tokens(self):
        dataset = preference_dataset(Rows(body_of(*self.rows)))
        pairs = [(self.rows[1], self.rows[0]), (self.rows[5], self.rows[4])]
        self.assertEqual([row["prompt_ids"] for row in dataset], [good["prompt"] for good, _ in pairs])
        self.assertEqual([row["chosen_ids"] for row in dataset], [[token for token, _, _ in good["tokens"]] for good, _ in pairs])
        args = DPOConfig(**self.common, per_device_train_batch_size=2, num_train_epochs=1, max_length=64)
        trainer = RecordedDPOTrainer(
            model=self.model, ref_model=tiny_qwen2(), args=args, train_dataset=dataset, processing_class=tiny_tokenizer()
        )
        trained = self.counted(trainer, lambda inputs: int(inputs["completion_mask"].sum()))
        self.assertEqual(trained, sum(count_sampled(pair) for pair in pairs))

    def test_groups_without_a_better_row_are_refused(self):
        even = [{**row, "score": 0.0} for row in self.rows]
        with self.assertRaisesRegex(RowsRefused, "no group has two rows of one prompt whose scores differ by more than 0.0"):
            preference_dataset(Rows(body_of(*even)))


class LeasesOf:
    """A client whose batches are these bodies."""

    def __init__(self, *bodies):
        self.leases = [FakeLease(Rows(body), version) for version, body in enumerate(bodies)]

    def batches(self, policy_id, *, layout, idle_s, ttl_s):
        self.asked = (policy_id, layout)
        yield from self.leases


class FakeLease:
    def __init__(self, rows, version):
        self.rows, self.base, self.made = rows, {"version": version}, None

    def ack(self, **made):
        self.made = made
        return {"kind": "acked", "version": self.base["version"] + 1}


class Grpo(Recorded):
    def config(self, **options):
        args = {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 2, "num_generations": 4, "max_completion_length": 32}
        return GRPOConfig(**self.common, **args, max_steps=2, temperature=1.0, learning_rate=1e-3, beta=0.0, **options)

    def trainer(self, client, **options):
        return RecordedGRPOTrainer(
            model=self.model, source=LeasedRollouts(client, "p"), args=self.config(**options), processing_class=tiny_tokenizer()
        )

    def test_grpo_trains_the_sampled_tokens_of_each_batch_and_acknowledges_it_with_its_weights(self):
        client = LeasesOf(body_of(*self.rows), body_of(*self.rows))
        trainer = self.trainer(client)
        ratios = []

        def sampled(inputs):
            mask = inputs["completion_mask"] * inputs["tool_mask"]
            with torch.no_grad():
                ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)
                attention = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1)
                now, _, _ = trainer._get_per_token_logps_and_entropies(trainer.model, ids, attention, inputs["completion_ids"].shape[1])
            ratios.append(float((torch.exp(now - inputs["old_per_token_logps"]) * mask).sum() / mask.sum()))
            return int(mask.sum())

        self.assertEqual(self.counted(trainer, sampled), 2 * count_sampled(self.rows))
        for ratio in ratios[:2]:  # before the first update the log-probs are those of the record
            self.assertAlmostEqual(ratio, 1.0, places=5)
        self.assertNotAlmostEqual(ratios[-1], 1.0, places=4)
        first, second = (lease.made for lease in client.leases)
        self.assertNotEqual(first["weights"], second["weights"])
        self.assertEqual(first["metrics"]["reward"], 0.5)
        tokens = count_sampled(self.rows)
        self.assertEqual([(update["version"], update["tokens"]) for update in trainer.source.updates], [(1, tokens), (2, tokens)])

    def test_advantages_are_those_of_the_groups_of_the_record(self):
        client = LeasesOf(body_of(*self.rows), body_of(*self.rows))
        trainer = self.trainer(client, scale_rewards="none")
        seen = []

        def advantages(inputs):
            seen.extend(inputs["advantages"].tolist())
            return 0

        self.counted(trainer, advantages)
        self.assertEqual(sorted(seen), [-0.5] * 8 + [0.5] * 8)

    def test_a_batch_of_another_shape_and_a_missing_batch_are_named(self):
        with self.assertRaisesRegex(RowsRefused, "the batch has 4 rows and the trainer takes 8: set generation_batch_size=4"):
            self.trainer(LeasesOf(body_of(*self.rows[:4]))).train()
        uneven = [{**row, "group": 0 if place < 3 else 1} for place, row in enumerate(self.rows)]
        with self.assertRaisesRegex(RowsRefused, "group 0 of the batch has 3 rows and num_generations is 4"):
            self.trainer(LeasesOf(body_of(*uneven))).train()
        with self.assertRaisesRegex(RowsRefused, "sampled at temperature 0.7, and the trainer computes at 1: set temperature=0.7"):
            self.trainer(LeasesOf(body_of(*self.rows, temperature=0.7))).train()
        with self.assertRaisesRegex(TimeoutError, "policy p: no batch within 600 s"):
            self.trainer(LeasesOf()).train()


class Pictures(Recorded):
    def test_rows_that_were_shown_pictures_are_refused_by_every_trainer(self):
        body = Rows(body_of(*self.rows))
        body.names["images"] = [[], ["a" * 64], *([] for _ in self.rows[2:])]
        source = LeasesOf(body_of(*self.rows))
        source.leases[0].rows.names["images"] = body.names["images"]
        grpo = RecordedGRPOTrainer(
            model=self.model,
            source=LeasedRollouts(source, "p"),
            args=GRPOConfig(**self.common, per_device_train_batch_size=8, num_generations=4, max_completion_length=32, max_steps=1, temperature=1.0),
            processing_class=tiny_tokenizer(),
        )
        for train in (lambda: sft_dataset(body), lambda: preference_dataset(body), grpo.train):
            with self.assertRaisesRegex(RowsRefused, r"row 1 \(rollout .*\) was shown pictures.*espalier train --backend torch"):
                train()
        self.assertIsNone(source.leases[0].made)


class Stub:
    """What a source asks of its trainer."""

    def __init__(self, members):
        self.num_generations, self.accelerator = members, types.SimpleNamespace(num_processes=1)


class Completions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        write_talker(folder.name)
        self.tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(folder.name)
        self.file = Path(folder.name, "grpo.jsonl")

    def source(self, *rows):
        self.file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return ScoredCompletions(self.file, self.tokenizer)

    def row(self, group, reward, *replies, of=1):
        said = [{"role": role, "content": text} for reply in replies for role, text in (("assistant", reply), ("user", "seen"))][:-1]
        prompt = [{"role": "user", "content": "go"}]
        return {"prompt": prompt, "completion": said, "reward": reward, "group": group, "trajectory": f"t{reward}", "part": {"index": 0, "of": of}}

    def test_replies_are_trained_and_what_was_shown_between_them_is_masked_group_after_group(self):
        source = self.source(self.row("a", 1.0, "yes", "done"), self.row("a", 0.0, "no"), self.row("b", 0.5, "x"), self.row("b", 0.25, "y"))
        rollouts = source.rollout([""] * 2, Stub(2))
        self.assertEqual([self.tokenizer.decode(ids) for ids in rollouts["prompt_ids"]], ["user:go<end>assistant:"] * 2)
        self.assertEqual(self.tokenizer.decode(rollouts["completion_ids"][0]), "yes<end>user:seen<end>assistant:done<end>")
        trained = [id for id, one in zip(rollouts["completion_ids"][0], rollouts["env_mask"][0]) if one]
        self.assertEqual(self.tokenizer.decode(trained), "yes<end>done<end>")
        self.assertEqual(rollouts["espalier_reward"], [1.0, 0.0])
        self.assertEqual(source.rollout([""] * 4, Stub(2))["espalier_reward"], [0.5, 0.25, 1.0, 0.0])

    def test_a_reply_that_calls_a_tool_is_tokenised_as_the_template_writes_it_with_the_tools_that_were_offered(self):
        template = (
            "{% for t in tools or [] %}{{ t.function.name }}:{% endfor %}{% for m in messages %}{{ m.role }}:{{ m.reasoning_content or '' }}{{ m.content }}"
            "{% for c in m.tool_calls or [] %}{{ c.function.name }}{% for k, v in c.function.arguments.items() %}{{ k }}{{ v }}{% endfor %}{% endfor %}<end>"
            "{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"
        )
        write_talker(self.file.parent, template)
        self.tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(self.file.parent)
        call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": {"at": 12345678901234567890}}}
        said = [
            {"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": [call]},
            {"role": "tool", "content": "seen", "tool_call_id": "c1"},
            {"role": "assistant", "content": "done"},
        ]
        tools = json.dumps([{"type": "function", "function": {"name": "look"}}])
        source = self.source(*({**self.row("a", reward), "completion": said, "tools": tools} for reward in (1.0, 0.0)))
        rollouts = source.rollout([""] * 2, Stub(2))
        self.assertEqual(self.tokenizer.decode(rollouts["prompt_ids"][0]), "look:user:go<end>assistant:")
        self.assertEqual(self.tokenizer.decode(rollouts["completion_ids"][0]), "hmlookat12345678901234567890<end>tool:seen<end>assistant:done<end>")
        trained = [id for id, one in zip(rollouts["completion_ids"][0], rollouts["env_mask"][0]) if one]
        self.assertEqual(self.tokenizer.decode(trained), "hmlookat12345678901234567890<end>done<end>")

    def test_groups_of_another_size_rows_that_share_a_reward_and_an_empty_file_are_refused_by_name(self):
        with self.assertRaisesRegex(RowsRefused, "group a of .* has 1 rows and num_generations is 2"):
            self.source(self.row("a", 1.0, "yes")).rollout([""] * 2, Stub(2))
        with self.assertRaisesRegex(RowsRefused, "line 1: trajectory t1.0 has 2 rows of one reward"):
            self.source(self.row("a", 1.0, "yes", of=2))
        with self.assertRaisesRegex(RowsRefused, "has no row"):
            self.source()


if __name__ == "__main__":
    unittest.main()
