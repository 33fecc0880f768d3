"""Finds an installation and what it asks for: an API key, or on this machine the token of the installation."""

import hashlib
import ipaddress
import os
import pathlib
import stat
import urllib.parse

VERSION = "0.1.0"  # of this package, which its server has too
DEFAULT_URL = "http://127.0.0.1:4000"


def find_url() -> str:
    """The address of the server: ESPALIER_URL, else where the installation of this folder is served (by the newest of several servers), else
    that of `espalier up` on this machine, at ESPALIER_PORT where it is set."""
    given = os.environ.get("ESPALIER_URL")
    if given:
        return given
    served = (_of_folder("url") or "").split("\n")[-1]
    if is_loopback_url(served):
        return served
    port = os.environ.get("ESPALIER_PORT") or "0"
    return DEFAULT_URL if port == "0" else f"http://127.0.0.1:{port}"


def find_token(url: str) -> "str | None":
    """What to show the server of an address: ESPALIER_TOKEN (a key, or a token) or what is in the file ESPALIER_TOKEN_FILE, or for a
    server on loopback the token of the installation of this folder. None where there is none. The token of this machine is shown to no
    other."""
    given = os.environ.get("ESPALIER_TOKEN") or _of_file(os.environ.get("ESPALIER_TOKEN_FILE"))
    if given:
        return given.strip()
    return _of_folder("token") if is_loopback_url(url) else None


def name_for_spools(url: "str | None") -> str:
    """The name by which spools are kept for a server: its address where `url` or ESPALIER_URL names it, else the folder of the
    installation, which may be served at another port next time."""
    named, home = url or os.environ.get("ESPALIER_URL"), _home()
    if named or home is None:
        return named or find_url()
    return f"{home.parent.name[:60]}-{hashlib.sha256(str(home).encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"


def _of_file(path: "str | None") -> "str | None":
    """What is in a file that the environment names. Raises ValueError where it cannot be read."""
    if not path:
        return None
    try:
        return pathlib.Path(path).read_text()
    except OSError as error:
        raise ValueError(f"ESPALIER_TOKEN_FILE is {path}, which cannot be read ({error.strerror}); correct it, or unset it") from error


def _of_folder(name: str) -> "str | None":
    """What the installation of this folder has in a file."""
    home = _home()
    return None if home is None else _read(home / name)


def _home() -> "pathlib.Path | None":
    """The folder of the installation: ESPALIER_HOME, else `.espalier` of this folder or of the nearest above it that has a file of it."""
    given, here = os.environ.get("ESPALIER_HOME"), pathlib.Path.cwd()
    if given:
        return pathlib.Path(given).absolute()
    folders = (each / ".espalier" for each in (here, *here.parents))
    return next((folder for folder in folders if _read(folder / "url") or _read(folder / "token")), None)


def _read(path: pathlib.Path) -> "str | None":
    """What a file says, unless it is of another account: that one could name a server of its own, which then is shown a token."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    with open(fd) as file:
        found = os.fstat(fd)
        is_own = not hasattr(os, "getuid") or found.st_uid == os.getuid() or "ESPALIER_HOME" in os.environ
        return file.read().strip() or None if is_own and stat.S_ISREG(found.st_mode) else None


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
