"""TensorBoard: a record of the event files for each update, all its scalars and its link in one."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Any

from .follow import Update

VERSION = "espalier/version"


class TensorBoardSink:
    """Event files in a folder of the policy. A record is written with a checksum: one that a kill has cut is not read back, nor by
    TensorBoard, and its update is posted again, into the file of the next writer."""

    def __init__(self, folder: str | os.PathLike[str], policy: str) -> None:
        self.folder = Path(folder) / policy
        self._writer: Any = None

    def last(self) -> int | None:
        """The newest version whose record is whole in any file of the folder."""
        from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
        from tensorboard.compat.proto.event_pb2 import Event

        newest: int | None = None
        for file in glob.glob(str(Path(glob.escape(str(self.folder))) / "*tfevents*")):
            for record in RawEventFileLoader(file).Load():
                event = Event.FromString(record)
                if any(value.tag == VERSION for value in event.summary.value):
                    newest = max(event.step, -1 if newest is None else newest)
        return newest

    def post(self, update: Update) -> None:
        """Appends the record of an update and syncs it to the disk."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
        from tensorboard.compat.proto.tensor_pb2 import TensorProto
        from tensorboard.compat.proto.types_pb2 import DT_STRING

        if self._writer is None:
            from tensorboard.summary.writer.event_file_writer import EventFileWriter

            self.folder.mkdir(parents=True, exist_ok=True)
            self._writer = EventFileWriter(str(self.folder))
        values = [Summary.Value(tag=name, simple_value=number) for name, number in sorted(update.metrics.items())]
        text = TensorProto(dtype=DT_STRING, string_val=[f"[version {update.version}]({update.link})".encode()])
        kind = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
        values.append(Summary.Value(tag="espalier/link", tensor=text, metadata=kind))
        values.append(Summary.Value(tag=VERSION, simple_value=update.version))
        self._writer.add_event(Event(wall_time=update.at, step=update.version, summary=Summary(value=values)))
        self._writer.flush()

    def close(self) -> None:
        """Closes the file."""
        if self._writer is not None:
            self._writer.close()
