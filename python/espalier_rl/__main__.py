"""Serves Python to an Espalier installation: `python -m espalier_rl serve FILE.py[#CLASS]` an environment, `serve-tools FILE.py[#NAME]` tools."""

import argparse
import os
import sys
import threading

from .serving import load, make_server
from .tools import load_tools, make_tool_server

COMMANDS = {
    "serve": ("serve an environment class", "FILE.py[#CLASS]", lambda place, **at: make_server(load(place), **at)),
    "serve-tools": ("serve functions marked by @tool", "FILE.py[#NAME]", lambda place, **at: make_tool_server(load_tools(place), **at)),
}


def main():
    parser = argparse.ArgumentParser(prog="python -m espalier_rl")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (about, form, _) in COMMANDS.items():
        command = commands.add_parser(name, help=about)
        command.add_argument("place", help=form)
        command.add_argument("--host", default="127.0.0.1")
        command.add_argument("--port", type=int, default=8900, help="0 takes a free one")
        command.add_argument("--end-with-stdin", action="store_true", help="end when standard input is closed")
    given = parser.parse_args()
    try:
        server = COMMANDS[given.command][2](given.place, host=given.host, port=given.port)
    except (TypeError, ValueError) as error:
        sys.exit(f"error: {error}")
    print(f"listening on http://{given.host}:{server.server_address[1]}", file=sys.stderr, flush=True)
    if given.end_with_stdin:
        threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()
    server.serve_forever()


if __name__ == "__main__":
    main()
