"""What several trees have under one id is asked for, annotated and retracted by its tree."""

import json
import re
import unittest

from .answering import Answering

try:
    import espalier_rl as er
except ImportError:
    er = None

STEP = {"id": "s", "parentId": None, "depth": 1, "thought": "", "response": "", "observation": "", "rewards": [], "forgotten": False}
END = {"id": "r", "leafId": "s", "outcome": "terminated", "success": True, "return": 1, "policy": {"id": "p", "version": 0}}


class Installation(Answering):
    """Two trees, a and b, that have a step, its image and a rollout of one id; what each did is its name."""

    def __init__(self):
        self.written = []
        super().__init__()

    def respond(self, method, path, raw, headers):
        if method == "GET":
            return 200, {}, path.encode()
        asked = json.loads(raw)
        query, variables = asked["query"], asked["variables"]
        if query.startswith("mutation"):
            self.written.append(variables)
            return 200, {}, {"data": {}}
        tree = variables["tree"]
        if tree is None:
            return 200, {}, {"errors": [{"message": "the id is ambiguous", "extensions": {"code": "AMBIGUOUS"}}]}
        image = {"id": f"image-{tree}", "url": ""}
        trajectory = {"id": "r", "return": 1, "rollout": END, "steps": [{"action": tree, "observation": ""}]}
        return 200, {}, {"data": {"step": {**STEP, "action": tree, "tokens": None, "historyImage": image}, "trajectory": trajectory}}


class LargeTree(Answering):
    """A tree of one rollout of 4,500 steps and of 1,100 without any, of which it answers at most as many at once as it is asked for."""

    def respond(self, method, path, raw, headers):
        asked = json.loads(raw)
        query, after = asked["query"], asked["variables"].get("after")
        first = int(re.search(r"first: (\d+)", query + "first: 0")[1])
        start = 0 if after is None else int(after) + 1
        steps = [{**STEP, "id": f"s{i}", "parentId": f"s{i - 1}" if i else None, "depth": i, "logOffset": i, "action": f"{i}"} for i in range(start, min(4_500, start + first))]
        if "rollouts(" in query:
            nodes = [{**END, "id": f"r{i}", "ordinal": i} for i in range(start, min(1_101, start + first))]
            page = {"hasNextPage": start + first < 1_101, "endCursor": f"{start + len(nodes) - 1}"}
            return 200, {}, {"data": {"rollouts": {"nodes": nodes, "pageInfo": page}}}
        if "trajectory(" in query:
            return 200, {}, {"data": {"trajectory": {"id": "r", "return": 1, "rollout": END, "steps": steps}}}
        about = {"id": "t", "runId": "run", "forgotten": False, "task": {"alias": "large", "environment": "e"}}
        return 200, {}, {"data": {"tree": {"steps": steps} if "steps(" in query else about}}


@unittest.skipIf(er is None, "httpx is not installed")
class Large(unittest.TestCase):
    def test_trees_and_trajectories_are_read_in_parts_whatever_their_size(self):
        server = LargeTree()
        self.addCleanup(server.close)
        with er.connect(server.url, token="t", retry_s=0) as db:
            tree, both = db.tree("t"), db.difference("r", "r")
        self.assertEqual([step["action"] for step in tree.steps], [f"{i}" for i in range(4_500)])
        self.assertEqual([rollout["ordinal"] for rollout in tree.data["rollouts"]], list(range(1_101)))
        self.assertEqual([len(both.a["steps"]), both.b["steps"][-1]["action"]], [4_500, "4499"])


@unittest.skipIf(er is None, "httpx is not installed")
class OfTrees(unittest.TestCase):
    def setUp(self):
        self.server = Installation()
        self.addCleanup(self.server.close)
        self.db = er.connect(self.server.url, token="t", retry_s=0)

    def test_a_step_its_image_and_two_rollouts_are_found_by_their_trees(self):
        for tree in ("a", "b"):
            self.assertEqual(self.db.step("s", tree=tree).data["action"], tree)
            self.assertEqual(self.db.image("s", tree=tree).png, f"/images/image-{tree}.png".encode())
        self.assertEqual(self.db.difference("r", "r", tree=("a", "b")).first, 0)
        self.assertIsNone(self.db.difference("r", "r", tree="a").first)
        for ask in (lambda: self.db.step("s"), lambda: self.db.image("s"), lambda: self.db.difference("r", "r")):
            self.assertRaisesRegex(er.EspalierError, "ambiguous", ask)

    def test_annotations_name_the_tree_of_what_they_are_of(self):
        self.db.annotate(["s", "t"], tree="a", label="x")
        self.db.annotate(tree=["a", "b"], label="x")
        self.db.retract("n", tree="b")
        steps, trees, retracted = self.server.written
        self.assertEqual([(each["step"], each["inTree"]) for each in steps["annotations"]], [("s", "a"), ("t", "a")])
        self.assertEqual([each["tree"] for each in trees["annotations"]], ["a", "b"])
        self.assertEqual((retracted["ids"], retracted["tree"]), (["n"], "b"))
        self.assertRaisesRegex(er.EspalierError, "one tree", lambda: self.db.annotate("s", tree=["a", "b"], label="x"))


if __name__ == "__main__":
    unittest.main()
