"""Records steps of 1 kB of text into one run from many processes: `recorders.py PROCESSES EPISODES`, episodes of each with 20 steps. Prints the steps, the
seconds until all were in spools, and until the server had answered for all, from the moment at which the processes have joined the run. Server, token and
the folder of spools are those of the environment."""

import json
import multiprocessing
import random
import sys
import time

import espalier_rl as er

STEPS = 20  # of an episode
CHARACTERS = 500  # of a reply, and of an observation
WORDS = "the agent looks at shelf takes lamp opens drawer finds nothing goes to desk puts key down asks why map north door says red box".split()

processes, episodes = int(sys.argv[1]), int(sys.argv[2])


def record(rank, barrier, times):
    try:
        measure(rank, barrier, times)
    except BaseException:
        barrier.abort()  # the others wait for this one
        times.put(None)
        raise


def measure(rank, barrier, times):
    draw = random.Random(rank)

    def text():
        return " ".join(draw.choices(WORDS, k=CHARACTERS // 4))[:CHARACTERS]

    work = [[(text(), text()) for _ in range(STEPS)] for _ in range(episodes)]
    with er.connect() as db, db.run("recorders", key="recorders", policy="p@0", wait_s=600) as run:
        run.flush(600)
        barrier.wait()
        began = time.monotonic()
        for number, steps in enumerate(work):
            episode = run.episode(f"task {number} of {rank}")
            for reply, observation in steps:
                episode.step(reply, observation)
            episode.finish(success=True)
        kept = time.monotonic()
        run.flush(600)
        times.put((began, kept, time.monotonic()))
        barrier.wait()  # none leaves while another one is measured


context = multiprocessing.get_context("fork")
barrier, times = context.Barrier(processes), context.SimpleQueue()
started = [context.Process(target=record, args=(rank, barrier, times)) for rank in range(processes)]
for each in started:
    each.start()
measured = [times.get() for _ in started]
for each in started:
    each.join()
if None in measured:
    sys.exit(f"{measured.count(None)} of {processes} processes failed")
began, kept, sent = zip(*measured)
print(json.dumps({"steps": processes * episodes * STEPS, "kept_s": max(kept) - min(began), "sent_s": max(sent) - min(began)}))
