"""A program that calls a model by the openai client, and what one system adds to it: python calls_NAME.py STORE MODE CALLS, which prints one JSON object.
The stand-in model server answers at once and returns neither token ids nor log-probabilities, so that each system is given the same.

plain     calls without the system: the milliseconds of each
recorded  with it: those, and the seconds from the first call until the store has answered for all of them
away      prints `ready`; makes its calls behind the next line of its input, by which the store is away, and ends
killed    the same, and is killed in place of ending
count     the next program of the same kind, with the store back: how many calls are there, as soon as there are CALLS, after 15 s at the latest"""

import inspect
import json
import os
import signal
import sys
import time

import openai
from model import messages_of, start

LONGEST_S = 15
store, mode, calls = sys.argv[1], sys.argv[2], int(sys.argv[3])


def lines_of(turn_on):
    """Counts the lines that a program has to have more: those of the function that turns the system on."""
    return sum(line.strip() != "" for line in inspect.getsource(turn_on).split("\n")) - 1


def measure(turn_on, flush, count):
    """`turn_on` has the lines that are added to a program, `flush` waits until the store has answered for all that was sent, `count` says how
    many calls a question of the store finds."""
    if mode == "count":
        turn_on()
        end = time.monotonic() + LONGEST_S
        while (found := count()) < calls and time.monotonic() < end:
            time.sleep(0.2)
        return print(json.dumps({"found": found}))
    if mode != "plain":
        turn_on()
    url, model = start(0, 0)
    client = openai.OpenAI(base_url=url, api_key="unused")

    def ask(name):
        messages = messages_of(name)
        began = time.perf_counter()
        client.chat.completions.create(model="served", messages=messages, max_tokens=100)
        return (time.perf_counter() - began) * 1_000

    if mode in ("away", "killed"):
        print("ready", flush=True)
        sys.stdin.readline()
        for i in range(calls):
            ask(f"{mode} {i}")
        if mode == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        return None
    began = time.perf_counter()
    ms = [ask(f"{os.getpid()} {i}") for i in range(calls)]
    if mode == "recorded":
        flush()
    seconds = time.perf_counter() - began
    model.terminate()
    return print(json.dumps({"ms": ms, "seconds": seconds, "lines": lines_of(turn_on)}))
