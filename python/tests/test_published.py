"""What published environments are made of, without their packages: courses and simulators, and the registry."""

import unittest

from espalier_rl.environments.courses import Simulators
from espalier_rl.environments.published import open_published, options_of, write_published


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


class Registry(unittest.TestCase):
    def test_what_cannot_be_opened_is_refused_by_name(self):
        with self.assertRaisesRegex(ValueError, "no published environment 'chess'; there are scienceworld"):
            open_published("chess", {})
        with self.assertRaisesRegex(ValueError, "'kinds' is no option KEY=VALUE"):
            options_of(["kinds"])
        with self.assertRaisesRegex(ValueError, "no games to write of 'scienceworld'; there are of alfworld"):
            write_published("scienceworld", "games", {})
