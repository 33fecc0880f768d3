"""Calls a stand-in model server by the openai client, with autolog and without it in turn: `autolog_calls.py ROUNDS CALLS`. Prints the milliseconds of
each call as JSON. Server and token of Espalier are those of the environment."""

import json
import multiprocessing
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKENS = 50
FIRST_S, TOKEN_S = 0.05, 0.001  # a short reply of a fast model: 100 ms
MESSAGES = [{"role": ("user", "assistant")[i % 2], "content": f"message {i} " + "of a talk " * 100} for i in range(9)]


def serve(port):
    """Answers as vLLM does: with token ids and log-probabilities where it is asked for them."""

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
            until = time.perf_counter() + FIRST_S
            self.send_response(200)
            self.send_header("content-type", "text/event-stream" if body.get("stream") else "application/json")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for i, part in enumerate(parts):
                ready = until + TOKEN_S * (i if body.get("stream") else TOKENS)
                time.sleep(max(0, ready - time.perf_counter()))
                self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
            self.wfile.write(b"0\r\n\r\n")

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    port.send(server.server_address[1])
    server.serve_forever()


def main():
    rounds, calls = int(sys.argv[1]), int(sys.argv[2])
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe()
    model = context.Process(target=serve, args=(sender,), daemon=True)
    model.start()

    import openai

    import espalier_rl as er

    client = openai.OpenAI(base_url=f"http://127.0.0.1:{receiver.recv()}/v1", api_key="unused")

    def ask(number, stream):
        began = time.perf_counter()
        messages = [{"role": "user", "content": f"talk {number}"}, *MESSAGES[1:]]  # each is a conversation of its own
        answer = client.chat.completions.create(model="served", messages=messages, stream=stream)
        for _ in answer if stream else ():
            pass
        return (time.perf_counter() - began) * 1_000

    took = {"whole": {"without": [], "with": []}, "streamed": {"without": [], "with": []}}
    for number in range(-1, rounds):
        for way in ("without", "with"):
            if way == "with":
                er.autolog(run="bench")
            for i in range(calls):
                for kind, ways in took.items():
                    each = ask(f"{way} {number} {i}", kind == "streamed")
                    if number >= 0:  # the first round warms up
                        ways[way].append(each)
            if way == "with":
                er.flush(120)
                er.autolog(False)
    model.terminate()
    print(json.dumps(took))


if __name__ == "__main__":
    main()
