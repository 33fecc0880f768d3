"""A stand-in model server: `model.py FIRST_S TOKEN_S` prints its port and serves until its input ends. It answers as vLLM does, 50 tokens, the first
after FIRST_S and each of them TOKEN_S later, with token ids and log-probabilities where it is asked for them."""

import json
import os
import random
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKENS = 50
MESSAGES, WORDS = 9, 220  # of a request, and of each message: 1.1 kB
VOCABULARY = "the agent looks at shelf takes lamp opens drawer finds nothing goes to desk puts key down asks why map north door says red box".split()


def start(first_s, token_s):
    """Starts the server; returns its address and its process, which ends with this one."""
    command = [sys.executable, __file__, str(first_s), str(token_s)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    return f"http://127.0.0.1:{int(process.stdout.readline())}/v1", process


def messages_of(name):
    """Returns the messages of a request, drawn from its name: a conversation of its own."""
    draw = random.Random(name)
    return [{"role": ("user", "assistant")[i % 2], "content": " ".join(draw.choices(VOCABULARY, k=WORDS))} for i in range(MESSAGES)]


def reply(body):
    named = [{"token": f"token_id:{i}", "logprob": -i / 256, "bytes": None, "top_logprobs": []} for i in range(TOKENS)] if body.get("logprobs") else None
    ids = list(range(TOKENS)) if body.get("return_token_ids") else None
    head = {"id": "chatcmpl-1", "created": 1, "model": "served"}
    usage = {"prompt_tokens": 2_000, "completion_tokens": TOKENS, "total_tokens": 2_000 + TOKENS}
    prompt = {"prompt_token_ids": list(range(2_000))} if ids else {}
    if not body.get("stream"):
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "word " * TOKENS}, "logprobs": named and {"content": named}}
        yield json.dumps({**head, "object": "chat.completion", "choices": [choice | ({"token_ids": ids} if ids else {})], "usage": usage, **prompt})
        return
    for i in range(TOKENS):
        choice = {"index": 0, "delta": {"content": "word "}, "finish_reason": None, "logprobs": named and {"content": [named[i]]}}
        part = {**head, "object": "chat.completion.chunk", "choices": [choice | ({"token_ids": [i]} if ids else {})]}
        yield f"data: {json.dumps(part if i else part | prompt)}\n\n"
    if (body.get("stream_options") or {}).get("include_usage"):
        yield f"data: {json.dumps({**head, 'object': 'chat.completion.chunk', 'choices': [], 'usage': usage})}\n\n"
    yield "data: [DONE]\n\n"


def serve(first_s, token_s):
    made = {}  # what it answers, written before, so that it takes the same time

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_):
            pass

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked = tuple(bool(body.get(name)) for name in ("stream", "logprobs", "return_token_ids", "stream_options"))
            parts = made.setdefault(asked, None) or [part.encode() for part in reply(body)]
            made[asked] = parts
            until = time.perf_counter() + first_s
            self.send_response(200)
            self.send_header("content-type", "text/event-stream" if body.get("stream") else "application/json")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for i, part in enumerate(parts):
                ready = until + token_s * (min(i, TOKENS) if body.get("stream") else TOKENS)  # the usage takes no time of its own
                time.sleep(max(0, ready - time.perf_counter()))
                self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
            self.wfile.write(b"0\r\n\r\n")

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    server.serve_forever()


if __name__ == "__main__":
    serve(float(sys.argv[1]), float(sys.argv[2]))
