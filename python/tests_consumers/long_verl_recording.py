"""A job of verl is recorded by verl's own managers, workers and reward loops of both its trainers, on CPU: see `verl_job`."""

import asyncio
import base64
import json
import os
import struct
import tempfile
import time
import warnings
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np
import ray
import torch
from verl.experimental.agent_loop.agent_loop import AgentLoopWorker
from verl.experimental.reward_loop.reward_loop import RewardLoopWorker
from verl.protocol import pad_dataproto_to_divisor
from verl.utils import tensordict_utils
from verl.utils.tracking import Tracking

import espalier_rl.adapters.verl_recording as recording
from tests.recorded_installation import Installation, RecordingCase

from .verl_job import CALL, MEMBERS, StandIn, batch_of, config_of, manager_of, rollouts_of, rows_of, start_ray, write_job


def unpacked(packed, kind):
    return list(struct.unpack(f"<{packed['length']}{kind}", base64.b64decode(packed["bytes"])))


class Recorded(RecordingCase):
    @classmethod
    def setUpClass(cls):
        home = tempfile.TemporaryDirectory()
        cls.addClassCleanup(home.cleanup)
        cls.home = home.name
        write_job(cls.home)
        environment = mock.patch.dict(os.environ, {"ESPALIER_TOKEN": "key", "ESPALIER_SPOOL": str(Path(cls.home, "spool"))})
        environment.start()
        cls.addClassCleanup(environment.stop)
        start_ray()
        cls.addClassCleanup(ray.shutdown)
        cls.rewards = ray.remote(RewardLoopWorker).remote(config_of(cls.home))

    def setUp(self):
        super().setUp()
        environment = mock.patch.dict(os.environ, {"ESPALIER_URL": self.installation.url})
        environment.start()
        self.addCleanup(environment.stop)

    def manager(self, *more):
        return manager_of(config_of(self.home, *more), self.home, self.rewards)

    def until(self, is_so):
        end = time.monotonic() + 60
        while not is_so() and time.monotonic() < end:
            time.sleep(0.05)
        self.assertTrue(is_so())

    def recorded(self):
        """What is on record of each rollout, by the question and the number of the member."""
        trees = {tree["treeId"]: tree for tree in self.installation.of("TreeOpened")}
        found = {}
        for rollout in self.installation.of("RolloutStarted"):
            tree, own = trees[rollout["treeId"]], rollout["rolloutId"]
            steps = sorted((step for step in self.installation.of("StepTaken") if step["rolloutId"] == own), key=lambda step: step["depth"])
            shown = {prompt["stepId"]: prompt for prompt in self.installation.of("PromptShown")}
            found.setdefault((tree["task"]["split"], tree["observation"], rollout["ordinal"]), SimpleNamespace(
                tree=tree,
                policy=(rollout["policy"]["policyId"], rollout["policy"]["version"]),
                steps=steps,
                prompts=[shown[step["stepId"]] for step in steps],
                ids=[unpacked(step["tokens"]["ids"], "i") for step in steps],
                log_probs=[unpacked(step["tokens"]["logProbs"], "f") for step in steps],
                versions=[[span["version"] for span in step["policySpans"]] for step in steps],
                rewards={each["component"]: each["value"] for each in self.installation.of("RewardAssigned") if each["rolloutId"] == own},
                notes={each["label"]: each["note"] or each["score"] for each in self.installation.of("AnnotationAdded") if each["subject"]["rolloutId"] == own},
                ends=[each["outcome"] for each in self.installation.of("RolloutFinished") if each["rolloutId"] == own],
            ))  # fmt: skip
        return found

    def assert_tokens(self, rollout, response, mask, log_probs):
        """The sampled tokens of a response and their log-probs are those of the steps, one after the other, and nothing else is."""
        sampled = [token for token, own in zip(response, mask, strict=True) if own]
        self.assertEqual(sum(rollout.ids, []), sampled)
        wanted = [value for value, own in zip(log_probs, mask, strict=True) if own]
        np.testing.assert_allclose(sum(rollout.log_probs, []), wanted, rtol=1e-6)

    def assert_same(self, output, place, rollout):
        prompt, *tokens, score = rollouts_of(output)[place]
        self.assertEqual(unpacked(rollout.prompts[0]["tokens"]["ids"], "i"), prompt)
        self.assert_tokens(rollout, *tokens)
        self.assertEqual(rollout.rewards, {"score": score})
        self.assertEqual(rollout.notes["short"], float(output.non_tensor_batch["short"][place]))
        self.assertEqual(rollout.notes["said"], output.non_tensor_batch["said"][place])


class OfFirstTrainer(Recorded):
    def test_rollouts_of_training_and_validation_are_on_record_as_verl_has_them_and_the_run_ends_with_its_tracking(self):
        manager = self.manager("trainer.use_v1=False")
        trained = manager.generate_sequences(batch_of("abc", "12345", "xyz"))  # three rows for each worker: one group is made by both
        filled, fills = pad_dataproto_to_divisor(batch_of("abc", validates=True, step=7), 4)
        self.assertEqual(fills, 2)
        validated = manager.generate_sequences(filled)
        self.assertNotIn(recording.MEMBERS, filled.meta_info)
        tracking = Tracking("tiny", "talks", ["console"], config={})
        tracking.log({"actor/pg_loss": 0.25, "critic/score/mean": 1.5, "text": "x"}, 7)
        tracking.finish()
        tracking.finish()
        found = self.recorded()
        places = [("train", text, number) for text in ("abc", "12345", "xyz") for number in range(MEMBERS)]
        self.assertEqual(set(found), {*places, ("validation", "abc", 0), ("validation", "abc", 1)})
        for place, name in enumerate(places):
            self.assert_same(trained, place, found[name])
            self.assertEqual((found[name].policy, found[name].versions, found[name].ends), (("talks", 6), [[6]], [found[name].steps[-1]["termination"]]))
            self.assertEqual((found[name].tree["plannedRollouts"], found[name].tree["task"]["goal"]), (MEMBERS, name[1].upper()))
            self.assertEqual(found[name].notes["data_source"], f"source {name[1]}")
        for number in range(MEMBERS):
            self.assert_same(validated, number, found["validation", "abc", number])
        shown = {split: found[split, "abc", 0].prompts[0] for split in ("train", "validation")}
        self.assertEqual([message["role"] for message in shown["train"]["messages"]], ["system", "user"])
        self.assertEqual([shown[split]["sampling"]["temperature"] for split in ("train", "validation")], [1.0, 0])
        self.assertEqual(len({each.tree["treeId"] for each in found.values()}), 4)
        metrics = {each["metric"]: (each["value"], each["at"]) for each in self.installation.of("MetricRecorded")}
        self.assertEqual(metrics, {"actor/pg_loss": (0.25, 7), "critic/score/mean": (1.5, 7)})
        run = self.installation.of("RunStarted")[0]
        self.assertEqual((run["name"], run["policy"], run["config"]["trainer"]["project_name"]), ("talks", {"policyId": "talks", "version": 0}, "tiny"))
        self.assertNotIn("ray_kwargs", run["config"])
        self.assertEqual([each["outcome"] for each in self.installation.of("RunFinished")], ["completed"])
        self.assertEqual((Tracking.log.__module__, Tracking.finish.__module__), ("verl.utils.tracking", "verl.utils.tracking"))

    def test_turns_of_tools_are_steps_of_their_own_versions_with_what_the_tool_said_and_earned(self):
        manager = self.manager("trainer.use_v1=False")
        output = manager.generate_sequences(batch_of("add", agent="tool_agent"))
        Tracking("tiny", "talks", ["console"], config={}).finish(exit_code=1)
        found = self.recorded()
        self.assertEqual(len(found), MEMBERS)
        for number in range(MEMBERS):
            rollout = found["train", "add", number]
            self.assertEqual(list(output.non_tensor_batch["tool_rewards"][number]), [0.5])
            self.assertEqual(rollout.notes["tool_rewards 1"], 0.5)
            self.assert_same(output, number, rollout)
            self.assertEqual([step["response"] for step in rollout.steps][:1], [CALL])
            self.assertIn("sum 5", rollout.steps[0]["observation"])
            self.assertEqual(rollout.versions, [[6], [7]])
            self.assertEqual([message["role"] for message in rollout.prompts[1]["messages"]], ["assistant", "tool"])
            self.assertEqual(rollout.prompts[1]["tokens"]["keep"], rollout.prompts[1]["tokens"]["before"])
            self.assertEqual([json.loads(prompt["tools"])[0]["function"]["name"] for prompt in rollout.prompts], ["add", "add"])
        self.assertEqual([each["outcome"] for each in self.installation.of("RunFinished")], ["failed"])

    def test_a_job_whose_server_is_away_goes_on_and_is_on_record_when_it_is_back(self):
        port = int(self.installation.url.rsplit(":", 1)[1])
        self.installation.close()
        with self.assertLogs("espalier_rl", "WARNING") as logged:
            manager = self.manager("trainer.use_v1=False")
            output = manager.generate_sequences(batch_of("abc"))
            tracking = Tracking("tiny", "talks", ["console"], config={})
            tracking.log({"actor/pg_loss": 0.25}, 7)
            time.sleep(0.5)
            self.installation = Installation(port)
            tracking.finish()
        self.assertEqual(len(logged.output), 1)
        self.until(lambda: self.installation.of("RunFinished"))
        found = self.recorded()
        for number in range(MEMBERS):
            self.assert_same(output, number, found["train", "abc", number])


class OfV1(Recorded):
    def test_rollouts_of_the_trainer_v1_are_on_record_as_its_queue_has_them(self):
        import transfer_queue as tq

        more = "transfer_queue.enable=True"
        tq.init(config_of(self.home, more).transfer_queue)
        self.addCleanup(tq.close)
        manager = self.manager(more)
        questions = ("abc", "add", "break")
        rows = rows_of(*questions, agent="tool_agent")
        batch = tensordict_utils.get_tensordict({**rows, "__rollout_n__": [2, 3, 1]})
        tensordict_utils.assign_non_tensor_data(batch, "global_steps", 7)
        tq.kv_batch_put(keys=rows["uid"], partition_id="train", tags=[{"is_prompt": True, "status": "pending", "global_steps": 7}] * 3)
        manager.generate_sequences(batch)
        status = lambda: [tq.kv_list("train").get("train", {}).get(uid, {}).get("status") for uid in rows["uid"]]  # noqa: E731
        self.until(lambda: status() == ["finished", "finished", "failure"])
        tracking = Tracking("tiny", "talks", ["console"], config={})
        tracking.finish()
        found = self.recorded()
        places = [("abc", 0), ("abc", 1), ("add", 0), ("add", 1), ("add", 2)]
        self.assertEqual(set(found), {("train", *place) for place in [*places, ("break", 0)]})
        for text, number in places:
            rollout = found["train", text, number]
            row = tq.kv_batch_get([f"uid {text}_{number}_0"], "train")
            self.assert_tokens(rollout, *(row[name][0].tolist() for name in ("responses", "response_mask", "rollout_log_probs")))
            self.assertAlmostEqual(rollout.rewards["score"], float(row["rm_scores"][0].sum()))
            self.assertEqual(rollout.versions, [[6], [7]] if text == "add" else [[6]])
            self.assertEqual(rollout.tree["plannedRollouts"], 2 if text == "abc" else 3)
        broken = [each for each in self.installation.of("RolloutFinished") if each["outcome"] == "failed"]
        self.assertEqual([(each["reason"], found["train", "break", 0].steps) for each in broken], [("RuntimeError: the server broke", [])])
        self.assertEqual([each["outcome"] for each in self.installation.of("RunFinished")], ["completed"])


class OfWorker(Recorded):
    def test_a_worker_makes_the_same_batch_where_nothing_can_be_recorded_and_warns_once(self):
        config, model = config_of(self.home, "trainer.use_v1=False", "actor_rollout_ref.rollout.full_determinism=True"), f"{self.home}/model"
        worker = type("Worker", (recording.WorkerRecording, AgentLoopWorker), {})(config, StandIn(model), None, None)
        plain = AgentLoopWorker(config, StandIn(model), None, None)
        batch, same = batch_of("abc", "xyz"), batch_of("abc", "xyz")
        for each in (batch, same):
            each.non_tensor_batch["priority"] = np.arange(len(each))
        expected = asyncio.run(plain.generate_sequences(same))
        run = self.db.run("talks")
        worker.begin_recording(run)
        run.close("cancelled")
        batch.meta_info[recording.MEMBERS] = {place: recording.Member(str(place // 2), place % 2, 2) for place in range(4)}
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            made = asyncio.run(worker.generate_sequences(batch))
        self.assertEqual([str(each.message)[:30] for each in said if "training goes on" in str(each.message)], ["the training goes on, and not "])
        self.assertEqual(asyncio.run(worker.end_recording()), (4, 0))
        for name in ("responses", "response_mask", "rollout_log_probs", "attention_mask"):
            self.assertTrue(torch.equal(made.batch[name], expected.batch[name]), name)
        self.assertNotIn(recording.MEMBERS, made.meta_info)


if __name__ == "__main__":
    import unittest

    unittest.main()
