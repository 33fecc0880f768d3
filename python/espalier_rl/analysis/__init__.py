"""What an installation holds, for analysis: tables as Arrow, pandas or polars, events as they happen, and views for notebooks. Methods of
`er.connect()` make all of it; extra `[arrow]` for tables."""

from __future__ import annotations

from .tables import Table
from .tail import Event, tail
from .views import DifferenceView, ImageView, StepView, TreeView

__all__ = ["DifferenceView", "Event", "ImageView", "StepView", "Table", "TreeView", "tail"]
