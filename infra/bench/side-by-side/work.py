"""The work that each system is given: steps of about 1 kB of text in episodes, the same for all, and the clock.

A script next to this one records them by the client of one system: python record_NAME.py URL EPISODES BATCH; it prints one JSON object.
`durable_s` is when the server has all of it on disk, null where it never is, `queryable_s` when a question of the client finds all of it,
`fetch_s` how long 1,000 steps take back into Python as objects, the best of three."""

import json
import random
import sys
import time

STEPS = 20  # of an episode
CHARACTERS = 500  # of a reply, and of an observation
FETCHED = 1_000
LONGEST_S = 600
WORDS = "the agent looks at shelf takes lamp opens drawer finds nothing goes to desk puts key down asks why map north door says red box".split()

url, episodes, batch = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
steps = episodes * STEPS
fetched = min(FETCHED, steps)


def texts():
    """Yields for each episode its steps, (reply, observation): drawn from a seed, so that no two are equal."""
    draw = random.Random(17)

    def text():
        return " ".join(draw.choices(WORDS, k=CHARACTERS // 4))[:CHARACTERS]

    for _ in range(episodes):
        yield [(text(), text()) for _ in range(STEPS)]


work = list(texts())


def until(is_there, of):
    """Waits until something is there: asked every 20 ms, so that asking takes no part of it."""
    end = time.monotonic() + LONGEST_S
    while not is_there():
        if time.monotonic() > end:
            sys.exit(f"{of}: not all of it is there after {LONGEST_S} s")
        time.sleep(0.02)


def measure(record, is_queryable, fetch, *, durable=None, count=None):
    """Records by `record`, which returns when all was sent. `durable` says whether the answer to what was sent means that it is on disk;
    where it does not, what is queryable is, and None says that it never is. `count` counts the steps that are there, behind the clock."""
    began = time.perf_counter()
    record()
    sent = time.perf_counter() - began
    until(is_queryable, "the record")
    queryable = time.perf_counter() - began
    if count is not None and count() < steps:
        sys.exit(f"{count()} of {steps} steps are there")
    times = []
    for _ in range(3):
        at = time.perf_counter()
        found = fetch()
        times.append(time.perf_counter() - at)
        if found < fetched:
            sys.exit(f"{found} of {fetched} steps came back")
    durable_s = {"sent": sent, "queryable": queryable, None: None}[durable]
    print(json.dumps({"steps": steps, "fetched": fetched, "sent_s": sent, "durable_s": durable_s, "queryable_s": queryable, "fetch_s": min(times)}))
