"""Serves Python to an Espalier installation: `python -m espalier_rl serve FILE.py[#CLASS]` an environment, `serve-published NAME [KEY=VALUE …]`
one from a package of PyPI, `write-games NAME FOLDER [KEY=VALUE …]` writes games of such a one, `serve-tools FILE.py[#NAME]` tools,
`serve-reward FILE.py[#NAME]|math-verify` a reward, `serve-index FOLDER` a dense retriever, which `index-corpus FILE` makes.
`spool status|check|send|export|drop [FOLDER]` looks after what was recorded and the server does not have yet."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections.abc import Sequence
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from .environments.published import PUBLISHED, WRITABLE, open_published, options_of, write_published
from .rewards import load_reward, make_reward_server
from .serving import load, make_server
from .tools import load_tools, make_tool_server


def main() -> Any:
    given = read_arguments()
    try:
        if given.command == "index-corpus":
            return index(given)
        if given.command == "write-games":
            return print(write_published(given.name, given.folder, options_of(given.options)))
        if given.command == "spool":
            return look_after_spools(given)
        server = given.make(given, host=given.host, port=given.port)
    except (OSError, TypeError, ValueError) as error:
        sys.exit(f"error: {error}")
    print(f"listening on http://{given.host}:{server.server_address[1]}", file=sys.stderr, flush=True)
    if given.end_with_stdin:
        threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()
    server.serve_forever()


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m espalier_rl")
    commands = parser.add_subparsers(dest="command", required=True)

    serve = commands.add_parser("serve", help="serve an environment class")
    serve.add_argument("place", help="FILE.py[#CLASS]")
    serve.set_defaults(make=lambda given, **at: make_server(load(given.place), **at))

    published = commands.add_parser("serve-published", help="serve an environment from a package of PyPI")
    published.add_argument("name", help=", ".join(PUBLISHED))
    published.add_argument("options", nargs="*", help="KEY=VALUE")
    published.set_defaults(make=lambda given, **at: make_server(open_published(given.name, options_of(given.options)), **at))

    games = commands.add_parser("write-games", help="write games of an environment from a package of PyPI, as its own programs read them")
    games.add_argument("name", help=", ".join(WRITABLE))
    games.add_argument("folder", help="folder to write into")
    games.add_argument("options", nargs="*", help="KEY=VALUE")

    tools = commands.add_parser("serve-tools", help="serve functions marked by @tool")
    tools.add_argument("place", help="FILE.py[#NAME]")
    tools.set_defaults(make=lambda given, **at: make_tool_server(load_tools(given.place), **at))

    reward = commands.add_parser("serve-reward", help="serve a reward function")
    reward.add_argument("place", help="FILE.py[#NAME], or math-verify")
    reward.set_defaults(make=lambda given, **at: make_reward_server(load_reward(given.place), **at))

    retriever = commands.add_parser("serve-index", help="serve an index by Search-R1's protocol")
    retriever.add_argument("folder", help="what index-corpus made")
    retriever.add_argument("--corpus", help="the corpus, where it lies elsewhere now")
    retriever.add_argument("--model", help="the folder of the encoder, where it lies elsewhere now")
    retriever.add_argument("--topk", type=int, default=3, help="documents of a query that does not say how many")
    retriever.add_argument("--device", help="cpu, cuda or cuda:N; cuda where there is one when left out")
    retriever.set_defaults(make=make_retriever)

    made = commands.add_parser("index-corpus", help="make the index of a corpus; ended in the middle, it goes on by the same command")
    made.add_argument("corpus", help='documents, one JSON object per line: {"id", "contents"}')
    made.add_argument("--model", required=True, help="the folder of an encoder of transformers")
    made.add_argument("--out", required=True, help="the folder of the index")
    made.add_argument("--prefixes", default="e5", choices=("e5", "bge", "none"), help="what the encoder was trained with in front of texts")
    made.add_argument("--pooling", default="mean", choices=("mean", "cls"), help="how a text becomes one vector: mean for E5, cls for BGE")
    made.add_argument("--max-length", type=int, default=256, help="tokens of a text that count")
    made.add_argument("--index", default="flat", choices=("flat", "hnsw"), help="exact, or a graph of neighbours")
    made.add_argument("--shard", type=int, default=10_000, help="documents whose vectors are written at once")
    made.add_argument("--device", help="cpu, cuda or cuda:N; cuda where there is one when left out")

    spool = commands.add_parser("spool", help="what was recorded and the server does not have yet: how much, whether it is whole, send it now")
    spool.add_argument("action", choices=("status", "check", "send", "export", "drop"))
    spool.add_argument("folder", nargs="?", help="the folder of the spools; ESPALIER_SPOOL or ~/.local/state/espalier/spool when left out")
    spool.add_argument("--run", help="the run; export prints its events as NDJSON, drop gives up what the server refused of it, send sends it to whichever server")
    spool.add_argument("--everything", action="store_true", help="drop: what is not sent as well")
    spool.add_argument("--url", help="send: the server; that of ESPALIER_URL or of this folder when left out")
    spool.add_argument("--wait", type=float, default=60, help="send: seconds until it is given up")

    for command in (serve, published, tools, reward, retriever):
        command.add_argument("--host", default="127.0.0.1")
        command.add_argument("--port", type=int, default=8900, help="0 takes a free one")
        command.add_argument("--end-with-stdin", action="store_true", help="end when standard input is closed")
    return parser.parse_args()


def make_retriever(given: argparse.Namespace, **at: Any) -> ThreadingHTTPServer:
    from .retrieval.index import DenseIndex
    from .retrieval.serve import make_index_server

    index = DenseIndex(given.folder, corpus=given.corpus, model=given.model, device=given.device)
    return make_index_server(index, topk=given.topk, **at)


def look_after_spools(given: argparse.Namespace) -> Any:
    from .recording.spools import read_spools, spools_folder

    base = spools_folder(given.folder)
    spools = read_spools(base)
    if given.action in ("export", "drop"):
        return export_or_drop(given, base, [spool.folder for spool in spools if spool.run == given.run])
    faults = [fault for spool in spools for fault in spool.faults]
    if given.action == "check" and faults:
        sys.exit("\n".join([*faults, "error: move the folder of a damaged spool away and keep it; the lines before a damaged one are whole"]))
    if given.action == "send":
        send_spools(given, base)
        left = read_spools(base)
        print(f"{len(spools) - len(left)} of {len(spools)} spools are sent")
        return [print(spool) for spool in left]
    for spool in spools:
        print(spool)
    counts = f"{sum(spool.events for spool in spools)} events of {len(spools)} runs"
    refused = sum(spool.refused for spool in spools)
    print(f"{base}: {counts}" + (f", {refused} refused" if refused else "") + (", every line whole" if not faults else ""))


def export_or_drop(given: argparse.Namespace, base: Path, folders: Sequence[Path]) -> Any:
    from .errors import EspalierError
    from .recording.spools import drop_spool, export_spool

    if not folders:
        sys.exit(f"error: {base} has no spool of {'run ' + given.run if given.run else 'a run: name one by --run'}; `spool status` lists them")
    for folder in folders:
        if given.action == "export":
            sys.stdout.buffer.writelines(export_spool(folder))
            continue
        try:
            print(f"{drop_spool(folder, everything=given.everything)} events of run {given.run} are dropped")
        except EspalierError as error:
            sys.exit(f"error: {error}")


def send_spools(given: argparse.Namespace, base: Path) -> None:
    from .connection import Connection
    from .errors import EspalierError
    from .recording.leftovers import Leftovers

    try:
        with Connection(given.url) as connection:
            leftovers = Leftovers(connection, str(base), everywhere=True, run=given.run)
            try:
                leftovers.wait(timeout_s=given.wait)
            finally:
                leftovers.close()
    except EspalierError as error:
        sys.exit(f"error: {error}")


def index(given: argparse.Namespace) -> None:
    from .retrieval.encoder import Reading
    from .retrieval.index import Shape, index_corpus

    if given.shard < 1 or given.max_length < 1:
        raise ValueError("--shard and --max-length must be 1 or more")
    reading = Reading(given.prefixes, given.pooling, given.max_length)
    made = index_corpus(given.corpus, given.model, given.out, reading=reading, shape=Shape(given.index), shard=given.shard, device=given.device)
    print(made["fingerprint"])


if __name__ == "__main__":
    main()
