"""Serves Python to an Espalier installation: `python -m espalier_rl serve FILE.py[#CLASS]` an environment, `serve-published NAME [KEY=VALUE …]`
one from a package of PyPI, `serve-tools FILE.py[#NAME]` tools."""

import argparse
import os
import sys
import threading

from .environments.agentgym import make_agentgym_server
from .environments.published import PUBLISHED, open_published, options_of
from .serving import load, make_server
from .tools import load_tools, make_tool_server


def main():
    given = read_arguments()
    try:
        server = given.make(given, host=given.host, port=given.port)
    except (TypeError, ValueError) as error:
        sys.exit(f"error: {error}")
    print(f"listening on http://{given.host}:{server.server_address[1]}", file=sys.stderr, flush=True)
    if given.end_with_stdin:
        threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()
    server.serve_forever()


def read_arguments():
    parser = argparse.ArgumentParser(prog="python -m espalier_rl")
    commands = parser.add_subparsers(dest="command", required=True)

    serve = commands.add_parser("serve", help="serve an environment class")
    serve.add_argument("place", help="FILE.py[#CLASS]")
    serve.set_defaults(make=lambda given, **at: make_server(load(given.place), **at))

    published = commands.add_parser("serve-published", help="serve an environment from a package of PyPI")
    published.add_argument("name", help=", ".join(PUBLISHED))
    published.add_argument("options", nargs="*", help="KEY=VALUE")
    published.add_argument("--agentgym", action="store_true", help="speak the protocol of AgentGym's server for this environment")
    published.set_defaults(make=make_published)

    tools = commands.add_parser("serve-tools", help="serve functions marked by @tool")
    tools.add_argument("place", help="FILE.py[#NAME]")
    tools.set_defaults(make=lambda given, **at: make_tool_server(load_tools(given.place), **at))

    for command in (serve, published, tools):
        command.add_argument("--host", default="127.0.0.1")
        command.add_argument("--port", type=int, default=8900, help="0 takes a free one")
        command.add_argument("--end-with-stdin", action="store_true", help="end when standard input is closed")
    return parser.parse_args()


def make_published(given, **at):
    kind = open_published(given.name, options_of(given.options))
    return make_agentgym_server(kind, **at) if given.agentgym else make_server(kind, **at)


if __name__ == "__main__":
    main()
