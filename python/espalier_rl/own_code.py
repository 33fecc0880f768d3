"""The files of a user's program, for fingerprints."""

import hashlib
import os
import sys
from collections.abc import Iterable

INSTALLED = ("site-packages", "dist-packages")


def imported_next_to(files: Iterable[str]) -> list[str]:
    """Returns the files of modules imported so far that lie below the folders of `files`, sorted, without `files`, installed packages and
    this package."""
    given = {os.path.realpath(file) for file in files}
    folders = {os.path.dirname(file) + os.sep for file in given}
    found: set[str] = set()
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or name.split(".")[0] == "espalier_rl":
            continue
        path = os.path.realpath(file)
        below = next((folder for folder in folders if path.startswith(folder)), None)
        if below is None or path in given or not os.path.isfile(path):
            continue
        if not any(part in INSTALLED for part in path[len(below) :].split(os.sep)):
            found.add(path)
    return sorted(found)


def digest_of(files: Iterable[str]) -> str:
    """Returns the SHA-256 of `files`, sorted, and of the modules next to them that they import."""
    paths = sorted(files)
    digest = hashlib.sha256()
    for path in paths + imported_next_to(paths):
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()
