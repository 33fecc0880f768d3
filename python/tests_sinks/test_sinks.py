"""Sinks against the own readers of TensorBoard, MLflow, Weights & Biases and Trackio, with updates served as GraphQL serves them; posting
processes are killed."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from espalier_rl.analysis.tail import Event
from espalier_rl.sinks import RunRollouts
from tests_sinks.read_back import read_back

PACKAGE = Path(__file__).parents[1]


class Record:
    """Serves the versions of a policy, the newest first, two on a page, and their events, one after the other. What is asked knows the
    first `folded` versions until a caller waits for more."""

    def __init__(self, versions, folded=None):
        self.versions = versions
        self.folded = len(versions) if folded is None else folded
        record = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if asked["query"].startswith("subscription"):
                    return self.follow(asked["variables"])
                data = json.dumps({"data": record.answer(asked)}).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def follow(self, asked):
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                for version in sorted(record.versions):
                    if version >= int(asked["after"].partition(":")[2] or 0):
                        self.wfile.write(f"event: next\ndata: {json.dumps({'data': {'events': event(version)}})}\n\n".encode())
                        self.wfile.flush()
                        record.pause()
                record.closed.wait()

        self.closed = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def pause(self):
        """Waits a while for a caller that waits for all that the log holds."""
        until = time.monotonic() + 8
        while self.folded < len(self.versions) and time.monotonic() < until:
            time.sleep(0.02)

    def answer(self, asked):
        given = asked["variables"]
        if "position" in given:
            self.folded = max(self.folded, int(given["position"].partition(":")[2]))
            return {"waitFor": {"waitedMs": 0}}
        if asked["query"] == "{ position }":
            return {"position": f"training.0:{len(self.versions)}"}
        return {"policy": self.policy({"first": 1, "after": None, **given})}

    def policy(self, asked):
        if asked.get("id", asked.get("policy")) != "qwen/3":
            return None
        ordered = sorted(self.versions[: self.folded], reverse=True)
        first = int(asked["after"] or 0)
        until = first + min(2, asked["first"])
        page = {"hasNextPage": until < len(ordered), "endCursor": str(until)}
        return {"id": "qwen/3", "versions": {"pageInfo": page, "nodes": [node(v) for v in ordered[first:until]]}}

    def close(self):
        self.closed.set()
        self.server.shutdown()
        self.server.server_close()


def event(version):
    of = {"id": f"e{version}", "type": "PolicyUpdated", "stream": "s", "runId": "s", "occurredAt": "2026-11-23T04:00:00.000Z"}
    return {**of, "data": {"policyId": "qwen/3", "version": version}, "position": f"training.0:{version + 1}"}


def finished(tree, rollout):
    of = {"id": "e", "type": "RolloutFinished", "stream": tree, "run_id": "run", "occurred_at": "", "fields": {}}
    return Event(**of, data={"treeId": tree, "rolloutId": rollout}, position="trees.0:1")


def node(version):
    batch = {"id": f"b{version}", "ordinal": version - 1, "tokens": 100, "staleness": [{"staleness": 0, "samples": 3}, {"staleness": 1, "samples": 1}]}
    return {
        **{"version": version, "weights": "a" * 64, "samples": 4, "updatedAt": f"2026-11-23T04:00:{version:02}.000Z"},
        **{"metrics": {"loss": version / 2, "entropy": 1.0} if version else {}, "batch": batch if version else None},
    }


class TwoTrees:
    """Answers as GraphQL does for a run of two trees that have a rollout under one id, the second one twelve more, five on a page."""

    url = "http://server"

    def __init__(self):
        self.trees = {"one": [("same", 1.0)], "two": [(f"r{i}", 0.0) for i in range(12)] + [("same", 2.0)]}

    def graphql(self, query, variables=None):
        if "position" in (variables or {}):
            return {"waitFor": {"waitedMs": 0}}
        if variables:
            return {"run": {"id": "run", "name": "run", "publishedMetrics": []}}
        asked = re.findall(r'(t\d+): rollouts\(filter: {tree: "(\w+)", finished: true}, first: \d+, after: (\S+)\)', query)
        self.assert_asked(query, asked)
        return {alias: self.page(tree, int(json.loads(after) or 0)) for alias, tree, after in asked}

    def assert_asked(self, query, asked):
        if len(asked) != query.count("rollout(") + query.count("rollouts("):
            raise AssertionError(f"several trees have a rollout of one id: {query}")

    def page(self, tree, first):
        rollouts = self.trees[tree][first : first + 5]
        ended = {"finishedAt": "2026-11-23T04:00:00.000Z", "success": None, "stepCount": 1}
        nodes = [{"id": rollout, "return": value, "trajectory": {"returns": []}, **ended} for rollout, value in rollouts]
        return {"pageInfo": {"hasNextPage": first + 5 < len(self.trees[tree]), "endCursor": str(first + 5)}, "nodes": nodes}


class Rollouts(unittest.TestCase):
    def test_rollouts_of_one_id_in_two_trees_are_two_points_and_one_without_effect_is_none(self):
        source = RunRollouts(TwoTrees(), "run")
        events = [finished(tree, rollout) for tree, rollout in [("two", "same"), ("one", "same"), ("one", "lost"), ("two", "same")]]
        points = source.points(events, lambda key: False)
        self.assertEqual([(point.key, point.metrics["rollout/return"]) for point in points], [("two same", 2.0), ("one same", 1.0)])
        self.assertEqual([point.key for point in source.points(events, lambda key: key == "two same")], ["one same"])

    def test_a_rollout_that_nobody_rewarded_is_a_point_without_a_return(self):
        trees = TwoTrees()
        trees.trees["one"][0] = (trees.trees["one"][0][0], None)
        [point] = RunRollouts(trees, "run").points([finished("one", trees.trees["one"][0][0])], lambda key: False)
        self.assertEqual(point.metrics, {"rollout/length": 1.0})


class Sinks(unittest.TestCase):
    def setUp(self):
        self.record = Record([0, 1, 2, 3])
        self.addCleanup(self.record.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_sink(self, system, to, *more, dies=None):
        """Runs the command; `dies` is a line of Python that kills it in the middle."""
        command = ["-m", "espalier_rl.sinks"] if dies is None else ["-c", f"import os, signal, sys\n{dies}\nfrom espalier_rl.sinks.__main__ import main\nmain()"]
        env = {**os.environ, "XDG_STATE_HOME": str(self.folder / "state"), "ESPALIER_URL": self.record.url, "ESPALIER_TOKEN": "key", "MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}
        return subprocess.run([sys.executable, *command, system, "--policy", "qwen/3", "--to", str(to), *more], cwd=PACKAGE, env=env, capture_output=True, text=True)

    def test_tensorboard_has_every_update_once_after_a_kill_in_the_middle_of_a_record(self):
        cut = """
            from tensorboard.summary.writer import event_file_writer as w
            plain = w.EventFileWriter.add_event
            def add(self, event):
                plain(self, event)
                self.flush()
                if event.step == 2:
                    name = self._file_name
                    os.truncate(name, os.path.getsize(name) - 7)
                    os.kill(os.getpid(), signal.SIGKILL)
            w.EventFileWriter.add_event = add"""
        self.killed("tensorboard", self.folder, cut)
        again = self.run_sink("tensorboard", self.folder)
        self.assertEqual((again.returncode, again.stdout), (0, "version 2: 5 metrics\nversion 3: 5 metrics\n"), again.stderr)
        self.assertEqual(self.run_sink("tensorboard", self.folder).stdout, "")
        self.expect_every_update_once("tensorboard", self.folder)

    def test_mlflow_has_every_metric_once_after_a_kill_between_the_metrics_of_an_update(self):
        cut = """
            from mlflow import MlflowClient
            plain = MlflowClient.log_batch
            def log_batch(self, run_id, metrics):
                until = [metric.step for metric in metrics].index(2) + 3
                plain(self, run_id, metrics=metrics[:until])
                os.kill(os.getpid(), signal.SIGKILL)
            MlflowClient.log_batch = log_batch"""
        to = self.folder / "mlruns"
        self.killed("mlflow", to, cut)
        again = self.run_sink("mlflow", to)
        self.assertEqual((again.returncode, again.stdout), (0, "version 2: 5 metrics\nversion 3: 5 metrics\n"), again.stderr)
        self.expect_every_update_once("mlflow", to)

    def test_trackio_has_every_update_once_after_a_kill_before_they_are_marked_as_posted(self):
        cut = """
            os.environ["TRACKIO_DIR"] = sys.argv[sys.argv.index("--to") + 1]
            from trackio.sqlite_storage import SQLiteStorage
            plain = SQLiteStorage.bulk_log
            def bulk_log(*given, **named):
                plain(*given, **named)
                os.kill(os.getpid(), signal.SIGKILL)
            SQLiteStorage.bulk_log = staticmethod(bulk_log)"""
        to = self.folder / "trackio"
        self.killed("trackio", to, cut)
        again = self.run_sink("trackio", to)
        self.assertEqual((again.returncode, again.stdout), (0, ""), again.stderr)
        self.record.versions += [4]
        self.assertEqual(self.run_sink("trackio", to).stdout, "version 4: 5 metrics\n")
        self.expect_every_update_once("trackio", to)

    def test_wandb_has_every_update_once_after_a_kill_while_its_client_holds_some_of_them(self):
        cut = """
            from wandb.sdk.wandb_run import Run
            plain = Run.log
            def log(self, data, **named):
                plain(self, data, **named)
                if named["step"] == 2:
                    os.kill(os.getpid(), signal.SIGKILL)
            Run.log = log"""
        to = self.folder / "wandb"
        self.killed("wandb", to, cut)
        again = self.run_sink("wandb", to)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(self.run_sink("wandb", to).stdout, "")
        self.expect_every_update_once("wandb", to)

    def test_a_sink_posts_all_that_the_log_holds_where_the_read_models_lag_behind_it(self):
        lagging = Record([0, 1, 2, 3], folded=1)
        self.addCleanup(lagging.close)
        self.record = lagging
        posted = self.run_sink("tensorboard", self.folder)
        self.assertEqual(posted.returncode, 0, posted.stderr)
        self.assertEqual([line.split(":")[0] for line in posted.stdout.splitlines()], [f"version {version}" for version in range(4)])

    def test_older_versions_are_left_out_on_request_and_a_policy_that_nobody_trains_is_refused(self):
        self.assertEqual(self.run_sink("tensorboard", self.folder, "--from", "3").stdout, "version 3: 5 metrics\n")
        self.record.policy = lambda asked: None
        refused = self.run_sink("tensorboard", self.folder / "other")
        self.assertEqual((refused.returncode, refused.stdout), (1, ""))
        self.assertIn("there is no policy qwen/3; name one that is trained", refused.stderr)

    def test_what_was_posted_and_is_missing_is_said_and_what_is_there_without_a_memory_is_not_posted_again(self):
        self.run_sink("tensorboard", self.folder / "logs")
        shutil.rmtree(self.folder / "state")
        self.record.versions += [4]
        self.assertEqual(self.run_sink("tensorboard", self.folder / "logs").stdout, "version 4: 5 metrics\n")
        shutil.rmtree(self.folder / "logs")
        refused = self.run_sink("tensorboard", self.folder / "logs")
        self.assertEqual((refused.returncode, refused.stdout), (1, ""))
        self.assertRegex(refused.stderr, r"4 was posted last, and nothing is there; .* delete .*\.sqlite to post all of it again")

    def killed(self, system, to, cut):
        died = self.run_sink(system, to, dies=textwrap.dedent(cut))
        self.assertEqual((died.returncode, died.stdout), (-signal.SIGKILL, ""), died.stderr)

    def expect_every_update_once(self, system, to):
        found = read_back(system, to)
        trained = [version for version in self.record.versions if version > 0]
        self.assertEqual(found["loss"], [(version, version / 2) for version in trained])
        self.assertEqual(found["espalier/staleness"], [(version, 0.25) for version in trained])
        self.assertEqual(found["espalier/version"], [(version, version) for version in self.record.versions])
        links = [f"{self.record.url}/view/training?policy=qwen%2F3&version={version}" for version in self.record.versions]
        self.assertEqual(found["links"], links[-1:] if system == "mlflow" else links)


if __name__ == "__main__":
    unittest.main()
