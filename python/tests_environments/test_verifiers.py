"""The adapter for verifiers, with the real package and tiny environments that are made of it."""

import unittest

import verifiers as vf
from datasets import Dataset

from espalier_rl import from_verifiers
from espalier_rl.environment import describe


def spelled(completion, answer):
    return 1.0 if "".join(m.content for m in completion if m.role == "assistant") == answer else 0.0


def brief(completion):
    return 1.0 if all(len(m.content) == 1 for m in completion if m.role == "assistant") else 0.0


class Spell(vf.MultiTurnEnv):
    """A word is spelled letter by letter."""

    async def setup_state(self, state):
        state["left"] = list(state["answer"])
        return state

    async def env_response(self, messages, state, **kwargs):
        said = messages[-1].content
        if state["left"] and said == state["left"][0]:
            state["left"].pop(0)
        if not state["left"]:
            state["final_env_response"] = [{"role": "user", "content": "That is the word."}]
            return state["final_env_response"]
        return [{"role": "user", "content": f"{len(state['left'])} letters are left."}]


def rows(*words):
    return Dataset.from_list([{"question": f"Spell {word}.", "answer": word} for word in words])


def made(**more):
    rubric = vf.Rubric(funcs=[spelled, brief], weights=[1.0, 0.5])
    return Spell(dataset=rows("at", "cat"), system_prompt="One letter at a time.", rubric=rubric, max_turns=5, **more)


class Environments(unittest.TestCase):
    def begun(self, kind, task="0"):
        episode = kind()
        self.addCleanup(episode.close)
        return episode, episode.reset(task, 0)

    def test_rows_are_tasks_and_replies_are_steps_until_the_rubric_pays(self):
        kind = from_verifiers(made(eval_dataset=rows("dog")))
        self.assertEqual(kind.tasks, [{"task": "0", "split": "train"}, {"task": "1", "split": "train"}, {"task": "eval-0", "split": "test"}])
        episode, opening = self.begun(kind)
        self.assertEqual((opening.observation, opening.instruction, opening.split), ("Spell at.", "One letter at a time.", "train"))
        step = episode.step("a")
        self.assertEqual((step.observation, step.reward, step.terminated), ("1 letters are left.", 0.0, False))
        step = episode.step("t")
        self.assertEqual((step.observation, step.terminated, step.truncated, step.success), ("That is the word.", True, False, True))
        self.assertEqual((step.reward, step.rewards, step.reason), (1.5, {}, "has_final_env_response"))
        self.assertEqual(describe(kind)["reward"], {"kind": "final", "scale": 1.5})
        self.assertEqual(self.begun(kind, "eval-0")[1].split, "test")

    def test_named_functions_of_the_rubric_are_components_whose_sum_stays_its_reward(self):
        episode, _ = self.begun(from_verifiers(made(), components=["brief"]))
        step = [episode.step(letter) for letter in "at"][-1]
        self.assertEqual((step.reward, step.rewards), (1.0, {"brief": 0.5}))

    def test_a_limit_of_turns_cuts_the_episode_and_the_rubric_still_pays(self):
        episode, _ = self.begun(from_verifiers(made()))
        step = [episode.step("x") for _ in range(5)][-1]
        self.assertEqual((step.terminated, step.truncated, step.success, step.reward), (False, True, True, 0.5))
        self.assertEqual(step.reason, "max_turns_reached")

    def test_a_question_of_one_turn_ends_by_its_answer(self):
        env = vf.SingleTurnEnv(dataset=rows("hi"), rubric=vf.Rubric(funcs=[spelled]))
        episode, opening = self.begun(from_verifiers(env))
        step = episode.step("hi")
        self.assertEqual((opening.observation, step.terminated, step.truncated, step.reward), ("Spell hi.", True, False, 1.0))

    def test_a_copy_is_played_again_and_goes_on_by_itself(self):
        episode, _ = self.begun(from_verifiers(made()), "1")
        episode.step("c")
        copy = episode.fork()
        self.addCleanup(copy.close)
        self.assertEqual(episode.step("a").observation, "1 letters are left.")
        self.assertEqual(copy.step("x").observation, "2 letters are left.")

    def test_an_error_of_the_environment_is_no_observation(self):
        class Broken(Spell):
            async def env_response(self, messages, state, **kwargs):
                raise vf.InfraError("the sandbox is away")

        env = Broken(dataset=rows("at"), rubric=vf.Rubric(funcs=[spelled]))
        episode, _ = self.begun(from_verifiers(env))
        with self.assertRaisesRegex(RuntimeError, "task 0 failed: InfraError"):
            episode.step("a")

    def test_what_one_episode_cannot_have_is_refused(self):
        def better(completions):
            return [0.0 for _ in completions]

        tool = {"name": "lookup", "description": "Looks a word up.", "parameters": {"type": "object", "properties": {}}}
        grouped = Spell(dataset=rows("at"), rubric=vf.Rubric(funcs=[spelled, better]))
        for env, options, message in [
            (grouped, {}, "the rubric of Spell compares the rollouts of a group"),
            (made(tool_defs=[tool]), {}, "Spell calls tools"),
            (made(), {"components": ["tidy"]}, "the rubric has no function 'tidy'; there are spelled, brief"),
            (object(), {}, "object is no MultiTurnEnv of the package verifiers"),
        ]:
            with self.subTest(message=message), self.assertRaisesRegex(TypeError, message):
                from_verifiers(env, **options)

    def test_the_fingerprint_holds_the_rows(self):
        self.assertEqual(from_verifiers(made()).fingerprint(), from_verifiers(made()).fingerprint())
        self.assertNotEqual(from_verifiers(made()).fingerprint(), from_verifiers(made(eval_dataset=rows("dog"))).fingerprint())


if __name__ == "__main__":
    unittest.main()
