"""`python -m espalier_rl.sinks tensorboard|mlflow --policy NAME --to PLACE`."""

from __future__ import annotations

import argparse
import sys

from ..connection import Connection
from ..errors import EspalierError
from .follow import follow
from .mlflow import MlflowSink
from .tensorboard import TensorBoardSink


def main() -> int:
    """Posts what is new, and with `--follow` what comes."""
    parser = argparse.ArgumentParser(prog="espalier_rl.sinks", description="Posts the updates of a policy, each once.")
    parser.add_argument("system", choices=["tensorboard", "mlflow"])
    parser.add_argument("--policy", required=True, help="whose updates")
    parser.add_argument("--to", required=True, help="tensorboard: the folder of logs; mlflow: the address of the server, or its store")
    parser.add_argument("--from", dest="since", type=int, help="the first version to post; left out, the one behind the last that is there")
    parser.add_argument("--follow", type=float, metavar="SECONDS", help="look again after so many seconds, until it is ended")
    chosen = parser.parse_args()
    try:
        with Connection() as connection:
            sink = TensorBoardSink(chosen.to, chosen.policy) if chosen.system == "tensorboard" else MlflowSink(chosen.to, chosen.policy)
            try:
                for update in follow(connection, chosen.policy, sink, since=chosen.since, every_s=chosen.follow):
                    print(f"version {update.version}: {len(update.metrics)} metrics", flush=True)
            finally:
                sink.close()
    except (EspalierError, ImportError) as error:
        remedy = f"; pip install {chosen.system}" if isinstance(error, ImportError) else ""
        print(f"espalier_rl.sinks: {error}{remedy}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
