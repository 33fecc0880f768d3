"""A job of TRL is recorded while it trains, on CPU: what the record holds is what the trainer trained on, and it trains the same as without."""

import base64
import struct
import warnings
from collections import defaultdict
from types import SimpleNamespace

import torch
from accelerate.utils import DistributedType
from datasets import Dataset
from PIL import Image
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import distribute_module
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer, SFTConfig, SFTTrainer

from espalier_rl.adapters.acknowledge import digest_weights
from espalier_rl.adapters.trl import EspalierCallback
from tests.recorded_installation import RecordingCase

from .tiny_llava import tiny_llava
from .tiny_model import tiny_qwen2, tiny_tokenizer

QUESTIONS = {"prompt": ["w2 w3", "w4 w5 w6"], "answer": ["w7", "w8"]}
COMMON = {"use_cpu": True, "bf16": False, "report_to": [], "log_level": "error", "save_strategy": "no", "logging_steps": 1, "disable_tqdm": True, "max_steps": 2}
GROUPS = {**COMMON, "per_device_train_batch_size": 8, "num_generations": 4, "max_completion_length": 6, "temperature": 1.0, "learning_rate": 1e-2}


def even(completions, **_):
    return [sum(int(word[1:]) % 2 == 0 for word in text.split() if word[1:].isdigit()) / 6 for text in completions]


def sometimes(completions, **_):
    return [1.0 if len(text.split()) > 5 else None for text in completions]


def lengths(completion_ids, **_):
    return [float(len(ids)) for ids in completion_ids]


def unpacked(packed, kind):
    return list(struct.unpack(f"<{packed['length']}{kind}", base64.b64decode(packed["bytes"])))


class Job(RecordingCase):
    def train(self, make, *, recorded=True, **options):
        """Trains two steps; returns the trainer, what its batches were, and the callback."""
        torch.manual_seed(0)
        trainer = make()
        batches = []
        generate = getattr(trainer, "_generate_and_score_completions", None)
        if generate is not None:
            trainer._generate_and_score_completions = lambda inputs: batches.append(generate(inputs)) or batches[-1]
        callback = None
        with self.db.run("job", policy="tiny") as run:
            if recorded:
                callback = EspalierCallback(trainer, run, **options)
                trainer.add_callback(callback)
            trainer.train()
        return trainer, batches, callback

    def grpo(self, **options):
        args = GRPOConfig(output_dir=self.folder, **{**GROUPS, "reward_weights": [1.0, 0.5], **options})
        questions = Dataset.from_dict(QUESTIONS)
        return GRPOTrainer(model=tiny_qwen2(), reward_funcs=[even, sometimes], train_dataset=questions, args=args, processing_class=tiny_tokenizer())

    def weights(self):
        return {metric["at"]: metric["weights"] for metric in self.installation.of("MetricRecorded") if "weights" in metric}


class Recorded(Job):
    def check(self, trainer, batches):
        """Compares each rollout with the row of the batch that TRL trained on."""
        steps = {step["rolloutId"]: step for step in self.installation.of("StepTaken")}
        rewards, advantages = defaultdict(dict), {}
        for reward in self.installation.of("RewardAssigned"):
            rewards[reward["rolloutId"]][reward["component"]] = reward["value"]
        for annotation in self.installation.of("AnnotationAdded"):
            self.assertEqual(annotation["label"], "advantage")
            advantages[annotation["subject"]["rolloutId"]] = annotation["score"]
        trees = self.installation.of("TreeOpened")
        self.assertEqual([tree["plannedRollouts"] for tree in trees], [4, 4] * 2)
        self.assertEqual({tree["task"]["goal"] for tree in trees}, set(QUESTIONS["answer"]))
        rollouts = iter(self.installation.of("RolloutStarted"))
        for version, batch in enumerate(batches):
            for i in range(8):
                started = next(rollouts)
                self.assertEqual(started["policy"], {"policyId": "tiny", "version": version})
                rollout = started["rolloutId"]
                count = int(batch["completion_mask"][i].sum())
                step = steps[rollout]
                self.assertEqual(unpacked(step["tokens"]["ids"], "i"), batch["completion_ids"][i][:count].tolist())
                self.assertEqual(step["policySpans"], [{"from": 0, "to": count, "policyId": "tiny", "version": version}])
                self.assertAlmostEqual(advantages[rollout], float(batch["advantages"][i]), places=6)
                said = step["response"]
                wanted = {"even": even([said])[0]} | ({"sometimes": 0.5} if sometimes([said])[0] else {})
                self.assertEqual(rewards[rollout].keys(), wanted.keys())
                for name, value in wanted.items():
                    self.assertAlmostEqual(rewards[rollout][name], value, places=6)
                self.assertEqual(step["termination"], "terminated" if batch["completion_ids"][i][count - 1] == trainer.processing_class.eos_token_id else "truncated")
        self.assertEqual(len(self.installation.of("RolloutFinished")), 16)
        self.assertEqual(len(self.installation.of("TreeClosed")), 0)  # those of a group are closed by the server
        self.assertEqual([run["outcome"] for run in self.installation.of("RunFinished")], ["completed"])

    def test_grpo_has_each_completion_with_its_tokens_rewards_and_advantage_and_trains_as_without(self):
        trainer, batches, callback = self.train(self.grpo)
        self.assertEqual(callback.errors, 0)
        self.check(trainer, batches)
        weights = self.weights()
        self.assertEqual(sorted(weights), [0, 1, 2])
        self.assertEqual(weights[2], digest_weights(trainer.model))
        self.assertEqual(len(set(weights.values())), 3)
        logged = {metric["metric"]: metric["value"] for metric in self.installation.of("MetricRecorded") if metric["at"] == 2}
        self.assertAlmostEqual(logged["reward"], trainer.state.log_history[1]["reward"], places=6)
        other, _, _ = self.train(self.grpo, recorded=False)
        self.assertEqual(digest_weights(other.model), weights[2])

    def test_log_probs_are_recorded_where_trl_computes_them(self):
        _, batches, _ = self.train(lambda: self.grpo(num_iterations=2, max_steps=2))
        (batch,) = batches
        steps = self.installation.of("StepTaken")
        self.assertEqual(len(steps), 8)
        for i, step in enumerate(steps):
            count = int(batch["completion_mask"][i].sum())
            for own, wanted in zip(unpacked(step["tokens"]["logProbs"], "f"), batch["old_per_token_logps"][i][:count].tolist(), strict=True):
                self.assertAlmostEqual(own, wanted, places=6)

    def test_the_sampling_is_that_of_generation_kwargs_where_they_say_one(self):
        self.train(lambda: self.grpo(max_steps=1, top_p=0.7, generation_kwargs={"top_p": 0.5, "typical_p": 0.9, "max_new_tokens": 5, "do_sample": True}))
        said = self.installation.of("PromptShown")[-1]["sampling"]
        self.assertEqual([said["temperature"], said["topP"], said["topK"], said["maxTokens"]], [1.0, 0.5, -1, 5])
        self.assertEqual(said["others"], [{"name": "typical_p", "value": "0.9"}])
        self.train(lambda: self.grpo(max_steps=1, generation_kwargs={"do_sample": False}))
        said = self.installation.of("PromptShown")[-1]["sampling"]
        self.assertEqual([said["temperature"], said["others"]], [0.0, []])

    def test_rloo_is_recorded_as_grpo_is(self):
        def rloo():
            args = RLOOConfig(output_dir=self.folder, **{**GROUPS, "reward_weights": [1.0, 0.5]})
            tiny_qwen2().save_pretrained(f"{self.folder}/tiny")  # it reads its reference model from a folder
            return RLOOTrainer(model=f"{self.folder}/tiny", reward_funcs=[even, sometimes], train_dataset=Dataset.from_dict(QUESTIONS), args=args, processing_class=tiny_tokenizer())

        trainer, batches, callback = self.train(rloo)
        self.assertEqual(callback.errors, 0)
        self.check(trainer, batches)

    def test_what_cannot_be_recorded_is_a_warning_and_the_job_goes_on(self):
        trainer = self.grpo()
        with self.db.run("job", policy="tiny") as run:
            callback = EspalierCallback(trainer, run)
            trainer.add_callback(callback)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            trainer.train()  # the run has ended
        self.assertEqual(trainer.state.global_step, 2)
        self.assertGreater(callback.errors, 1)
        self.assertEqual(len([each for each in caught if "the training goes on" in str(each.message)]), 1)


    def test_an_evaluation_larger_than_a_training_batch_is_recorded_whole(self):
        def grpo():
            args = GRPOConfig(output_dir=self.folder, **{**GROUPS, "per_device_train_batch_size": 4, "eval_strategy": "steps", "eval_steps": 1})
            questions = Dataset.from_dict(QUESTIONS)
            return GRPOTrainer(model=tiny_qwen2(), reward_funcs=[even, sometimes], train_dataset=questions, eval_dataset=questions, args=args, processing_class=tiny_tokenizer())

        _, batches, callback = self.train(grpo)
        self.assertEqual((callback.errors, [len(batch["advantages"]) for batch in batches]), (0, [4, 8, 4, 8]))
        trees = self.installation.of("TreeOpened")
        self.assertEqual([tree["task"]["split"] for tree in trees], [None, "eval", "eval"] * 2)
        advantages = [annotation["score"] for annotation in self.installation.of("AnnotationAdded")]
        for own, wanted in zip(advantages, [value for batch in batches for value in batch["advantages"].tolist()], strict=True):
            self.assertAlmostEqual(own, wanted, places=6)
        rewards = {reward["rolloutId"]: reward["value"] for reward in self.installation.of("RewardAssigned") if reward["component"] == "even"}
        for step in self.installation.of("StepTaken"):
            self.assertAlmostEqual(rewards[step["rolloutId"]], even([step["response"]])[0], places=6)

    def test_reward_functions_of_one_name_are_both_recorded(self):
        def other(completions, **_):
            return [0.25 for _ in completions]

        other.__name__ = "even"

        def grpo():
            questions, args = Dataset.from_dict(QUESTIONS), GRPOConfig(output_dir=self.folder, **{**GROUPS, "max_steps": 1})
            return GRPOTrainer(model=tiny_qwen2(), reward_funcs=[even, other], train_dataset=questions, args=args, processing_class=tiny_tokenizer())

        self.train(grpo)
        rewards = self.installation.of("RewardAssigned")
        self.assertEqual({reward["component"] for reward in rewards}, {"even", "even 2"})
        self.assertEqual([reward["value"] for reward in rewards if reward["component"] == "even 2"], [0.25] * 8)

    def test_pictures_are_left_out_of_prompts_and_counted(self):
        tokenizer = tiny_tokenizer()
        model, processor = tiny_llava(tokenizer)
        asked = [[{"role": "user", "content": "w2 w3"}], [{"role": "user", "content": "w4"}]]
        questions = Dataset.from_dict({"prompt": asked, "image": [Image.new("RGB", (28, 28)), Image.new("RGB", (28, 28), "white")]})

        def grpo():
            args = GRPOConfig(output_dir=self.folder, **{**GROUPS, "max_steps": 1})
            return GRPOTrainer(model=model, reward_funcs=[lengths], train_dataset=questions, args=args, processing_class=processor)

        _, _, callback = self.train(grpo, weights=False)
        self.assertEqual((callback.errors, callback.pictures), (0, 8))
        self.assertEqual({root["observation"] for root in self.installation.of("TreeOpened")}, {"w2 w3", "w4"})
        self.assertEqual(len(self.installation.of("PromptShown")), 8)


class Weights(Job):
    def test_weights_that_have_no_digest_are_an_error_that_is_counted(self):
        def grpo():
            trainer = self.grpo(max_steps=1)
            trainer.model.register_buffer("scales", torch.zeros(1, dtype=torch.float8_e4m3fn))
            return trainer

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            trainer, _, callback = self.train(grpo)
        self.assertEqual((trainer.state.global_step, callback.errors, self.weights()), (1, 2, {}))
        self.assertIn("float8_e4m3fn", next(str(each.message) for each in caught if "the training goes on" in str(each.message)))
        self.assertEqual(len(self.installation.of("RolloutFinished")), 8)

    def test_weights_that_are_divided_among_processes_have_no_digest(self):
        divided = torch.nn.Linear(2, 2)
        torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
        self.addCleanup(torch.distributed.destroy_process_group)
        distribute_module(divided, init_device_mesh("cpu", (1,)))
        whole = torch.nn.Linear(2, 2)
        for kind, model, wanted in (("NO", divided, 0), ("FSDP", whole, 0), ("DEEPSPEED", whole, 0), ("NO", whole, 2)):
            accelerator = SimpleNamespace(distributed_type=DistributedType(kind), unwrap_model=lambda model: model)
            begun = len(self.weights())
            with self.db.run("job", policy="tiny") as run, warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                callback = EspalierCallback(SimpleNamespace(accelerator=accelerator, model=model), run)
                for step in (1, 2):
                    callback.on_step_end(None, SimpleNamespace(is_world_process_zero=True, epoch=0, global_step=step), None)
            said = [each for each in caught if "digests are not recorded" in str(each.message)]
            self.assertEqual((callback.errors, len(self.weights()) - begun, len(said)), (0, wanted, 0 if wanted else 1))


class Turns(Job):
    def test_a_completion_with_tools_has_a_step_for_each_reply_with_its_own_tokens(self):
        from espalier_rl.adapters.sampled_parts import Tokens
        from espalier_rl.adapters.trl_callback import _turns

        call = {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": {"name": "add", "arguments": {"a": 1}}}]}
        result, answer = {"role": "tool", "name": "add", "content": "2"}, {"role": "assistant", "content": "two"}
        tokens = Tokens([1, 2], [3, 4, 5, 6, 7], [-1.0, -2.0, 0.0, 0.0, -3.0], [1, 1, 0, 0, 1], [])
        first, second = _turns([call, result, answer], tokens)
        self.assertEqual((first[0], first[1], first[2].ids, first[2].log_probs, first[2].prompt), (call, [result], [3, 4], [-1.0, -2.0], [1, 2]))
        self.assertEqual((second[0], second[1], second[2].ids, second[2].log_probs, second[2].prompt), (answer, [], [7], [-3.0], [1, 2, 3, 4, 5, 6]))
        ((said, _, whole),) = _turns([call, result, answer], tokens._replace(mask=[1, 1, 1, 1, 1]))
        self.assertEqual((said, whole.ids), ("\n2\ntwo", [3, 4, 5, 6, 7]))


class OfDataSets(Job):
    def test_sft_and_dpo_have_their_metrics_and_the_weights_of_each_step(self):
        def sft():
            rows = Dataset.from_dict({"prompt": ["w2", "w3"], "completion": ["w4 w5", "w6"]})
            return SFTTrainer(model=tiny_qwen2(), args=SFTConfig(output_dir=self.folder, **COMMON, max_length=32), train_dataset=rows, processing_class=tiny_tokenizer())

        def dpo():
            rows = Dataset.from_dict({"prompt": ["w2", "w3"], "chosen": ["w4 w5", "w6"], "rejected": ["w7", "w8"]})
            return DPOTrainer(model=tiny_qwen2(), ref_model=tiny_qwen2(), args=DPOConfig(output_dir=self.folder, **COMMON, max_length=32), train_dataset=rows, processing_class=tiny_tokenizer())

        for make, name in ((sft, "loss"), (dpo, "rewards/margins")):
            with self.subTest(trainer=make.__name__):
                self.installation.events.clear()
                trainer, _, callback = self.train(make)
                self.assertEqual(callback.errors, 0)
                points = [metric["at"] for metric in self.installation.of("MetricRecorded") if metric["metric"] == name]
                self.assertEqual(points, [1, 2])
                weights = self.weights()
                self.assertEqual((sorted(weights), weights[2]), ([0, 1, 2], digest_weights(trainer.model)))
