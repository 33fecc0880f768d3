"""Records one rollout of an agent that lives in Python: plain HTTP, nothing to install.

    python3 examples/record_rollout.py http://127.0.0.1:4000

Every id is derived from what it names, so running it twice records it once.
"""

import array
import base64
import hashlib
import json
import os
import pathlib
import sys
import urllib.error
import urllib.request
import uuid
from datetime import datetime, timezone

SERVER = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:4000"
# What `espalier up` wrote where it runs, and no other account of this machine can read; or an API key.
TOKEN = os.environ.get("ESPALIER_TOKEN") or pathlib.Path(os.environ.get("ESPALIER_HOME", ".espalier"), "token").read_text().strip()
PRODUCER = {"name": "my-agent", "version": "1.0"}
sequences = {}  # this producer's own counter in each stream: gaps and reordering are seen


def make_id(*parts):
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "my-lab/" + "/".join(map(str, parts))))


def event(type, stream, run, data):
    sequences[stream] = sequences.get(stream, -1) + 1
    return {
        "id": make_id("event", type, stream, sequences[stream]),
        "type": type,
        "schemaVersion": 1,
        "stream": stream,
        "sequence": sequences[stream],
        "occurredAt": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z",
        "correlationId": run,
        "causationId": None,
        "producer": PRODUCER,
        "data": data,
    }


def packed(dtype, typecode, values):
    """Token arrays travel as little-endian bytes, never as JSON numbers."""
    return {"dtype": dtype, "length": len(values), "bytes": base64.b64encode(array.array(typecode, values).tobytes()).decode()}


def post(path, body):
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    request = urllib.request.Request(SERVER + path, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        sys.exit(f"{error.code}: {error.read().decode()}")


policy = {"policyId": "my-model", "version": 3}
run, tree, root, rollout, step = (make_id(name) for name in ("run", "tree", "root", "rollout", "step"))
question = "What is 6 times 7?"

events = [
    event("RunStarted", run, run, {
        "runId": run, "experimentId": None, "name": "from python", "kind": "external", "seed": 1, "codeVersion": "my-agent 1.0",
        "config": {"lr": 1e-6}, "environments": [{"environment": "arithmetic", "fingerprint": "v1"}], "policy": policy}),
    event("TreeOpened", tree, run, {
        "treeId": tree, "runId": run, "rootStepId": root, "instruction": "Answer with a number.", "observation": question,
        "task": {"taskId": make_id("task", question), "environment": "arithmetic", "serverFingerprint": "v1",
                 "observationHash": hashlib.sha256(question.encode()).hexdigest(), "alias": "0", "goal": question, "depth": None, "split": "train"},
        "admissibleActions": None, "stateHash": None, "plannedRollouts": 1, "seed": 1}),
    event("RolloutStarted", tree, run, {"rolloutId": rollout, "treeId": tree, "fromStepId": root, "ordinal": 0, "seed": 1, "policy": policy}),
    event("StepTaken", tree, run, {
        "stepId": step, "treeId": tree, "parentStepId": root, "rolloutId": rollout, "depth": 1,
        "response": "6 times 7 is 42.", "thought": "", "action": "42", "observation": "Correct.",
        "wellFormatted": True, "executable": True, "termination": "terminated",
        "policySpans": [{"from": 0, "to": 3, **policy}],
        "tokens": {"ids": packed("int32", "i", [42, 7, 1]), "logProbs": packed("float32", "f", [-0.1, -0.02, -0.3]), "mask": None},
        "usage": {"promptTokens": 12, "completionTokens": 3}, "finishReason": "stop", "call": None,
        "timings": {"policyMs": 80, "environmentMs": 1}, "stateHash": None, "admissibleActions": None}),
    event("RewardAssigned", tree, run, {
        "rewardId": make_id("reward"), "treeId": tree, "stepId": step, "rolloutId": rollout, "component": "environment", "value": 1,
        "scorer": {"name": "exact-match", "revision": "1"}, "raw": None}),
    event("RolloutFinished", tree, run, {
        "rolloutId": rollout, "treeId": tree, "leafStepId": step, "outcome": "terminated", "success": True, "steps": 1, "reason": ""}),
]

answer = post("/v1/events", events)
print(f"accepted {answer['accepted']}, appended {answer['appended']}, duplicates {answer['duplicates']}")

# Read your own writes: wait until the read models have folded what was just appended.
query = """query ($position: String!, $rollout: ID!) {
  waitFor(position: $position) { query { trajectory(rollout: $rollout) { return steps { action observation tokens { ids { length } } } } } } }"""
result = post("/graphql", {"query": query, "variables": {"position": answer["position"], "rollout": rollout}})
print(json.dumps(result["data"]["waitFor"]["query"]["trajectory"], indent=2))
