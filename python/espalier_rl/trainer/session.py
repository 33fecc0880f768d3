"""Answers the requests of one connection, in order. Torch is imported by the first request that needs it: the handshake needs
nothing.

Every request is {"id", "kind", ...}; its answer {"id", "kind": "ok", ...}, or {"id", "kind": "error", "code", "message"}. Codes: `protocol`
(another version, no handshake), `refused` (the request cannot be followed), `not-finite`, `damaged`, `memory`, `fault`.
"""

from __future__ import annotations

import platform
import sys
import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import PROTOCOL, __version__

if TYPE_CHECKING:
    from .pictures import Picture
    from .rows import Rows
    from .trainer import Trainer


class Refused(Exception):
    """A request that cannot be followed; `code` says in which way."""

    def __init__(self, message: str, code: str = "refused") -> None:
        super().__init__(message)
        self.code = code


class Session:
    """`answer(message, body)` returns (message, body). Holds the trainer between requests."""

    def __init__(self, processes: Any = None) -> None:
        self.processes = processes
        self.greeted = False
        self.trainer: Trainer | None = None
        self.album: dict[str, Picture] = {}

    def answer(self, message: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        try:
            kind = message.get("kind")
            if not self.greeted and kind != "hello":
                raise Refused("the first request is hello", "protocol")
            handler = HANDLERS.get(str(kind))
            if handler is None:
                raise Refused(f"there is no request {kind!r}; there are {', '.join(HANDLERS)}")
            result, tensors = handler(self, message, body)
            return {**result, "id": message.get("id"), "kind": "ok"}, tensors
        except Exception as error:  # a request that fails is answered; the process goes on
            code = _code_of(error)
            if code == "fault":
                traceback.print_exc(file=sys.stderr)
            text = str(error) if code != "fault" else f"{type(error).__name__}: {error}"
            return {"id": message.get("id"), "kind": "error", "code": code, "message": text[:4000]}, b""

    def hello(self, message: dict[str, Any], _body: bytes) -> tuple[dict[str, Any], bytes]:
        asked = message.get("protocol")
        if asked != PROTOCOL:
            raise Refused(f"this is protocol {PROTOCOL}, not {asked!r}; use the two parts of one release", "protocol")
        self.greeted = True
        return {"protocol": PROTOCOL, "version": __version__, "python": platform.python_version(), **_torch_facts()}, b""

    def open(self, message: dict[str, Any], _body: bytes) -> tuple[dict[str, Any], bytes]:
        from .memory import describe_memory, memory_of
        from .trainer import Trainer

        _make_deterministic(message.get("threads"))
        self.trainer = Trainer(message, self.processes)
        parameters = sum(parameter.numel() for parameter in self.trainer.model.module.parameters())
        model: Any = self.trainer.model  # of another kind where it reads pictures
        memory = memory_of(self.trainer)
        if not self.processes or self.processes.rank == 0:
            print(f"espalier_rl.trainer: {describe_memory(memory, parameters)}", file=sys.stderr, flush=True)
        facts = {"memory": memory, "parameters": parameters, "vocabulary": model.vocabulary, "context": model.context}
        if model.reads_pictures:
            facts["processor"] = model.processor_digest()
        return {"device": self.trainer.device, "rows": "packed" if model.packed else "padded", **facts}, b""

    def hold(self, message: dict[str, Any], _body: bytes) -> tuple[dict[str, Any], bytes]:
        self._trainer().hold_to(message["folder"])
        return {}, b""

    def encode(self, message: dict[str, Any], _body: bytes) -> tuple[dict[str, Any], bytes]:
        trainer = self._trainer()
        import torch

        from .chats import encode_offered
        from .tensors import encode_tensors

        rows = [encode_offered(trainer.model, chat) for chat in message["chats"]]
        offsets = [0]
        for row in rows:
            offsets.append(offsets[-1] + len(row))
        ids = torch.tensor([i for row in rows for i in row], dtype=torch.int32)
        return {}, encode_tensors({"ids": ids, "offsets": torch.tensor(offsets, dtype=torch.int32)})

    def pictures(self, message: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        """Takes the pictures that the rows of the requests that follow show, in place of those before."""
        from .pictures import read_album
        from .tensors import decode_tensors

        self.album = {}  # two batches of pictures at once are gigabytes
        self.album = read_album(message["pictures"], decode_tensors(body))
        return {}, b""

    def read(self, message: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        rows = self._rows(message, body)
        from .tensors import encode_tensors

        asked = (message["microBatches"], message.get("temperature", 1.0), message.get("squaredProbs", False))
        return {}, encode_tensors(self._trainer().read(rows, *asked))

    def locate(self, message: dict[str, Any], _body: bytes) -> tuple[dict[str, Any], bytes]:
        from .locate import closing_places

        decode = self._trainer().model.decode_whole
        return {"places": [closing_places(decode, ids, message["closing"]) for ids in message["rows"]]}, b""

    def update(self, message: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        return {"metrics": self._trainer().update(self._rows(message, body), message["settings"])}, b""

    def save(self, message: dict[str, Any], _body: bytes) -> tuple[dict[str, Any], bytes]:
        trainer = self._trainer()
        from .checkpoints import save_checkpoint

        return {"state": save_checkpoint(trainer, message["folder"])}, b""

    def load(self, message: dict[str, Any], _body: bytes) -> tuple[dict[str, Any], bytes]:
        trainer = self._trainer()
        from .checkpoints import load_checkpoint

        return {"state": load_checkpoint(trainer, message["folder"])}, b""

    def _trainer(self) -> Trainer:
        if self.trainer is None:
            raise Refused("no model is open")
        return self.trainer

    def _rows(self, message: dict[str, Any], body: bytes) -> Rows:
        model = self._trainer().model
        from .pictures import show_pictures
        from .rows import read_rows
        from .tensors import decode_tensors

        rows = read_rows(decode_tensors(body), model.vocabulary, model.context)
        shown = message.get("shown")
        return rows if shown is None else show_pictures(rows, shown, self.album, model)


HANDLERS = {
    "hello": Session.hello,
    "open": Session.open,
    "hold": Session.hold,
    "encode": Session.encode,
    "pictures": Session.pictures,
    "read": Session.read,
    "locate": Session.locate,
    "update": Session.update,
    "save": Session.save,
    "load": Session.load,
}

CODES = {
    "RowsRefused": "refused",
    "PictureRefused": "refused",
    "ModelRefused": "refused",
    "ChatRefused": "refused",
    "TensorError": "refused",
    "KeyError": "refused",
    "NotFinite": "not-finite",
    "CheckpointDamaged": "damaged",
    "OutOfMemoryError": "memory",
    "MemoryError": "memory",
}


def breaks_off(answer: Mapping[str, Any]) -> bool:
    """Returns whether a request failed in a way that may have struck one process alone."""
    return answer.get("code") in ("memory", "fault")


def _code_of(error: BaseException) -> str:
    return error.code if isinstance(error, Refused) else CODES.get(type(error).__name__, "fault")


def _torch_facts() -> dict[str, Any]:
    try:
        import torch
    except ImportError:
        return {"torch": None, "cuda": None}
    return {"torch": torch.__version__, "cuda": torch.cuda.get_device_name() if torch.cuda.is_available() else None}


def _make_deterministic(threads: int | None) -> None:
    import torch

    if threads:
        torch.set_num_threads(threads)  # sums are taken in another order by another number of threads
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # it finds reads of what was never written, for a pass over every new tensor
    torch.backends.cudnn.benchmark = False

