"""A leased body trained by verl itself, on CPU: its DataProto, its estimators, and the loss of its actors."""

import unittest

import numpy as np
import torch
from verl import DataProto
from verl.utils import tensordict_utils
from verl.workers.config import FSDPActorConfig
from verl.workers.utils.losses import ppo_loss
from verl.workers.utils.padding import left_right_2_no_padding

from espalier_rl.adapters.verl import RowsRefused, acknowledge, data_proto, digest_weights, estimator_of, with_advantages
from espalier_rl.rows import Rows
from tests.rows_body import body_of

from .tiny_model import count_sampled, sampled_rows, tiny_qwen2


def update(model, data, temperature=1.0):
    """One step of verl's actor as its engine takes it, without the devices it needs: unpadded rows, their log-probs, `ppo_loss`. Returns
    the gradient of the loss by log-prob, row after row."""
    batch = left_right_2_no_padding(data.to_tensordict())
    tensordict_utils.assign_non_tensor(batch, dp_size=1, batch_num_tokens=int(data.batch["response_mask"].sum()), global_batch_size=len(data))
    ids = batch["input_ids"]
    found = []
    for row in ids.unbind():
        logits = model(row.unsqueeze(0)).logits[0] / temperature
        found.append(torch.log_softmax(logits, -1).gather(1, torch.roll(row, -1).unsqueeze(1)).squeeze(1))
    log_probs = torch.cat(found)
    log_probs.retain_grad()
    nested = torch.nested.nested_tensor_from_jagged(log_probs, offsets=ids.offsets())
    loss, metrics = ppo_loss(FSDPActorConfig(ppo_micro_batch_size_per_gpu=8, rollout_n=4), {"log_probs": nested}, batch)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.5)
    loss.backward()
    optimiser.step()
    return log_probs.grad, metrics


class Verl(unittest.TestCase):
    def setUp(self):
        self.model = tiny_qwen2()
        self.rows = sampled_rows(self.model)

    def test_a_data_proto_has_every_recorded_token_in_its_place(self):
        for prompt_column in (True, False):
            data = data_proto(Rows(body_of(*self.rows, prompt_column=prompt_column)), pad_token_id=0)
            self.assertEqual(int(data.batch["response_mask"].sum()), count_sampled(self.rows))
            for place, row in enumerate(self.rows):
                attended = data.batch["attention_mask"][place] == 1
                ids = [*row["prompt"], *(token for token, _, _ in row["tokens"])]
                self.assertEqual(data.batch["input_ids"][place][attended].tolist(), ids)
                self.assertEqual(data.batch["position_ids"][place][attended].tolist(), list(range(len(ids))))
                width, length = data.batch["prompts"].shape[1], len(row["tokens"])
                self.assertEqual(data.batch["prompts"][place].tolist(), [0] * (width - len(row["prompt"])) + row["prompt"])
                self.assertEqual(data.batch["response_mask"][place][:length].tolist(), [mask for _, mask, _ in row["tokens"]])
                self.assertEqual(float(data.batch["token_level_scores"][place].sum()), row["score"])
                self.assertEqual(float(data.batch["token_level_scores"][place][length - 1]), row["score"])
            self.assertEqual(data.non_tensor_batch["uid"].tolist(), ["tree 0"] * 4 + ["tree 1"] * 4)
            self.assertEqual(data.meta_info["temperature"], 1.0)

    def test_a_data_proto_splits_joins_and_unites_without_losing_a_sampled_token(self):
        data = data_proto(Rows(body_of(*self.rows)))
        parts = data.chunk(4)
        whole = DataProto.concat(parts)
        self.assertEqual(sum(int(part.batch["response_mask"].sum()) for part in parts), count_sampled(self.rows))
        self.assertEqual(whole.non_tensor_batch["traj_uid"].tolist(), [f"rollout {place}" for place in range(8)])
        values = DataProto.from_dict(tensors={"values": torch.zeros(8, data.batch["responses"].shape[1])})
        self.assertEqual(whole.union(values).batch["values"].shape, data.batch["responses"].shape)

    def test_verl_trains_the_sampled_tokens_and_no_other_with_ratios_of_one(self):
        data = with_advantages(data_proto(Rows(body_of(*self.rows))), "grpo")
        before = digest_weights(self.model)
        gradient, metrics = update(self.model, data)
        self.assertEqual(int((gradient != 0).sum()), count_sampled(self.rows))
        self.assertAlmostEqual(metrics["actor/ppo_kl"].aggregate(), 0.0, places=5)  # the log-probs at the update are those of the record
        self.assertNotEqual(digest_weights(self.model), before)
        answers = []

        class Lease:
            def ack(self, **made):
                answers.append(made)

        acknowledge(Lease(), digest_weights(self.model), {**metrics, "text": "x", "nan": float("nan"), "several": [1.0, 3.0]})
        self.assertEqual(answers[0]["weights"], digest_weights(self.model))
        self.assertEqual({name: answers[0]["metrics"][name] for name in ("several", "actor/pg_clipfrac")}, {"several": 2.0, "actor/pg_clipfrac": 0.0})
        self.assertFalse({"text", "nan"} & set(answers[0]["metrics"]))

    def test_a_rollout_that_was_cut_is_one_member_of_its_group(self):
        cut = [
            {**self.rows[0], "score": 0.0, "rollout": 0},
            {**self.rows[1], "score": 1.0, "rollout": 0},
            {**self.rows[2], "score": 0.0, "rollout": 1},
        ]
        data = with_advantages(data_proto(Rows(body_of(*cut))), "grpo", norm_adv_by_std_in_grpo=False)
        of_rows = [float(data.batch["advantages"][place][0]) for place in range(3)]
        np.testing.assert_allclose(of_rows, [0.5, 0.5, -0.5])
        self.assertEqual(int((data.batch["advantages"] != 0).sum()), count_sampled(cut))
        with self.assertRaisesRegex(RowsRefused, "opo compares rows: take grpo or rloo"):
            with_advantages(data, "opo")

    def test_rows_that_lack_something_are_refused_by_row_and_rollout(self):
        bare = [{**self.rows[0]}, {**self.rows[1], "prompt": []}]
        with self.assertRaisesRegex(RowsRefused, r"row 1 \(rollout rollout 1\) has no token before its first sampled one.*prompt_token_ids"):
            data_proto(Rows(body_of(*bare)))
        token, mask, _ = self.rows[1]["tokens"][0]
        broken = [self.rows[0], {**self.rows[1], "tokens": [(token, mask, float("nan")), *self.rows[1]["tokens"][1:]]}]
        with self.assertRaisesRegex(RowsRefused, r"row 1 \(rollout rollout 1\) has a log-prob that is not finite"):
            data_proto(Rows(body_of(*broken)))
        unsaid = {**self.rows[0], "tokens": [(token, 0, 0.0)]}
        with self.assertRaisesRegex(RowsRefused, "row 0 .* has no sampled token"):
            data_proto(Rows(body_of(unsaid)))

    def test_rows_that_were_shown_pictures_are_refused_instead_of_read_as_text(self):
        rows = Rows(body_of(*self.rows))
        rows.names["images"] = [[], ["a" * 64], *[[] for _ in self.rows[2:]]]
        with self.assertRaisesRegex(RowsRefused, r"row 1 \(rollout rollout 1\) was shown pictures.*espalier train --backend torch"):
            data_proto(rows)

    def test_estimators_of_declarations_are_those_of_verl_or_refused_by_name(self):
        class Lease:
            estimator = {"name": "pass_at_k"}

        self.assertEqual(estimator_of(Lease()), "grpo_passk")
        Lease.estimator = {"name": "gigpo"}
        with self.assertRaisesRegex(RowsRefused, "verl has no estimator gigpo; declare one of gae, "):
            estimator_of(Lease())


if __name__ == "__main__":
    unittest.main()
