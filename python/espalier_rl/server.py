"""Starts an installation from Python: the server that `espalier-rl[server]` brings, or one that Node has here."""

from __future__ import annotations

import atexit
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import threading
from types import TracebackType

from .errors import EspalierError

STARTED = "ESPALIER_STARTED_BY_PYTHON"
LISTENING = re.compile(r"(https?://[^\s/]+:\d+)/graphql")


class Server:
    """A server that this program started. `url` is its address; it ends with `close`, with its `with` block, or with the program."""

    def __init__(self, url: str, process: subprocess.Popen[str]) -> None:
        self.url, self._process = url, process
        atexit.register(self.close)

    def close(self) -> None:
        """Ends the server and waits until it has stopped."""
        atexit.unregister(self.close)
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Server({self.url!r})"


def start_server(*, port: int = 4000, home: str | None = None, start_s: float = 180) -> Server:
    """Starts `espalier up` by ESPALIER_BIN (a command, or a path of `bin/espalier.js`), the package `espalier-rl-server` or `npx espalier`, waits until it
    listens, and lets `er.connect()` of this program find it. `port=0` takes a free one; `home` is the folder of its data
    (ESPALIER_HOME, else `.espalier`). Raises EspalierError with what it said where it does not start."""
    command, environment = _command()
    environment = {**environment, "ESPALIER_PORT": str(port), **({"ESPALIER_HOME": home} if home else {})}
    try:
        process = subprocess.Popen(
            [*command, "up"], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
    except OSError as error:
        raise _not_started(command, str(error)) from None
    said: list[str] = []
    found, ended = threading.Event(), threading.Event()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            if LISTENING.search(line):
                found.set()
        ended.set()
        found.set()

    threading.Thread(target=read, name="espalier up", daemon=True).start()
    found.wait(start_s)
    match = LISTENING.search("".join(said))
    if match is None:
        process.kill()
        process.wait()
        raise _not_started(command, "".join(said[-5:]).strip() or f"it did not listen within {start_s:g} s")
    os.environ["ESPALIER_URL"] = match.group(1)
    if home:
        os.environ["ESPALIER_HOME"] = home
    return Server(match.group(1), process)


def main() -> int:
    """The command `espalier`: the server's command line, with its exit code."""
    try:
        command, environment = _command()
    except EspalierError as error:
        print(f"espalier: {error}", file=sys.stderr)
        return 2
    line = [*command, *sys.argv[1:]]
    if os.name != "nt":
        os.execvpe(line[0], line, environment)  # signals and the exit code are the server's own
    return subprocess.run(line, env=environment).returncode


def _command() -> tuple[list[str], dict[str, str]]:
    own = dict(os.environ)
    named = own.get("ESPALIER_BIN")
    if named:
        return ["node", named] if named.endswith((".js", ".mjs")) else [named], own
    if importlib.util.find_spec("espalier_rl_server") is not None:
        import espalier_rl_server

        return espalier_rl_server.command(), {**espalier_rl_server.environment(), **own}
    npx = shutil.which("npx")
    if npx and STARTED not in own:  # npx may find this very command, where pip and npm share a folder
        return [npx, "--no-install", "espalier"], {**own, STARTED: "1"}
    remedy = "pip install 'espalier-rl[server]', or start the server elsewhere and name it by ESPALIER_URL"
    raise EspalierError("the server of Espalier is not installed", remedy=remedy, code="not-found")


def _not_started(command: list[str], why: str) -> EspalierError:
    remedy = "pip install 'espalier-rl[server]', or name a server's bin/espalier.js by ESPALIER_BIN"
    return EspalierError(f"{' '.join(command)} up did not start: {why}", remedy=remedy, field="ESPALIER_BIN", code="not-started")
