"""Trains over HTTP as trainers in Python do: leases, reads the rows, acknowledges. Prints JSON: seconds and bytes of each batch,
from asking for the lease until every column is a typed view of the bytes that came.

    python leases_client.py URL POLICY BATCHES
"""

import json
import sys
import time

from espalier_rl.leases import Client


def main(url, policy, batches):
    client = Client(url, timeout_s=600)
    seconds, sizes = [], []
    for _ in range(batches):
        began = time.perf_counter()
        lease = client.lease(policy, ttl_s=600)
        columns = {name: lease.rows[name] for name in lease.rows}
        seconds.append(time.perf_counter() - began)
        assert len(columns["responses"]) == lease.tokens, "a token is missing"
        sizes.append(sum(column.nbytes for column in columns.values()))
        lease.ack(weights="b" * 64)
    print(json.dumps({"seconds": seconds, "bytes": sum(sizes)}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
