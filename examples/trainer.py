"""Trains a policy's batches over HTTP with the client of python/, which needs the standard library alone: python3 trainer.py URL POLICY [SLEEP].
It leases, reads the rows, "trains" (counts tokens) and acknowledges; a SLEEP over the lease's two seconds loses it."""
import hashlib, pathlib, sys, time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "python"))  # not needed where espalier-rl is installed
from espalier_rl.leases import Client, EspalierError, LeaseLost, RowsUnreadable

url, policy, sleep = sys.argv[1], sys.argv[2], float((sys.argv[3:] or ["0"])[0])
digest = lambda *parts: hashlib.sha256(repr(parts).encode()).hexdigest()  # stands for weights
client = Client(url, consumer="example")
try:
    rules = {"groupsPerBatch": 2, "maxStaleness": None, "unknownSampling": "keep"}  # record_groups.py records no prompts
    client.declare(policy, backend="example", weights=digest(policy), rules=rules)
except EspalierError as refusal:
    if refusal.status != 409:  # 409: somebody has declared it otherwise before, and batches come by those rules
        sys.exit(f"not declared: {refusal}")
while lease := client.lease(policy, ttl_s=2, wait_s=3):
    try:
        own_tokens = sum(lease.rows["response_mask"])
    except RowsUnreadable as contradiction:  # nobody can read these rows: the next batch is trained on the same base
        lease.abandon(str(contradiction))
        continue
    batch = f"batch {lease.ordinal} of {lease.samples} samples, {own_tokens} tokens"
    time.sleep(sleep)  # here gradients would be computed; within `with lease:` it is renewed meanwhile
    try:
        made = lease.ack(weights=digest(lease.base["weights"], own_tokens), backend="example", metrics={"own_tokens": own_tokens})
    except LeaseLost as lost:
        print(f"{batch}: dropped, since {lost}")
        break
    print(f"{batch}: version {made['version']}", flush=True)
else:
    print(f"no batch: {lease.why}")
