"""Calls a stand-in model server by the openai client, with autolog and without it in turn: `autolog_calls.py ROUNDS CALLS`. Prints the milliseconds of
each call as JSON. Server and token of Espalier are those of the environment."""

import json
import sys
import time

import openai
from model import messages_of, start

import espalier_rl as er

FIRST_S, TOKEN_S = 0.05, 0.001  # a short reply of a fast model: 100 ms

rounds, calls = int(sys.argv[1]), int(sys.argv[2])
url, model = start(FIRST_S, TOKEN_S)
client = openai.OpenAI(base_url=url, api_key="unused")


def ask(name, stream):
    messages = messages_of(name)
    began = time.perf_counter()
    answer = client.chat.completions.create(model="served", messages=messages, stream=stream)
    for _ in answer if stream else ():
        pass
    return (time.perf_counter() - began) * 1_000


took = {"whole": {"without": [], "with": []}, "streamed": {"without": [], "with": []}}
for number in range(-1, rounds):
    for way in ("without", "with"):
        if way == "with":
            er.autolog(run="bench")
        for i in range(calls):
            for kind, ways in took.items():
                each = ask(f"{way} {number} {i}", kind == "streamed")
                if number >= 0:  # the first round warms up
                    ways[way].append(each)
        if way == "with":
            er.flush(120)
            er.autolog(False)
model.terminate()
print(json.dumps(took))
