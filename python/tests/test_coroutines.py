"""What may wait has a form for coroutines, and an event loop goes on meanwhile."""

import asyncio
import inspect
import threading
import unittest

try:
    import espalier_rl as er
    from espalier_rl.analysis import Table
    from espalier_rl.coroutines import iterated_by_coroutines
    from espalier_rl.training import Batch, Training
except ImportError:
    er = None

from .recorded_installation import RecordingCase

# what computes, describes, or opens nothing
NO_WAIT = {
    "Database": {"batches", "query", "rewards", "run_tail", "samples", "steps", "trajectories", "url", "connection", "close", "catch_up"},
    "Run": {"begin_episode", "captures", "check_open", "connect_again", "group", "rollout", "tail", "tree_ended", "url", "close", "flush", "has_member", "journal", "recorder"},
    "Group": {"all", "left", "tree_id"},
    "Training": {"version"},
    "Batch": {"check", "data_proto", "dataset", "log_probs", "sampled_tokens", "tensors", "why_no_advantages"},
    "Episode": {"run", "steps", "tree_id"},
    "SearchTree": {"closed", "id", "select"},
    "Captured": set(),
    "Table": {"reader"},
}
FUNCTIONS = {"end", "end_run", "flush", "reward", "run", "view"}


@unittest.skipIf(er is None, "httpx is not installed")
class Names(unittest.TestCase):
    def test_every_call_that_may_wait_has_a_form_for_coroutines(self):
        for kind in (er.Database, er.Run, er.Group, er.Episode, er.SearchTree, er.Captured, Training, Batch, Table):
            own = {name for name, value in vars(kind).items() if not name.startswith("_") and (callable(value) or isinstance(value, property))}
            forms = {name for name in own if inspect.iscoroutinefunction(vars(kind)[name]) or inspect.isasyncgenfunction(vars(kind)[name])}
            missing = {name for name in own - forms - NO_WAIT[kind.__name__] if f"a{name}" not in forms}
            with self.subTest(kind=kind.__name__):
                self.assertEqual(missing, set())
        for name in FUNCTIONS:
            self.assertTrue(inspect.iscoroutinefunction(getattr(er, f"a{name}")))
        for name in ("acatch_up", "aquery", "aclose"):
            self.assertTrue(inspect.iscoroutinefunction(getattr(er.Database, name)))
        for kind in (er.Database, er.Run, er.Episode, er.SearchTree, er.Captured):
            self.assertTrue(inspect.iscoroutinefunction(kind.__aenter__) and inspect.iscoroutinefunction(kind.__aexit__))


@unittest.skipIf(er is None, "httpx is not installed")
class Coroutines(RecordingCase):
    def test_a_program_of_coroutines_records_what_another_does(self):
        async def record():
            async with self.db.run("r", policy="p") as run:
                async for episode in run.group("t", n=3):
                    async with episode:
                        step = await episode.astep("a", "b", reward=1.0, done=False)
                        await episode.astep("c", ids=[1, 2], logprobs=[-1.0, -2.0])
                        if episode.ordinal == 0:
                            other = await episode.abranch(step)
                            await other.astep("d")
                            await other.afinish(success=False)
                failing = await run.aepisode("u")
                try:
                    async with failing:
                        await failing.astep("e")
                        raise ValueError("no world")
                except ValueError:
                    pass
                async with await run.atree("search") as tree:
                    [node] = await tree.aexpand([{"response": "f"}])
                    await tree.abackup(node, 0.5)
                await run.ametric("loss", 1.0)
                await run.aflush(30)

        asyncio.run(record())
        self.assertEqual(sorted(step["response"] for step in self.installation.of("StepTaken")), sorted(["a", "c"] * 3 + ["d", "e", "f"]))
        self.assertEqual([each["reason"] for each in self.installation.of("RolloutFinished") if each["outcome"] == "failed"], ["ValueError: no world"])
        self.assertEqual([each["outcome"] for each in self.installation.of("RunFinished")], ["completed"])

    def test_a_refusal_reaches_the_coroutine_and_others_go_on_while_one_waits_for_room(self):
        self.installation.refuses = [(503, {"retry-after": "0"}, "unavailable")]
        run = self.db.run("r", policy="p", spool_bytes=3_000)
        beats = 0

        async def beat(over):
            nonlocal beats
            while not over.is_set():
                beats += 1
                await asyncio.sleep(0.01)

        async def record():
            over = asyncio.Event()
            beating = asyncio.create_task(beat(over))
            episode = await run.aepisode("t")
            with self.assertRaisesRegex(er.EspalierError, "response is 5"):
                await episode.astep(5)
            threading.Timer(0.5, lambda: setattr(self.installation, "refuses", [])).start()
            for _ in range(20):  # it waits for room until the server takes what there is
                await episode.astep("a" * 200, done=False)
            over.set()
            await beating
            await episode.afinish()
            await run.aclose()

        asyncio.run(record())
        self.assertEqual(len(self.installation.of("StepTaken")), 20)
        self.assertGreater(beats, 5)

    def test_an_iteration_that_is_cancelled_while_it_waits_ends_behind_what_it_waits_for(self):
        released, closed = threading.Event(), threading.Event()

        def counted():
            try:
                yield 1
                released.wait(20)
                yield 2
            finally:
                closed.set()

        async def read():
            seen = []

            async def iterate():
                async for each in iterated_by_coroutines(counted)():
                    seen.append(each)

            reading = asyncio.create_task(iterate())
            while not seen:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
            reading.cancel()
            await asyncio.sleep(0.05)
            self.assertFalse(closed.is_set())
            released.set()
            with self.assertRaises(asyncio.CancelledError):
                await reading
            return seen

        self.assertEqual(asyncio.run(read()), [1])
        self.assertTrue(closed.is_set())


if __name__ == "__main__":
    unittest.main()
