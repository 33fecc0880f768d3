"""The spool: what was acknowledged is kept, sent once, and looked after by a command."""

import hashlib
import io
import json
import os
import pickle
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path
from unittest import mock

try:
    import httpx

    import espalier_rl as er
    from espalier_rl.recording.spool import Spool
except ImportError:
    httpx = None

from .recorded_installation import Installation, RecordingCase

PACKAGE = Path(__file__).parents[1]


class Spools(RecordingCase):
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

    def test_a_program_that_ends_without_ending_its_run_has_sent_what_it_recorded_and_waits_for_no_server(self):
        script = f"""import logging, espalier_rl as er
logging.basicConfig()
for name in ("one", "two"):
    run = er.connect({self.installation.url!r}, token="key", spool={self.folder!r}).run(name, policy="p")
    for episode in run.group("t", n=4):
        episode.step("a")
        episode.finish()"""
        ended = subprocess.run([sys.executable, "-c", script], cwd=PACKAGE, capture_output=True, text=True, timeout=60)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertEqual(len(self.installation.of("RolloutFinished")), 8)
        self.installation.refuses = [(503, {"retry-after": "0"}, "unavailable")]
        began = time.monotonic()
        ended = subprocess.run([sys.executable, "-c", script], cwd=PACKAGE, capture_output=True, text=True, timeout=60)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(ended.stderr.count("was not ended, and not all of it is sent: "), 2, ended.stderr)
        self.assertLess(time.monotonic() - began, 20)

    def test_no_module_is_imported_by_a_thread_as_a_fork_meanwhile_would_leave_the_child_half_of_it(self):
        script = f"""import sys, threading
class Refused:
    def find_spec(self, name, *_):
        if threading.current_thread() is not threading.main_thread():
            print(name)
sys.meta_path.insert(0, Refused())
import espalier_rl as er
with er.connect({self.installation.url!r}, token="key", spool={self.folder!r}).run("r", policy="p") as run, run.episode("t") as episode:
    episode.step("a")
    run.flush()"""
        ended = subprocess.run([sys.executable, "-c", script], cwd=PACKAGE, capture_output=True, text=True, timeout=60)
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "", ""))
        self.assertEqual(len(self.installation.of("StepTaken")), 1)

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

    def test_a_tree_of_which_an_event_is_refused_is_set_aside_and_the_other_episodes_are_sent(self):
        self.installation.forbidden = "bad"
        with self.assertRaisesRegex(er.EspalierError, "refused events of tree .*data.response is forbidden; repair it") as refused:
            with self.db.run("r", policy="p") as run:
                bad = run.episode(er.Task("bad", alias="bad"))
                bad.step("fine")
                bad.step("bad", done=False)
                good = run.episode("good")
                good.step("fine")
                good.finish(success=True)
                run.journal.sender.wait(30)
                with self.assertRaisesRegex(er.EspalierError, "refused events of tree"):
                    bad.step("later")
                run.episode("other").step("fine")
        self.assertEqual(refused.exception.status, 422)
        self.assertEqual({tree["task"]["alias"] for tree in self.installation.of("TreeOpened")} - {"bad"}, {f"task {hashlib.sha256(name).hexdigest()[:12]}" for name in (b"good", b"other")})
        self.assertEqual([end["outcome"] for end in self.installation.of("RunFinished")], ["completed"])
        self.assertEqual(self.spools(), [run.id])
        with self.assertRaisesRegex(er.EspalierError, "it does not fit"):
            self.connect().wait_for_spools(30)
        self.installation.forbidden = None
        self.connect().wait_for_spools(30)
        self.assertEqual(self.spools(), [])
        steps = [step["response"] for step in self.installation.of("StepTaken") if step["treeId"] == bad.tree_id]
        self.assertEqual(steps, ["fine", "bad"])

    def test_the_command_shows_exports_and_drops_what_was_refused(self):
        self.installation.forbidden = "bad"
        with self.assertRaises(er.EspalierError), self.db.run("r", policy="p") as run:
            run.episode(er.Task("bad", alias="bad")).step("bad")
        code, said, _ = self.spool("status", self.folder)
        self.assertEqual(code, 0)
        self.assertRegex(said, rf"{run.id}  '': 0 events, 0 held back, 0 bytes, \d refused\n")
        self.assertEqual(self.spool("check", self.folder)[0], 0)
        code, said, _ = self.spool("export", self.folder, "--run", run.id)
        exported = [json.loads(line) for line in said.splitlines()]
        self.assertEqual((code, [event["data"]["response"] for event in exported if event["type"] == "StepTaken"]), (0, ["bad"]))
        code, _, refused = self.spool("send", self.folder, "--url", self.installation.url)
        self.assertEqual(code, 1)
        self.assertRegex(refused, "error: .*data.response is forbidden; repair it; .* spool drop --run")
        code, _, unnamed = self.spool("drop", self.folder)
        self.assertEqual(code, 1)
        self.assertRegex(unnamed, "error: .* name one by --run")
        self.assertEqual(self.spool("drop", self.folder, "--run", run.id), (0, f"{len(exported)} events of run {run.id} are dropped\n", ""))
        self.assertEqual(self.spools(), [])

    def test_drop_everything_gives_up_a_run_that_the_server_never_takes(self):
        self.installation.refuses = [(401, {}, "unauthorized")] * 2
        with self.assertRaises(er.EspalierError), self.db.run("r", policy="p") as run:
            run.episode("t").step("a")
        self.assertEqual(self.spools(), [run.id])
        self.assertEqual(self.spool("drop", self.folder, "--run", run.id), (0, f"0 events of run {run.id} are dropped\n", ""))
        self.assertEqual(self.spools(), [run.id])
        code, said, _ = self.spool("drop", self.folder, "--run", run.id, "--everything")
        self.assertEqual(code, 0)
        self.assertRegex(said, "^[1-9]\\d* events")
        self.assertEqual((self.spools(), self.installation.of("RunStarted")), ([], []))

    def test_a_refused_tree_is_sent_again_in_requests_of_a_size_that_the_server_takes(self):
        self.installation.limit = 1_000_000
        with self.assertRaises(er.EspalierError), self.db.run("r", policy="p") as run:
            episode = run.episode("t")
            for _ in range(3):
                episode.step("x", "y" * 3_000_000)
        self.installation.limit = 4_000_000
        self.connect().wait_for_spools(30)
        self.assertEqual((len(self.installation.of("StepTaken")), self.spools()), (3, []))

    def test_a_server_that_is_away_is_said_once(self):
        self.installation.close()
        with self.assertLogs("espalier_rl", "WARNING") as said, self.assertRaises(er.Unreachable), self.db.run("r", policy="p", wait_s=5) as run:
            run.episode("t").step("a")
        self.assertEqual(len(said.output), 1)
        self.assertRegex(said.output[0], "events could not be sent .*refused.* kept in .* sent again")

    def test_a_busy_server_is_sent_everything_once_it_is_ready_and_a_batch_that_is_too_large_in_parts(self):
        self.installation.refuses = [(503, {"retry-after": "0"}, "unavailable"), (429, {"retry-after": "0"}, "busy"), (413, {}, "too-large")]
        with self.db.run("r", policy="p") as run:
            for episode in run.group("t", n=5):
                episode.step("a")
                episode.finish()
        self.assertEqual(len(self.installation.of("StepTaken")), 5)

    def test_a_server_that_asks_to_wait_is_no_fault_to_warn_of(self):
        self.installation.refuses = [(429, {"retry-after": "1"}, "busy"), (503, {"retry-after": "1"}, "behind")] * 2  # longer than one try takes
        self.installation.refuses.append((429, {"retry-after": "1"}, "busy"))
        with self.assertNoLogs("espalier_rl", "WARNING"), self.db.run("r", policy="p") as run, run.episode("t") as episode:
            episode.step("a")
        self.assertEqual((len(self.installation.of("StepTaken")), self.installation.refuses), (1, []))

    def test_a_server_that_asks_to_wait_is_waited_for_longer_than_one_that_is_away(self):
        for sent, (status, code) in enumerate(((429, "busy"), (503, "behind"), (503, "unavailable")), 1):
            with self.subTest(code), mock.patch("espalier_rl.recording.sender.TRY_S", 0.1), self.db.run("r", policy="p") as run:
                run.flush()
                self.installation.refuses = [(status, {"retry-after": "0.5"}, code), (429, {}, "busy")]
                run.episode("t").step("a")
                run.journal.sender.wait(10, away_s=0.2)
            self.assertEqual(len(self.installation.of("StepTaken")), sent)

    def test_lines_that_are_longer_than_what_is_read_at_once_are_sent_with_what_is_recorded_behind_them(self):
        sizes = (2_200_000, 11_000_000)
        with self.db.run("r", policy="p", wait_s=60) as run:
            for size in sizes:
                episode = run.episode("t")
                episode.step("x", "y" * size)
                episode.step("behind")
                episode.finish(success=True)
        self.assertEqual([len(step["observation"]) for step in self.installation.of("StepTaken")], [sizes[0], 0, sizes[1], 0])
        self.assertEqual(([each["outcome"] for each in self.installation.of("RunFinished")], self.spools()), (["completed"], []))

    def test_long_lines_that_an_earlier_process_left_are_sent_by_the_next_connection(self):
        port = self.installation.port
        self.installation.close()
        with self.assertRaises(er.Unreachable), self.db.run("left", policy="p", wait_s=0.1) as run:
            for size in (2_200_000, 11_000_000):
                run.episode("t").step("x", "y" * size)
        self.installation = Installation(port)
        self.connect().wait_for_spools(60)
        self.assertEqual([len(step["observation"]) for step in self.installation.of("StepTaken")], [2_200_000, 11_000_000])
        self.assertEqual(self.spools(), [])

    def test_an_event_that_is_too_large_alone_is_named_with_the_limit_to_raise_and_sent_when_it_is_raised(self):
        run = self.db.run("r", policy="p")
        run.flush(30)
        self.installation.limit = 1_000_000
        episode = run.episode("t")
        episode.step("x", "y" * 3_000_000)
        episode.finish()
        with self.assertRaisesRegex(er.EspalierError, r"StepTaken \S+ takes \d+ bytes: it is too-large; raise ESPALIER_MAX_BODY_BYTES .* sends it again") as refused:
            run.close()
        self.assertEqual((refused.exception.status, refused.exception.code), (413, "too-large"))
        self.installation.limit = 2**30
        self.connect().wait_for_spools(30)
        self.assertEqual((len(self.installation.of("StepTaken")), self.spools()), (1, []))

    def test_a_step_over_the_limit_of_a_line_is_refused_as_it_is_recorded_and_the_episode_goes_on(self):
        with self.db.run("r", policy="p") as run:
            episode = run.episode("t")
            self.refused("observation", "StepTaken takes .* bytes, over", lambda: episode.step("x", "y" * 25_200_000))
            episode.step("x", "y")
            self.refused("observation", "StepTaken takes .* bytes, over", lambda: episode.step("x", "y" * 25_200_000))
            episode.finish(success=True)
        self.assertEqual([step["observation"] for step in self.installation.of("StepTaken")], ["y"])
        self.assertEqual(self.spools(), [])

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

    def test_a_process_that_was_forked_records_next_to_its_parent_and_none_of_its_episodes(self):
        run = self.db.run("r", policy="p")
        episode = run.episode("t")
        pid = os.fork()
        if pid == 0:
            try:
                self.assertEqual(self.refused("task", "begun by the process that forked this one", lambda: episode.step("b")).code, "forked")
                with run.episode("t") as own:
                    own.step("child")
                run.close()
                os._exit(7)
            finally:
                os._exit(1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 7)
        episode.step("parent")
        episode.finish()
        run.close()
        self.assertEqual([step["response"] for step in self.installation.of("StepTaken")], ["child", "parent"])
        self.assertEqual(len({tree["treeId"] for tree in self.installation.of("TreeOpened")}), 2)
        self.assertEqual(([each["outcome"] for each in self.installation.of("RecorderLeft")], len(self.installation.of("RunStarted"))), (["completed"], 1))
        self.assertEqual([(each["outcome"], each["trees"], each["steps"]) for each in self.installation.of("RunFinished")], [("completed", 2, 2)])
        self.assertEqual(self.spools(), [])

    def test_a_process_that_had_the_run_forked_and_was_killed_is_ended_by_the_next_connection(self):
        with self.db.run("r", policy="p") as run:
            pid = os.fork()
            if pid == 0:
                run.episode("t").step("child")
                os.kill(os.getpid(), signal.SIGKILL)
            os.waitpid(pid, 0)
            self.connect().wait_for_spools(30)
        self.assertEqual([step["response"] for step in self.installation.of("StepTaken")], ["child"])
        self.assertEqual([each["outcome"] for each in self.installation.of("RolloutFinished")], ["failed"])
        self.assertEqual([(each["outcome"], each["message"]) for each in self.installation.of("RecorderLeft")], [("failed", "the process that recorded it ended")])
        self.assertEqual([each["outcome"] for each in self.installation.of("RunFinished")], ["completed"])

    def test_a_process_that_has_a_run_by_a_handle_leaves_it_at_its_end(self):
        script = """import pickle, sys
group = pickle.loads(bytes.fromhex(sys.argv[1]))
with group.member(int(sys.argv[2])) as episode:
    episode.step(f"member {sys.argv[2]}")"""
        with self.db.run("r", policy="p") as run:
            handle = pickle.dumps(run.group("t", 2, id="g")).hex()
            for member in ("0", "1"):
                ended = subprocess.run([sys.executable, "-c", script, handle, member], cwd=PACKAGE, capture_output=True, text=True, timeout=60)
                self.assertEqual((ended.returncode, ended.stderr), (0, ""))
            self.assertEqual(pickle.loads(pickle.dumps(run)), run)  # the process that has it
            episode = run.episode("u")
            self.refused("episode", "is recorded by one process", lambda: pickle.dumps(episode))
            self.refused("group", "without an id is recorded by one process", lambda: pickle.dumps(run.group("u", 2)))
            self.refused("ordinal", "is 2", lambda: run.group("t", 2, id="g").member(2))
            episode.cancel("tested")
        shared, *_ = self.installation.of("TreeOpened")
        self.assertEqual((shared["shared"], shared["plannedRollouts"]), (True, 2))
        self.assertEqual([(each["treeId"], each["ordinal"]) for each in self.installation.of("RolloutStarted")][:2], [(shared["treeId"], 0), (shared["treeId"], 1)])
        self.assertNotIn(shared["treeId"], [each["treeId"] for each in self.installation.of("TreeClosed")])
        self.assertEqual([each["outcome"] for each in self.installation.of("RecorderLeft")], ["completed"] * 2)

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
        for field, options in (("name", {"name": ""}), ("durable", {"durable": "sometimes"}), ("full", {"full": "drop"}), ("seed", {"seed": 0.5}), ("policy", {"policy": 3}), ("config", {"config": {"a": object()}}), ("config", {"config": {"a": [12345678901234567891]}}), ("config", {"config": {"a": 10**400}}), ("training", {"config": {"training": 1}, "training": True})):
            with self.subTest(field=field):
                self.refused(field, field, lambda options=options: self.db.run(**{"name": "r", "policy": "p", **options}))
        invisible = ["\n", "\x7f", "\x85", "\xad", "\u061c", "\u200b", "\u200d", "\u200e", "\u200f", "\u2028", "\u202a", "\u202e", "\u2060", "\u2066", "\u2069", "\ufeff", "\U000e0041"]
        for policy in [".", "..", "../x", "a/../b@1", "a/..", "a\\..\\b", "..\\b", "a\\..", "__proto__", *(f"a{each}b" for each in invisible)]:
            with self.subTest(policy=policy):
                self.refused("policy", "policy", lambda policy=policy: self.db.run("r", policy=policy))
        self.assertEqual((self.installation.events, self.spools()), ({}, []))

    def spool(self, *arguments):
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "ESPALIER_TOKEN": "key"}
        command = [sys.executable, "-m", "espalier_rl", "spool", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=self.folder, check=False)
        return done.returncode, done.stdout, done.stderr

    def leave(self, db):
        """Leaves a run in the spool, recorded as the server went away."""
        short = mock.patch("espalier_rl.recording.sender.TRY_S", 0)  # no request goes on behind the end
        with short, self.assertRaises(er.Unreachable), db.run("left", policy="p", wait_s=0.5) as run:
            if self.installation.name:
                run.flush(30)
                self.installation.refuses = [(503, {"retry-after": "0"}, "unavailable")]
            else:
                self.installation.close()
            run.episode("t").step("a", done=True)
        return run

    def test_a_spool_is_sent_to_the_installation_that_it_was_recorded_for_and_to_no_other_one_at_its_address(self):
        self.installation.name = "one"
        run = self.leave(self.db)
        self.installation.name, self.installation.refuses = "two", []
        self.installation.events.clear()
        with self.assertLogs("espalier_rl", "WARNING"), self.assertRaisesRegex(er.EspalierError, "for another installation than the one at .*spool send --run") as other:
            self.connect().wait_for_spools(30)
        self.assertEqual((other.exception.code, self.spools(), self.installation.of("StepTaken")), ("other-installation", [run.id], []))
        self.assertRegex(self.spool("send", self.folder, "--url", self.installation.url)[2], "another installation")
        elsewhere = Installation()
        self.addCleanup(elsewhere.close)
        elsewhere.name = "one"  # moved to another address
        self.assertEqual(self.spool("send", self.folder, "--url", elsewhere.url), (0, "1 of 1 spools are sent\n", ""))
        self.assertEqual((len(elsewhere.of("StepTaken")), self.spools()), (1, []))

    def test_a_spool_that_met_no_server_is_sent_to_one_that_takes_the_same_key_or_by_a_command_that_names_its_run(self):
        port = self.installation.port
        run = self.leave(self.connect("key of another installation"))
        self.installation = Installation(port)
        with self.assertLogs("espalier_rl", "WARNING"), self.assertRaisesRegex(er.EspalierError, "another installation"):
            self.connect().wait_for_spools(30)
        self.assertEqual(self.installation.of("StepTaken"), [])
        elsewhere = Installation()
        self.addCleanup(elsewhere.close)
        self.assertEqual(self.spool("send", self.folder, "--url", elsewhere.url)[1].splitlines()[0], "0 of 1 spools are sent")
        self.assertEqual(self.spool("send", self.folder, "--run", run.id, "--url", elsewhere.url)[0], 0)
        self.assertEqual((len(elsewhere.of("StepTaken")), self.spools()), (1, []))

    def test_nobody_is_shown_progress_where_there_is_no_terminal(self):
        closed = io.StringIO()
        closed.close()
        for stderr in (None, closed, object()):
            with mock.patch.object(sys, "stderr", stderr), self.db.run("r", policy="p") as run:
                run.episode("t").step("a")
        self.assertEqual(len(self.installation.of("StepTaken")), 3)

    def test_what_was_recorded_with_a_wrong_key_is_sent_with_the_right_one(self):
        self.installation.name, self.installation.key = "one", "key"
        with self.assertRaises(er.EspalierError) as refused, self.connect("wrong").run("r", policy="p") as run:
            run.episode("t").step("a")
        self.assertEqual((refused.exception.status, self.spools()), (401, [run.id]))
        self.connect().wait_for_spools(30)
        self.assertEqual((len(self.installation.of("StepTaken")), self.spools()), (1, []))

    def test_a_command_that_does_not_reach_its_server_leaves_the_spool_to_its_installation(self):
        self.installation.name = "one"
        run = self.leave(self.db)
        self.installation.close()
        self.assertEqual(self.spool("send", self.folder, "--run", run.id, "--url", self.installation.url, "--wait", "1")[0], 1)
        self.assertEqual([each.read_text().strip() for each in Path(self.folder).glob("*/*/installation")], ["one"])

    def test_the_command_says_how_much_is_unsent_names_a_damaged_line_and_sends_the_rest(self):
        port = self.installation.port
        self.installation.close()
        with self.assertRaises(er.Unreachable), self.db.run("left", policy="p", wait_s=0.1) as run:
            episode = run.episode("t")
            episode.step("a")
            episode.finish()
        code, said, _ = self.spool("status", self.folder)
        self.assertEqual(code, 0)
        self.assertRegex(said, rf"{run.id}  'left': 7 events, 0 held back, \d+ bytes\n")
        self.assertIn("7 events of 1 runs, every line whole", said)
        self.assertEqual(self.spool("check", self.folder)[0], 0)
        code, _, refused = self.spool("send", self.folder, "--url", self.installation.url, "--wait", "1")
        self.assertEqual(code, 1)
        self.assertRegex(refused, "error: .*is not sent: .*start the server")
        path, *_, last = sorted(Path(self.folder).glob("*/*/*.ndjson"))  # the try to send began another
        whole, end = path.read_bytes(), last.read_bytes()
        path.write_bytes(whole.replace(b'"type":"StepTaken"', b'"type":"StepTaken', 1))
        code, _, damaged = self.spool("check", self.folder)
        self.assertEqual(code, 1)
        self.assertRegex(damaged, rf"{path}:\d: is damaged: .*\nerror: move the folder")
        path.write_bytes(whole)
        last.write_bytes(end + b'{"id":"half a li')  # the death of a process may leave that: it was never acknowledged
        self.assertEqual(self.spool("check", self.folder)[0], 0)
        self.installation = Installation(port)
        self.assertEqual(self.spool("send", self.folder, "--url", self.installation.url), (0, "1 of 1 spools are sent\n", ""))
        self.assertEqual([each["outcome"] for each in self.installation.of("RunFinished")], ["completed"])
        self.assertEqual(self.spools(), [])


if __name__ == "__main__":
    unittest.main()
