"""The losses have the published numbers, and the gradients of Espalier's TypeScript.

Run: python -m unittest discover -s python/tests -t python
"""

import json
import unittest
from pathlib import Path

try:
    import torch

    from espalier_rl.trainer import losses
except ImportError:
    torch = None

FIXTURES = Path(__file__).parents[2] / "src" / "domain" / "training" / "fixtures"

# Written by Espalier's TypeScript, which `src/training/backends/torch/gradients.test.ts` keeps so.
RECORDED = json.loads((Path(__file__).parent / "gradients.json").read_text())
# What the trainer is sent where a declaration names a loss and nothing else.
DEFAULTS, AGGREGATION = RECORDED["defaults"], RECORDED["defaultAggregation"]
# What the cases are published with.
PUBLISHED = {"clip_ratio_low": 0.2, "clip_ratio_high": 0.2, "clip_ratio_c": 3.0}
NAMES = {"clip_ratio_low": "clipLow", "clip_ratio_high": "clipHigh", "clip_ratio_c": "dualClip"}


def dual_clip_of(given):
    """The declared defaults, and what a case asks for besides the published ones."""
    return {**DEFAULTS["dual_clip"], **{NAMES[name]: given[name] for name, usual in PUBLISHED.items() if given[name] != usual}}


def cases(file):
    return {case["id"]: case for case in json.loads((FIXTURES / file).read_text())["cases"]}


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


@unittest.skipIf(torch is None, "torch is not installed")
class PolicyLosses(unittest.TestCase):
    def setUp(self):
        self.cases = cases("06-policy-loss.json")

    def columns(self, case):
        found = self.cases[case]["inputs"]
        names = ("log_prob", "old_log_prob", "advantages", "response_mask")
        return [tensor(found[name]) for name in names], found, self.cases[case]["expected"]

    def check_close(self, got, expected, tolerance=1e-8):
        torch.testing.assert_close(torch.as_tensor(got, dtype=torch.float64), tensor(expected), rtol=tolerance, atol=tolerance)

    def test_dual_clip_yields_the_published_token_losses_aggregations_and_fractions(self):
        for case in ("ppo-symmetric", "ppo-clip-higher", "ppo-empty-row"):
            with self.subTest(case):
                (new, old, advantages, mask), given, expected = self.columns(case)
                tokens, metrics = losses.policy_loss("dual_clip", dual_clip_of(given), new, old, advantages, mask)
                self.check_close(tokens, (tensor(expected["pg_losses"]) * mask).tolist())
                # Up to verl 0.8 sums of rows were divided by the width alone; since 0.9 their mean over rows is.
                scale = mask.shape[1] / float((mask.sum(-1) > 0).sum())
                for mode, loss in expected["pg_loss"].items():
                    self.check_close((tokens * losses.token_shares(mask, mode, loss_scale=scale)).sum(), loss)
                self.check_close(metrics["clipFraction"], expected["pg_clipfrac"])
                self.check_close(metrics["clipFractionLower"], expected["pg_clipfrac_lower"])
                self.check_close(metrics["oldKl"], expected["ppo_kl"])

    def test_unclamped_ratios_equal_those_of_the_old_releases(self):
        (new, old, advantages, mask), _, expected = self.columns("ppo-extreme-unclamped")
        options = {**DEFAULTS["dual_clip"], "logRatios": "unclamped"}
        tokens, metrics = losses.policy_loss("dual_clip", options, new, old, advantages, mask)
        self.check_close(tokens, (tensor(expected["pg_losses"]) * mask).tolist())
        self.check_close(metrics["oldKl"], expected["ppo_kl"])

    def test_global_denominators_equal_those_of_the_whole_batch(self):
        given, expected = self.cases["agg-global"]["inputs"], self.cases["agg-global"]["expected"]
        loss, mask = tensor(given["loss_mat"]), tensor(given["loss_mask"])
        for mode, value in expected.items():
            shares = losses.token_shares(
                mask,
                mode,
                tokens=given["batch_num_tokens"],
                rows=given["global_batch_size"],
                shards=given["dp_size"],
                loss_scale=given["loss_scale_factor"] * given["dp_size"] / given["global_batch_size"],
            )
            with self.subTest(mode):
                self.check_close((loss * shares).sum(), value)

    def test_gspo_cispo_and_sapo_yield_the_published_losses(self):
        for case, name in (("gspo", "gspo"), ("cispo-loss", "cispo"), ("sapo-loss", "sapo")):
            with self.subTest(case):
                (new, old, advantages, mask), _, expected = self.columns(case)
                tokens, _ = losses.policy_loss(name, DEFAULTS[name], new, old, advantages, mask)
                shares = losses.token_shares(mask, losses.aggregation_of(name, AGGREGATION))
                self.check_close((tokens * shares).sum(), expected["pg_loss"])

    def test_a_token_outside_the_mask_changes_neither_loss_nor_gradient(self):
        for name in DEFAULTS:
            new = torch.tensor([[-1.0, float("nan"), -3.0]], dtype=torch.float64, requires_grad=True)
            old, advantages, mask = tensor([[-1.1, -500.0, -2.0]]), tensor([[1.0, float("inf"), -1.0]]), tensor([[1.0, 0.0, 1.0]])
            tokens, _ = losses.policy_loss(name, DEFAULTS[name], new, old, advantages, mask)
            (tokens * losses.token_shares(mask, "token-mean")).sum().backward()
            with self.subTest(name):
                self.assertTrue(bool(torch.isfinite(tokens).all()))
                self.assertEqual(new.grad[0, 1].item(), 0.0)


@unittest.skipIf(torch is None, "torch is not installed")
class Gradients(unittest.TestCase):
    """`gradients.json` was written by the TypeScript forms (`src/training/backends/torch/gradients.test.ts` keeps it so)."""

    def test_gradients_equal_those_of_the_typescript_forms(self):
        file = RECORDED
        old, advantages, mask = tensor(file["oldLogProbs"]), tensor(file["advantages"]), tensor(file["masks"])
        reference = tensor(file["refLogProbs"])
        for case in file["cases"]:
            with self.subTest(f"{case['loss']} {case['aggregation']} {case['kl']}"):
                new = tensor(file["logProbs"]).requires_grad_()
                name = case["loss"]
                tokens, _ = losses.policy_loss(name, DEFAULTS[name], new, old, advantages, mask)
                shares = losses.token_shares(mask, losses.aggregation_of(name, case["aggregation"]))
                kl = losses.kl_tokens(case["kl"], new, reference) * losses.token_shares(mask, case["aggregation"])
                loss = (tokens * shares).sum() + file["klCoefficient"] * kl.sum()
                loss.backward()
                torch.testing.assert_close(loss.detach(), tensor(case["value"]), rtol=1e-9, atol=1e-9)
                torch.testing.assert_close(new.grad, tensor(case["gradient"]), rtol=1e-9, atol=1e-9)


@unittest.skipIf(torch is None, "torch is not installed")
class ValueKlEntropy(unittest.TestCase):
    def setUp(self):
        self.cases = cases("07-value-kl-entropy.json")

    def test_value_losses_have_the_published_numbers(self):
        for case, clip, factor in (("value-0.5-half", 0.5, 0.5), ("value-0.5-full", 0.5, 1.0), ("value-0.2-full", 0.2, 1.0)):
            with self.subTest(case):
                given, expected = self.cases[case]["inputs"], self.cases[case]["expected"]
                columns = [tensor(given[name]) for name in ("vpreds", "values", "returns", "response_mask")]
                tokens, metrics = losses.value_loss(*columns, clip=clip, factor=factor)
                loss = (tokens * losses.token_shares(columns[3], "token-mean")).sum()
                self.assertAlmostEqual(loss.item(), expected["vf_loss"], places=8)
                self.assertAlmostEqual(metrics["valueClipFraction"], expected["vf_clipfrac"], places=8)

    def test_kl_kinds_have_the_published_numbers(self):
        for kind in ("k1", "k2", "k3"):
            given, expected = self.cases[f"kl-{kind}"]["inputs"], self.cases[f"kl-{kind}"]["expected"]
            new, reference = tensor(given["log_prob"]), tensor(given["ref_log_prob"])
            with self.subTest(kind):
                torch.testing.assert_close(losses.kl_tokens(kind, new, reference), tensor(expected["value"]), rtol=1e-9, atol=1e-9)

    def test_a_plus_keeps_the_value_and_takes_the_gradient_of_k2(self):
        for kind in ("k1", "abs", "k3"):
            new, reference = tensor([-1.0, -2.0]).requires_grad_(), tensor([-1.5, -1.0])
            plain, plus = losses.kl_tokens(kind, new, reference), losses.kl_tokens(f"{kind}+", new, reference)
            torch.testing.assert_close(plain, plus)
            plus.sum().backward()
            torch.testing.assert_close(new.grad, new.detach() - reference)

    def test_entropies_have_the_published_numbers(self):
        given, expected = self.cases["entropy"]["inputs"], self.cases["entropy"]["expected"]
        torch.testing.assert_close(losses.entropy_of_logits(tensor(given["logits"])), tensor(expected["value"]), rtol=1e-9, atol=1e-9)


if __name__ == "__main__":
    unittest.main()
