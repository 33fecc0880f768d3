"""Posts the updates of a policy, or the rollouts of a run, to a system that plots them:
`python -m espalier_rl.sinks wandb|mlflow|trackio|tensorboard --policy NAME --to PLACE`.

Points are kept in a file before they are posted, with the position of the log behind them. A sink that is killed anywhere asks the
system which of the last ones it has, and goes on behind them: none is lost, none is there twice."""

from .follow import Following
from .kept import Kept, kept_file
from .points import Away, Point, Sink, Subject
from .sources import PolicyVersions, RunRollouts, Source

__all__ = ["Away", "Following", "Kept", "Point", "PolicyVersions", "RunRollouts", "Sink", "Source", "Subject", "kept_file"]
