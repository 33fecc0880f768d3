"""Bars for what takes longer than a second, by tqdm where it is installed and somebody looks at a terminal or a notebook."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(what: str, unit: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Yields what shows how much is done so far, of `total` where that is known."""
    try:
        if not _is_watched() or threading.current_thread() is not threading.main_thread():
            raise ImportError
        from tqdm.auto import tqdm
    except ImportError:
        yield lambda _: None
        return
    with tqdm(desc=what, total=total, unit=unit, unit_scale=True, delay=1, leave=False) as bar:

        def show(done: int) -> None:
            bar.update(done - bar.n)

        yield show


def _is_watched() -> bool:
    try:
        return "ipykernel" in sys.modules or sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is none, it is another object in its place, or it is closed
        return False
