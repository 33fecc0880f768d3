"""Answers requests on the standard streams until the other side closes them: `python -m espalier_rl.trainer`, or several
processes by `torchrun --nproc-per-node N -m espalier_rl.trainer`."""

from __future__ import annotations

import io
import os
import queue
import sys
import threading
from typing import Any, NoReturn

from .frames import FrameError, read_frame, write_frame
from .processes import join
from .session import Session, breaks_off


def main() -> int:
    # CUDA's matrix products are only deterministic with a workspace of fixed size, named before CUDA starts.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # What libraries print must not fall between frames: from here on stdout is stderr.
    os.dup2(2, 1)
    sys.stdout = io.TextIOWrapper(os.fdopen(os.dup(2), "wb"), line_buffering=True)
    processes = join()
    if processes.rank > 0:
        _follow(processes)
    frames: queue.Queue[Any] = queue.Queue()
    threading.Thread(target=_receive, args=(source, frames, processes), daemon=True).start()
    return _lead(processes, frames, sink)


def _lead(processes: Any, frames: queue.Queue[Any], sink: Any) -> int:
    """Answers requests, and has the other processes follow them."""
    session = Session(processes)
    asked: dict[str, Any] = {}
    if processes.size > 1:
        processes.watch(lambda answer: write_frame(sink, {**answer, "id": asked.get("id")}))
    while True:
        frame = frames.get()
        if isinstance(frame, FrameError):
            print(f"espalier_rl.trainer: {frame}", file=sys.stderr)
            return 2
        asked["id"] = frame[0].get("id")
        if processes.size > 1:
            processes.send(*frame)
        message, body = session.answer(*frame)
        write_frame(sink, message, body)
        if processes.size > 1 and breaks_off(message):
            os._exit(1)  # the others may wait within a computation that will not come; torchrun ends them


def _follow(processes: Any) -> NoReturn:
    """Does what the first process is asked; its answers are those of the first."""
    session = Session(processes)
    processes.watch(None)
    while True:
        message, _ = session.answer(*processes.receive())
        if breaks_off(message):
            processes.fail(message)


def _receive(source: Any, frames: queue.Queue[Any], processes: Any) -> None:
    """Reads ahead of the work, so that the end of the stream is seen while it runs: a trainer whose owner was killed must not
    keep its memory."""
    try:
        while (frame := read_frame(source)) is not None:
            frames.put(frame)
        # Who reads the answer of a failure ends the stream at once: as a success, this end would leave the others to themselves.
        os._exit(1 if processes.failed else 0)
    except FrameError as error:
        frames.put(error)


if __name__ == "__main__":
    sys.exit(main())
