"""What a program records, against a server that keeps events by their ids and is away, busy or refuses on demand."""

import asyncio
import hashlib
import json
import sys
import unittest
import warnings
from pathlib import Path

try:
    import httpx

    import espalier_rl as er
    from espalier_rl.events import EVENTS
    from espalier_rl.recording.ids import derived_id
    from espalier_rl.recording.png import write_png
    from espalier_rl.recording.prompts import cut_blocks
except ImportError:
    httpx = None
try:
    import numpy as np
    from PIL import Image
except ImportError:
    np = None

from .recorded_installation import RecordingCase


class Recording(RecordingCase):
    def test_the_ten_lines_of_the_guide_record_a_whole_run(self):
        with self.db.run("guesser", policy="qwen@3", training=True, environment="sums", fingerprint="1") as run:
            for task in ("1 + 1", {"question": "2 + 2", "id": 7, "split": "train"}):
                for episode in run.group(task, n=2):
                    calls = [{"name": "calc", "arguments": {"a": 1}, "output": "2", "ms": 3}]
                    episode.step("let me see", "go on", ids=[5, 6], logprobs=[-0.5, -0.25], prompt_ids=[1, 2], tools=calls)
                    episode.step("2", "right", reward=1.0, ids=[7], logprobs=[-0.125])
                    episode.finish(success=True)
        of = self.installation.of
        [started] = of("RunStarted")
        self.assertEqual((started["policy"], started["config"]), ({"policyId": "qwen", "version": 3}, {"training": {"policyId": "qwen", "channel": "train"}}))
        self.assertEqual([tree["task"]["alias"] for tree in of("TreeOpened")], [f"task {hashlib.sha256(b'1 + 1').hexdigest()[:12]}", "7"])
        self.assertEqual([tree["reason"] for tree in of("TreeClosed")], ["completed", "completed"])
        self.assertEqual([(each["outcome"], each["success"], each["steps"]) for each in of("RolloutFinished")], [("terminated", True, 2)] * 4)
        steps = of("StepTaken")
        self.assertEqual([(step["depth"], step["termination"]) for step in steps], [(1, "none"), (2, "terminated")] * 4)
        self.assertEqual(steps[0]["tokens"]["ids"], {"dtype": "int32", "length": 2, "bytes": "BQAAAAYAAAA="})
        self.assertEqual(steps[0]["tokens"]["logProbs"], {"dtype": "float32", "length": 2, "bytes": "AAAAvwAAgL4="})
        self.assertEqual(steps[0]["usage"], {"promptTokens": 2, "completionTokens": 2})
        self.assertEqual([reward["value"] for reward in of("RewardAssigned")], [1.0] * 4)
        self.assertEqual({call["arguments"] for call in of("ToolCalled")}, {'{"a": 1}'})
        self.assertEqual([(end["outcome"], end["trees"], end["rollouts"], end["steps"]) for end in of("RunFinished")], [("completed", 2, 4, 8)])
        for event in self.installation.events.values():
            fields = EVENTS[event["type"]]
            self.assertLessEqual(fields.__required_keys__, set(event["data"]), event["type"])
            self.assertLessEqual(set(event["data"]), fields.__required_keys__ | fields.__optional_keys__, event["type"])
        numbers = {}
        for event in self.installation.events.values():
            numbers.setdefault(event["stream"], []).append(event["sequence"])
        for stream, sequence in numbers.items():
            self.assertEqual(sequence, list(range(len(sequence))), stream)
        self.assertEqual(self.spools(), [])

    def test_steps_recorded_at_once_on_one_episode_follow_each_other(self):
        async def record():
            async with await self.db.arun("r", policy="p") as run:
                episode = run.episode("t")
                await asyncio.gather(*(episode.astep(f"s{i}", "o", reward=1.0) for i in range(16)))
                await episode.afinish(success=True)

        asyncio.run(record())
        steps = self.installation.of("StepTaken")
        self.assertEqual([step["depth"] for step in steps], list(range(1, 17)))
        self.assertEqual([step["parentStepId"] for step in steps[1:]], [step["stepId"] for step in steps[:-1]])
        self.assertEqual({step["response"] for step in steps}, {f"s{i}" for i in range(16)})

    def test_what_the_server_would_refuse_of_a_metric_or_an_annotation_is_refused_by_its_name(self):
        with self.db.run("r", policy="p") as run:
            for wrong in ("abc", "A" * 64, f"{'a' * 64}\n", b"a" * 64):
                self.refused("weights", "weights is", lambda wrong=wrong: run.metric("loss", 1.0, weights=wrong))
            run.metric("loss", 1.0, weights="a" * 64)
            with run.episode("t") as episode:
                episode.step("a")
                episode.annotate("seen", 1.0)
                self.refused("label", "annotation 'seen' already", lambda: episode.annotate("seen", 2.0))
                self.refused("label", "label is", lambda: episode.annotate("a\u200bb"))
                self.refused("label", "label is", lambda: episode.annotate("a" * 101))
                self.refused("note", "10001 characters", lambda: episode.annotate("long", note="a" * 10_001))
                episode.annotate("checked")
        self.assertEqual([each["weights"] for each in self.installation.of("MetricRecorded")], ["a" * 64])
        self.assertEqual([each["label"] for each in self.installation.of("AnnotationAdded")], ["seen", "checked"])

    def test_a_program_that_ends_by_sys_exit_0_has_not_failed(self):
        for code, outcomes in ((0, ("completed", "terminated")), (None, ("completed", "terminated")), (1, ("failed", "failed"))):
            with self.assertRaises(SystemExit), self.db.run("r", policy="p") as run, run.episode("t") as episode:
                episode.step("a")
                sys.exit(code)
            self.assertEqual((self.installation.of("RunFinished")[-1]["outcome"], self.installation.of("RolloutFinished")[-1]["outcome"]), outcomes)

    def test_ids_follow_from_the_run_the_task_and_the_place(self):
        self.assertEqual(derived_id("tree", "ab", "ç"), "cfb304d6-ebb7-89be-9649-0a7be81e2e60")  # as the collectors derive it
        self.assertNotEqual(derived_id("tree", "ab", "c"), derived_id("tree", "a", "bc"))
        with self.db.run("r", policy="p") as run:
            first, again = run.group("t", n=1), run.group("t", n=1)
            self.assertNotEqual(first.tree_id, again.tree_id)
            self.assertEqual(first.tree_id, derived_id("tree", run.id, 0, f"task {hashlib.sha256(b't').hexdigest()[:12]}"))
            self.assertEqual(again.tree_id, derived_id("tree", run.id, 1, f"task {hashlib.sha256(b't').hexdigest()[:12]}"))

    def test_arrays_of_the_wrong_shape_are_refused_by_their_name_and_leave_no_trace(self):
        with self.db.run("r", policy="p") as run:
            episode = run.episode("t")
            wrong = [
                ("logprobs", "logprobs has 1 numbers and ids has 2", {"ids": [1, 2], "logprobs": [-1.0]}),
                ("logprobs", r"logprobs\[1\] is 0.5", {"ids": [1, 2], "logprobs": [-1.0, 0.5]}),
                ("logprobs", r"logprobs\[0\] is nan", {"ids": [1], "logprobs": [float("nan")]}),
                ("logprobs", r"logprobs\[0\] is 'a'", {"ids": [1], "logprobs": ["a"]}),
                ("logprobs", "without ids", {"logprobs": [-1.0]}),
                ("ids", r"shape \[1\]\[2\]", {"ids": [[1, 2]]}),
                ("ids", r"ids\[1\] is 1.5", {"ids": [1, 1.5]}),
                ("ids", r"ids\[0\] is -1", {"ids": [-1]}),
                ("ids", r"ids\[0\] is 4294967296", {"ids": [2**32]}),
                ("ids", "ids is 'abc'", {"ids": "abc"}),
                ("mask", "mask has 1 numbers and ids has 2", {"ids": [1, 2], "mask": [1]}),
                ("mask", r"mask\[0\] is 2", {"ids": [1], "mask": [2]}),
                ("prompt_ids", r"prompt_ids\[0\] is -1", {"prompt_ids": [-1]}),
                ("reward", "reward is nan", {"reward": float("nan")}),
                ("reward.format", "reward.format is 'x'", {"reward": {"format": "x"}}),
                ("done", "done is 'over'", {"done": "over"}),
                ("policy", "policy is 'p@x'", {"policy": "p@x"}),
                ("spans[0]", r"spans\[0\] is", {"ids": [1], "spans": [(0, 2, "p@1")]}),
                ("sampling.heat", "sampling has the field 'heat'", {"prompt": "p", "sampling": {"heat": 1}}),
                ("tools[0].out", "tools.0..out is no field", {"tools": [{"name": "t", "out": 1}]}),
                ("tools[0]", "is the schema of a tool", {"tools": [{"type": "function", "function": {"name": "t"}}]}),
                ("prompt[0].role", "role is 'me'", {"prompt": [{"role": "me", "content": ""}]}),
                ("ids", r"ids is \{1, 2\}", {"ids": {1, 2}}),
                ("prompt_ids", "prompt_ids is 7", {"prompt_ids": 7, "ids": [1]}),
                ("done", r"done is \[\]", {"done": []}),
                ("spans", "spans is 5", {"ids": [1], "spans": 5}),
                ("actions", "actions is 'go'", {"actions": "go"}),
                ("policy_ms", "policy_ms is -5", {"policy_ms": -5}),
                ("tools[0].ms", "ms is -1", {"tools": [{"name": "t", "ms": -1}]}),
                ("model", "model is 5", {"prompt": "p", "model": 5}),
                ("sampling", "sampling is 'hot'", {"prompt": "p", "sampling": "hot"}),
                ("sampling.others", "others is 5", {"prompt": "p", "sampling": {"others": 5}}),
                ("sampling.max_tokens", "max_tokens is -1", {"prompt": "p", "sampling": {"max_tokens": -1}}),
                ("sampling.stop[0]", r"stop\[0\] is 5", {"prompt": "p", "sampling": {"stop": [5]}}),
                ("finish_reason", "finish_reason is", {"finish_reason": "\U0001f600" * 101}),
            ]
            for field, pattern, given in wrong:
                with self.subTest(given=given):
                    self.refused(field, pattern, lambda given=given: episode.step("a", "b", **given))
            self.refused("response", "response is 5", lambda: episode.step(5))
            self.refused("step", "step is 'first'", lambda: episode.branch("first"))
            self.refused("at", "at is -1", lambda: run.metric("loss", 1.0, -1))
            self.refused("config", "config is 5", lambda: self.db.run("r", config=5))
            self.refused("experiment", "experiment is 'mine'", lambda: self.db.run("r", experiment="mine"))
            self.refused("reward", "reward is", lambda: episode.step("a", "b", reward=10**400))
            self.refused("task.alias", "600 characters", lambda: run.episode(er.Task("t", alias="a" * 600)))
            self.refused("task.depth", "depth is 'deep'", lambda: run.episode({"text": "t", "depth": "deep"}))
            self.refused("outcome", "outcome is 'won'", lambda: run.close("won"))
            episode.step("a", "b", ids=iter([1, 2]), logprobs=[float("inf"), -1.0], mask=[0, 1])  # what was not sampled may be anything
            episode.finish()
        self.assertEqual([step["depth"] for step in self.installation.of("StepTaken")], [1])

    def test_token_texts_are_recorded_as_where_they_end_and_entropies_as_they_are(self):
        with self.db.run("r", policy="p") as run:
            episode = run.episode("t")
            given = {"ids": [5, 6, 7], "entropies": [1.5, 0.25, 0.0]}
            episode.step("é🌳 go", token_texts=["é", "🌳 ", ""], **given)
            for field, message, wrong in [
                ("token_texts", "has 1 texts and ids has 3", {"token_texts": ["a"]}),
                ("token_texts", "do not make up the response", {"token_texts": ["n", "o", ""]}),
                ("token_texts", "token_texts is 'abc'", {"token_texts": "abc"}),
                ("entropies", "has 2 numbers and ids has 3", {"entropies": [1, 2]}),
                ("entropies", r"entropies\[1\] is -1", {"entropies": [0, -1, 0]}),
                ("entropies", "without ids", {"ids": None, "entropies": [0.5]}),
            ]:
                self.refused(field, message, lambda wrong=wrong: episode.step("yes", **{**given, **wrong}))
            episode.finish()
        [step] = self.installation.of("StepTaken")
        self.assertEqual(step["tokens"]["ends"], {"dtype": "int32", "length": 3, "bytes": "AQAAAAMAAAADAAAA"})
        self.assertEqual(step["tokens"]["entropies"], {"dtype": "float32", "length": 3, "bytes": "AADAPwAAgD4AAAAA"})

    def test_a_step_after_the_end_and_two_episodes_of_one_id_are_refused(self):
        with self.db.run("r", policy="p") as run:
            episode = run.episode("t", id="one")
            self.refused("episode", "has no step", episode.finish)
            episode.step("a")
            self.refused("success", "success is 2.5", lambda: episode.finish(success=2.5))
            episode.finish()
            self.assertEqual(self.refused("episode", "has ended .terminated.", lambda: episode.step("b")).code, "ended")
            self.refused("episode", "has ended", episode.finish)
            self.assertEqual(self.refused("id", "has an episode 'one' already", lambda: run.episode("t", id="one")).code, "recorded")
            done = run.episode("t", id="two")
            done.step("a", done=True)
            self.refused("episode", "ended the episode", lambda: done.step("b"))
            done.finish(success=True)
        self.refused("run", "run 'r' has ended .completed.", lambda: run.group("t", n=1))
        self.assertEqual([each["outcome"] for each in self.installation.of("RolloutFinished")], ["terminated"] * 2)

    def test_an_exception_ends_its_episode_as_failed_with_the_reason_and_a_run_of_such_alone_as_failed(self):
        with self.db.run("r", policy="p") as run:
            for episode in run.group("t", n=2):
                with self.assertRaises(ValueError), episode:
                    episode.step("a")
                    raise ValueError("no retriever")
        self.assertEqual([(each["outcome"], each["reason"]) for each in self.installation.of("RolloutFinished")], [("failed", "ValueError: no retriever")] * 2)
        [end] = self.installation.of("RunFinished")
        self.assertEqual((end["outcome"], end["message"]), ("failed", "every rollout failed; the first: ValueError: no retriever"))
        with self.assertRaises(KeyError), self.db.run("second", policy="p") as run:
            run.episode("t").step("a")
            raise KeyError("x")
        self.assertEqual([(each["outcome"], each["message"]) for each in self.installation.of("RunFinished")][1], ("failed", "KeyError: 'x'"))
        self.assertEqual([each["reason"] for each in self.installation.of("TreeClosed")], ["completed", "failed"])

    def test_a_decorated_function_records_a_group_sync_and_async(self):
        with self.db.run("r", policy="p") as run:

            @run.rollout(group=3)
            def solve(episode, task):
                episode.step(task, "ok")
                if episode.ordinal == 1:
                    raise RuntimeError("broken")
                return True

            @run.rollout(group=4)
            async def asolve(episode, task, *, more):
                await asyncio.sleep(0)
                episode.step(task, more)
                return False

            results = solve("t")
            self.assertEqual((results[0], results[2], str(results[1])), (True, True, "broken"))
            self.assertEqual(asyncio.run(asolve("u", more="m")), [False] * 4)
            with self.assertRaisesRegex(ZeroDivisionError, "division"):
                run.rollout(lambda episode, task: 1 / 0, group=2)("v")
        ends = self.installation.of("RolloutFinished")
        self.assertEqual([(each["outcome"], each["success"]) for each in ends[:3]], [("terminated", True), ("failed", None), ("terminated", True)])
        self.assertEqual([each["success"] for each in ends[3:7]], [False] * 4)
        self.assertEqual([each["outcome"] for each in ends[7:]], ["failed"] * 2)

    def test_a_branch_goes_on_from_a_step_that_is_on_record(self):
        with self.db.run("r", policy="p") as run:
            episode = run.episode("t")
            first, second = episode.step("a"), episode.step("b")
            other = episode.branch(second)
            other.step("c")
            third = episode.branch(1)
            third.step("d")
            self.refused("step", "has 2 steps, and 5 are to be kept", lambda: episode.branch(5))
            for each in (other, third, episode):
                each.finish()
        steps = {step["response"]: step for step in self.installation.of("StepTaken")}
        self.assertEqual((steps["c"]["parentStepId"], steps["d"]["parentStepId"]), (second.id, first.id))
        self.assertEqual((steps["c"]["depth"], steps["d"]["depth"]), (3, 2))

    def test_a_search_records_nodes_repetitions_equal_actions_and_back_ups(self):
        with self.db.run("r", policy="p") as run, run.tree("t") as tree:
            a, b, c = tree.expand([er.Candidate("a", "oa", reward=0.5, action="x"), "b", "a", er.Candidate("c", action="x", end="terminated", success=True)])
            tree.backup(c, 1.0)
            tree.backup(a, 0.0)
            self.assertEqual((tree.root.visits, tree.root.value, c.value, b.visits), (2, 0.5, 1.0, 0))
            self.assertIs(tree.select(), b)
            [d] = tree.expand(["d"], a)
            self.refused("node", "is expanded already", lambda: tree.expand(["e"], a))
            self.refused("node", "is an end", lambda: tree.expand(["e"], c))
            self.refused("candidates[0]", "unexpected keyword argument 'rewards'", lambda: tree.expand([{"response": "e", "rewards": 1}], b))
            tree.backup(d, 0.25)
        nodes = self.installation.of("NodeAdded")
        self.assertEqual([(node["ordinal"], node["score"], node["end"], node["equivalentTo"]) for node in nodes][:3], [(0, 0.5, "none", None), (1, 0.0, "none", None), (3, 0.0, "terminated", a.id)])
        self.assertEqual([(each["asked"], each["dropped"]) for each in self.installation.of("NodeExpanded")], [(4, [{"ordinal": 2, "sameAs": 0}]), (1, [])])
        self.assertEqual([(each["simulation"], each["value"], len(each["path"])) for each in self.installation.of("ValueBackedUp")], [(0, 1.0, 2), (1, 0.0, 2), (2, 0.25, 3)])
        self.assertEqual([each["success"] for each in self.installation.of("RolloutFinished")], [True])

    def test_candidates_of_a_search_and_branches_have_texts_and_entropies_of_tokens_as_steps_have(self):
        given = {"ids": [5, 6], "logprobs": [-1.0, -2.0], "token_texts": ["é", " go"], "entropies": [1.5, 0.25]}
        with self.db.run("r", policy="p") as run:
            with run.tree("t") as tree:
                tree.expand([er.Candidate("é go", **given), {"response": "é go on", **given}, "no tokens"])
                for field, message, wrong in [
                    ("candidates[1].token_texts", "do not make up the response", {"token_texts": ["e", " go"]}),
                    ("candidates[1].entropies", "has 1 numbers and ids has 2", {"entropies": [1]}),
                    ("candidates[1].entropies", "without ids", {"ids": None, "logprobs": None, "token_texts": None}),
                ]:
                    wrong_one = {"response": "é go", **given, **wrong}
                    self.refused(field, message, lambda wrong_one=wrong_one: tree.expand(["a", wrong_one], tree.root.children[0]))
            episode = run.episode("u")
            first = episode.step("begin")
            episode.branch(first).step("é go", **given)
        tokens = [step["tokens"] for step in self.installation.of("StepTaken")]
        of = [each and (each["ends"]["bytes"], each["entropies"]["length"]) for each in tokens]
        self.assertEqual(of, [("AQAAAAQAAAA=", 2), ("AQAAAAQAAAA=", 2), None, None, ("AQAAAAQAAAA=", 2)])

    def test_a_prompt_stores_what_is_new_and_refers_to_the_texts_of_steps(self):
        shown = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "question"}]
        with self.db.run("r", policy="p") as run:
            episode = run.episode(er.Task("question", instruction="be brief"))
            episode.step("one", "two", prompt=shown, prompt_ids=[1, 2], ids=[3])
            more = [*shown, {"role": "assistant", "content": "one"}, {"role": "user", "content": [{"type": "text", "text": "an aside\n" * 60}]}]
            episode.step("three", "four", prompt=more, prompt_ids=[1, 2, 3, 4], ids=[5], tool_schemas=[{"name": "t"}], sampling={"temperature": 0.5, "stop": "\n", "others": {"presence_penalty": 0.5}})
            episode.step("five", prompt_ids=[1, 2, 9])
            episode.finish()
        first, second, third = self.installation.of("PromptShown")
        self.assertEqual([message["parts"][0]["kind"] for message in first["messages"]], ["step", "step"])
        self.assertEqual((first["base"], first["blocks"], second["base"]["messages"], len(second["messages"])), (None, [], 2, 2))
        cut = cut_blocks("an aside\n" * 60)
        self.assertEqual(("".join(cut), second["blocks"]), ("an aside\n" * 60, list(dict.fromkeys(cut))))
        self.assertEqual((second["tokens"]["before"], second["tokens"]["keep"], second["tokens"]["ids"]["length"]), (3, 3, 1))
        self.assertEqual((second["tools"], second["sampling"]["stop"]), ('[{"name":"t"}]', ["\n"]))
        self.assertEqual(second["sampling"]["others"], [{"name": "presence_penalty", "value": "0.5"}])
        self.assertEqual((first["sampling"]["temperature"], first["sampling"]["others"], second["sampling"]["temperature"]), (None, [], 0.5))
        self.assertEqual((third["tokens"]["before"], third["tokens"]["keep"]), (5, 2))
        self.assertEqual([message["role"] for message in third["messages"]], ["user", "assistant", "user"])

    def test_calls_of_tools_their_results_and_reasoning_are_parts_of_messages_and_of_the_reply(self):
        call = lambda number, given: {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": given}}  # noqa: E731
        first = {"role": "assistant", "content": None, "reasoning_content": "Hm.", "tool_calls": [call(1, '{"at": 12345678901234567890}')], "refusal": None}
        with self.db.run("r", policy="p") as run:
            episode = run.episode(er.Task("question"))
            episode.step(first, "seen", prompt_ids=[1], ids=[2])
            episode.step({"content": "Two.", "tool_calls": [call(2, {"a": 1}), call(3, "")]}, "one two", prompt_ids=[1, 2, 3], ids=[4])
            with self.assertRaisesRegex(er.EspalierError, "a reply called 2 tools.*prompt="):
                episode.step("Done.", prompt_ids=[1, 2, 3, 4])
            results = [{"role": "tool", "content": text, "tool_call_id": f"c{i}", "name": "look"} for i, text in ((2, "one"), (3, "two"))]
            episode.step("Done.", prompt=[{"role": "user", "content": "question"}, *results])
            episode.finish()
        one, two, _ = self.installation.of("StepTaken")
        self.assertEqual((one["response"], one["thought"], one["action"]), ("", "Hm.", 'look {"at": 12345678901234567890}'))
        self.assertEqual(one["reply"], {"reasoning": True, "toolCalls": [{"id": "c1", "name": "look", "arguments": '{"at": 12345678901234567890}'}]})
        self.assertEqual((two["response"], two["action"]), ("Two.", 'look {"a": 1}\nlook '))
        self.assertEqual([call["arguments"] for call in two["reply"]["toolCalls"]], ['{"a": 1}', ""])
        _, shown, last = self.installation.of("PromptShown")
        said, result = shown["messages"]
        self.assertEqual([(part["kind"], part.get("id"), part.get("name")) for part in said["parts"]], [("reasoning", None, None), ("tool-call", "c1", "look")])
        self.assertEqual((result["role"], result["toolCallId"], result["parts"][0]["field"]), ("tool", "c1", "observation"))
        self.assertEqual([(each.get("toolCallId"), each.get("name")) for each in last["messages"]], [("c2", "look"), ("c3", "look")])

    def test_a_row_warns_of_the_fields_that_are_not_recorded(self):
        row = {"question": "2 + 2", "answer": "4", "id": 7, "tier": 3, "note": "", "solution": "by heart"}
        with self.db.run("r", policy="p@0") as run, self.assertWarnsRegex(UserWarning, "the fields tier, solution of this task are not recorded"):
            run.episode(row).cancel("tested")
        with self.db.run("r", policy="p@0") as run, warnings.catch_warnings():
            warnings.simplefilter("error")
            run.episode({"question": "2 + 2", "reward_model": {"ground_truth": "4"}, "index": 0, "split": "test"}).cancel("tested")

    def test_a_field_that_is_not_recorded_is_named_once_however_rows_are_filled(self):
        with self.db.run("r", policy="p@0") as run, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for more in ({"hint": "h"}, {"hint": "", "origin": "o"}, {"hint": "h", "origin": "o"}, {"hint": "i"}):
                run.episode({"question": "2 + 2", **more}).cancel("tested")
        warned = [(str(each.message).partition(";")[0], each.filename) for each in caught if each.category is UserWarning]
        self.assertEqual(warned, [(f"the field {name} of this task is not recorded", __file__) for name in ("hint", "origin")])

    def test_a_column_that_is_not_recorded_is_never_read_whatever_it_is(self):
        class Column:  # as an array, a column of polars or a frame of pandas: none is simply true or equal
            def __init__(self, length):
                self.length = length

            def __len__(self):
                return self.length

            def tolist(self):
                raise AssertionError("read")

            item = to_list = __eq__ = __bool__ = tolist

        class Scalar(Column):
            def __len__(self):
                raise TypeError("len() of an array without dimensions")

        row = {"question": "2 + 2", "empty_column": Column(0), "full_column": Column(3), "scalar_column": Scalar(0), "no_number": float("nan")}
        with self.db.run("r", policy="p@0") as run, self.assertWarnsRegex(UserWarning, "the fields full_column, scalar_column of this task"):
            run.episode(row).cancel("tested")

    def test_an_instruction_goes_before_the_turns_of_a_row_and_what_these_and_its_reward_model_lose_is_named(self):
        image = [{"type": "text", "text": "2+2?"}, {"type": "image_url", "image_url": {"url": "x"}}]
        prompt = [{"role": "user", "content": "1+1?"}, {"role": "assistant", "content": "2", "tool_calls": [{}], "name": None}, {"role": "user", "content": image}]
        row = {"instruction": "Be brief.", "prompt": prompt, "reward_model": {"ground_truth": "4", "style": "rule", "extra": None}}
        lost = r"the fields reward_model\.style, prompt\[\]\.tool_calls, prompt\[\]\.content\[\]\.image_url of this task"
        with self.db.run("r", policy="p@0") as run, self.assertWarnsRegex(UserWarning, lost):
            run.episode(row).cancel("tested")
        [opened] = self.installation.of("TreeOpened")
        self.assertEqual((opened["instruction"], opened["observation"], opened["task"]["goal"]), ("Be brief.", "2+2?", "4"))

    def test_rows_that_differ_in_anything_recorded_of_a_task_have_trees_of_their_own(self):
        red, blue = (write_png(1, 1, bytes(rgb)) for rgb in ((255, 0, 0), (0, 0, 255)))
        rows = [{"pictures": [red]}, {"pictures": [blue]}, {"actions": ["a"]}, {"actions": ["b"]}, {"split": "test"}, {"depth": 2}]
        with self.db.run("r", policy="p@0") as run:
            for more in rows * 2:
                run.episode({"question": "Which colour?", "answer": "this", **more}).cancel("tested")
        opened = self.installation.of("TreeOpened")
        self.assertEqual([(len(tree.get("pictures", [])), tree["admissibleActions"], tree["task"]["split"], tree["task"]["depth"]) for tree in opened], [(1, None, None, None)] * 2 + [(0, ["a"], None, None), (0, ["b"], None, None), (0, None, "test", None), (0, None, None, 2)])
        self.assertEqual(len({picture["imageId"] for tree in opened[:2] for picture in tree["pictures"]}), 2)
        self.assertEqual([each["treeId"] for each in self.installation.of("RolloutStarted")], [tree["treeId"] for tree in opened] * 2)

    def test_a_question_with_another_answer_is_another_task(self):
        with self.db.run("r", policy="p@0") as run:
            for answer in ("4", "5", "4", [4], None, float("nan")):
                run.episode({"question": "2 + 2", "answer": answer}).cancel("tested")
            for goal, answer in (("add", 4), ("add", 5)):
                run.episode({"question": "2 + 2", "answer": answer, "goal": goal}).cancel("tested")
            run.episode({"question": "2 + 2", "answer": "4", "instruction": "Be brief."}).cancel("tested")
            run.episode(er.Task("2 + 2", goal="4")).cancel("tested")
        opened = self.installation.of("TreeOpened")
        self.assertEqual([tree["task"]["goal"] for tree in opened], ["4", "5", "[4]", "2 + 2", "add", "add", "4"])
        self.assertEqual([each["treeId"] for each in self.installation.of("RolloutStarted")], [opened[i]["treeId"] for i in (0, 1, 0, 2, 3, 3, 4, 5, 6, 0)])
        tasks, names = ([tree["task"][name] for tree in opened] for name in ("taskId", "alias"))
        self.assertEqual((len(set(tasks)), len(set(names))), (7, 7))
        digest = hashlib.sha256(b"2 + 2").hexdigest()
        self.assertEqual((tasks[3], names[3]), (derived_id("task", "external", "unversioned", digest), f"task {digest[:12]}"))

    def test_no_name_of_a_task_holds_its_texts_unless_it_is_given(self):
        secret = "my number is 7"
        with self.db.run("r", policy="p") as run:
            for given in (secret, {"question": secret, "answer": 7}, er.Task(secret, instruction=secret), {"question": secret, "id": "given"}):
                run.episode(given).cancel("tested")
        names = [tree["task"]["alias"] for tree in self.installation.of("TreeOpened")]
        self.assertEqual(names[3], "given")
        for name in names[:3]:
            self.assertRegex(name, "^task [0-9a-f]{12}$")

    def test_texts_that_the_record_cannot_hold_are_sent_as_given_so_that_the_server_says_where_it_replaced_them(self):
        odd, held = "q\ud800\0" + "x" * 200, "q\ufffd\ufffd" + "x" * 200
        prompts = []
        for text in (odd, held):
            with self.db.run(f"r {len(prompts)}", policy="p@0") as run, run.episode({"text": text, "id": text[:3]}) as episode:
                calls = [{"id": text[:3], "function": {"name": "f", "arguments": text}}]
                episode.step({"content": "a", "tool_calls": calls}, "o", prompt=[{"role": "system", "content": f"s {text}"}, {"role": "user", "content": text}], sampling={"others": {"guide": text}})
                episode.step("b", "end", done=True, prompt_ids=[1])
            prompts.append(self.installation.of("PromptShown")[-2:])
        given, stored = prompts
        self.assertEqual([each["sha256"] for each in given], [each["sha256"] for each in stored])
        self.assertEqual(given[0]["blocks"], [f"s {odd}"])
        self.assertEqual(json.loads(given[0]["sampling"]["others"][0]["value"]), odd)
        self.assertEqual([part["kind"] for part in given[0]["messages"][1]["parts"]], ["step"])
        self.assertEqual(self.installation.of("TreeOpened")[0]["task"]["alias"], odd[:3])

    def test_a_row_keeps_the_turns_before_its_question_and_its_ground_truth(self):
        turns = [("system", "Be brief."), ("user", "1+1?"), ("assistant", "2"), ("user", "2+2?")]
        row = {"prompt": [{"role": role, "content": text} for role, text in turns], "reward_model": {"ground_truth": "4"}, "index": 7}
        with self.db.run("r", policy="p") as run:
            for given in (row, {"question": "2+2?", "answer": 4, "goal": "add"}, {"question": "3+3?", "answer": [6, "six"]}):
                run.episode(given).cancel("tested")
        opened = [(each["instruction"], each["observation"], each["task"]["goal"]) for each in self.installation.of("TreeOpened")]
        of_row = ("Be brief.", "2+2?", "4")
        self.assertEqual(opened, [of_row, ("", "2+2?", "add"), ("", "3+3?", '[6, "six"]')])

    def test_behind_a_reply_that_called_several_tools_a_task_with_turns_records_no_prompt_that_it_cannot_compose(self):
        row = {"prompt": [{"role": "human", "content": "1+1?"}, {"role": "gpt", "content": "2"}, {"role": "user", "content": "2+2?"}]}
        calls = [{"id": f"c{i}", "function": {"name": "f", "arguments": "{}"}} for i in range(2)]
        with self.db.run("r", policy="p") as run, run.episode(row) as episode:
            episode.step({"content": "", "tool_calls": calls}, "both said 4")
            episode.step("4", "right", done=True)
        [prompt] = self.installation.of("PromptShown")
        self.assertEqual([message["role"] for message in prompt["messages"]], ["user", "assistant", "user"])
        self.assertEqual(len(self.installation.of("StepTaken")), 2)

    def test_a_row_with_turns_of_roles_that_no_prompt_has_keeps_them_in_its_instruction(self):
        row = {"prompt": [{"role": "narrator", "content": "It rains."}, {"role": "user", "content": "Where?"}]}
        with self.db.run("r", policy="p") as run, run.episode(row) as episode:
            episode.step("here", done=True)
        [tree] = self.installation.of("TreeOpened")
        self.assertEqual((tree["instruction"], tree["observation"]), ("narrator: It rains.", "Where?"))

    def test_the_turns_before_the_question_of_a_row_are_messages_of_its_prompts(self):
        turns = [("system", "Be brief."), ("user", "1+1?"), ("assistant", "2"), ("user", "2+2?")]
        row = {"prompt": [{"role": role, "content": text} for role, text in turns]}
        with self.db.run("r", policy="p") as run:
            with run.episode(row) as episode:
                episode.step("4", "sure?")
                episode.step("yes", done=True)
            with run.tree(row) as tree:
                tree.expand(["four"])
        roots = [{"kind": "step", "stepId": tree["rootStepId"], "field": field} for tree in self.installation.of("TreeOpened") for field in ("instruction", "observation")]
        blocks = [{"kind": "blocks", "blocks": [hashlib.sha256(text.encode()).hexdigest()]} for text in ("1+1?", "2")]
        first, second, searched = self.installation.of("PromptShown")
        for shown, (system, question) in ((first, roots[:2]), (searched, roots[2:])):
            said = [(each["role"], {**each["parts"][0], "kind": each["parts"][0]["kind"].replace("text", "blocks")}) for each in shown["messages"]]
            self.assertEqual(said, [("system", system), ("user", blocks[0]), ("assistant", blocks[1]), ("user", question)])
        self.assertEqual((second["base"]["messages"], [each["role"] for each in second["messages"]]), (4, ["assistant", "user"]))
        self.assertEqual(len({tree["task"]["taskId"] for tree in self.installation.of("TreeOpened")}), 1)

    def test_a_row_for_verl_keeps_the_arguments_of_its_tools(self):
        kwargs = {"judge": {"create_kwargs": {"ground_truth": "4", "tries": 3}}}
        rows = [
            {"prompt": "2+2?", "extra_info": {"need_tools_kwargs": True, "tools_kwargs": {**kwargs, "search": None}, "index": 7}},
            {"prompt": "2+2?", "tools_kwargs": kwargs, "need_tools_kwargs": True},
            {"prompt": "2+2?", "extra_info": {"need_tools_kwargs": False, "tools_kwargs": {}}},
            er.Task("2+2?", tools_kwargs={"judge": {}}),
        ]
        with self.db.run("r", policy="p@0") as run, self.assertWarnsRegex(UserWarning, r"the field extra_info\.index of this task"):
            for row in rows:
                run.episode(row).cancel("tested")
            for wrong in ("judge", [kwargs], {"judge": object()}, {"judge": "x" * 60_000}):
                with self.assertRaisesRegex(er.EspalierError, r"task\.tools_kwargs"):
                    run.episode({"prompt": "2+2?", "tools_kwargs": wrong})
        opened = [tree["task"].get("toolsKwargs") for tree in self.installation.of("TreeOpened")]
        self.assertEqual([None if each is None else json.loads(each) for each in opened], [kwargs, None, {"judge": {}}])

    def test_a_message_that_would_lose_a_field_is_refused_by_its_name(self):
        refused = [
            ("prompt[0].audio", [{"role": "user", "content": "a", "audio": {"id": "x"}}]),
            ("prompt[0].role", [{"role": "user", "content": "a", "tool_calls": [{"name": "look"}]}]),
            ("prompt[0].tool_calls[0].name", [{"role": "assistant", "tool_calls": [{"function": {}}]}]),
        ]
        with self.db.run("r", policy="p") as run:
            episode = run.episode("t")
            for field, prompt in refused:
                with self.assertRaises(er.EspalierError) as caught:
                    episode.step("a", prompt=prompt)
                self.assertEqual(caught.exception.field, field)
            with self.assertRaises(er.EspalierError) as caught:
                episode.step({"content": "a", "reasoning_content": "b"}, thought="c")
            self.assertEqual(caught.exception.field, "thought")
            episode.cancel("tested")

    def test_an_empty_observation_is_an_empty_message_of_the_conversation_as_the_server_composes_it(self):
        with self.db.run("r", policy="p") as run:
            episode = run.episode(er.Task("question", instruction="be brief"))
            episode.step("one", "", prompt_ids=[1], ids=[2])
            episode.step("two", "", prompt_ids=[1, 2], ids=[3])
            episode.step("three", prompt_ids=[1, 2, 3], ids=[4])
            episode.finish()
            blank = run.episode(er.Task("", alias="t", instruction="be brief"))
            blank.step("one", prompt_ids=[1], ids=[2])
            blank.finish()
        *of_one, last = self.installation.of("PromptShown")
        roles = [(prompt["base"] and prompt["base"]["messages"], [message["role"] for message in prompt["messages"]]) for prompt in of_one]
        self.assertEqual(roles, [(None, ["system", "user"]), (2, ["assistant", "user"]), (4, ["assistant", "user"])])
        empty = {"role": "user", "parts": [{"kind": "text", "blocks": []}]}
        self.assertEqual([prompt["messages"][1] for prompt in of_one[1:]], [empty, empty])
        self.assertEqual(last["messages"][1:], [empty])

    @unittest.skipIf(np is None, "numpy is not installed")
    def test_numbers_and_pictures_of_numpy_are_taken_wherever_numbers_and_pictures_are(self):
        pixels = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
        with self.db.run("r", policy=("p", np.int64(3)), seed=np.int64(7), config={"lr": np.float64(0.5), "sizes": np.array([1, 2])}) as run:
            [first, _] = run.group(er.Task("t", pictures=[pixels]), n=np.int64(2))
            first.step("a", reward=np.float32(1), images=[Image.fromarray(pixels), pixels], done=np.bool_(False))
            run.metric("loss", np.float32(0.5), at=np.int64(1))
        [started] = self.installation.of("RunStarted")
        self.assertEqual((started["seed"], started["config"], started["policy"]["version"]), (7, {"lr": 0.5, "sizes": [1, 2]}, 3))
        [opened], [step] = self.installation.of("TreeOpened"), self.installation.of("StepTaken")
        ids = {picture["imageId"] for event in (opened, step) for picture in event["pictures"]}
        self.assertEqual(len(ids), 1)
        for wrong, shape in ((np.zeros((2, 2, 3)), "float64 of shape"), (np.zeros((2, 2, 7), np.uint8), "uint8 of shape")):
            with self.db.run("s") as run:
                self.refused("pictures[0]", shape, lambda run=run, wrong=wrong: run.episode(er.Task("u", pictures=[wrong])))

    def test_a_notebook_shows_runs_and_rollouts_with_every_text_escaped(self):
        with self.db.run("<b>", policy="p") as run:
            episode = run.episode(er.Task("<i>", alias="<i>"))
            self.assertIn("rollout 0 of &lt;i&gt;</b><p>0 steps · open", episode._repr_html_())
            episode.step("a", done=True)
            episode.finish(success=False)
            self.assertIn("1 step · terminated, no success", episode._repr_html_())
            self.assertIn("run &lt;b&gt;</b>", run._repr_html_())
        self.assertIn(f'completed · <a href="{run.url}">', run._repr_html_())

    def test_groups_and_searches_show_how_far_they_are_and_a_node_shows_none_but_itself(self):
        with self.db.run("r", policy="p") as run:
            group = run.group(er.Task("<i>", alias="<i>"), n=3)
            self.assertEqual(repr(group), "Group('<i>', n=3, 3 to begin, 0 open)")
            for each in group:
                self.assertIn(f"{2 - each.ordinal} to begin, 1 open", group._repr_html_())
                each.fail("x")
            self.assertIn("group of 3 of &lt;i&gt;</b><p>closed", group._repr_html_())
            with run.tree(er.Task("find it", alias="hide and seek")) as tree:
                first, _ = tree.expand([er.Candidate("<look>", "x" * 1_000), er.Candidate("go", end="terminated")])
                tree.backup(first, 0.5)
                self.assertRegex(repr(tree), r"^SearchTree\('hide and seek', id='[0-9a-f-]{36}', nodes=3, simulations=1, open\)$")
                self.assertEqual(repr(first), "Node('<look>', depth=1, visits=1, value=0.5, children=0, end='none')")
                html = tree._repr_html_()
                for said in ("&lt;look&gt;", "1 visits, value 0.5", "terminated, return 0"):
                    self.assertIn(said, html)
                self.assertNotIn("<look>", html)

    def test_the_renderer_of_a_run_is_kept_with_it_and_a_file_that_is_none_is_refused(self):
        file = Path(self.folder, "gauge-view.js")
        source = "export const render = ({ steps, at }) => `é ${steps[at].observation}`;\n"
        file.write_text(source, encoding="utf-8")
        for renderer in (file, str(file)):
            with self.db.run("gauges", environment="gauge", renderer=renderer):
                pass
        with self.db.run("without", environment="gauge"):
            pass
        shown = [started["environments"] for started in self.installation.of("RunStarted")]
        drawn = {"environment": "gauge", "fingerprint": "unversioned", "renderer": source}
        self.assertEqual(shown, [[drawn], [drawn], [{"environment": "gauge", "fingerprint": "unversioned"}]])
        self.refused("renderer", "cannot be read", lambda: self.db.run("r", renderer=str(file) + "x"))
        self.refused("renderer", "renderer is 3", lambda: self.db.run("r", renderer=3))
        for text in (b"", b"\xff", b"x" * (64 * 1024 + 1)):
            file.write_bytes(text)
            self.refused("renderer", "has (0|65537) bytes|is no text", lambda: self.db.run("r", renderer=file))
        file.write_bytes(b"x" * 64 * 1024)
        with self.db.run("largest", renderer=file):
            pass


if __name__ == "__main__":
    unittest.main()
