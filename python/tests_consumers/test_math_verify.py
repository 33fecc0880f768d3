"""The reward math-verify, with the real package."""

import unittest

from espalier_rl.rewards import MathVerify, load_reward


class MathVerified(unittest.TestCase):
    def test_answers_that_are_equal_as_mathematics_have_reward_1(self):
        reward = load_reward("math-verify")
        self.assertRegex(reward.revision, r"^\d+\.")
        for response, gold, value in [
            (r"so \boxed{\sqrt{8}}", r"2\sqrt2", 1.0),
            (r"\boxed{(x+1)^2}", "x^2+2x+1", 1.0),
            (r"\boxed{\frac{4}{3}\pi}", r"$4\pi/3$", 1.0),
            ("the answer is 0.5", r"\frac12", 1.0),
            (r"\boxed{3.14}", r"\pi", 0.0),
            ("", "5", 0.0),
        ]:
            self.assertEqual(reward.function({"responses": ["first", response], "golds": ["no", gold]}), value, response)
        self.assertEqual(reward.function({"responses": [], "golds": []}), 0.0)

    def test_a_comparison_beyond_the_limit_is_given_up_and_the_next_one_is_answered(self):
        compare = MathVerify(limit_s=0.001)  # the worker imports SymPy for longer
        with self.assertRaisesRegex(TimeoutError, "took longer than 0.001 s"):
            compare({"responses": ["1"], "golds": ["1"]})
        compare._limit_s = 20.0
        self.assertEqual(compare({"responses": ["1"], "golds": ["1"]}), 1.0)
