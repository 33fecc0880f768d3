"""The protocol holds without torch: frames, handshake, requests that cannot be followed, and the end of the stream."""

import io
import json
import struct
import subprocess
import sys
import unittest
from pathlib import Path

from espalier_rl.trainer import PROTOCOL
from espalier_rl.trainer.frames import FrameError, read_frame, write_frame
from espalier_rl.trainer.session import Session

PACKAGE = Path(__file__).parents[1]


def framed(message, body=b""):
    stream = io.BytesIO()
    write_frame(stream, message, body)
    return stream.getvalue()


class Frames(unittest.TestCase):
    def test_a_written_frame_is_read(self):
        stream = io.BytesIO(framed({"kind": "a", "text": "é"}, b"\x00\x01") + framed({"kind": "b"}))
        self.assertEqual(read_frame(stream), ({"kind": "a", "text": "é"}, b"\x00\x01"))
        self.assertEqual(read_frame(stream), ({"kind": "b"}, b""))
        self.assertIsNone(read_frame(stream))

    def test_a_truncated_frame_is_an_error_wherever_it_is_cut(self):
        whole = framed({"kind": "a"}, b"1234")
        for end in range(1, len(whole)):
            with self.assertRaises(FrameError):
                read_frame(io.BytesIO(whole[:end]))

    def test_other_bytes_are_an_error(self):
        bad = [
            b"HTTP/1.1 200 OK\r\n\r\n",
            struct.pack("<4sII", b"ESPF", 2**31, 0),
            struct.pack("<4sII", b"ESPF", 2, 0) + b"[]",
            struct.pack("<4sII", b"ESPF", 2, 0) + b"{x",
        ]
        for data in bad:
            with self.assertRaises(FrameError):
                read_frame(io.BytesIO(data))

    def test_a_number_that_json_lacks_is_not_written(self):
        with self.assertRaises(ValueError):
            framed({"loss": float("nan")})


class Handshake(unittest.TestCase):
    def test_the_same_protocol_is_accepted_and_answered_with_the_capabilities(self):
        answer, body = Session().answer({"id": 1, "kind": "hello", "protocol": PROTOCOL}, b"")
        self.assertEqual((answer["id"], answer["kind"], answer["protocol"], body), (1, "ok", PROTOCOL, b""))
        self.assertLessEqual({"version", "python", "torch", "cuda"}, set(answer))

    def test_another_protocol_is_refused(self):
        answer, _ = Session().answer({"id": 1, "kind": "hello", "protocol": PROTOCOL + 1}, b"")
        self.assertEqual((answer["kind"], answer["code"]), ("error", "protocol"))

    def test_a_request_before_the_handshake_is_refused(self):
        answer, _ = Session().answer({"id": 1, "kind": "save", "folder": "/nowhere"}, b"")
        self.assertEqual((answer["kind"], answer["code"]), ("error", "protocol"))

    def test_an_unknown_request_is_refused_and_the_session_continues(self):
        session = Session()
        session.answer({"id": 1, "kind": "hello", "protocol": PROTOCOL}, b"")
        answer, _ = session.answer({"id": 2, "kind": "eval"}, b"")
        self.assertEqual((answer["id"], answer["code"]), (2, "refused"))
        answer, _ = session.answer({"id": 3, "kind": "save", "folder": "/nowhere"}, b"")
        self.assertEqual((answer["code"], answer["message"]), ("refused", "no model is open"))


class Process(unittest.TestCase):
    def start(self, data):
        return subprocess.run([sys.executable, "-m", "espalier_rl.trainer"], input=data, capture_output=True, cwd=PACKAGE, timeout=60)

    def test_the_end_of_the_stream_ends_the_process(self):
        ended = self.start(b"")
        self.assertEqual((ended.returncode, ended.stdout), (0, b""))

    def test_other_bytes_end_the_process_with_the_reason(self):
        ended = self.start(b"nonsense, which is no frame at all")
        self.assertEqual(ended.returncode, 2)
        self.assertIn(b"a frame begins with", ended.stderr)
        self.assertEqual(ended.stdout, b"")


if __name__ == "__main__":
    unittest.main()
