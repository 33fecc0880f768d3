"""`python -m espalier_rl.sinks wandb|mlflow|trackio|tensorboard (--policy NAME | --run ID) --to PLACE`."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence

from ..connection import Connection
from ..errors import EspalierError
from .follow import Following
from .kept import Kept, kept_file
from .points import Point, Sink, Subject
from .sources import PolicyVersions, RunRollouts, Source

WAIT_S = 60.0  # without --follow
RETRY_S = 2.0  # of one request: what is away longer is said


def main() -> int:
    """Posts what is new, and with `--follow` what comes. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="espalier_rl.sinks", description="Posts the updates of a policy, or the rollouts of a run, each once.")
    parser.add_argument("system", choices=list(SYSTEMS))
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--policy", help="whose updates")
    what.add_argument("--run", help="whose finished rollouts, by its id")
    parser.add_argument("--to", required=True, help="wandb, trackio, tensorboard: a folder; mlflow: the address of the server, or its store")
    parser.add_argument("--project", default="espalier", help="wandb and trackio: the project; mlflow: the experiment")
    parser.add_argument("--from", dest="since", type=int, help="the first version of the policy to post")
    parser.add_argument("--follow", action="store_true", help="continue with what comes, until it is stopped or the run is over")
    parser.add_argument("--state", help="the folder that says what was read and posted; ~/.local/state/espalier/sinks unless given")
    parser.add_argument("--with-parent", action="store_true", help=argparse.SUPPRESS)  # stop when standard input ends
    chosen = parser.parse_args()
    if chosen.with_parent:
        threading.Thread(target=_stop_with_input, daemon=True).start()
    try:
        return asyncio.run(_run(chosen))
    except ModuleNotFoundError as error:
        return _fail(f"{error}; pip install {chosen.system}, into the Python that ESPALIER_SINKS_PYTHON names")
    except EspalierError as error:
        return _fail(str(error))


async def _run(chosen: argparse.Namespace) -> int:
    place = chosen.to if "://" in chosen.to else os.path.abspath(chosen.to)
    of = f"policy {chosen.policy}" if chosen.policy is not None else f"run {chosen.run}"
    with Connection(retry_s=RETRY_S) as connection:
        kept = Kept(kept_file(chosen.state, connection.url, chosen.system, place, chosen.project, of))

        def source() -> Source:
            return RunRollouts(connection, chosen.run) if chosen.policy is None else PolicyVersions(connection, chosen.policy, chosen.since)

        following = Following(
            connection,
            source,
            lambda source: SYSTEMS[chosen.system](place, source.subject, chosen.project),
            kept,
            for_ever=chosen.follow,
            wait_s=None if chosen.follow else WAIT_S,
            posted=_printing("run" if chosen.policy is None else "policy"),
            say=lambda text: print(f"espalier_rl.sinks: {text}", file=sys.stderr, flush=True),
        )
        working = asyncio.ensure_future(following.run())
        stops = _Stops(working)
        for name in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(name, stops)
        try:
            await working
        except asyncio.CancelledError:
            waiting = len(kept.unposted(1_000_000))
            if following.caught_up and not waiting and not following.waits_for:
                return 0
            why = f": {following.waits_for}" if following.waits_for else ""
            held = f"{waiting} points are read and not posted; started again it posts them" if waiting else "what follows is not posted"
            return _fail(f"stopped before all was posted: {held}{why}")
        finally:
            kept.close()
            await connection.aclose()
    return 0


def _stop_with_input() -> None:
    while os.read(sys.stdin.fileno(), 1024):  # not by its buffer, whose lock would be held at the end
        pass
    os.kill(os.getpid(), signal.SIGTERM)


class _Stops:
    """The first signal lets what is being posted end, the second does not."""

    def __init__(self, working: asyncio.Future[None]) -> None:
        self._working, self._is_stopping = working, False

    def __call__(self) -> None:
        if self._is_stopping:
            os._exit(1)
        self._is_stopping = True
        self._working.cancel()


def _printing(kind: str) -> Callable[[Sequence[Point]], None]:
    """Writes a line for each version, and one for the rollouts that were posted together."""

    def posted(points: Sequence[Point]) -> None:
        first, last = points[0], points[-1]
        if kind == "policy":
            print("\n".join(f"version {point.step}: {len(point.metrics)} metrics" for point in points), flush=True)
        else:
            print(f"rollout {first.step}" if first == last else f"rollouts {first.step} to {last.step}", flush=True)

    return posted


def _fail(message: str) -> int:
    print(f"espalier_rl.sinks: {message}", file=sys.stderr)
    return 1


def _tensorboard(place: str, subject: Subject, project: str) -> Sink:
    from .tensorboard import TensorBoardSink

    return TensorBoardSink(place, subject)


def _mlflow(place: str, subject: Subject, project: str) -> Sink:
    from .mlflow import MlflowSink

    return MlflowSink(place, subject, experiment=project)


def _wandb(place: str, subject: Subject, project: str) -> Sink:
    from .wandb import WandbSink

    return WandbSink(place, subject, project=project)


def _trackio(place: str, subject: Subject, project: str) -> Sink:
    from .trackio import TrackioSink

    return TrackioSink(place, subject, project=project)


SYSTEMS: dict[str, Callable[[str, Subject, str], Sink]] = {"wandb": _wandb, "mlflow": _mlflow, "trackio": _trackio, "tensorboard": _tensorboard}

if __name__ == "__main__":
    sys.exit(main())
