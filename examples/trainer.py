"""Trains a policy's batches over HTTP with Python's standard library alone: python3 trainer.py URL POLICY [SLEEP].
It leases, reads the rows, "trains" (counts tokens) and acknowledges; a SLEEP over the lease's two seconds loses it."""
import hashlib, json, struct, sys, time, urllib.error, urllib.parse, urllib.request, uuid

url, policy, sleep = sys.argv[1], sys.argv[2], float((sys.argv[3:] or ["0"])[0])

def call(path, body=None, method=None):
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(url + path, data, {"content-type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read()

def read_rows(body):  # safetensors: a length, a header in JSON, then the arrays one after the other
    end = 8 + struct.unpack_from("<Q", body)[0]
    header = json.loads(body[8:end])
    said = header.pop("__metadata__")  # what the batch is, the names of its rows, and the position of their rewards
    kinds = {"F64": "d", "F32": "f", "I32": "i", "U8": "B"}
    cut = lambda tensor: body[end + tensor["data_offsets"][0] : end + tensor["data_offsets"][1]]
    return said, {name: [x for (x,) in struct.iter_unpack("<" + kinds[t["dtype"]], cut(t))] for name, t in header.items()}

digest = lambda *parts: hashlib.sha256(repr(parts).encode()).hexdigest()  # stands for weights
first = {"backend": "example", "weights": digest(policy), "rules": {"groupsPerBatch": 2}}
status, body = call("/v1/training/policies/" + urllib.parse.quote(policy, safe=""), first, "PUT")
if status not in (200, 409):  # 409: somebody has declared it otherwise before, and batches come by those rules
    sys.exit(f"not declared: {status} {body.decode()}")
while True:
    status, body = call("/v1/training/leases", {"policyId": policy, "consumer": "example", "ttlMs": 2000, "waitMs": 3000})
    if status == 202:  # there is none, and the answer says what has to come before there is one
        sys.exit(f"no batch: {json.loads(body)['next']}")
    if status != 200:
        sys.exit(f"not leased: {status} {body.decode()}")
    lease = json.loads(body)
    status, body = call(lease["rows"])
    if status == 410:  # the record contradicts itself: nobody can read these rows, and the next batch is trained on the same base
        call(f"/v1/training/leases/{lease['leaseId']}/abandon", {"fence": lease["fence"], "reason": body.decode()[:9000]})
        continue
    said, rows = read_rows(body)
    metrics = {"own_tokens": sum(rows["response_mask"])}
    time.sleep(sleep)  # here gradients would be computed; POST …/renew keeps the lease meanwhile
    made = {"version": lease["base"]["version"] + 1, "checkpointId": str(uuid.uuid4())}
    made |= {"weights": digest(lease["base"]["weights"], metrics), "backend": "example", "metrics": metrics}
    made |= {"rewardsAt": said["rewardsAt"]}  # with it the same rows can be read again, whatever was revised since
    status, body = call(f"/v1/training/leases/{lease['leaseId']}/ack", {"fence": lease["fence"], **made})
    print(f"batch {lease['ordinal']} of {lease['samples']} samples, {metrics['own_tokens']} tokens: {status} {body.decode()}", end="", flush=True)
    if status != 200:
        sys.exit("the lease was lost: what was computed is dropped")
