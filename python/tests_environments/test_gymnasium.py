"""The adapter for Gymnasium, with the real package: a text environment, FrozenLake and Taxi drawn as text."""

import unittest

import gymnasium
from gymnasium import spaces
from gymnasium.envs.toy_text.frozen_lake import generate_random_map

from espalier_rl import from_gymnasium
from espalier_rl.adapters.gymnasium import text_of_ansi
from espalier_rl.environment import describe

MOVES = ["left", "down", "right", "up"]


class Riddle(gymnasium.Env):
    """Asks for a number; texts in, texts out."""

    observation_space = spaces.Text(200)
    action_space = spaces.Text(20)
    limit = 3

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.secret, self.asked = int(self.np_random.integers(0, 100)), 0
        return "A number below 100.", {"admissible_commands": ["50", "give up"]}

    def step(self, action):
        self.asked += 1
        if action == "give up":
            return "It was " + str(self.secret), 0.0, True, False, {"success": False}
        right = action == str(self.secret)
        said = "Right." if right else "Higher." if action.isdigit() and int(action) < self.secret else "Lower."
        return said, float(right), right, self.asked >= self.limit and not right, {}


def lake(task):
    return gymnasium.make("FrozenLake-v1", desc=generate_random_map(size=4, seed=int(task)), is_slippery=False, render_mode="ansi")


class Worlds(unittest.TestCase):
    def begun(self, kind, task="0", seed=0):
        episode = kind()
        self.addCleanup(episode.close)
        return episode, episode.reset(task, seed)

    def test_an_environment_of_texts_is_passed_through_with_what_its_info_lists(self):
        kind = from_gymnasium(lambda task: Riddle(), seeds=5)
        self.assertEqual((kind.tasks, kind.name), (["0", "1", "2", "3", "4"], "Riddle"))
        episode, opening = self.begun(kind, "3")
        self.assertEqual((opening.observation, opening.actions), ("A number below 100.", ["50", "give up"]))
        step = episode.step("-")
        self.assertEqual((step.observation, step.reward, step.truncated, step.success, step.actions), ("Lower.", 0.0, False, None, None))
        self.assertEqual(episode.step("give up").success, False)
        self.assertEqual(describe(kind)["name"], "Riddle")

    def test_a_task_is_a_seed_and_an_episode_that_is_cut_is_no_success(self):
        kind = from_gymnasium(lambda task: Riddle())
        secrets = {task: self.begun(kind, task, seed)[0].env.secret for task in ("1", "2") for seed in (0, 9)}
        self.assertEqual(secrets, {task: self.begun(kind, task)[0].env.secret for task in ("1", "2")})
        episode, _ = self.begun(kind, "1")
        step = [episode.step("-") for _ in range(3)][-1]
        self.assertEqual((step.terminated, step.truncated, step.success), (False, True, False))

    def test_named_tasks_are_reset_by_the_seed_of_the_run(self):
        kind = from_gymnasium(lambda task: Riddle(), tasks=["easy", {"task": "hard", "split": "test"}])
        self.assertNotEqual(self.begun(kind, "easy", 1)[0].env.secret, self.begun(kind, "easy", 2)[0].env.secret)
        self.assertEqual(describe(kind)["tasks"], ["easy", {"task": "hard", "split": "test"}])

    def test_frozen_lake_is_drawn_as_text_and_walked_by_names(self):
        episode, opening = self.begun(from_gymnasium(lake, actions=MOVES), "4")
        self.assertIn("<red>S</red>", opening.observation)
        self.assertEqual(opening.actions, MOVES)
        refused = episode.step("fly")
        self.assertEqual((refused.executable, refused.reward, refused.actions), (False, 0.0, MOVES))
        self.assertIn("There is no action 'fly'; there are left, down, right, up.", refused.observation)
        path = self.path_through(lake("4").unwrapped.desc)
        steps = [episode.step(move) for move in path]
        self.assertIn("<red>G</red>", steps[-1].observation)
        self.assertEqual((steps[-1].reward, steps[-1].terminated, steps[-1].success), (1.0, True, True))

    def test_a_hole_ends_the_episode_without_success(self):
        made = lambda task: gymnasium.make("FrozenLake-v1", desc=["SH", "FG"], is_slippery=False, render_mode="ansi")
        episode, _ = self.begun(from_gymnasium(made, actions=MOVES))
        step = episode.step("right")
        self.assertEqual((step.terminated, step.success, step.reward), (True, False, 0.0))

    def test_taxi_lists_what_its_mask_allows_and_pays_by_its_scale(self):
        names = ["south", "north", "east", "west", "pickup", "dropoff"]
        kind = from_gymnasium(lambda task: gymnasium.make("Taxi-v3" if "Taxi-v3" in gymnasium.registry else "Taxi-v4", render_mode="ansi"),
                              actions=names, reward={"scale": 20})
        episode, opening = self.begun(kind, "7")
        self.assertNotIn("dropoff", opening.actions)
        self.assertTrue(0 < len(opening.actions) < 6)
        self.assertIn("<yellow>", opening.observation)
        self.assertEqual(episode.step(opening.actions[0]).reward, -1.0)
        self.assertEqual(describe(kind)["reward"], {"kind": "delta", "scale": 20})

    def test_a_copy_goes_on_by_itself_copied_or_played_again(self):
        for copies in (True, False):
            with self.subTest(copies=copies):
                slippery = lambda task: gymnasium.make("FrozenLake-v1", is_slippery=True, render_mode="ansi")
                episode, _ = self.begun(from_gymnasium(slippery, actions=MOVES, copies=copies), "2")
                episode.step("down")
                copy = episode.fork()
                self.addCleanup(copy.close)
                shown = [episode.step(move).observation for move in ("right", "down")]
                self.assertEqual([copy.step(move).observation for move in ("right", "down")], shown)

    def test_an_environment_that_does_not_begin_alike_cannot_be_played_again(self):
        class Restless(Riddle):
            begun = 0

            def reset(self, *, seed=None, options=None):
                Restless.begun += 1
                return f"Beginning {Restless.begun}.", {}

        episode, _ = self.begun(from_gymnasium(lambda task: Restless(), copies=False))
        with self.assertRaisesRegex(RuntimeError, "task 0 played again shows 'Beginning 3.' and not 'Beginning 2.': seed it in reset"):
            episode.fork()

    def test_what_is_no_text_or_has_no_names_is_refused_with_the_remedy(self):
        for make, options, message in [
            (lambda task: gymnasium.make("CartPole-v1"), {}, r"observes Box\(.*which is no text: pass observe=lambda"),
            (lambda task: gymnasium.make("FrozenLake-v1"), {}, r"observes Discrete\(16\), which is no text: make it with render_mode='ansi', or"),
            (lake, {"actions": ["left", "right"]}, "has 4 actions: actions must name each of them once, in their order"),
            (lambda task: gymnasium.make("Pendulum-v1"), {"observe": lambda seen, env: str(seen)}, r"takes actions of Box.*: name them, actions=\{"),
            (lake, {"observe": lambda seen, env: seen, "actions": MOVES}, r"is no text but int: observe\(observation, env\) must return a text"),
        ]:
            with self.subTest(message=message), self.assertRaisesRegex(TypeError, message):
                from_gymnasium(make, **options)

    def test_any_observation_and_action_can_be_given_words(self):
        said = lambda seen, env: f"angle {seen[2]:+.2f}"
        kind = from_gymnasium(lambda task: gymnasium.make("CartPole-v1"), observe=said, actions={"left": 0, "right": 1}, success=lambda *_: True)
        episode, opening = self.begun(kind)
        self.assertRegex(opening.observation, r"^angle [+-]0\.\d\d$")
        while not (step := episode.step("left")).terminated:
            pass
        self.assertTrue(step.success)
        self.assertEqual(kind.instruction, "Answer each time by one action. Actions: left, right.\nAction: the action")

    def test_the_fingerprint_holds_this_file_and_the_world(self):
        one, other = from_gymnasium(lambda task: Riddle()), from_gymnasium(lake, actions=MOVES)
        self.assertEqual(one.fingerprint(), from_gymnasium(lambda task: Riddle()).fingerprint())
        self.assertNotEqual(one.fingerprint(), other.fingerprint())
        self.assertEqual(one.__module__, __name__)

    def test_what_is_coloured_in_a_drawing_is_named(self):
        self.assertEqual(text_of_ansi("\n\x1b[43;1m \x1b[0m\x1b[35mB\x1b[0m:\x1b[1mx\x1b[0m\x1b[K\n"), "<yellow> </yellow><magenta>B</magenta>:x")
        with self.assertRaisesRegex(TypeError, "render\\(\\) returned NoneType"):
            text_of_ansi(None)

    def path_through(self, desc):
        """Returns the moves of a shortest path over the ice."""
        size, queue, seen = len(desc), [((0, 0), [])], {(0, 0)}
        while queue:
            (row, column), moves = queue.pop(0)
            if desc[row][column] == b"G":
                return moves
            for move, (down, right) in zip(MOVES, ((0, -1), (1, 0), (0, 1), (-1, 0))):
                at = (row + down, column + right)
                if at not in seen and 0 <= at[0] < size and 0 <= at[1] < size and desc[at[0]][at[1]] != b"H":
                    seen.add(at)
                    queue.append((at, [*moves, move]))


if __name__ == "__main__":
    unittest.main()
