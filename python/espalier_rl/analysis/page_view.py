"""A page of the studio in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path


@dataclass(frozen=True)
class PageView:
    """What the studio shows of a run, a tree or a rollout: one file of HTML that opens without a server. In a notebook it is a frame
    without an origin: it reads nothing of the notebook and loads nothing."""

    html: str

    def save(self, path: str | Path) -> None:
        """Writes the page to a file."""
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        frame = 'sandbox="allow-scripts" style="width:100%;height:720px;border:1px solid #8888" title="Espalier"'
        return f'<iframe {frame} srcdoc="{escape(self.html)}"></iframe>'

    def __repr__(self) -> str:
        return f"PageView({len(self.html):,} characters of HTML)"
