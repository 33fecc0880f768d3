"""Answers requests on the standard streams until the other side closes them: `python -m espalier_rl.trainer`, or several
processes by `torchrun --nproc-per-node N -m espalier_rl.trainer`."""

from __future__ import annotations

import io
import os
import queue
import sys
import threading
from typing import Any

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
    frames: queue.Queue[Any] = queue.Queue()
    if processes.rank == 0:
        threading.Thread(target=_receive, args=(source, frames), daemon=True).start()
    session = Session(processes)
    while True:
        frame = processes.by_first(frames.get)
        if isinstance(frame, FrameError):
            print(f"espalier_rl.trainer: {frame}", file=sys.stderr)
            return 2
        message, body = session.answer(*frame)
        # The others may wait for this process within a computation: it answers in their place, and torchrun ends them.
        broken = processes.size > 1 and breaks_off(message)
        if processes.rank == 0 or broken:
            write_frame(sink, message, body)
        if broken:
            os._exit(1)


def _receive(source: Any, frames: queue.Queue[Any]) -> None:
    """Reads ahead of the work, so that the end of the stream is seen while it runs: a trainer whose owner was killed must not
    keep its memory."""
    try:
        while (frame := read_frame(source)) is not None:
            frames.put(frame)
        os._exit(0)
    except FrameError as error:
        frames.put(error)


if __name__ == "__main__":
    sys.exit(main())
