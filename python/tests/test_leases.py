"""The client of leases against a server that answers as the endpoints of /v1/training do, and fails on demand."""

import json
import threading
import unittest

from espalier_rl.leases import Client, EspalierError, LeaseLost, RowsUnreadable, Unreachable
from espalier_rl.rows import Rows, RowsDamaged

from .answering import Answering
from .rows_body import body_of, write_body

BODY = bytes(body_of({"group": 0, "prompt": [7, 8], "tokens": [(1, 1, -0.5), (2, 0, 0.0), (3, 1, -0.25)], "score": 1.0}))


def refusal(status, code, message="no", remedy="do otherwise"):
    return status, {}, {"error": {"code": code, "message": message, "remedy": remedy}}


class Installation(Answering):
    """Answers by path and verb from scripts; what a script runs out of is answered as a healthy server would."""

    def __init__(self):
        self.seen, self.scripts = [], {}
        self.changed = threading.Condition()
        self.batches = 1
        self.body = BODY
        super().__init__()

    def respond(self, method, path, raw, headers):
        return self.answer(method, path, json.loads(raw) if raw else None, headers)

    def script(self, verb, *answers):
        self.scripts.setdefault(verb, []).extend(answers)

    def answer(self, method, path, body, headers):
        verb = "declare" if method == "PUT" else "lease" if path.endswith("/leases") else path.split("?")[0].rsplit("/", 1)[1]
        verb = "next" if "batch=next" in path else verb
        with self.changed:
            self.seen.append((verb, body, headers))
            self.changed.notify_all()
            scripted = self.scripts.get(verb)
            if scripted:
                return scripted.pop(0)
            if verb == "declare":
                return 200, {}, {"kind": "registered", "head": {"version": 0}}
            if verb == "lease":
                if self.batches == 0:
                    return 200, {}, {"state": "waiting", "next": "1 group waits for 3 members"}
                self.batches -= 1
                return 200, {}, self.lease(body)
            if verb == "rows":
                return 200, {}, self.body
            if verb == "next":
                return refusal(404, "none-planned")
            if verb == "policies":
                return 200, {}, {"kind": "registered", "head": {"version": 0, "weights": body["weights"]}}
            if verb == "renew":
                return 200, {}, {"kind": "renewed", "deadline": "later"}
            return 200, {}, {"kind": {"ack": "acked", "nack": "returned", "abandon": "abandoned"}[verb], **body}

    def lease(self, asked):
        base = {"version": 4, "backend": "test", "weights": "a" * 64}
        said = {"leaseId": "l1", "fence": 2, "deadline": "soon", "batchId": "b1", "ordinal": 3, "policyId": asked["policyId"], "base": base}
        said |= {"estimator": {"name": "grpo"}, "rules": {}, "seed": 1, "samples": 1, "tokens": 2, "trainer": None}
        return said | {"rows": f"/v1/training/leases/l1/rows?layout={asked['layout']}"}

    def bodies(self, verb):
        return [body for seen, body, _ in self.seen if seen == verb]

    def wait_for(self, verb, count):
        with self.changed:
            return self.changed.wait_for(lambda: len(self.bodies(verb)) >= count, 30)


class Leases(unittest.TestCase):
    def setUp(self):
        self.installation = Installation()
        self.addCleanup(self.installation.close)
        self.client = Client(self.installation.url, retry_s=20, timeout_s=20, consumer="tests", api_key="key")

    def test_a_batch_is_leased_read_and_acknowledged_with_the_position_of_its_rewards(self):
        self.assertEqual(self.client.declare("p/q", backend="test", weights="a" * 64, rules={"groupsPerBatch": 2}), {"version": 0})
        with self.client.lease("p/q", layout="verl", ttl_s=60) as lease:
            self.assertEqual(list(lease.rows["responses"]), [1, 2, 3])
            said = lease.ack(weights="b" * 64, metrics={"loss": 0.5})
        [made] = self.installation.bodies("ack")
        self.assertEqual(said["kind"], "acked")
        made.pop("checkpointId")
        wanted = {"fence": 2, "version": 5, "weights": "b" * 64, "backend": "test", "kept": None, "loss": None, "metrics": {"loss": 0.5}}
        self.assertEqual(made, wanted | {"rewardsAt": "trees.0:7"})
        self.assertEqual(self.installation.bodies("nack"), [])
        asked = {"policyId": "p/q", "consumer": "tests", "ttlMs": 60_000, "waitMs": 20_000, "layout": "verl"}
        self.assertEqual(self.installation.bodies("lease"), [asked])
        self.assertEqual({headers["authorization"] for _, _, headers in self.installation.seen}, {"Bearer key"})

    def test_no_batch_is_waiting_with_its_reason_whether_the_server_sends_204_or_says_why(self):
        self.installation.batches = 0
        self.installation.script("lease", (204, {"retry-after": "7"}, None))
        first, second = self.client.lease("p"), self.client.lease("p")
        self.assertEqual((bool(first), first.retry_after), (False, 7.0))
        self.assertEqual((bool(second), second.why), (False, "1 group waits for 3 members"))

    def test_a_lease_is_renewed_while_the_batch_is_trained_and_not_after(self):
        with self.client.lease("p", ttl_s=0.3) as lease:
            self.assertTrue(self.installation.wait_for("renew", 2))
            lease.check()
            lease.ack(weights="b" * 64)
        renewed = len(self.installation.bodies("renew"))
        self.assertFalse(lease._renewing.is_alive())
        self.assertEqual(len(self.installation.bodies("renew")), renewed)

    def test_a_lease_that_a_renewal_finds_to_be_over_is_neither_acknowledged_nor_returned(self):
        self.installation.script("renew", refusal(409, "stale-fence", "the lease is over"))
        with self.client.lease("p", ttl_s=0.3) as lease:
            self.installation.wait_for("renew", 1)
            lease._renewing.join(30)
            with self.assertRaisesRegex(LeaseLost, "the lease is over; do otherwise"):
                lease.ack(weights="b" * 64)
        self.assertEqual((self.installation.bodies("ack"), self.installation.bodies("nack")), ([], []))

    def test_a_batch_whose_training_fails_goes_back_with_the_reason(self):
        with self.assertRaises(MemoryError):
            with self.client.lease("p"):
                raise MemoryError("8 GiB wanted")
        [returned] = self.installation.bodies("nack")
        self.assertEqual(returned, {"fence": 2, "reason": "the trainer stopped: MemoryError 8 GiB wanted"})

    def test_a_busy_server_is_asked_again_and_an_acknowledgement_is_repeated_as_it_was(self):
        self.installation.script("rows", refusal(503, "busy"), (200, {"cut": 10}, BODY))
        self.installation.script("ack", refusal(503, "busy"))
        with self.client.lease("p", layout="verl") as lease:
            self.assertEqual(list(lease.rows["response_mask"]), [1, 0, 1])
            lease.ack(weights="b" * 64)
        first, second = self.installation.bodies("ack")
        self.assertEqual(first, second)
        self.assertEqual(len(self.installation.bodies("rows")), 3)

    def test_an_acknowledgement_names_the_rewards_of_the_rows_that_were_read_last(self):
        first, later, last = (bytes(write_body({"responses": [1]}, rewards_at=f"trees.0:{at}")) for at in (7, 8, 9))
        for reads, wanted in ((("read_rows",), "trees.0:7"), (("rows", "read_rows"), "trees.0:8"), (("read_rows", "rows", "rows"), "trees.0:8"), ((), None)):
            with self.subTest(reads=reads):
                self.installation.batches, self.installation.seen = 1, []
                self.installation.scripts["rows"] = [(200, {}, body) for body in (first, later, last)]
                with self.client.lease("p", layout="verl") as lease:
                    for read in reads:
                        lease.read_rows("verl") if read == "read_rows" else lease.rows
                    lease.ack(weights="b" * 64)
                [made] = self.installation.bodies("ack")
                self.assertEqual(made.get("rewardsAt"), wanted)

    def test_rows_that_are_read_for_their_mask_alone_are_not_named_as_trained_on(self):
        with self.client.lease("p", layout="verl") as lease:
            lease.ack(weights="b" * 64, logprobs=[-1.0, 0.0, -2.0])
        [made] = self.installation.bodies("ack")
        self.assertEqual((made["logProbs"]["length"], "rewardsAt" in made), (2, False))

    def test_an_acknowledgement_that_is_corrected_after_a_refusal_is_sent_as_it_is_given(self):
        self.installation.script("ack", refusal(400, "invalid", "metrics.loss does not fit"), refusal(413, "too-large"))
        with self.client.lease("p", layout="verl") as lease:
            for weights, metrics in (("b" * 64, {"loss": 1e300}), ("c" * 64, {"loss": 0.5})):
                with self.assertRaises(EspalierError):
                    lease.ack(weights=weights, metrics=metrics)
            with self.assertRaisesRegex(EspalierError, "logprobs have the shape"):
                lease.ack(weights="d" * 64, logprobs=[0.0])
            lease.ack(weights="e" * 64, metrics={"loss": 0.25})
        made = [(body["weights"], body["metrics"]["loss"]) for body in self.installation.bodies("ack")]
        self.assertEqual(made, [("b" * 64, 1e300), ("c" * 64, 0.5), ("e" * 64, 0.25)])

    def test_an_acknowledgement_whose_answer_was_lost_is_repeated_with_the_same_body_and_takes_no_other_weights(self):
        self.client = Client(self.installation.url, retry_s=0, timeout_s=20, api_key="key")
        self.installation.script("ack", (200, {"cut": 3}, {"kind": "acked"}), refusal(503, "busy"), refusal(500, "fault"))
        with self.client.lease("p", layout="verl") as lease:
            for metrics in ({"loss": 0.5}, {"loss": 0.25}, {}):
                with self.assertRaises(EspalierError):
                    lease.ack(weights="b" * 64, metrics=metrics)
            with self.assertRaisesRegex(EspalierError, f"with the weights {'b' * 64}, not {'c' * 64}, and the answer was lost.*; call ack again with those") as lost:
                lease.ack(weights="c" * 64)
            self.assertEqual((lost.exception.code, lost.exception.field), ("answer-lost", "weights"))
            lease.ack(weights="b" * 64)
        made = self.installation.bodies("ack")
        self.assertEqual((len(made), made.count(made[0]), made[0]["metrics"]), (4, 4, {"loss": 0.5}))

    def test_weights_whose_answer_was_lost_keep_their_checkpoint_behind_a_refusal_of_the_key(self):
        self.client = Client(self.installation.url, retry_s=0, timeout_s=20, api_key="key")
        self.installation.script("ack", (200, {"cut": 3}, {"kind": "acked"}), refusal(401, "unauthorized"))
        with self.client.lease("p", layout="verl") as lease:
            for _ in range(2):
                with self.assertRaises(EspalierError):
                    lease.ack(weights="b" * 64)
            lease.ack(weights="b" * 64, metrics={"loss": 0.5})
        made = self.installation.bodies("ack")
        self.assertEqual(([body["metrics"] for body in made], len({body["checkpointId"] for body in made})), ([{}, {}, {"loss": 0.5}], 1))

    def test_a_batch_that_is_acknowledged_takes_the_same_weights_again_and_no_others(self):
        with self.client.lease("p", layout="verl") as lease:
            lease.ack(weights="b" * 64)
            with self.assertRaisesRegex(EspalierError, f"batch 3 was acknowledged with the weights {'b' * 64}, not {'c' * 64}; keep that version") as other:
                lease.ack(weights="c" * 64)
            lease.ack(weights="b" * 64)
            self.installation.script("ack", refusal(401, "unauthorized"))
            with self.assertRaisesRegex(EspalierError, "no; do otherwise"):
                lease.ack(weights="b" * 64)
            with self.assertRaisesRegex(EspalierError, "batch 3 was acknowledged with"):
                lease.ack(weights="c" * 64)
        self.assertEqual((other.exception.code, other.exception.field), ("already-acked", "weights"))
        made = self.installation.bodies("ack")
        self.assertEqual((len(made), made.count(made[0])), (3, 3))

    def test_numbers_that_are_not_finite_are_refused_by_their_place_before_anything_is_sent(self):
        nan, loss = float("nan"), {"name": "ppo", "options": {"clip": [0.2, float("inf")]}}
        wrong = (
            ({"metrics": {"kl": nan}}, "metrics.kl", "the metric kl is nan"),
            ({"loss": loss}, "loss.options.clip[1]", "is inf"),
            ({"estimator": {"name": "grpo", "options": {"a": -float("inf")}}}, "estimator.options.a", "is -inf"),
            ({"loss": {"name": object()}}, "loss.name", "is no JSON"),
        )
        with self.client.lease("p", layout="verl") as lease:
            for given, field, why in wrong:
                with self.assertRaisesRegex(EspalierError, why) as refused:
                    lease.ack(weights="b" * 64, **given)
                self.assertEqual((refused.exception.field, bool(refused.exception.remedy)), (field, True))
            self.assertEqual(self.installation.bodies("ack"), [])
            lease.ack(weights="b" * 64, metrics={"kl": 0.5})
        self.assertEqual([made["metrics"] for made in self.installation.bodies("ack")], [{"kl": 0.5}])

    def test_a_refusal_has_its_code_and_remedy_and_is_not_repeated(self):
        self.installation.script("declare", refusal(409, "declared-otherwise", "p is declared otherwise", "send the same"))
        with self.assertRaises(EspalierError) as refused:
            self.client.declare("p", backend="test", weights="a" * 64)
        self.assertEqual((refused.exception.code, str(refused.exception)), ("declared-otherwise", "p is declared otherwise; send the same"))
        self.assertEqual(len(self.installation.bodies("declare")), 1)

    def test_a_server_that_does_not_answer_is_named_after_the_time_to_try(self):
        gone = Installation()
        gone.close()
        with self.assertRaisesRegex(Unreachable, f"PUT {gone.url}/v1/training/policies/p: "):
            Client(gone.url, retry_s=0).declare("p", backend="test", weights="a" * 64)

    def test_batches_come_one_after_the_other_and_an_unreadable_one_is_abandoned(self):
        self.installation.batches = 3
        self.installation.script("rows", refusal(410, "unreadable", "took 9 steps", "abandon it"))
        trained = 0
        for lease in self.client.batches("p", layout="verl", wait_s=0, idle_s=0):
            trained += sum(lease.rows["response_mask"])
            if len(self.installation.bodies("ack")) == 0:
                lease.ack(weights="b" * 64)
        self.assertEqual(trained, 4)
        self.assertEqual([body["reason"] for body in self.installation.bodies("abandon")], ["took 9 steps; abandon it"])
        self.assertEqual([body["reason"] for body in self.installation.bodies("nack")], ["the trainer went on without acknowledging"])
        self.installation.script("rows", refusal(410, "unreadable"))
        self.installation.batches = 1
        with self.assertRaises(RowsUnreadable):
            self.client.lease("p").read_rows()


class Body(unittest.TestCase):
    def test_columns_are_views_of_the_body_and_are_aligned(self):
        body = bytearray(BODY)
        rows = Rows(body)
        column = rows["rollout_log_probs"]
        self.assertEqual(list(column), [-0.5, 0.0, -0.25])
        with self.assertRaises(BufferError):  # its memory is in use by the views
            body.append(0)
        self.assertEqual(rows.shape("cu_seqlens"), (2,))
        self.assertEqual((rows.layout, rows.rewards_at, rows.texts), ("verl", "trees.0:7", [{"temperature": 1.0}]))
        for name, entry in rows._entries.items():
            width = {"F64": 8, "F32": 4, "I32": 4, "U8": 1}[entry["dtype"]]
            self.assertEqual((rows._start + entry["data_offsets"][0]) % width, 0, name)

    def test_a_column_that_is_not_there_is_named_with_those_that_are(self):
        with self.assertRaisesRegex(KeyError, "have no column nope; there are .*responses"):
            Rows(BODY)["nope"]

    def test_a_body_that_is_cut_or_none_is_refused(self):
        for wrong, why in ((b"", "0 bytes"), (BODY[:-1], "is cut or damaged"), (b"\xff" * 16, "does not fit"), (write_body({})[:-3], "fit")):
            with self.assertRaisesRegex(RowsDamaged, why):
                Rows(wrong)


if __name__ == "__main__":
    unittest.main()
