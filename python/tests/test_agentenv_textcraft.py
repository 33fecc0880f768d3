"""AgentGym's own TextCraft in the sidecar, by a stand-in for its package: the same names of modules, classes and methods, other code."""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
from unittest import mock

from espalier_rl.environments.agentgym import Places
from espalier_rl.environments.published import open_published
from espalier_rl.serving import Episodes

RECIPES = {"stick": ["plank"], "plank": [], "torch": ["stick", "coal"], **{f"dye {number}": ["plank"] for number in range(8)}}
LAST = "9"  # the only task of two crafts: the torch
MODULES = {
    "__init__": "raise RuntimeError('the package opens a server where it is imported as a whole')",
    "utils": "def shown(item):\n    return item.replace('_', ' ')",
    "crafting_tree": """
        import json, os

        class CraftingTree:
            def __init__(self, minecraft_dir):
                self.recipes = {}
                for name in os.listdir(os.path.join(minecraft_dir, "recipes")):
                    with open(os.path.join(minecraft_dir, "recipes", name)) as file:
                        self.recipes[name.removesuffix(".json")] = json.load(file)

            def __deepcopy__(self, memo):
                raise RuntimeError("recipes are not copied with an episode")

            def depth(self, item):
                return 1 + max(map(self.depth, self.recipes[item])) if self.recipes.get(item) else 0

            def item_recipes_min_depth(self, least):
                for item in self.recipes:
                    if self.depth(item) >= least:
                        yield item, self.depth(item)
    """,
    "environment": """
        import random, threading
        from .utils import shown

        class TextCraftEnv:
            def __init__(self, crafting_tree, commands, goal):
                self.crafting_tree, self.commands, self.goal, self.inventory = crafting_tree, commands, goal, {}
                HELD

            def reset(self, seed=42, data_idx=0, commands=None, goal=None):
                random.seed(seed)
                goals = sorted(self.crafting_tree.item_recipes_min_depth(1), key=lambda goal: goal[1])
                self.goal, self.inventory = goals[data_idx % len(goals)][0], {}
                lines = list({f"craft 1 {shown(item)} using {', '.join(needs)}" for item, needs in self.crafting_tree.recipes.items() if needs})
                random.shuffle(lines)
                return "Crafting commands:\\n" + "\\n".join(lines) + f"\\n\\nGoal: craft {shown(self.goal)}.", {}

            def step(self, action):
                verb, _, item = action.partition(" ")
                if verb == "get" and not self.crafting_tree.recipes.get(item):
                    self.inventory[item] = self.inventory.get(item, 0) + 1
                    return f"Got {item}", 0, False, False, {}
                needs = self.crafting_tree.recipes.get(item)
                if verb == "craft" and needs and all(self.inventory.get(need) for need in needs):
                    self.inventory[item] = self.inventory.get(item, 0) + 1
                    won = item == self.goal
                    return f"Crafted {item}", int(won), won, False, {}
                if verb == "inventory":
                    return f"Inventory: {sorted(self.inventory)}", 0, False, False, {}
                return f"Could not execute {action}", 0, False, False, {}

            def close(self):
                del self.inventory
    """,
}


def write_package(folder, *, copies):
    package = os.path.join(folder, "agentenv_textcraft")
    os.makedirs(os.path.join(package, "recipes"))
    for item, needs in RECIPES.items():
        with open(os.path.join(package, "recipes", f"{item}.json"), "w", encoding="utf-8") as file:
            json.dump(needs, file)
    for name, source in MODULES.items():
        with open(os.path.join(package, f"{name}.py"), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(source).replace("HELD", "pass" if copies else "self.lock = threading.Lock()"))


class AgentEnvTextCraft(unittest.TestCase):
    def open(self, *, copies=True):
        """Opens the environment by a package of its own."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        write_package(folder.name, copies=copies)
        modules = mock.patch.dict(sys.modules)
        modules.start()
        for name in [name for name in sys.modules if name.split(".")[0] == "agentenv_textcraft"]:
            del sys.modules[name]
        self.addCleanup(modules.stop)
        path = mock.patch.object(sys, "path", [folder.name, *sys.path])
        path.start()
        self.addCleanup(path.stop)
        self.folder = folder.name
        with mock.patch.dict(os.environ, {"PYTHONHASHSEED": "0"}):
            return open_published("agentenv-textcraft", {})

    def test_its_tasks_are_numbered_as_by_the_class_and_play_by_it(self):
        kind = self.open()
        self.assertEqual([task["task"] for task in kind.tasks], [str(number) for number in range(10)])
        self.assertEqual([task["depth"] for task in kind.tasks], [1] * 9 + [2])
        episode = kind()
        opening = episode.reset(LAST, 7)
        self.assertEqual(opening.goal, "craft torch")
        for each in (episode, episode.fork()):
            self.assertEqual(sorted(action for action in each.hints() if action.startswith("get")), ["get coal", "get plank"])
            self.assertIn("craft 1 torch using stick, coal", each.hints())
        self.assertEqual(kind().reset(LAST, 0), opening)
        self.assertFalse(episode.step("dance").executable)
        for action in ("get plank", "craft stick", "get coal"):
            self.assertFalse(episode.step(action).terminated)
        won = episode.step("craft torch")
        self.assertEqual((won.observation, won.reward, won.terminated, won.success), ("Crafted torch", 1.0, True, True))

    def test_a_copy_goes_on_by_itself_where_the_class_can_be_copied_and_where_it_cannot(self):
        for copies in (True, False):
            with self.subTest(copies=copies):
                kind = self.open(copies=copies)
                self.assertEqual(kind.simulators is None, copies)
                episode = kind()
                episode.reset(LAST, 0)
                episode.step("get plank")
                copy = episode.fork()
                self.assertEqual(copy.step("craft stick").observation, "Crafted stick")
                self.assertEqual(episode.step("inventory").observation, "Inventory: ['plank']")
                self.assertEqual(copy.step("inventory").observation, "Inventory: ['plank', 'stick']")
                for one in (episode, copy):
                    one.close()

    def test_it_is_served_by_both_protocols_with_copies_and_replays(self):
        kind = self.open()
        described = Episodes(kind).description
        self.assertEqual([described[field] for field in ("resets", "fork", "replay", "deterministic")], ["alone", True, True, True])
        places = Places(kind)
        created = places.create({})
        self.assertEqual(created, {"id": 0, "done": False, "observation": kind().reset("0", 0).observation, "reward": 0})
        played = places.replay({"data_idx": 19, "actions": ["get plank", "craft stick", "get coal", "craft torch", "inventory"]})
        self.assertEqual([step["done"] for step in played["steps"]], [False, False, False, True])
        self.assertEqual(played["opening"]["observation"], kind().reset(LAST, 0).observation)
        after = places.step({"id": played["id"], "action": "inventory"})  # as on AgentGym's server, the world goes on
        self.assertIn("torch", after["observation"])

    def test_processes_that_are_started_by_the_command_open_tasks_alike(self):
        self.open()
        shown = []
        for seed in (None, None, "1"):
            code = (
                "import sys; sys.argv = ['x', 'serve-published', 'agentenv-textcraft', '--port', '0'];"
                "import espalier_rl.__main__ as main;"
                "main.make_server = lambda kind, **at: sys.exit(kind().reset('1', 0).observation + kind.fingerprint()); main.main()"
            )
            env = {**os.environ, "PYTHONPATH": os.pathsep.join([self.folder, *sys.path])}
            env.pop("PYTHONHASHSEED", None)
            env |= {"PYTHONHASHSEED": seed} if seed else {}
            shown.append(subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False).stderr)
        self.assertIn("Goal: craft", shown[0])
        self.assertEqual(shown[0], shown[1])
        self.assertNotEqual(shown[0].splitlines()[-1], shown[2].splitlines()[-1])  # another seed of hashes is another world

    def test_it_is_refused_with_a_remedy_without_the_package_or_its_recipes_or_a_seed_of_hashes(self):
        with self.assertRaisesRegex(ValueError, "agentenv_textcraft, which this Python does not have: clone github.com/WooooDyy/AgentGym, .*ESPALIER_WORLDS_PYTHON"):
            open_published("agentenv-textcraft", {})
        self.open()
        with mock.patch.dict(os.environ, {"PYTHONHASHSEED": "random"}), self.assertRaisesRegex(ValueError, "start Python with PYTHONHASHSEED=0"):
            open_published("agentenv-textcraft", {})
        recipes = os.path.join(self.folder, "agentenv_textcraft", "recipes")
        for name in os.listdir(recipes):
            os.remove(os.path.join(recipes, name))
        os.rmdir(recipes)
        with self.assertRaisesRegex(ValueError, "has no folder recipes, .*: clone .*editable"):
            open_published("agentenv-textcraft", {})


if __name__ == "__main__":
    unittest.main()
