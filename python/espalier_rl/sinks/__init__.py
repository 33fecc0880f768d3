"""Posts the updates of policies to a system that plots them: `python -m espalier_rl.sinks tensorboard|mlflow --policy NAME --to PLACE`.

A sink keeps no cursor of its own: what was posted is read back from the system itself, where it was written with the metrics. A sink that is
killed anywhere goes on behind the last version that is there whole, and posts none twice.
"""

from .follow import Update, follow, updates_after

__all__ = ["Update", "follow", "updates_after"]
