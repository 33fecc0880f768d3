"""Measures what recording costs a Python program: steps of about 1 kB into the spool, to the server by the client, and as raw POSTs of the same bytes.

python python_record.py URL TOKEN EPISODES; prints one JSON object. Times are of the wall and of this process's processor."""

import http.client
import json
import logging
import sys
import tempfile
import time
import urllib.parse
from pathlib import Path

import espalier_rl as er
from espalier_rl.catch_up import catch_up

STEPS = 20  # of an episode
BATCH = 2**20  # bytes of a raw request, those of the client's batches
TEXT = "The agent looks at the shelf and takes what it needs. " * 4

url, token, episodes = sys.argv[1], sys.argv[2], int(sys.argv[3])


def record(run):
    for episode in run.group("a task", n=episodes):
        for _ in range(STEPS):
            episode.step(TEXT, TEXT)
        episode.finish(success=True)


def timed(work):
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}


def into_the_spool(folder, durable):
    """Records while nobody takes it; returns the times and the events."""
    run = er.connect("http://127.0.0.1:9", token=token, spool=folder).run("bench", policy="p@0", durable=durable, wait_s=0)
    run.journal.sender.stop()
    times = timed(lambda: record(run))
    run.journal.spool.write_out()
    lines = [line for path in sorted(Path(folder).glob("*/*/*.ndjson")) for line in path.read_bytes().splitlines(keepends=True)]
    return times, [line for line in lines if line[:1] not in b"#~"]


def post(lines):
    at = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(at.hostname, at.port, timeout=600)
    headers = {"authorization": f"Bearer {token}", "content-type": "application/x-ndjson"}
    batch, size = [], 0
    for line in [*lines, b""]:
        if batch and (size + len(line) > BATCH or line == b""):
            connection.request("POST", "/v1/events", b"".join(batch), headers)
            answer = connection.getresponse()
            said = answer.read()
            if answer.status != 200:
                sys.exit(f"{answer.status} {said.decode()}")
            batch, size = [], 0
        batch.append(line)
        size += len(line)
    connection.close()


def fold_all():
    db = er.connect(url, token=token)
    catch_up(db.connection)
    db.close()


def to_the_server(folder, durable):
    db = er.connect(url, token=token, spool=folder)

    def whole():
        with db.run("bench", policy="p@0", durable=durable, wait_s=600) as run:
            record(run)

    times = timed(whole)
    db.close()
    return times


logging.disable()
found = {"steps": episodes * STEPS}
for durable in ("none", "write", "fsync"):
    with tempfile.TemporaryDirectory() as folder:
        found[f"spool {durable}"], lines = into_the_spool(folder, durable)
    found["bytes"] = sum(map(len, lines)) / found["steps"]
    if durable == "write":
        raw, client = [], []
        for turn in range(6):  # in turns: what else the machine does falls on both
            with tempfile.TemporaryDirectory() as folder:
                lines = into_the_spool(folder, "none")[1]
                fold_all()  # or what was sent before is folded while the next is timed
                if turn in (0, 3, 4):
                    raw.append(timed(lambda batch=lines: post(batch)))
                else:
                    client.append(to_the_server(folder, durable))
        for name, times in (("raw", raw), ("client", client)):
            found[name] = sorted(times, key=lambda each: each["wall_s"])[1]
print(json.dumps(found))
