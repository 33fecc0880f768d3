"""Opens published environments by name, with options as they are written on a command line."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from typing import Any

# name: (module here, function there, what has to be installed)
PUBLISHED = {
    "scienceworld": ("scienceworld", "scienceworld", ["scienceworld"]),
    "alfworld": ("alfworld", "alfworld", ["alfworld", "textworld", "fast_downward"]),
}
# name: (module here, function there) that writes games into a folder
WRITABLE = {"alfworld": ("alfworld", "write_alfworld")}


def open_published(name: str, options: Mapping[str, Any]) -> Any:
    """Returns the environment class of a name. `options` are texts by name. Raises ValueError that says what is wrong and what to do."""
    if name not in PUBLISHED:
        raise ValueError(f"there is no published environment {name!r}; there are {', '.join(PUBLISHED)}")
    module, function, packages = PUBLISHED[name]
    return _called(name, module, function, packages)(**options)


def write_published(name: str, folder: str, options: Mapping[str, Any]) -> str:
    """Writes games of a published environment into a folder. Returns what was written, in words. Raises ValueError."""
    if name not in WRITABLE:
        raise ValueError(f"there are no games to write of {name!r}; there are of {', '.join(WRITABLE)}")
    module, function = WRITABLE[name]
    return str(_called(name, module, function, PUBLISHED[name][2])(folder, **options))


def _called(name: str, module: str, function: str, packages: Sequence[str]) -> Callable[..., Any]:
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise ValueError(f"{name} needs the package {package}, which this Python does not have: {remedy_of(name)}")
    make = getattr(importlib.import_module(f".{module}", __package__), function)

    def call(*given: Any, **options: Any) -> Any:
        try:
            return make(*given, **options)
        except TypeError as error:
            raise ValueError(f"{name}: {error}") from error

    return call


def remedy_of(name: str) -> str:
    """Returns how the packages of an environment are installed."""
    files = "python/requirements-worlds.txt" + (" and python/requirements-alfworld.txt" if name == "alfworld" else "")
    return f"pip install --no-deps what {files} lists into a Python of its own, and name its interpreter by ESPALIER_WORLDS_PYTHON"


def options_of(pairs: Sequence[str]) -> dict[str, str]:
    """Reads `KEY=VALUE` texts. Raises ValueError."""
    options = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key or key in options:
            raise ValueError(f"{pair!r} is no option KEY=VALUE, or is given twice")
        options[key] = value
    return options
