"""Training in a loop of one's own against a server that answers as the endpoints of /v1/training do."""

import json
import math
import struct
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

import espalier_rl
import espalier_rl.adapters
from espalier_rl.database import connect
from espalier_rl.leases import LeaseLost
from espalier_rl.metrics import checked_numbers
from espalier_rl.training import NoBatch, publish_folder
from espalier_rl.training.declaration import declaration_of, option_of

from .rows_body import body_of, write_body
from .test_leases import Installation, refusal

ROW = {"group": 0, "prompt": [7, 8], "tokens": [(1, 1, -0.5), (2, 0, 0.0), (3, 1, -0.25)], "score": 1.0}


def body_for(batch_id):
    """Rows that say whose they are."""
    body = body_of(ROW)
    (length,) = struct.unpack_from("<Q", body)
    header = json.loads(body[8 : 8 + length])
    batch = json.loads(header["__metadata__"]["batch"])
    header["__metadata__"]["batch"] = json.dumps({**batch, "batchId": batch_id})
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + bytes(body[8 + length :])


def write_model(folder, *, cut=0, parts=1, tokenizer=True):
    """A folder as `save_pretrained` writes it, of a tensor of two numbers per part."""
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    body = struct.pack("<Q", len(header)) + header + struct.pack("<2f", 1.0, 2.0)
    names = ["model.safetensors"] if parts == 1 else [f"model-{i:05}.safetensors" for i in range(parts)]
    for name in names:
        (path / name).write_bytes(body[: len(body) - cut])
    if parts > 1:
        (path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {f"w{i}": name for i, name in enumerate(names)}}))
    (path / "config.json").write_text("{}")
    if tokenizer:
        (path / "tokenizer.json").write_text("{}")
    return path


class Declarations(unittest.TestCase):
    def test_an_option_is_a_field_or_a_rule_of_the_declaration_in_snake_case(self):
        options = {"estimator": "grpo", "groups": 8, "max_staleness": 1, "group_size": 4, "optimiser": {"learning_rate": 1e-6}}
        wanted = {"estimator": {"name": "grpo", "options": {}}, "groupSize": 4, "optimiser": {"learningRate": 1e-6}}
        wanted["rules"] = {"groupsPerBatch": 8, "maxStaleness": 1}
        self.assertEqual(declaration_of(options, dict), wanted)
        self.assertEqual(declaration_of({"rules": {"zero_variance": "keep"}, "rewards": {"my_part": 2}}, dict), {"rules": {"zeroVariance": "keep", "rewards": {"my_part": 2}}})

    def test_an_option_that_no_declaration_has_is_refused_by_its_name_with_the_nearest(self):
        with self.assertRaisesRegex(espalier_rl.EspalierError, "no option max_stalenes; did you mean max_staleness?") as caught:
            declaration_of({"max_stalenes": 1}, dict)
        self.assertEqual(caught.exception.field, "max_stalenes")

    def test_an_option_that_the_server_has_and_this_client_was_made_without_is_sent(self):
        schema = {"properties": {"newField": {}}}
        self.assertEqual(declaration_of({"new_field": 1}, lambda: schema), {"newField": 1})

    def test_a_rule_that_is_given_as_an_option_and_in_rules_is_refused(self):
        with self.assertRaisesRegex(espalier_rl.EspalierError, "rules.maxStaleness is given twice"):
            declaration_of({"max_staleness": 1, "rules": {"max_staleness": 2}}, dict)

    def test_a_value_that_the_server_refuses_is_named_as_the_caller_gave_it(self):
        installation = Installation()
        self.addCleanup(installation.close)
        problem = {"index": 0, "path": "rules.groupsPerBatch", "message": "Too small: expected number to be >=1"}
        refused = refusal(400, "invalid", "a field of the body does not fit", "correct it")
        refused[2]["error"]["problems"] = [problem]
        installation.script("declare", refused)
        with self.assertRaisesRegex(espalier_rl.EspalierError, "groups: Too small: expected number to be >=1; correct it") as caught:
            connect(installation.url, token="key").training("p", groups=0)
        self.assertEqual((caught.exception.field, caught.exception.status), ("groups", 400))
        self.assertEqual(option_of("optimiser.learningRate"), "optimiser.learningRate")


class Loops(unittest.TestCase):
    def setUp(self):
        self.installation = Installation()
        self.addCleanup(self.installation.close)
        self.db = connect(self.installation.url, token="key", timeout_s=20, retry_s=20)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def training(self, **options):
        return self.db.training("qwen", consumer="tests", **options)

    def test_a_policy_is_declared_its_batch_leased_and_acknowledged_with_the_weights_of_a_folder(self):
        pol = self.training(estimator="grpo", groups=2, max_staleness=1)
        weights = pol.publish(write_model(self.folder / "1"))
        [batch] = [self.finish(batch, weights) for batch in pol.batches(updates=1)]
        self.assertEqual((batch.version, batch.ordinal, batch.sampled_tokens), (5, 3, 2))
        [declared] = self.installation.bodies("declare")
        self.assertEqual(declared, {"backend": "external", "estimator": {"name": "grpo", "options": {}}, "rules": {"groupsPerBatch": 2, "maxStaleness": 1}})
        [asked] = self.installation.bodies("lease")
        self.assertEqual((asked["layout"], asked["advantages"], asked["consumer"]), ("padded", True, "tests"))
        [made] = self.installation.bodies("ack")
        self.assertEqual((made["version"], made["weights"], made["metrics"]), (5, str(weights), {"loss": 0.5}))
        self.assertEqual(self.installation.bodies("nack"), [])

    def test_the_first_folder_of_a_policy_without_a_version_is_registered_and_a_later_one_is_not(self):
        self.installation.script("declare", (200, {}, {"kind": "declared", "next": "…"}))
        pol = self.training()
        self.assertIsNone(pol.version)
        first = pol.publish(write_model(self.folder / "0"))
        self.assertEqual(pol.version, 0)
        pol.publish(write_model(self.folder / "1"))
        self.assertEqual(self.installation.bodies("policies"), [{"policyId": "qwen", "backend": "external", "weights": str(first)}])

    def test_a_trainer_without_a_batch_ends_with_what_the_server_waits_for_and_why_groups_were_rejected(self):
        self.installation.batches = 0
        waiting = {"state": "waiting", "waitingFor": "tasks", "next": "0 of 2 groups of the next batch are ready"}
        groups = {"open": 0, "closed": 4, "ready": 0, "rejected": {"zero-variance": 3, "stale": 1}}
        self.installation.script("lease", (202, {}, {**waiting, "groups": groups}))
        words = r"qwen: no batch for 0 s: 0 of 2 groups .*: 3 zero-variance \(all members earned the same\), 1 stale \(.*max_staleness.*\); record more"
        with self.assertRaisesRegex(NoBatch, words) as caught:
            list(self.training().batches(idle_s=0))
        self.assertEqual((caught.exception.code, caught.exception.field), ("no-batch", "tasks"))

    def test_a_trainer_that_no_waiting_helps_ends_at_once(self):
        self.installation.script("lease", (202, {}, {"state": "waiting", "waitingFor": "first-version", "next": "it has no version yet"}))
        with self.assertRaisesRegex(NoBatch, "it has no version yet; name its first weights: pol.publish"):
            list(self.training().batches(idle_s=1e9))

    def test_a_lost_lease_is_one_exception_that_says_what_happened_and_the_next_batch_follows(self):
        pol, lost = self.training(), []
        self.installation.batches = 2
        self.installation.script("ack", refusal(409, "stale-fence", "lease l1 ended at its deadline", "drop what was computed"))
        for batch in pol.batches(updates=1, renew="manual"):
            try:
                batch.ack(weights="b" * 64)
            except LeaseLost as error:
                lost.append(str(error))
        self.assertEqual(lost, ["lease l1 ended at its deadline; drop what was computed"])
        self.assertEqual(len(self.installation.bodies("ack")), 2)

    def test_a_batch_that_was_not_acknowledged_goes_back(self):
        self.installation.batches = 2
        batches = self.training().batches()
        next(batches)
        next(batches)
        self.assertEqual(self.installation.bodies("nack"), [{"fence": 2, "reason": "the trainer went on without acknowledging"}])
        batches.close()
        self.assertEqual(len(self.installation.bodies("nack")), 2)

    def test_the_rows_of_the_next_batch_are_read_while_one_is_trained_and_taken_where_they_are_the_same(self):
        self.installation.batches = 2
        self.installation.script("next", (200, {"etag": '"t"'}, body_for("b1")))
        self.installation.script("rows", (200, {}, bytes(body_of(ROW))), (304, {}, None))
        pol = self.training()
        weights = "b" * 64
        rows = [(batch.ack(weights=weights), batch.rows)[1] for batch in pol.batches(updates=2)]
        self.assertEqual(rows[1].batch["batchId"], "b1")
        tags = [headers.get("if-none-match") for verb, _, headers in self.installation.seen if verb == "rows"]
        self.assertEqual(tags, [None, '"t"'])

    def test_a_metric_that_is_no_finite_number_is_refused_by_its_name_and_the_lease_stays(self):
        self.installation.batches = 1
        for batch in self.training().batches(updates=1):
            for value, said in ((math.nan, "is nan"), ("much", "is 'much'")):
                with self.assertRaisesRegex(espalier_rl.EspalierError, f"the metric loss {said}.*finite") as caught:
                    batch.ack(weights="b" * 64, metrics={"loss": value})
                self.assertEqual(caught.exception.field, "metrics.loss")
            batch.ack(weights="b" * 64, metrics={"loss": [1, 2]})
        self.assertEqual([made["metrics"] for made in self.installation.bodies("ack")], [{"loss": 1.5}])
        self.assertEqual(checked_numbers({"a": 1}), {"a": 1.0})

    def test_rows_that_are_read_again_for_verl_are_read_once_and_their_rewards_are_those_acknowledged(self):
        padded, verl, later = (bytes(write_body({"responses": [1]}, layout=layout, rewards_at=f"trees.0:{at}")) for layout, at in (("padded", 7), ("verl", 8), ("verl", 9)))
        self.installation.script("rows", *((200, {}, body) for body in (padded, verl, later)))
        adapter = types.ModuleType("espalier_rl.adapters.verl")
        adapter.data_proto = lambda rows: rows.rewards_at  # verl is a large package
        with mock.patch.dict(sys.modules, {adapter.__name__: adapter}), mock.patch.object(espalier_rl.adapters, "verl", adapter, create=True):
            for batch in self.training().batches(updates=1):
                self.assertEqual((batch.rows.rewards_at, batch.data_proto(), batch.data_proto()), ("trees.0:7", "trees.0:8", "trees.0:8"))
                batch.ack(weights="b" * 64)
        [made] = self.installation.bodies("ack")
        self.assertEqual(made["rewardsAt"], "trees.0:8")

    def test_wrong_arguments_of_a_loop_are_refused_by_their_names(self):
        pol = self.training()
        for options, field in (({"renew": "no"}, "renew"), ({"layout": "flat"}, "layout"), ({"idle_s": -1}, "idle_s")):
            with self.assertRaises(espalier_rl.EspalierError) as caught:
                next(pol.batches(**options))
            self.assertEqual(caught.exception.field, field)
        with self.assertRaisesRegex(espalier_rl.EspalierError, "Espalier itself trains with the backend torch"):
            self.training(backend="torch")

    def finish(self, batch, weights):
        batch.ack(weights=weights, metrics={"loss": 0.5})
        return batch


class Folders(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_the_digest_of_one_file_is_its_own_and_of_parts_that_of_all_of_them(self):
        one = publish_folder(write_model(self.folder / "one"))
        two = publish_folder(write_model(self.folder / "two", parts=2))
        self.assertRegex(one, "^[0-9a-f]{64}$")
        self.assertNotEqual(one, two)
        self.assertEqual(two, publish_folder(self.folder / "two"))
        self.assertEqual(one.folder, self.folder / "one")

    def test_a_missing_tokenizer_is_copied_from_the_folder_before_and_one_that_is_there_stays(self):
        first = write_model(self.folder / "0")
        (first / "tokenizer_config.json").write_text('{"first": true}')
        bare = write_model(self.folder / "1", tokenizer=False)
        publish_folder(bare, like=first)
        self.assertEqual((bare / "tokenizer_config.json").read_text(), '{"first": true}')
        own = write_model(self.folder / "2")
        publish_folder(own, like=first)
        self.assertFalse((own / "tokenizer_config.json").exists())

    def test_a_folder_that_no_server_opens_is_refused_with_what_it_lacks(self):
        cases = [
            (self.folder / "none", "is no folder"),
            (write_model(self.folder / "cut", cut=3), "model.safetensors is cut"),
            (write_model(self.folder / "words", tokenizer=False), "has no tokenizer"),
            (write_model(self.folder / "lost", parts=2), "lacks the part model-00001.safetensors"),
            (write_model(self.folder / "bare"), "has no config.json"),
            (self.folder / "empty", "has no model.safetensors"),
        ]
        (self.folder / "lost" / "model-00001.safetensors").unlink()
        (self.folder / "bare" / "config.json").unlink()
        (self.folder / "empty").mkdir()
        for folder, words in cases:
            with self.assertRaisesRegex(espalier_rl.EspalierError, words):
                publish_folder(folder)


if __name__ == "__main__":
    unittest.main()
