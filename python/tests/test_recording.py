"""What a program records, against a server that keeps events by their ids and is away, busy or refuses on demand."""

import asyncio
import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest import mock

try:
    import httpx

    import espalier_rl as er
    from espalier_rl.events import EVENTS
    from espalier_rl.recording.ids import derived_id
    from espalier_rl.recording.prompts import cut_blocks
    from espalier_rl.recording.spool import Spool
except ImportError:
    httpx = None

PACKAGE = Path(__file__).parents[1]


class Installation:
    """Keeps what is appended, in order and once; `refuses` answers in its place."""

    def __init__(self, port=0):
        self.events, self.lock, self.refuses, self.requests = {}, threading.Lock(), [], 0
        installation = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                status, headers, said = installation.answer(body)
                data = json.dumps(said).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.port}"

    def answer(self, body):
        with self.lock:
            self.requests += 1
            if self.refuses:
                status, headers, code = self.refuses[0]
                if status < 500 or len(self.refuses) > 1:
                    self.refuses.pop(0)
                error = {"code": code, "message": f"it is {code}", "remedy": "repair it"}
                return status, headers, {"error": error}
            events = [json.loads(line) for line in body.splitlines()]
            for event in events:
                before = self.events.setdefault((event["stream"], event["id"]), event)
                if before["data"] != event["data"]:
                    return 409, {}, {"error": {"code": "conflict", "message": "an id belongs to another event", "remedy": "a new id"}}
            return 200, {}, {"accepted": len(events), "position": "trees.0:1"}

    def of(self, kind):
        with self.lock:
            return [event["data"] for event in self.events.values() if event["type"] == kind]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@unittest.skipIf(httpx is None, "httpx is not installed")
class Recording(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.installation = Installation()
        self.addCleanup(lambda: self.installation.close())
        self.db = self.connect()

    def connect(self):
        db = er.connect(self.installation.url, token="key", spool=self.folder)
        self.addCleanup(db.close)
        return db

    def refused(self, field, pattern, call):
        with self.assertRaisesRegex(er.EspalierError, pattern) as error:
            call()
        self.assertEqual(error.exception.field, field)
        self.assertTrue(error.exception.remedy)
        return error.exception

    def spools(self):
        return sorted(each.name for each in Path(self.folder).glob("*/*"))

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
        self.assertEqual([tree["task"]["alias"] for tree in of("TreeOpened")], ["1 + 1", "7"])
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

    def test_ids_follow_from_the_run_the_task_and_the_place(self):
        self.assertEqual(derived_id("tree", "ab", "ç"), "cfb304d6-ebb7-89be-9649-0a7be81e2e60")  # as the collectors derive it
        self.assertNotEqual(derived_id("tree", "ab", "c"), derived_id("tree", "a", "bc"))
        with self.db.run("r", policy="p") as run:
            first, again = run.group("t", n=1), run.group("t", n=1)
            self.assertNotEqual(first.tree_id, again.tree_id)
            self.assertEqual(first.tree_id, derived_id("tree", run.id, 0, "t"))
            self.assertEqual(again.tree_id, derived_id("tree", run.id, 1, "t"))

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
                ("sampling.heat", "sampling has a field 'heat'", {"prompt": "p", "sampling": {"heat": 1}}),
                ("tools[0].out", "has a field 'out'", {"tools": [{"name": "t", "out": 1}]}),
                ("tools[0]", "is the schema of a tool", {"tools": [{"type": "function", "function": {"name": "t"}}]}),
                ("prompt[0].role", "role is 'me'", {"prompt": [{"role": "me", "content": ""}]}),
            ]
            for field, pattern, given in wrong:
                with self.subTest(given=given):
                    self.refused(field, pattern, lambda given=given: episode.step("a", "b", **given))
            self.refused("response", "response is 5", lambda: episode.step(5))
            episode.step("a", "b", ids=[1, 2], logprobs=[float("inf"), -1.0], mask=[0, 1])  # what was not sampled may be anything
            episode.finish()
        self.assertEqual([step["depth"] for step in self.installation.of("StepTaken")], [1])

    def test_a_step_after_the_end_and_two_episodes_of_one_id_are_refused(self):
        with self.db.run("r", policy="p") as run:
            episode = run.episode("t", id="one")
            self.refused("episode", "has no step", episode.finish)
            episode.step("a")
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

    def test_a_prompt_stores_what_is_new_and_refers_to_the_texts_of_steps(self):
        shown = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "question"}]
        with self.db.run("r", policy="p") as run:
            episode = run.episode(er.Task("question", instruction="be brief"))
            episode.step("one", "two", prompt=shown, prompt_ids=[1, 2], ids=[3])
            more = [*shown, {"role": "assistant", "content": "one"}, {"role": "user", "content": [{"type": "text", "text": "an aside\n" * 60}]}]
            episode.step("three", "four", prompt=more, prompt_ids=[1, 2, 3, 4], ids=[5], tool_schemas=[{"name": "t"}], sampling={"temperature": 0.5, "stop": "\n"})
            episode.step("five", prompt_ids=[1, 2, 9])
            episode.finish()
        first, second, third = self.installation.of("PromptShown")
        self.assertEqual([message["parts"][0]["kind"] for message in first["messages"]], ["step", "step"])
        self.assertEqual((first["base"], first["blocks"], second["base"]["messages"], len(second["messages"])), (None, [], 2, 2))
        cut = cut_blocks("an aside\n" * 60)
        self.assertEqual(("".join(cut), second["blocks"]), ("an aside\n" * 60, list(dict.fromkeys(cut))))
        self.assertEqual((second["tokens"]["before"], second["tokens"]["keep"], second["tokens"]["ids"]["length"]), (3, 3, 1))
        self.assertEqual((second["tools"], second["sampling"]["stop"]), ('[{"name":"t"}]', ["\n"]))
        self.assertEqual((third["tokens"]["before"], third["tokens"]["keep"]), (5, 2))
        self.assertEqual([message["role"] for message in third["messages"]], ["user", "assistant", "user"])

    def test_what_is_acknowledged_is_kept_while_the_server_is_away_and_sent_by_the_next_connection(self):
        port = self.installation.port
        self.installation.close()
        with self.assertRaisesRegex(er.Unreachable, "are not sent: .*start the server") as away:
            with self.db.run("r", policy="p", wait_s=0.1) as run:
                episode = run.episode("t")
                episode.step("a")
                episode.finish()
        self.assertEqual(away.exception.field, "url")
        self.assertEqual(self.spools(), [run.id])
        self.installation = Installation(port)
        self.connect().wait_for_spools(30)
        self.assertEqual(self.spools(), [])
        self.assertEqual([each["outcome"] for each in self.installation.of("RunFinished")], ["completed"])

    def test_a_run_whose_process_was_killed_is_sent_whole_and_ended_as_failed(self):
        for durable in ("write", "fsync"):
            script = f"""import os, espalier_rl as er
run = er.connect({self.installation.url!r}, token="key", spool={self.folder!r}).run("killed", policy="p", durable={durable!r})
for episode in run.group("t", n=4):
    episode.step("a"); episode.step("b", reward=1)
    if episode.ordinal == 3: os.kill(os.getpid(), {int(signal.SIGKILL)})
    episode.finish()"""
            self.installation.refuses = [(503, {"retry-after": "0"}, "unavailable")]  # nothing of it arrives while it lives
            died = subprocess.run([sys.executable, "-c", script], cwd=PACKAGE, capture_output=True, text=True)
            self.assertEqual(died.returncode, -signal.SIGKILL, died.stderr)
            [run_id] = self.spools()
            self.assertEqual(self.installation.of("StepTaken"), [])
            with open(next(Path(self.folder).glob(f"*/{run_id}/*.ndjson")), "ab") as file:
                file.write(b'{"id":"half a li')  # what the death of a process may leave
            self.installation.refuses = []
            self.connect().wait_for_spools(30)
            self.assertEqual([step["response"] for step in self.installation.of("StepTaken")], ["a", "b"] * 4)
            self.assertEqual(len(self.installation.of("RewardAssigned")), 4)
            self.assertEqual([each["outcome"] for each in self.installation.of("RolloutFinished")], ["terminated"] * 3 + ["failed"])
            [end] = self.installation.of("RunFinished")
            self.assertEqual((end["outcome"], end["message"], end["rollouts"]), ("failed", "the process that recorded it ended", 4))
            self.assertEqual(self.spools(), [])
            self.installation.events.clear()

    def test_a_refusal_of_the_server_reaches_the_program_with_its_remedy_and_what_was_recorded_is_kept(self):
        for status, code in ((401, "unauthorized"), (422, "unprocessable"), (409, "conflict")):
            run = self.db.run("r", policy="p")
            run.flush(30)
            self.installation.refuses = [(status, {}, code)]
            run.episode("t").step("a", done=False)
            with self.assertRaisesRegex(er.EspalierError, f"it is {code}; repair it; what was recorded is kept in") as refused:
                run.flush(30)
            self.assertEqual((refused.exception.status, refused.exception.code), (status, code))
            with self.assertRaisesRegex(er.EspalierError, f"it is {code}"):
                run.episode("u")
            with self.assertRaisesRegex(er.EspalierError, f"it is {code}"):
                run.close()
            self.assertEqual(self.spools(), [run.id])
            self.connect().wait_for_spools(30)
            self.assertEqual([step["response"] for step in self.installation.of("StepTaken")], ["a"])
            self.installation.events.clear()

    def test_a_busy_server_is_sent_everything_once_it_is_ready_and_a_batch_that_is_too_large_in_parts(self):
        self.installation.refuses = [(503, {"retry-after": "0"}, "unavailable"), (429, {"retry-after": "0"}, "busy"), (413, {}, "too-large")]
        with self.db.run("r", policy="p") as run:
            for episode in run.group("t", n=5):
                episode.step("a")
                episode.finish()
        self.assertEqual(len(self.installation.of("StepTaken")), 5)

    def test_the_spool_is_bounded_and_waits_or_raises_by_choice(self):
        self.installation.refuses = [(503, {"retry-after": "0"}, "unavailable")]
        run = self.db.run("r", policy="p", spool_bytes=4_000, full="raise", wait_s=30)
        episode = run.episode("t")
        recorded = 0
        with self.assertRaisesRegex(er.EspalierError, "bytes that the server does not have; start the server, or raise spool_bytes") as full:
            for _ in range(100):
                episode.step("a", done=False)
                recorded += 1
        self.assertEqual((full.exception.code, full.exception.field), ("spool-full", "spool_bytes"))
        self.installation.refuses = []
        run.flush(30)
        episode.step("b", done=False)
        run.close()
        self.assertEqual(len(self.installation.of("StepTaken")), recorded + 1)
        with self.db.run("blocks", policy="p", spool_bytes=4_000) as run:
            episode = run.episode("t")
            for _ in range(200):
                episode.step("c" * 100, done=False)
        self.assertEqual(len(self.installation.of("StepTaken")), recorded + 201)

    def test_a_full_disk_is_named_and_what_was_recorded_before_it_is_sent(self):
        script = f"""import json, resource, espalier_rl as er
run = er.connect({self.installation.url!r}, token="key", spool={self.folder!r}).run("full", policy="p")
episode, recorded = run.episode("t"), 0
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
try:
    while True:
        episode.step("a" * 300, done=False); recorded += 1
except er.EspalierError as error:
    first = error
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
episode.step("b", done=False)
episode.finish(); run.close()
print(json.dumps([recorded, first.field, first.code, str(first)]))"""
        done = subprocess.run([sys.executable, "-c", script], cwd=PACKAGE, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        recorded, field, code, said = json.loads(done.stdout)
        self.assertEqual((field, code), ("spool", "disk"))
        self.assertRegex(said, "cannot be written: File too large; free space there, or name another folder by ESPALIER_SPOOL")
        self.assertGreater(recorded, 5)
        self.assertEqual([step["depth"] for step in self.installation.of("StepTaken")], list(range(1, recorded + 2)))

    def test_segments_are_deleted_as_the_server_has_them_and_state_goes_over(self):
        with mock.patch("espalier_rl.recording.run.Spool", lambda folder, **options: Spool(folder, segment_bytes=2_000, **options)):
            run = self.db.run("r", policy="p", durable="none")
        open_one = run.episode("held")
        open_one.step("held", "back")
        for episode in run.group("t", n=30):
            episode.step("a")
            episode.finish()
        run.flush(30)
        self.assertLessEqual(len(list(Path(self.folder).glob("*/*/*.ndjson"))), 2)
        open_one.finish()
        run.close()
        self.assertEqual(len(self.installation.of("StepTaken")), 31)

    def test_a_spool_that_a_living_process_holds_is_not_taken(self):
        run = self.db.run("r", policy="p")
        with self.assertRaisesRegex(er.EspalierError, f"is being recorded by process {os.getpid()}; end that process"):
            Spool(run.journal.spool.folder)
        self.connect().wait_for_spools(30)
        run.episode("t").step("a")
        run.close()
        self.assertEqual(len(self.installation.of("StepTaken")), 1)

    def test_a_process_that_was_forked_is_refused_the_run_of_its_parent(self):
        run = self.db.run("r", policy="p")
        pid = os.fork()
        if pid == 0:
            try:
                run.episode("t")
            except er.EspalierError as error:
                os._exit(7 if error.code == "forked" else 1)
            os._exit(2)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 7)
        run.close()

    def test_pictures_are_recorded_by_their_pixels_and_prompts_show_those_on_record(self):
        try:
            from PIL import Image
        except ImportError:
            self.skipTest("Pillow is not installed")
        image = Image.new("RGB", (3, 2), (255, 0, 0))
        path = Path(self.folder, "p.png")
        image.save(path)
        with self.db.run("r", policy="p") as run:
            episode = run.episode(er.Task("look", pictures=[image]))
            episode.step("a", "b", images=[path.read_bytes(), str(path)])
            show = [{"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": str(path)}}]}]
            episode.step("c", prompt=show)
            unknown = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:x"}}]}]
            self.refused("prompt[0].content[0]", "no observation of this episode holds", lambda: episode.step("d", prompt=unknown))
            self.refused("images[0]", "is no path and no base64", lambda: episode.step("d", images=["%"]))
            episode.finish()
        [opened] = self.installation.of("TreeOpened")
        step = self.installation.of("StepTaken")[0]
        ids = {picture["imageId"] for picture in [*opened["pictures"], *step["pictures"]]}
        self.assertEqual((len(ids), opened["pictures"][0]["width"], len(step["pictures"])), (1, 3, 2))
        self.assertEqual(self.installation.of("PromptShown")[0]["messages"][0]["parts"][1], {"kind": "image", "imageId": ids.pop()})

    def test_options_of_a_run_that_do_not_fit_are_refused_before_anything_is_recorded(self):
        for field, options in (("name", {"name": ""}), ("durable", {"durable": "sometimes"}), ("full", {"full": "drop"}), ("seed", {"seed": 0.5}), ("policy", {"policy": 3}), ("config", {"config": {"a": object()}}), ("training", {"config": {"training": 1}, "training": True})):
            with self.subTest(field=field):
                self.refused(field, field, lambda options=options: self.db.run(**{"name": "r", "policy": "p", **options}))
        self.assertEqual((self.installation.events, self.spools()), ({}, []))


if __name__ == "__main__":
    unittest.main()
