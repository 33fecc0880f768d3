"""Packages that are imported when they are asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import EspalierError

_REMEDIES = {
    "datasets": "pip install 'espalier-rl[hf]'",
    "pyarrow": "pip install 'espalier-rl[arrow]'",
    "pandas": "pip install 'espalier-rl[arrow]' pandas",
    "polars": "pip install 'espalier-rl[arrow]' polars",
}


def package(name: str) -> Any:
    """Imports a package. Raises EspalierError with the command that installs it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        root = name.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != root:
            raise
        raise EspalierError(f"the package {root} is not installed", remedy=_REMEDIES[root], field=root, code="missing-package") from None
