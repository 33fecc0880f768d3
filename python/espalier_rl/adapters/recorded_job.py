"""What records a training job of others has in common: the job goes on whatever happens, and what is not recorded is counted."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["RecordedJob"]

PICTURES = ("image", "image_url", "video", "audio")  # parts of a message


class RecordedJob:
    """Counts what could not be recorded (`errors`), and the pictures of messages that are not (`pictures`)."""

    errors = 0
    pictures = 0
    _counting = threading.Lock()  # several threads may record

    def guarded(self, record: Callable[..., None], *given: Any) -> None:
        """Calls what records. Whatever it raises, the job goes on."""
        try:
            record(*given)
        except Exception as error:
            self.failed(error)

    def failed(self, error: BaseException) -> None:
        """Counts an error; the first one is a warning."""
        with self._counting:
            self.errors += 1
            is_first = self.errors == 1
        if is_first:
            said = f"{type(error).__name__}: {error}"
            warnings.warn(f"the training goes on, and not all that it does is recorded (`errors` counts the rest): {said}", stacklevel=3)

    def without_pictures(self, messages: Any) -> Any:
        """Returns messages without their pictures, and counts those."""
        if isinstance(messages, str):
            return messages
        shown = []
        for message in messages:
            content = message.get("content")
            if isinstance(content, list):
                kept = [part for part in content if not (isinstance(part, Mapping) and part.get("type") in PICTURES)]
                with self._counting:
                    self.pictures += len(content) - len(kept)
                message = {**message, "content": kept}
            shown.append(message)
        return shown
