"""Finds an installation and what it asks for: an API key, or on this machine the token of the installation."""

import ipaddress
import os
import pathlib
import urllib.parse

VERSION = "0.1.0"  # of this package, which its server has too
DEFAULT_URL = "http://127.0.0.1:4000"


def find_url() -> str:
    """The address of the server: ESPALIER_URL, or that of `espalier up` on this machine."""
    return os.environ.get("ESPALIER_URL") or DEFAULT_URL


def find_token(url: str) -> "str | None":
    """What to show the server of an address: ESPALIER_TOKEN (a key, or a token), or for a server on loopback the token in the folder
    ESPALIER_HOME (unless set `.espalier` in this folder or the nearest above it that has one). None where there is none. The token of
    this machine is shown to no other."""
    given = os.environ.get("ESPALIER_TOKEN")
    if given:
        return given.strip()
    if not _is_loopback(urllib.parse.urlsplit(url).hostname or ""):
        return None
    home, here = os.environ.get("ESPALIER_HOME"), pathlib.Path.cwd()
    for folder in [pathlib.Path(home)] if home else [each / ".espalier" for each in (here, *here.parents)]:
        try:
            return (folder / "token").read_text().strip() or None
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
    return None


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_loopback_url(url: str) -> bool:
    """Whether an address is on this machine."""
    return _is_loopback(urllib.parse.urlsplit(url).hostname or "")
