"""Rewards in Python: which function is served, and what is answered for an episode."""

import os
import tempfile
import unittest

from espalier_rl import ToolUnavailable
from espalier_rl.rewards import Reward, load_reward, make_reward_server
from .served import Served as ServedJson


def by_question(episode):
    if episode["question"] == "away":
        raise ToolUnavailable("the judge is away")
    return {"number": 0.5, "object": {"value": 1, "success": False}, "NaN": float("nan")}[episode["question"]]


class Rewards(ServedJson, unittest.TestCase):
    def make(self):
        return make_reward_server(Reward("by-question", "1", by_question))

    def score(self, question):
        return self.ask("/score", {"episode": {"question": question}})

    def test_the_server_names_its_reward(self):
        self.assertEqual(self.ask("/reward"), (200, {"protocol": "espalier-reward/1", "name": "by-question", "revision": "1"}))

    def test_a_number_is_a_value_and_an_object_is_answered_as_it_is(self):
        self.assertEqual(self.score("number"), (200, {"value": 0.5, "success": False}))
        self.assertEqual(self.score("object"), (200, {"value": 1, "success": False}))

    def test_an_exception_and_a_value_without_json_are_no_scores_and_an_unavailable_judge_is_put_off(self):
        self.assertEqual(self.score("none"), (422, {"error": "refused", "message": "KeyError: 'none'"}))
        self.assertEqual(self.score("NaN")[0], 422)
        self.assertEqual(self.score("away"), (503, {"error": "backend", "message": "the judge is away"}))
        self.assertEqual(self.ask("/score", {"episode": 1})[0], 400)


class Loading(unittest.TestCase):
    def test_a_file_gives_the_named_function_under_a_revision_of_its_source(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.py")
            revisions = []
            for value in (1, 2):
                with open(path, "w") as file:
                    file.write(f"def reward(episode):\n    return {value}\n")
                reward = load_reward(path)
                self.assertEqual((reward.name, reward.function({})), (f"{path}#reward", value))
                revisions.append(reward.revision)
            self.assertNotEqual(*revisions)
            with self.assertRaisesRegex(ValueError, "defines no function other; it defines reward"):
                load_reward(f"{path}#other")
