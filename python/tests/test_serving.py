"""An environment class behind `espalier_rl.serving`, asked over HTTP as an installation asks it."""

import os
import subprocess
import sys
import tempfile
import unittest

from espalier_rl import BackendAway, Environment, Opening, Step, UnknownTask, make_server
from espalier_rl.environment import describe
from espalier_rl.serving import Episodes
from .served import Served as ServedJson


class Countdown(Environment):
    tasks = ["3", "5", "unready"]
    instruction = "Say down."
    components = ["haste"]

    def reset(self, task, seed):
        if task == "unready":
            raise UnknownTask("unready is not ready")
        self.left = int(task)
        return Opening(str(self.left), actions=["down"], state=str(self.left))

    def step(self, action):
        if action == "break":
            raise RuntimeError("broken")
        if action == "exit":
            sys.exit("enough")
        if action == "away":
            raise BackendAway("the retriever is away")
        if action == "nan":
            return Step("", reward=float("nan"))
        if action == "tuple":
            return "three values", 0.5, False
        if action == "five":
            return "five values", 0, False, True, {"success": False}
        if action == "number":
            return 5
        self.left -= action == "down"
        return Step(str(self.left), reward=float(self.left == 0), terminated=self.left == 0, success=self.left == 0, rewards={"haste": 0.1})

    def expert(self):
        return "down", self.left


class Fingerprints(unittest.TestCase):
    def test_the_fingerprint_changes_with_a_module_that_the_file_imports_from_its_folder(self):
        def fingerprint(rules):
            with tempfile.TemporaryDirectory() as folder:
                with open(os.path.join(folder, "own_rules.py"), "w") as file:
                    file.write(rules)
                with open(os.path.join(folder, "own_world.py"), "w") as file:
                    file.write(
                        "from espalier_rl import Environment\nimport own_rules\nclass World(Environment):\n    tasks = ['1']\n"
                    )
                program = f"import sys\nfrom espalier_rl.serving import load\nprint(load({os.path.join(folder, 'own_world.py')!r}).fingerprint())"
                env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1"}
                return subprocess.run([sys.executable, "-c", program], env=env, check=True, capture_output=True, text=True).stdout

        first = fingerprint("RIGHT = 1\n")
        self.assertEqual(fingerprint("RIGHT = 1\n"), first)
        self.assertNotEqual(fingerprint("RIGHT = 2\n"), first)


class Served(ServedJson, unittest.TestCase):
    def make(self):
        return make_server(Countdown)

    def begun(self, task="3"):
        episode = self.ask("/create", {})[1]["episode"]
        self.assertEqual(self.ask("/reset", {"episode": episode, "task": task, "seed": 0})[0], 200)
        return episode

    def step(self, episode, n, action="down"):
        return self.ask("/step", {"episode": episode, "n": n, "action": action})

    def test_the_description_names_tasks_and_what_may_be_asked(self):
        status, said = self.ask("/")
        self.assertEqual(status, 200)
        self.assertEqual(said["protocol"], "espalier-environment/1")
        self.assertEqual((said["name"], said["tasks"], said["fork"], said["expert"]), ("countdown", Countdown.tasks, True, True))
        self.assertRegex(said["fingerprint"], "^[0-9a-f]{64}$")

    def test_an_episode_runs_to_its_end_and_no_further(self):
        episode = self.begun()
        self.assertEqual([self.step(episode, n)[1]["observation"] for n in range(3)], ["2", "1", "0"])
        self.assertEqual(self.step(episode, 3), (409, {"error": "invalid", "message": "the episode has ended: POST /reset first"}))

    def test_a_step_of_the_same_number_is_answered_again_and_not_executed_again(self):
        episode = self.begun()
        first = self.step(episode, 0)
        self.assertEqual(self.step(episode, 0), first)
        self.assertEqual(self.ask("/observe", {"episode": episode})[1], {"steps": 1, "last": first[1]})
        self.assertEqual(self.step(episode, 5)[1]["message"], "n must be 1, the number of steps taken, not 5")

    def test_a_copy_goes_on_by_itself(self):
        episode = self.begun()
        self.step(episode, 0)
        copy = self.ask("/fork", {"episode": episode})[1]["episode"]
        self.step(episode, 1)
        self.assertEqual(self.ask("/expert", {"episode": copy})[1], {"action": "down", "length": 2})
        self.assertEqual(self.step(copy, 1)[1]["observation"], "1")

    def test_what_is_possible_is_listed_where_the_class_says_how(self):
        self.assertFalse(self.ask("/")[1]["hints"])

        class Hinting(Countdown):
            def hints(self):
                return ["down"]

        episodes = Episodes(Hinting)
        named = episodes.create({})
        episodes.reset({**named, "task": "3"})
        self.assertEqual((episodes.description["hints"], episodes.hints(named)), (True, {"actions": ["down"]}))

    def test_a_task_and_actions_in_one_request_are_answered_as_one_by_one(self):
        episode = self.begun()
        alone = [self.step(episode, n)[1] for n in range(2)]
        status, played = self.ask("/replay", {"task": "3", "seed": 0, "actions": ["down", "down"]})
        self.assertEqual((status, played["steps"], played["opening"]["observation"]), (200, alone, "3"))
        self.assertEqual(self.step(played["episode"], 2)[1]["observation"], "0")
        # it ends where the episode ends
        self.assertEqual(len(self.ask("/replay", {"task": "3", "actions": ["down"] * 5})[1]["steps"]), 3)
        self.assertEqual(self.ask("/replay", {"task": "3", "actions": "down"})[1]["message"], "actions must be a list of texts")
        self.assertEqual(self.ask("/replay", {"task": "3", "actions": ["away"]})[0], 500)

    def test_a_copy_that_is_the_episode_itself_is_refused(self):
        episode = self.begun()
        fork = Countdown.fork
        Countdown.fork = lambda self: self
        try:
            status, said = self.ask("/fork", {"episode": episode})
        finally:
            Countdown.fork = fork
        self.assertEqual((status, said["message"]), (500, "fork returned the episode itself: return a copy, as copy.deepcopy(self) does"))

    def test_a_reward_that_is_no_finite_number_is_refused_by_its_field_with_the_remedy(self):
        status, said = self.step(self.begun(), 0, "nan")
        self.assertEqual((status, said["error"]), (500, "failed"))
        self.assertIn("step returned the reward nan: return a finite number, 0.0 where nothing was earned", said["message"])

    def test_errors_have_a_code_and_name_what_is_wrong(self):
        episode = self.begun()
        for asked, wanted in [
            (("/reset", {"episode": "no", "task": "3"}), (404, "gone")),
            (("/reset", {"episode": episode, "task": "7"}), (422, "unknown-task")),
            (("/reset", {"episode": episode, "task": "unready"}), (422, "unknown-task")),
            (("/step", {"episode": episode, "n": 0, "action": 5}), (400, "invalid")),
            (("/step", {"episode": episode, "n": 0, "action": "break"}), (500, "failed")),
            (("/step", {"episode": episode, "n": 0, "action": "exit"}), (500, "failed")),
            (("/step", {"episode": episode, "n": 0, "action": "away"}), (500, "backend")),
            (("/step", {"episode": episode, "n": 0, "action": "nan"}), (500, "failed")),
            (("/step", {"episode": episode, "n": 0, "action": "number"}), (500, "failed")),
            (("/nothing", {}), (404, "invalid")),
        ]:
            with self.subTest(asked=asked):
                status, said = self.ask(*asked)
                self.assertEqual((status, said["error"]), wanted)
                self.assertNotEqual(said["message"], "")
        self.assertEqual(self.ask("/create", {}, headers={"content-type": "text/plain"})[0], 415)
        self.connection.request("POST", "/create", "[1", {"content-type": "application/json"})
        self.assertEqual(self.connection.getresponse().status, 400)

    def test_a_step_may_be_three_or_five_values(self):
        episode = self.begun()
        self.assertEqual(self.step(episode, 0, "tuple")[1]["reward"], 0.5)
        said = self.step(episode, 1, "five")[1]
        self.assertEqual((said["truncated"], said["success"]), (True, False))

    def test_a_class_without_tasks_is_refused(self):
        with self.assertRaisesRegex(ValueError, "Bare.tasks must be a list of texts"):
            describe(type("Bare", (Environment,), {}))


class Started(unittest.TestCase):
    def start(self, source, place="world.py"):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "world.py"), "w") as file:
                file.write(source)
            command = [sys.executable, "-m", "espalier_rl", "serve", os.path.join(folder, place), "--port", "0", "--end-with-stdin"]
            ended = subprocess.run(command, input=b"", capture_output=True, timeout=60)
        return ended.returncode, ended.stderr.decode()

    def test_a_file_with_one_class_is_served_until_standard_input_ends(self):
        code, said = self.start("from espalier_rl import Environment\nclass World(Environment):\n    tasks = ['a']\n")
        self.assertEqual(code, 0)
        self.assertRegex(said, r"^listening on http://127\.0\.0\.1:\d+\n$")

    def test_a_file_without_the_named_class_says_which_it_has(self):
        code, said = self.start("from espalier_rl import Environment\nclass World(Environment):\n    tasks = ['a']\n", "world.py#Other")
        self.assertEqual(code, 1)
        self.assertIn("defines World; name one that is a subclass", said)


if __name__ == "__main__":
    unittest.main()
