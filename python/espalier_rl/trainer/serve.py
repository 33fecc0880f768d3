"""Serves a model by OpenAI's chat-completions protocol, with token ids and log-probs as vLLM returns them.

    python -m espalier_rl.trainer.serve --model FOLDER [--port 8000] [--weights-root FOLDER]

Requests that wait are drawn together, up to --batch replies at once; what arrives meanwhile is the next batch. With --weights-root,
`POST /v1/weights {"checkpoint": NAME}` takes over the weights of a checkpoint under that folder between two batches, so that a policy under
training needs no restart.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import torch

from ..json_server import HttpServer
from .generate import Asked, sample_batch
from .language_model import ModelRefused, open_model
from .pictures import PictureRefused, read_messages
from .tensors import digest_tensors

LONGEST_BODY = 16 * 2**20
BATCH = 64  # replies that are drawn at once
QUIET = 0.01  # seconds without a request after which no more are waited for
GATHER = 0.25  # seconds for which requests are waited for at most


class RequestRefused(Exception):
    def __init__(self, message: str, status: int = 400, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class ModelServer:
    """Answers requests in batches; `lock` keeps weights and model as they are while one is drawn."""

    def __init__(self, folder: str | Path, *, name: str, device: str | None, precision: str, weights_root: str | None, batch: int = BATCH) -> None:
        self.spec = {"precision": precision}
        self.name = name
        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.weights_root = Path(weights_root).resolve() if weights_root else None
        self.lock = threading.Lock()
        self.take_over(folder)
        self.batches = Batches(self, batch)

    def take_over(self, folder: str | Path) -> None:
        model = open_model({**self.spec, "kind": "folder", "path": str(folder)}, 0, self.device)
        with self.lock:
            self.model, self.weights = model, digest_tensors(model.tensors())

    def change_weights(self, request: dict[str, Any]) -> dict[str, Any]:
        checkpoint = request.get("checkpoint")
        if self.weights_root is None:
            raise RequestRefused("this server was started without --weights-root", 403)
        if not isinstance(checkpoint, str) or not re.fullmatch(r"[0-9a-f]{64}", checkpoint):
            raise RequestRefused("checkpoint must be the name of a folder under the weights root")
        self.take_over(self.weights_root / checkpoint)
        return {"checkpoint": checkpoint, "weights": self.weights}

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        messages, count, longest, temperature, seed, stop = _read_request(request)
        model = self.model  # the tokenizer of all its versions is one
        prompt, pictures = _encode(model, messages)
        if len(prompt) == model.original_context:  # its keys are of the factors below, and a trainer reads them with its reply by those above
            raise RequestRefused(
                f"No reply can be drawn to a prompt of exactly {len(prompt)} tokens, the original context of this model: shorten it.",
                code="context_length_exceeded",
            )
        room = model.context - len(prompt)
        if room < (longest or 1):
            needed = len(prompt) + (longest or 1)
            raise RequestRefused(
                f"This model's maximum context length is {model.context} tokens. However, you requested {needed} tokens.",
                code="context_length_exceeded",
            )
        longest = min(longest or room, room)
        asked = Asked(prompt, count, longest, temperature, seed, tuple(stop), tuple(pictures))
        replies, weights, number = self.batches.draw(asked)
        choices = [_choice(model, request, i, reply) for i, reply in enumerate(replies)]
        used = sum(len(reply["ids"]) for reply in replies)
        return {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": self.name,
            "system_fingerprint": weights,
            "choices": choices,
            **({"prompt_token_ids": [int(token) for token in prompt]} if request.get("return_token_ids") else {}),
            "usage": {"prompt_tokens": len(prompt), "completion_tokens": used, "total_tokens": len(prompt) + used},
        }


class Batches:
    """Draws what waits together, in a thread of its own."""

    def __init__(self, server: ModelServer, size: int) -> None:
        self.server, self.size, self.count = server, size, 0
        self.waiting: collections.deque[Any] = collections.deque()
        self.arrived = threading.Condition()
        self.latest: collections.deque[int] = collections.deque([1, 1], maxlen=2)  # requests of the batches before
        threading.Thread(target=self._run, daemon=True).start()

    def draw(self, asked: Asked) -> tuple[list[dict[str, Any]], str, int]:
        """Waits for replies. Returns them, the weights that drew them and a number of its own."""
        result: Future[tuple[list[dict[str, Any]], str, int]] = Future()
        with self.arrived:
            self.waiting.append((asked, result))
            self.arrived.notify()
        return result.result()

    def _run(self) -> None:
        while True:
            with self.arrived:
                while not self.waiting:
                    self.arrived.wait()
                # Clients that were answered together ask again together: the first of them does not go alone.
                until = time.monotonic() + GATHER
                while self._is_gathering() and time.monotonic() < until and self.arrived.wait(QUIET):
                    pass
                batch = self._next()
                self.latest.append(len(batch))
            with self.server.lock:
                self._draw(batch)

    def _is_gathering(self) -> bool:
        return len(self.waiting) < max(self.latest) and sum(asked.count for asked, _ in self.waiting) < self.size

    def _next(self) -> list[Any]:
        """Takes requests in the order in which they came, as far as they fit; at least one, and one with pictures alone."""
        batch = [self.waiting.popleft()]
        held = batch[0][0].count
        while self.waiting and not batch[0][0].pictures:
            asked = self.waiting[0][0]
            if asked.pictures or held + asked.count > self.size:
                break
            held += asked.count
            batch.append(self.waiting.popleft())
        return batch

    def _draw(self, batch: Any) -> None:
        model, weights = self.server.model, self.server.weights

        def done(place: int, replies: list[dict[str, Any]]) -> None:
            self.count += 1
            batch[place][1].set_result((replies, weights, self.count))

        try:
            if model.reads_pictures and len(batch) > 1:  # texts to a model whose steps are those of one prompt
                for each in batch:
                    self._draw([each])
                return
            sample_batch(model, [asked for asked, _ in batch], done)
        except Exception as error:  # who asked hears of it; the server goes on
            open_ones = [each for each in batch if not each[1].done()]
            if isinstance(error, (torch.OutOfMemoryError, MemoryError)) and len(batch) > 1:
                for each in open_ones:  # what does not fit together may fit alone
                    self._draw([each])
                return
            for _, result in open_ones:
                result.set_exception(error)


def _encode(model: Any, messages: Any) -> tuple[list[int], Sequence[Any]]:
    if not model.reads_pictures:
        if any(not isinstance(message["content"], str) for message in messages):
            raise RequestRefused("this model reads texts alone")
        return model.encode_chat(messages), ()
    chat, pictures = read_messages(messages)
    return model.encode_shown(chat, pictures), pictures


def _choice(model: Any, request: dict[str, Any], index: int, reply: dict[str, Any]) -> dict[str, Any]:
    as_ids = request.get("return_tokens_as_token_ids")
    texts = [reply["text"][begin:end] for begin, end in zip([0, *reply["ends"]], reply["ends"])]
    content = [
        {
            "token": f"token_id:{token}" if as_ids else model.decode([token]),
            "bytes": list(text.encode()),
            "logprob": log_prob,
            "entropy": entropy,
            "top_logprobs": [],
        }
        for token, text, log_prob, entropy in zip(reply["ids"], texts, reply["log_probs"], reply["entropies"])
    ]
    return {
        "index": index,
        "message": {"role": "assistant", "content": reply["text"]},
        "finish_reason": reply["finish"],
        "logprobs": {"content": content} if request.get("logprobs") else None,
        **({"token_ids": reply["ids"]} if request.get("return_token_ids") else {}),
    }


def _read_request(request: dict[str, Any]) -> tuple[Any, ...]:
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages:
        raise RequestRefused("messages must be a list with at least one message")
    for message in messages:
        if not isinstance(message, dict) or message.get("role") not in ("system", "user", "assistant"):
            raise RequestRefused("a message has a role: system, user or assistant")
        if not isinstance(message.get("content"), (str, list)):
            raise RequestRefused("the content of a message is a text, or a list of parts")
    if request.get("tools") or any(message.get("tool_calls") for message in messages):
        raise RequestRefused("this server reads no calls of tools out of replies; serve the model by vLLM or SGLang")
    count = _number(request, "n", 1, 1, 1024, int)
    longest = _number(request, "max_tokens", _number(request, "max_completion_tokens", 0, 1, 2**20, int), 1, 2**20, int)
    temperature = _number(request, "temperature", 1.0, 0, 100, float)
    seed = _number(request, "seed", time.time_ns() % 2**31, -(2**63), 2**63, int)
    for name, whole in (("top_p", (1,)), ("top_k", (-1, 0)), ("min_p", (0,)), ("repetition_penalty", (1,))):
        if request.get(name) not in (None, *whole):
            raise RequestRefused(f"{name} must be {whole[0]}: log-probs of a cut distribution are not those of the policy")
    stop = request.get("stop") or []
    return messages, count, longest, temperature, seed, [stop] if isinstance(stop, str) else stop


def _number(request: dict[str, Any], name: str, default: Any, least: float, most: float, kind: type[int] | type[float]) -> Any:
    value = request.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, kind)) or not least <= value <= most:
        raise RequestRefused(f"{name} must be a number from {least} to {most}")
    return kind(value)


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.path in ("/health", "/v1/models"):
                self._send(200, {"object": "list", "data": [{"id": server.name, "object": "model", "weights": server.weights}]})
            else:
                self._send(404, _error("Not Found", None))

        def do_POST(self) -> None:
            routes = {"/v1/chat/completions": server.complete, "/v1/weights": server.change_weights}
            try:
                length = int(self.headers.get("content-length") or 0)
                if length > LONGEST_BODY:
                    raise RequestRefused("the body is too long", 413)
                body = self.rfile.read(length)
                if self.path not in routes:
                    raise RequestRefused("Not Found", 404)
                request = json.loads(body)
                if not isinstance(request, dict):
                    raise RequestRefused("the body must be an object")
                self._send(200, routes[self.path](request))
            except RequestRefused as error:
                self._send(error.status, _error(str(error), error.code))
            except (ValueError, ModelRefused, PictureRefused) as error:
                self._send(400, _error(str(error), None))
            except BrokenPipeError:
                self.close_connection = True
            except (torch.OutOfMemoryError, MemoryError) as error:
                self._send(500, _error(f"out of memory: {error}", "memory"))

        def _send(self, status: int, value: Any) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            if status == 413:
                self.send_header("connection", "close")  # its body was not read
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


def _error(message: str, code: str | None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}


def _shut_with_stdin(http: HttpServer) -> None:
    sys.stdin.buffer.read()
    http.shutdown()


def main() -> int:
    parser = argparse.ArgumentParser(prog="espalier_rl.trainer.serve", description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, help="folder of a causal language model, or of a checkpoint")
    parser.add_argument("--name", default="policy", help="what the model is called in requests")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one")
    parser.add_argument("--device", help="cuda where there is one, by default")
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--weights-root", help="folder of checkpoints that POST /v1/weights may load")
    parser.add_argument("--batch", type=int, default=BATCH, help="replies that are drawn at once")
    parser.add_argument("--threads", type=int, default=1, help="of torch's own pool on the CPU")
    parser.add_argument("--end-with-stdin", action="store_true", help="end when standard input is closed: with whoever started it")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    try:
        model = ModelServer(
            chosen.model,
            name=chosen.name,
            device=chosen.device,
            precision=chosen.precision,
            weights_root=chosen.weights_root,
            batch=chosen.batch,
        )
    except ModelRefused as error:
        print(f"espalier_rl.trainer.serve: {error}", file=sys.stderr)
        return 1
    http = HttpServer((chosen.host, chosen.port), _handler(model))
    if chosen.end_with_stdin:
        threading.Thread(target=_shut_with_stdin, args=(http,), daemon=True).start()
    print(f"listening on http://{chosen.host}:{http.server_address[1]}/v1", file=sys.stderr, flush=True)
    try:
        http.serve_forever()
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
