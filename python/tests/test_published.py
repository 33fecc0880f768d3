"""What published environments are made of, without their packages: courses and simulators, AgentGym's protocol, the registry."""

import unittest

from espalier_rl import Environment, Opening, Step
from espalier_rl.environments.agentgym import Dialect, make_agentgym_server
from espalier_rl.environments.courses import Simulators
from espalier_rl.environments.published import open_published, options_of, write_published
from .served import Served as ServedJson


class Counter:
    """A simulator that counts what is played in it."""

    played, made, begun = 0, 0, 0

    def __init__(self):
        Counter.made += 1

    def begin(self, task, seed):
        Counter.begun += 1
        self.text = f"{task}:"
        return self.text

    def act(self, action):
        Counter.played += 1
        self.text += action
        return self.text


class Courses(unittest.TestCase):
    def setUp(self):
        Counter.played = Counter.made = Counter.begun = 0
        self.simulators = Simulators(Counter, limit=2)

    def play(self, course, seen, actions):
        for action in actions:
            course, seen, simulator = self.simulators.act(course, seen, action)
            self.simulators.keep(course, seen, simulator)
        return course, seen

    def begin(self, task):
        course, seen, simulator = self.simulators.begin(task, 0)
        self.simulators.keep(course, seen, simulator)
        return course, seen

    def test_an_episode_goes_on_in_its_simulator(self):
        self.assertEqual(self.play(*self.begin("a"), "xyz")[1], "a:xyz")
        self.assertEqual((Counter.played, Counter.begun), (3, 1))

    def test_a_copy_goes_on_by_itself_from_a_simulator_that_plays_its_actions(self):
        course, seen = self.play(*self.begin("a"), "xy")
        self.assertEqual(self.play(course, seen, "1")[1], "a:xy1")
        self.assertEqual(self.play(course, seen, "2")[1], "a:xy2")
        self.assertEqual(self.play(course, seen, "3")[1], "a:xy3")

    def test_a_limited_number_of_simulators_serves_any_number_of_episodes(self):
        begun = [self.begin(str(number)) for number in range(5)]
        self.assertEqual([self.play(*at, "x")[1] for at in begun], [f"{number}:x" for number in range(5)])
        self.assertLessEqual(Counter.made, 3)

    def test_simulators_beyond_the_limit_are_used_again_before_another_is_made(self):
        for _ in range(3):  # five at once, where two are kept
            begun = [self.simulators.begin(str(number), 0) for number in range(5)]
            for at in begun:
                self.simulators.keep(*at)
        self.assertEqual(Counter.made, 5)

    def test_a_world_that_shows_something_else_when_it_is_played_again_is_an_error(self):
        course, _ = self.begin("a")
        with self.assertRaisesRegex(RuntimeError, "task a played again shows 'a:' after 0 actions, not 'b:'"):
            self.simulators.act(course, "b:", "x")


class Numbers(Dialect):
    liveness = "This is environment Numbers."
    routes = {"/half": lambda world: {"half": world.left / 2}}

    @staticmethod
    def alias(number):
        return ["2", "4"][number]

    @staticmethod
    def refusal(asked):
        return "only here" if asked.get("where", "here") != "here" else None

    @staticmethod
    def opened(world, opening):
        return {"observation": opening.observation}

    @staticmethod
    def stepped(world, step):
        return {"observation": step.observation, "reward": step.reward, "done": step.terminated}


class Down(Environment):
    tasks = ["2", "4"]
    dialect = Numbers

    def reset(self, task, seed):
        self.left = int(task)
        return Opening(task)

    def step(self, action):
        self.left -= 1
        return Step(str(self.left), reward=float(self.left == 0), terminated=self.left == 0)


class AgentGym(ServedJson, unittest.TestCase):
    def make(self):
        return make_agentgym_server(Down)

    def ask(self, method, path, body=None):
        return super().ask(path, body, method=method)

    def test_an_episode_is_created_reset_stepped_and_closed_by_number(self):
        self.assertEqual(self.ask("GET", "/"), (200, "This is environment Numbers."))
        self.assertEqual(self.ask("POST", "/create"), (200, {"id": 0}))
        self.assertEqual(self.ask("POST", "/reset", {"id": 0, "data_idx": 0}), (200, {"done": False, "observation": "2"}))
        self.assertEqual(self.ask("GET", "/half?id=0"), (200, {"half": 1.0}))
        self.assertEqual(self.ask("POST", "/step", {"id": 0, "action": "down"})[1], {"observation": "1", "reward": 0.0, "done": False})
        self.assertEqual(self.ask("GET", "/observation?id=0"), (200, "1"))
        self.assertTrue(self.ask("POST", "/step", {"id": 0, "action": "down"})[1]["done"])
        self.assertEqual(self.ask("POST", "/step", {"id": 0, "action": "down"})[1], {"error": "The task with environment 0 has finished."})
        self.assertEqual(self.ask("POST", "/close", {"id": 0}), (200, True))

    def test_an_environment_is_copied_and_one_is_played_to_its_end_in_one_request(self):
        played = self.ask("POST", "/replay", {"data_idx": 1, "actions": ["down", "down"]})[1]
        self.assertEqual(played["opening"], {"done": False, "observation": "4"})
        self.assertEqual([step["observation"] for step in played["steps"]], ["3", "2"])
        copy = self.ask("POST", "/fork", {"id": played["id"]})[1]["id"]
        self.assertNotEqual(copy, played["id"])
        for number in (copy, played["id"]):
            self.assertEqual(self.ask("POST", "/step", {"id": number, "action": "down"})[1]["observation"], "1")
        self.assertEqual(len(self.ask("POST", "/replay", {"data_idx": 0, "actions": ["down"] * 9})[1]["steps"]), 2)

    def test_errors_are_answers(self):
        self.ask("POST", "/create")
        for method, path, body, wanted in [
            ("POST", "/step", {"id": 7, "action": "x"}, "The id 7 is not valid."),
            ("POST", "/reset", {"id": 0, "data_idx": 9}, "list index out of range"),
            ("POST", "/reset", {"id": 0, "data_idx": 0, "where": "there"}, "only here"),
            ("POST", "/step", {"id": 0, "action": "x"}, "the environment was not reset"),
            ("POST", "/fork", {"id": 0}, "the environment was not reset"),
            ("POST", "/replay", {"data_idx": 0, "actions": 3}, "actions must be a list of texts"),
            ("GET", "/observation?id=x", None, "id must be a number, not 'x'"),
        ]:
            with self.subTest(path=path):
                self.assertEqual(self.ask(method, path, body), (200, {"error": wanted}))
        self.assertEqual(self.ask("GET", "/step")[0], 405)


class Registry(unittest.TestCase):
    def test_what_cannot_be_opened_is_refused_by_name(self):
        with self.assertRaisesRegex(ValueError, "no published environment 'chess'; there are scienceworld"):
            open_published("chess", {})
        with self.assertRaisesRegex(ValueError, "'kinds' is no option KEY=VALUE"):
            options_of(["kinds"])
        with self.assertRaisesRegex(ValueError, "no games to write of 'babyai'; there are of alfworld"):
            write_published("babyai", "games", {})
