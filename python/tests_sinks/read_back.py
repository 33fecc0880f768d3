"""What a system has, by its own reader: `python -m tests_sinks.read_back SYSTEM PLACE` prints {metric: [[step, value], …], links: […]}."""

from __future__ import annotations

import glob
import json
import os
import re
import sys
from pathlib import Path


def read_back(system, place):
    """Returns the points of each metric in the order of their steps, one in every file and row that has it, and the links."""
    found, links = {}, []
    for step, name, value in sorted({"tensorboard": tensorboard, "mlflow": mlflow, "trackio": trackio, "wandb": wandb}[system](place), key=str_last):
        if name == "espalier/link":
            links += re.findall(r"https?://[^)\s]+", value)[-1:]
        else:
            found.setdefault(name, []).append((step, value))
    return {**found, "links": links}


def str_last(row):
    return (row[0], row[1], str(row[2]))


def tensorboard(place):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for file in glob.glob(f"{place}/**/*tfevents*", recursive=True):
        read = EventAccumulator(file, size_guidance={"scalars": 0, "tensors": 0}).Reload()
        for tag in read.Tags()["scalars"]:
            yield from ((event.step, tag, event.value) for event in read.Scalars(tag))
        for tag in read.Tags()["tensors"]:
            yield from ((event.step, tag, event.tensor_proto.string_val[0].decode()) for event in read.Tensors(tag))


def mlflow(place):
    os.environ.update(MLFLOW_ALLOW_FILE_STORE="true", MLFLOW_DISABLE_TELEMETRY="true")
    from mlflow import MlflowClient

    client = MlflowClient(str(place))
    for run in client.search_runs([client.get_experiment_by_name("espalier").experiment_id]):
        for name in run.data.metrics:
            yield from ((metric.step, name, metric.value) for metric in client.get_metric_history(run.info.run_id, name))
        yield 0, "espalier/link", run.data.tags["mlflow.note.content"]


def trackio(place):
    os.environ["TRACKIO_DIR"] = str(place)
    from trackio import Api
    from trackio.sqlite_storage import SQLiteStorage

    for run in Api().runs("espalier"):
        for row in SQLiteStorage.get_logs("espalier", run_id=run.id):
            yield from ((row["step"], name, value) for name, value in row.items() if name not in ("step", "timestamp"))


def wandb(place):
    from espalier_rl.sinks.wandb_file import read_history

    for file in glob.glob(f"{place}/wandb/offline-run-*/*.wandb"):
        for row in read_history(Path(file)):
            yield from ((row["_step"], name, value) for name, value in row.items() if not name.startswith("_"))


if __name__ == "__main__":
    print(json.dumps(read_back(sys.argv[1], sys.argv[2])))
