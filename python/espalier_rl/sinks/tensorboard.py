"""TensorBoard: a record of the event files for each point, all its scalars and its link in one."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .points import Point, Subject


class TensorBoardSink:
    """Event files in a folder of the policy or run. A record is written with a checksum: one that a kill has cut is not read back, nor by
    TensorBoard, and its point is posted again, into the file of the next writer."""

    def __init__(self, folder: str | os.PathLike[str], subject: Subject) -> None:
        self.folder = Path(folder) / (subject.id if subject.kind == "policy" else f"run-{subject.id}")
        self._marker = subject.marker
        self._name = subject.marker.removeprefix("espalier/")
        self._writer: Any = None

    def last(self) -> int | None:
        """The greatest step whose record is whole in any file of the folder."""
        from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
        from tensorboard.compat.proto.event_pb2 import Event

        newest: int | None = None
        for file in glob.glob(str(Path(glob.escape(str(self.folder))) / "*tfevents*")):
            for record in RawEventFileLoader(file).Load():
                event = Event.FromString(record)
                if any(value.tag == self._marker for value in event.summary.value):
                    newest = max(event.step, -1 if newest is None else newest)
        return newest

    def post(self, points: Sequence[Point]) -> None:
        """Appends a record for each point and writes them out."""
        if self._writer is None:
            from tensorboard.summary.writer.event_file_writer import EventFileWriter

            self.folder.mkdir(parents=True, exist_ok=True)
            self._writer = EventFileWriter(str(self.folder))
        for point in points:
            self._writer.add_event(self._event(point))
        self._writer.flush()

    def _event(self, point: Point) -> Any:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
        from tensorboard.compat.proto.tensor_pb2 import TensorProto
        from tensorboard.compat.proto.types_pb2 import DT_STRING

        values = [Summary.Value(tag=name, simple_value=number) for name, number in sorted(point.metrics.items())]
        text = TensorProto(dtype=DT_STRING, string_val=[f"[{self._name} {point.step}]({point.link})".encode()])
        kind = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
        values.append(Summary.Value(tag="espalier/link", tensor=text, metadata=kind))
        values.append(Summary.Value(tag=self._marker, simple_value=point.step))
        return Event(wall_time=point.at, step=point.step, summary=Summary(value=values))

    def close(self, over: bool) -> None:
        """Closes the file."""
        if self._writer is not None:
            self._writer.close()
