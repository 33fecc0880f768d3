"""A folder of an export is put on a stand-in of the hub, which speaks what huggingface_hub speaks: preupload, LFS and commits."""

import base64
import hashlib
import json
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest.mock import patch

from huggingface_hub import constants

from espalier_rl.errors import EspalierError
from espalier_rl.hub import MANIFEST, push_to_hub

LARGE = 64  # bytes from which the stand-in asks for a file by LFS


class Hub(BaseHTTPRequestHandler):
    """Keeps files of one data set in `server.files`; LFS objects in `server.objects`, by their SHA-256."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, body=None, code=None):
        payload = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        if code:
            self.send_header("X-Error-Code", code)
        self.send_header("content-length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def body(self):
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def do_POST(self):
        body = self.body()
        self.server.asked.append(self.path)
        if self.headers.get("authorization") != "Bearer hf_right":
            return self.answer(401, {"error": "Invalid credentials"})
        if self.path == "/api/repos/create":
            name = json.loads(body)
            made = self.server.made is None
            self.server.made = f"{name.get('organization') or 'me'}/{name['name']}"
            return self.answer(200 if made else 409, {"url": f"{self.server.address}/datasets/{self.server.made}"})
        if self.path == "/api/validate-yaml":
            return self.answer(200, {"errors": [], "warnings": []})
        if "/preupload/" in self.path:
            files = json.loads(body)["files"]
            modes = [{"path": file["path"], "uploadMode": "lfs" if file["size"] >= LARGE else "regular", "shouldIgnore": False, "oid": None} for file in files]
            return self.answer(200, {"files": modes})
        if self.path.endswith("/info/lfs/objects/batch"):
            objects = json.loads(body)["objects"]
            return self.answer(200, {"transfer": "basic", "objects": [self.upload_of(each) for each in objects]})
        if "/commit/" in self.path:
            return self.commit([json.loads(line) for line in body.splitlines()])
        return self.answer(404, {"error": f"no {self.path}"})

    def upload_of(self, each):
        if each["oid"] in self.server.objects:
            return each
        return {**each, "actions": {"upload": {"href": f"{self.server.address}/objects/{each['oid']}", "header": {}}}}

    def commit(self, lines):
        for line in lines:
            value = line["value"]
            if line["key"] == "file":
                self.server.files[value["path"]] = base64.b64decode(value["content"])
            if line["key"] == "lfsFile":
                self.server.files[value["path"]] = self.server.objects[value["oid"]]
        self.server.commits.append(next(line["value"]["summary"] for line in lines if line["key"] == "header"))
        self.answer(200, {"success": True, "commitOid": "c" * 40, "commitUrl": f"{self.server.address}/datasets/{self.server.made}/commit/{'c' * 40}", "hookOutput": ""})

    def do_PUT(self):
        body = self.body()
        oid = self.path.split("/")[-1]
        if hashlib.sha256(body).hexdigest() != oid:
            return self.answer(400, {"error": "other bytes"})
        self.server.objects[oid] = body
        return self.answer(200)

    def do_GET(self):
        self.server.asked.append(self.path)
        if self.server.made is None:
            return self.answer(404, {"error": "Repository not found"}, "RepoNotFound")
        if "/revision/" in self.path or self.path.startswith("/api/datasets/"):
            return self.answer(200, {"id": self.server.made, "sha": "c" * 40, "siblings": [], "private": True, "tags": [], "downloads": 0, "likes": 0})
        return self.answer(404, {"error": f"no {self.path}"})


class Pushed(unittest.TestCase):
    def setUp(self):
        for name, value in (("HF_HUB_OFFLINE", False), ("HF_HUB_DISABLE_XET", True)):  # the stand-in is no hub that is away, and speaks LFS
            patched = patch.object(constants, name, value)
            patched.start()
            self.addCleanup(patched.stop)
        self.hub = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
        self.hub.address = f"http://127.0.0.1:{self.hub.server_port}"
        self.hub.files, self.hub.objects, self.hub.commits, self.hub.asked, self.hub.made = {}, {}, [], [], None
        threading.Thread(target=self.hub.serve_forever, daemon=True).start()
        self.addCleanup(self.hub.server_close)
        self.addCleanup(self.hub.shutdown)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.files = {"data/train-00000-of-00001.jsonl": b'{"input_ids":[1,2,3]}\n' * 9, "README.md": b"# card\n"}
        names = [{"path": path} for path in self.files if path.startswith("data/")]
        self.files[MANIFEST] = json.dumps({"schema": "espalier-folder-manifest/1", "files": names}).encode()
        for path, content in self.files.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_bytes(content)

    def push(self, token="hf_right"):
        return push_to_hub(self.folder, "me/crafted", token=token, endpoint=self.hub.address)

    def test_every_file_of_a_folder_is_in_one_commit_of_the_data_set_and_nothing_else(self):
        (self.folder / "notes.txt").write_text("mine")
        self.push()
        self.assertEqual(self.hub.files, self.files)
        self.assertEqual((self.hub.made, self.hub.commits), ("me/crafted", ["Upload an export of Espalier"]))
        self.assertIn(self.files["data/train-00000-of-00001.jsonl"], self.hub.objects.values())

    def test_a_second_push_sends_no_large_file_again(self):
        self.push()
        self.hub.objects = dict(self.hub.objects)
        kept = len(self.hub.objects)
        self.push()
        self.assertEqual((len(self.hub.objects), self.hub.files), (kept, self.files))

    def test_a_wrong_token_and_a_folder_that_is_no_export_are_refused_by_name(self):
        with self.assertRaisesRegex(EspalierError, "the hub refused me/crafted"):
            self.push(token="hf_wrong")
        self.assertEqual(self.hub.files, {})
        (self.folder / "data/train-00000-of-00001.jsonl").unlink()
        with self.assertRaisesRegex(EspalierError, "train-00000-of-00001.jsonl is named in _manifests/dataset.manifest and is not there"):
            self.push()
        (self.folder / MANIFEST).unlink()
        with self.assertRaisesRegex(EspalierError, "has no _manifests/dataset.manifest"):
            self.push()


if __name__ == "__main__":
    unittest.main()
