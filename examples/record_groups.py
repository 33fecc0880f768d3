"""Records groups of rollouts to train on, with Python's standard library alone: python3 record_groups.py URL POLICY.
Four sums, each answered twice, one answer right: a group whose members earned the same teaches nothing."""
import array, base64, datetime, hashlib, json, os, pathlib, sys, urllib.error, urllib.request, uuid

# What `espalier up` wrote where it runs, or an API key.
token = os.environ.get("ESPALIER_TOKEN") or pathlib.Path(os.environ.get("ESPALIER_HOME", ".espalier"), "token").read_text().strip()
url, policy = sys.argv[1], {"policyId": sys.argv[2], "version": 0}
run = str(uuid.uuid4())
sequences = {}  # this producer's own counter in each stream

def event(type, stream, data):
    sequences[stream] = sequences.get(stream, -1) + 1
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    envelope = {"id": str(uuid.uuid4()), "type": type, "schemaVersion": 1, "stream": stream, "sequence": sequences[stream], "occurredAt": now}
    return envelope | {"correlationId": run, "causationId": None, "producer": {"name": "sums", "version": "1"}, "data": data}

def packed(dtype, code, values):
    return {"dtype": dtype, "length": len(values), "bytes": base64.b64encode(array.array(code, values).tobytes()).decode()}

def opened(tree, root, question):
    task = {"taskId": str(uuid.uuid5(uuid.NAMESPACE_URL, question)), "environment": "sums", "serverFingerprint": "1", "alias": question}
    task |= {"observationHash": hashlib.sha256(question.encode()).hexdigest(), "goal": question, "depth": None, "split": "train"}
    about = {"treeId": tree, "runId": run, "rootStepId": root, "instruction": "Answer with a number.", "observation": question}
    return about | {"task": task, "admissibleActions": None, "stateHash": None, "plannedRollouts": 2, "seed": 0}

def taken(step, tree, root, rollout, answer, right):
    tokens = {"ids": packed("int32", "i", [answer, 2]), "logProbs": packed("float32", "f", [-0.7, -0.1]), "mask": None}
    about = {"stepId": step, "treeId": tree, "parentStepId": root, "rolloutId": rollout, "depth": 1, "termination": "terminated"}
    about |= {"response": str(answer), "thought": "", "action": str(answer), "observation": "right" if right else "wrong"}
    about |= {"wellFormatted": True, "executable": True, "policySpans": [{"from": 0, "to": 2, **policy}], "tokens": tokens, "usage": None}
    return about | {"finishReason": "stop", "call": None, "timings": {"policyMs": 1, "environmentMs": 0}, "stateHash": None, "admissibleActions": None}

# The run says which policy it feeds: its finished rollouts are samples of that policy.
config = {"training": {"policyId": policy["policyId"], "channel": "train"}}
started = {"runId": run, "experimentId": None, "name": "sums", "kind": "external", "seed": 0, "codeVersion": "sums 1"}
events = [event("RunStarted", run, started | {"config": config, "environments": [], "policy": policy})]
for number in range(4):
    tree, root = str(uuid.uuid4()), str(uuid.uuid4())
    events.append(event("TreeOpened", tree, opened(tree, root, f"{number} + 1")))
    for ordinal in range(2):
        rollout, step, right = str(uuid.uuid4()), str(uuid.uuid4()), ordinal == 1
        walk = {"rolloutId": rollout, "treeId": tree}
        events.append(event("RolloutStarted", tree, walk | {"fromStepId": root, "ordinal": ordinal, "seed": 0, "policy": policy}))
        events.append(event("StepTaken", tree, taken(step, tree, root, rollout, number + ordinal, right)))
        earned = {"rewardId": str(uuid.uuid4()), "stepId": step, "component": "environment", "value": float(right), "raw": None}
        events.append(event("RewardAssigned", tree, walk | earned | {"scorer": {"name": "sums", "revision": "1"}}))
        end = {"leafStepId": step, "outcome": "terminated", "success": right, "steps": 1, "reason": ""}
        events.append(event("RolloutFinished", tree, walk | end))
    events.append(event("TreeClosed", tree, {"treeId": tree, "reason": "completed", "rollouts": 2}))
events.append(event("RunFinished", run, {"runId": run, "outcome": "completed", "message": "", "trees": 4, "rollouts": 8, "steps": 8}))

body = "\n".join(map(json.dumps, events)).encode()
request = urllib.request.Request(url + "/v1/events", body, {"authorization": f"Bearer {token}", "content-type": "application/x-ndjson"})
try:
    with urllib.request.urlopen(request) as answer:
        print(answer.read().decode(), end="")
except urllib.error.HTTPError as refusal:
    sys.exit(f"{refusal.code} {refusal.read().decode()}")
