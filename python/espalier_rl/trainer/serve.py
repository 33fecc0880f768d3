"""Serves a model by OpenAI's chat-completions protocol, with token ids and log-probs as vLLM returns them.

    python -m espalier_rl.trainer.serve --model FOLDER [--port 8000] [--weights-root FOLDER]

Requests that wait are drawn together, up to --batch replies at once; what arrives meanwhile is the next batch. With --weights-root,
`POST /v1/weights {"checkpoint": NAME}` takes over the weights of a checkpoint under that folder between two batches, so that a policy under
training needs no restart.
"""

from __future__ import annotations

import argparse
import collections
import re
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import torch

from ..json_server import Refused, json_server
from .generate import Asked, sample_batch
from .language_model import ModelRefused, open_model
from .pictures import PictureRefused, read_messages
from .tensors import digest_tensors

BATCH = 64  # replies that are drawn at once
QUIET = 0.01  # seconds without a request after which no more are waited for
GATHER = 0.25  # seconds for which requests are waited for at most


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
            raise Refused(403, "", "this server was started without --weights-root")
        if not isinstance(checkpoint, str) or not re.fullmatch(r"[0-9a-f]{64}", checkpoint):
            raise Refused(400, "", "checkpoint must be the name of a folder under the weights root")
        self.take_over(self.weights_root / checkpoint)
        return {"checkpoint": checkpoint, "weights": self.weights}

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        messages, count, longest, temperature, seed, stop, top = _read_request(request)
        model = self.model  # the tokenizer of all its versions is one
        prompt, pictures = _encode(model, messages)
        room = model.context - len(prompt)
        if room < (longest or 1):
            needed = len(prompt) + (longest or 1)
            said = f"This model's maximum context length is {model.context} tokens. However, you requested {needed} tokens."
            raise Refused(400, "context_length_exceeded", said)
        longest = min(longest or room, room)
        asked = Asked(prompt, count, longest, temperature, seed, tuple(stop), tuple(pictures), top)
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
            raise Refused(400, "", "this model reads texts alone")
        return model.encode_chat(messages), ()
    chat, pictures = read_messages(messages)
    return model.encode_shown(chat, pictures), pictures


def _choice(model: Any, request: dict[str, Any], index: int, reply: dict[str, Any]) -> dict[str, Any]:
    as_ids = request.get("return_tokens_as_token_ids")

    def named(token: int) -> str:
        return f"token_id:{token}" if as_ids else model.decode([token])

    texts = [reply["text"][begin:end] for begin, end in zip([0, *reply["ends"]], reply["ends"])]
    content = [
        {
            "token": named(token),
            "bytes": list(text.encode()),
            "logprob": log_prob,
            "entropy": entropy,
            "top_logprobs": [{"token": named(each), "bytes": None, "logprob": value} for each, value in top],
        }
        for token, text, log_prob, entropy, top in zip(reply["ids"], texts, reply["log_probs"], reply["entropies"], reply["tops"])
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
        raise Refused(400, "", "messages must be a list with at least one message")
    for message in messages:
        if not isinstance(message, dict) or message.get("role") not in ("system", "user", "assistant"):
            raise Refused(400, "", "a message has a role: system, user or assistant")
        if not isinstance(message.get("content"), (str, list)):
            raise Refused(400, "", "the content of a message is a text, or a list of parts")
    if request.get("tools") or any(message.get("tool_calls") for message in messages):
        raise Refused(400, "", "this server reads no calls of tools out of replies; serve the model by vLLM or SGLang")
    count = _number(request, "n", 1, 1, 1024, int)
    longest = _number(request, "max_tokens", _number(request, "max_completion_tokens", 0, 1, 2**20, int), 1, 2**20, int)
    temperature = _number(request, "temperature", 1.0, 0, 100, float)
    seed = _number(request, "seed", time.time_ns() % 2**31, -(2**63), 2**63, int)
    for name, whole in (("top_p", (1,)), ("top_k", (-1, 0)), ("min_p", (0,)), ("repetition_penalty", (1,))):
        if request.get(name) not in (None, *whole):
            raise Refused(400, "", f"{name} must be {whole[0]}: log-probs of a cut distribution are not those of the policy")
    stop = request.get("stop") or []
    top = _number(request, "top_logprobs", 0, 0, 20, int) if request.get("logprobs") else 0
    return messages, count, longest, temperature, seed, [stop] if isinstance(stop, str) else stop, top


def _number(request: dict[str, Any], name: str, default: Any, least: float, most: float, kind: type[int] | type[float]) -> Any:
    value = request.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, kind)) or not least <= value <= most:
        raise Refused(400, "", f"{name} must be a number from {least} to {most}")
    return kind(value)


def make_model_server(server: ModelServer, *, host: str = "127.0.0.1", port: int = 0) -> ThreadingHTTPServer:
    """Returns an HTTP server of a model, bound and not running yet."""

    def answered(work: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
        def answer(request: dict[str, Any]) -> Any:
            try:
                return work(request)
            except (ValueError, ModelRefused, PictureRefused) as error:
                raise Refused(400, "", str(error)) from error
            except (torch.OutOfMemoryError, MemoryError) as error:
                raise Refused(500, "memory", f"out of memory: {error}") from error

        return answer

    def models(_: Any) -> dict[str, Any]:
        return {"object": "list", "data": [{"id": server.name, "object": "model", "weights": server.weights}]}

    routes = {"/v1/chat/completions": answered(server.complete), "/v1/weights": answered(server.change_weights)}
    shown = {"/health": models, "/v1/models": models}
    return json_server(shown, routes, name="the model server", host=host, port=port, worded=_error)


def _error(code: str, message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code or None}}


def _shut_with_stdin(http: ThreadingHTTPServer) -> None:
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
    http = make_model_server(model, host=chosen.host, port=chosen.port)
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
