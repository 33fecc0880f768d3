"""Finds an installation and what it asks for: an API key, or on this machine the token of the installation."""

import ipaddress
import os
import pathlib
import urllib.parse

VERSION = "0.1.0"  # of this package, which its server has too
DEFAULT_URL = "http://127.0.0.1:4000"


def find_url() -> str:
    """The address of the server: ESPALIER_URL, else where the installation of this folder is served, else that of `espalier up` on
    this machine, at ESPALIER_PORT where it is set."""
    given = os.environ.get("ESPALIER_URL")
    if given:
        return given
    served = _of_folder("url")
    if served and is_loopback_url(served):
        return served
    port = os.environ.get("ESPALIER_PORT") or "0"
    return DEFAULT_URL if port == "0" else f"http://127.0.0.1:{port}"


def find_token(url: str) -> "str | None":
    """What to show the server of an address: ESPALIER_TOKEN (a key, or a token), or for a server on loopback the token of the
    installation of this folder. None where there is none. The token of this machine is shown to no other."""
    given = os.environ.get("ESPALIER_TOKEN")
    if given:
        return given.strip()
    return _of_folder("token") if is_loopback_url(url) else None


def _of_folder(name: str) -> "str | None":
    """What the installation of this folder has in a file: in ESPALIER_HOME, unless set in `.espalier` of this folder or of the
    nearest above it that has such a file."""
    home, here = os.environ.get("ESPALIER_HOME"), pathlib.Path.cwd()
    for folder in [pathlib.Path(home)] if home else [each / ".espalier" for each in (here, *here.parents)]:
        try:
            return (folder / name).read_text().strip() or None
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
