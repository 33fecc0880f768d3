"""Sinks against TensorBoard's own reader and an MLflow store, with updates served as GraphQL serves them; posting processes are killed."""

import glob
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

PACKAGE = Path(__file__).parents[1]


class Record:
    """Serves the versions of a policy, the newest first, two on a page."""

    def __init__(self, versions):
        self.versions = versions
        record = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))["variables"]
                data = json.dumps({"data": {"policy": record.page(asked)}}).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def page(self, asked):
        if asked["policy"] != "qwen/3":
            return None
        ordered = sorted(self.versions, reverse=True)
        first = int(asked["after"] or 0)
        return {"versions": {"pageInfo": {"hasNextPage": first + 2 < len(ordered), "endCursor": str(first + 2)}, "nodes": [node(v) for v in ordered[first : first + 2]]}}

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def node(version):
    batch = {"id": f"b{version}", "ordinal": version - 1, "tokens": 100, "staleness": [{"staleness": 0, "samples": 3}, {"staleness": 1, "samples": 1}]}
    return {
        **{"version": version, "weights": "a" * 64, "samples": 4, "updatedAt": f"2026-11-23T04:00:{version:02}.000Z"},
        **{"metrics": {"loss": version / 2, "entropy": 1.0} if version else {}, "batch": batch if version else None},
    }


class Sinks(unittest.TestCase):
    def setUp(self):
        self.record = Record([0, 1, 2, 3])
        self.addCleanup(self.record.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_sink(self, system, to, *more, dies=None):
        """Runs the command; `dies` is a line of Python that kills it in the middle."""
        command = ["-m", "espalier_rl.sinks"] if dies is None else ["-c", f"import os, signal\n{dies}\nfrom espalier_rl.sinks.__main__ import main\nmain()"]
        env = {**os.environ, "ESPALIER_URL": self.record.url, "ESPALIER_TOKEN": "key", "MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}
        return subprocess.run([sys.executable, *command, system, "--policy", "qwen/3", "--to", str(to), *more], cwd=PACKAGE, env=env, capture_output=True, text=True)

    def test_tensorboard_has_every_update_once_after_a_kill_in_the_middle_of_a_record(self):
        cut = "\n".join(
            [
                "from tensorboard.summary.writer import event_file_writer as w",
                "plain = w.EventFileWriter.add_event",
                "def add(self, event):",
                "    plain(self, event)",
                "    self.flush()",
                "    if event.step == 2:",
                "        name = self._file_name",
                "        os.truncate(name, os.path.getsize(name) - 7)",
                "        os.kill(os.getpid(), signal.SIGKILL)",
                "w.EventFileWriter.add_event = add",
            ]
        )
        died = self.run_sink("tensorboard", self.folder, dies=cut)
        self.assertEqual((died.returncode, died.stdout), (-signal.SIGKILL, "version 0: 0 metrics\nversion 1: 5 metrics\n"), died.stderr)
        again = self.run_sink("tensorboard", self.folder)
        self.assertEqual((again.returncode, again.stdout), (0, "version 2: 5 metrics\nversion 3: 5 metrics\n"), again.stderr)
        self.assertEqual(self.run_sink("tensorboard", self.folder).stdout, "")

        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        found = {}
        for file in glob.glob(str(self.folder / "qwen" / "3" / "*tfevents*")):
            read = EventAccumulator(file).Reload()
            for tag in read.Tags()["scalars"]:
                found.setdefault(tag, []).extend((event.step, event.value) for event in read.Scalars(tag))
        self.assertEqual(sorted(found["loss"]), [(1, 0.5), (2, 1.0), (3, 1.5)])
        self.assertEqual(sorted(found["espalier/staleness"]), [(1, 0.25), (2, 0.25), (3, 0.25)])
        self.assertEqual([step for step, _ in sorted(found["espalier/version"])], [0, 1, 2, 3])

    def test_mlflow_has_every_metric_once_after_a_kill_between_the_metrics_and_their_version(self):
        die = "\n".join(
            [
                "from mlflow import MlflowClient",
                "plain = MlflowClient.set_tag",
                "def set_tag(self, run_id, name, value):",
                "    if 'version 2 ' in value: os.kill(os.getpid(), signal.SIGKILL)",
                "    return plain(self, run_id, name, value)",
                "MlflowClient.set_tag = set_tag",
            ]
        )
        to = self.folder / "mlruns"
        died = self.run_sink("mlflow", to, dies=die)
        self.assertEqual((died.returncode, died.stdout), (-signal.SIGKILL, "version 0: 0 metrics\nversion 1: 5 metrics\n"), died.stderr)
        again = self.run_sink("mlflow", to)
        self.assertEqual((again.returncode, again.stdout), (0, "version 2: 5 metrics\nversion 3: 5 metrics\n"), again.stderr)

        os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
        from mlflow import MlflowClient

        client = MlflowClient(str(to))
        [run] = client.search_runs([client.get_experiment_by_name("espalier").experiment_id])
        for name, wanted in (("loss", [0.5, 1.0, 1.5]), ("espalier/tokens", [100.0] * 3), ("espalier/version", [0.0, 1.0, 2.0, 3.0])):
            self.assertEqual([metric.value for metric in sorted(client.get_metric_history(run.info.run_id, name), key=lambda each: each.step)], wanted)
        self.assertIn(f"{self.record.url}/view/training?policy=qwen%2F3&version=3", run.data.tags["mlflow.note.content"])

    def test_older_versions_are_left_out_on_request_and_a_policy_that_nobody_trains_is_refused(self):
        self.assertEqual(self.run_sink("tensorboard", self.folder, "--from", "3").stdout, "version 3: 5 metrics\n")
        self.record.page = lambda asked: None
        refused = self.run_sink("tensorboard", self.folder / "other")
        self.assertEqual((refused.returncode, refused.stdout), (1, ""))
        self.assertIn("there is no policy qwen/3; name one that is trained", refused.stderr)


if __name__ == "__main__":
    unittest.main()
