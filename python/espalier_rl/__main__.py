"""`python -m espalier_rl serve FILE.py[#CLASS] --port N` serves an environment class to an Espalier installation."""

import argparse
import os
import sys
import threading

from .serving import load, make_server


def main():
    parser = argparse.ArgumentParser(prog="python -m espalier_rl")
    commands = parser.add_subparsers(dest="command", required=True)
    serving = commands.add_parser("serve", help="serve an environment class")
    serving.add_argument("place", help="FILE.py[#CLASS]")
    serving.add_argument("--host", default="127.0.0.1")
    serving.add_argument("--port", type=int, default=8900, help="0 takes a free one")
    serving.add_argument("--end-with-stdin", action="store_true", help="end when standard input is closed")
    given = parser.parse_args()
    try:
        server = make_server(load(given.place), host=given.host, port=given.port)
    except ValueError as error:
        sys.exit(f"error: {error}")
    if given.end_with_stdin:
        threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()
    print(f"listening on http://{given.host}:{server.server_address[1]}", file=sys.stderr, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
