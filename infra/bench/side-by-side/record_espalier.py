"""Records the work by espalier_rl, through its spool; TOKEN is in the environment. BATCH is not used: the client sends what there is, up to 1 MiB."""

import os
import tempfile

import espalier_rl as er
from work import episodes, fetched, measure, url, work

MEMBERS = 5  # of a group
with tempfile.TemporaryDirectory() as folder, er.connect(url, token=os.environ["TOKEN"], spool=folder) as db:
    run_id = ""

    def record():
        global run_id
        given = iter(work)
        with db.run("side by side", policy="p@0", wait_s=600) as run:
            run_id = run.id
            for task in range(-(-episodes // MEMBERS)):
                for episode in run.group(f"task {task}", n=min(MEMBERS, episodes - task * MEMBERS)):
                    for reply, observation in next(given):
                        episode.step(reply, observation)
                    episode.finish(success=True)

    def is_queryable():
        db.catch_up(600)
        return True

    def fetch():
        # the first observations of trees are rows too, without an action
        return len(db.steps(run=run_id, depth=(1, None), limit=fetched).arrow().to_pylist())

    measure(record, is_queryable, fetch, durable="sent")
