"""Views for notebooks: every text of the record is escaped, nothing is loaded, and what they compute."""

import base64
import math
import struct
import unittest
from html.parser import HTMLParser

try:
    from espalier_rl.analysis import DifferenceView, ImageView, StepView, TreeView
except ImportError:
    TreeView = None

HOSTILE = '</pre><script>alert("x")</script><img src=x onerror=alert(1)> \' " & <!-- ]]> javascript:'
ALLOWED = {"style", "div", "b", "i", "p", "pre", "details", "summary", "span", "table", "tr", "td", "th", "br", "img", "mark"}


class Tags(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.open, self.names, self.attributes, self.text = [], set(), [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.names.add(tag)
        self.attributes += [(tag, *each) for each in attributes]
        if tag not in ("br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text.append(data)


def step(depth, parent, **more):
    shown = {"id": f"s{depth}", "parentId": parent, "depth": depth, "thought": "", "response": "", "action": f"go {depth}"}
    return {**shown, "observation": f"room {depth}", "rewards": [], "statistics": None, "logOffset": depth, "forgotten": False, **more}


def packed(code, dtype, values):
    return {"dtype": dtype, "base64": base64.b64encode(struct.pack(f"<{len(values)}{code}", *values)).decode()}


def trajectory(*observations, returned=1.0):
    rollout = {"id": "r", "policy": {"id": HOSTILE, "version": 3}, "outcome": "terminated", "success": True, "return": returned}
    return {"id": "r", "return": returned, "rollout": rollout, "steps": [{"action": "go", "observation": each} for each in observations]}


@unittest.skipIf(TreeView is None, "httpx is not installed")
class Views(unittest.TestCase):
    def check(self, view):
        html = view._repr_html_()
        tags = Tags(html)
        self.assertEqual(tags.open, [])
        self.assertLessEqual(tags.names, ALLOWED)
        for _, name, value in tags.attributes:
            self.assertIn(name, ("class", "style", "title", "open", "alt", "src"))
            if name == "src":
                self.assertTrue(value.startswith("data:image/png;base64,"))
        self.assertNotIn("url(", html)
        self.assertNotIn("@import", html)
        return html, "".join(tags.text)

    def test_a_tree_shows_every_step_with_hostile_text_escaped(self):
        rewards = [{"component": HOSTILE, "value": -1}]
        steps = [step(0, None, action=""), step(1, "s0", action=HOSTILE, thought=HOSTILE, observation=HOSTILE, rewards=rewards), step(2, "s1")]
        end = {"id": "r", "leafId": "s2", "outcome": "terminated", "success": True, "return": 0.5, "policy": {"id": "p", "version": 0}}
        data = {"id": "t", "forgotten": False, "task": {"alias": HOSTILE, "environment": "e"}, "steps": steps, "rollouts": [end]}
        _, said = self.check(TreeView(data))
        self.assertEqual(said.count("alert(1)"), 5)
        self.assertIn("terminated, success, return 0.5", said)

    def test_a_path_of_thousands_of_steps_is_shown(self):
        steps = [step(0, None)] + [step(depth, f"s{depth - 1}") for depth in range(1, 5_000)]
        data = {"id": "t", "forgotten": False, "task": {"alias": "deep", "environment": "e"}, "steps": steps, "rollouts": []}
        _, said = self.check(TreeView(data))
        self.assertIn("room 4999", said)

    def test_a_step_shows_its_tokens_by_their_probability(self):
        tokens = {"ids": packed("i", "int32", [7, 8, 9]), "logProbs": packed("f", "float32", [0.0, -5.0, -1.0]), "mask": packed("B", "uint8", [1, 1, 0])}
        view = StepView(step(1, "s0", tokens=tokens), decode=lambda token: f"<{token}>")
        html, said = self.check(view)
        self.assertEqual((view.token_ids, view.log_probs), ([7, 8, 9], [0.0, -5.0, -1.0]))
        self.assertIn("<7><8><9>", said)
        self.assertIn("rgba(207,34,46,0.85)", html)
        self.assertIn(f"2 sampled tokens, mean log-prob -2.500, perplexity {math.exp(2.5):.2f}", said)
        self.check(StepView(step(1, "s0", tokens=None)))

    def test_a_forgotten_step_shows_no_placeholder(self):
        data = step(1, "s0", forgotten=True, observation="[forgotten]", tokens={"ids": packed("i", "int32", [0]), "logProbs": None, "mask": None})
        _, said = self.check(StepView(data))
        self.assertIn("The payload of this step is forgotten", said)
        self.assertNotIn("[forgotten]", said)

    def test_a_difference_says_where_two_trajectories_part_and_marks_what_differs(self):
        a, b = trajectory("a hall", "a garden " + HOSTILE, returned=1), trajectory("a hall", "a gate", "a wall", returned=0)
        html, said = self.check(DifferenceView(a, b))
        self.assertEqual(DifferenceView(a, b).first, 1)
        self.assertIn("two trajectories that part at depth 1", said)
        self.assertIn("<mark>", html)
        self.assertIsNone(DifferenceView(a, a).first)
        self.check(DifferenceView(trajectory("x\n" * 3_000), trajectory("y\n" * 3_000)))

    def test_an_image_is_in_the_page(self):
        html, _ = self.check(ImageView(b"\x89PNG", HOSTILE))
        self.assertIn(base64.b64encode(b"\x89PNG").decode(), html)


if __name__ == "__main__":
    unittest.main()
