"""Times `db.trajectories().pandas()` and reading the same rows from Parquet. Says the seconds of each, and of their processors, as JSON."""

import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import pandas
import pyarrow

import espalier_rl as er


def timed(work):
    began, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    result = work()
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    return result, time.perf_counter() - began, cpu


def main() -> None:
    rounds = int(sys.argv[1])
    db = er.connect(os.environ["ESPALIER_URL"], token=os.environ["ESPALIER_TOKEN"])
    db.trajectories(limit=1).pandas()  # starts the thread of queries, and imports what is needed
    streams, files = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trajectories.parquet"
        for _ in range(rounds):
            frame, seconds, cpu = timed(lambda: db.trajectories().pandas())
            streams.append((seconds, cpu))
            if not path.exists():
                db.trajectories().parquet(path)
            same, seconds, cpu = timed(lambda: pandas.read_parquet(path))
            files.append((seconds, cpu))
            pandas.testing.assert_frame_equal(frame, same)
        size = path.stat().st_size
    best, read = min(streams), min(files)
    said = {"rows": len(frame), "columns": len(frame.columns), "seconds": best[0], "cpu": best[1], "parquet": read[0], "parquetCpu": read[1]}
    print(json.dumps({**said, "bytes": size, "pandas": pandas.__version__, "pyarrow": pyarrow.__version__}))


main()
