"""HTML of views: self-contained (no script, no address is loaded), and every text of the record is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

LONGEST = 4_000  # characters of one text that are shown

_STYLE = """<style>
.esp{font:13px/1.45 system-ui,sans-serif;color:inherit}
.esp pre{margin:.15rem 0;padding:.3rem .5rem;white-space:pre-wrap;overflow-wrap:anywhere;font:12px/1.45 ui-monospace,monospace;background:rgba(128,128,128,.1);border-radius:4px;max-height:22rem;overflow:auto;text-align:left}
.esp details{margin:.1rem 0 .1rem .6rem;padding-left:.6rem;border-left:2px solid rgba(128,128,128,.3);text-align:left}
.esp summary{cursor:pointer}
.esp .num{font-variant-numeric:tabular-nums;opacity:.75}
.esp .good{color:#1a7f37}.esp .bad{color:#cf222e}
.esp table{border-collapse:collapse;width:100%;table-layout:fixed}
.esp td,.esp th{vertical-align:top;text-align:left;padding:.2rem .4rem;border-bottom:1px solid rgba(128,128,128,.25)}
.esp tr.differs td{background:rgba(255,196,0,.16)}
.esp .token{border-radius:2px;white-space:pre-wrap}
.esp .kept{opacity:.55}
</style>"""


def page(title: str, parts: Iterable[str]) -> str:
    """Returns a block of HTML with its style; `parts` are HTML already."""
    return f'{_STYLE}<div class="esp"><b>{text(title)}</b>{"".join(parts)}</div>'


def text(value: object) -> str:
    """Escapes a text for an element or an attribute in quotes."""
    return escape(str(value), quote=True)


def block(value: str) -> str:
    """Shows a text as it is, its middle left out where it is long."""
    if len(value) > LONGEST:
        half = LONGEST // 2
        left_out = len(value) - 2 * half
        return f"<pre>{text(value[:half])}</pre><i>{left_out:,} characters are left out</i><pre>{text(value[-half:])}</pre>"
    return f"<pre>{text(value)}</pre>" if value else ""


def number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}g}"
