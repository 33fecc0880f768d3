"""Times a leased body: its transfer, what makes torch tensors of it, and the safetensors package on the same bytes. Prints JSON.

    python lease_tensors.py URL POLICY ROUNDS
"""

import json
import statistics
import sys
import time

import torch
from safetensors.torch import load

from espalier_rl.adapters.token_rows import padded
from espalier_rl.leases import Client
from espalier_rl.rows import Rows


def timed(call):
    began = time.perf_counter()
    result = call()
    return time.perf_counter() - began, result


def main(url, policy, rounds):
    torch.set_num_threads(1)
    lease = Client(url, timeout_s=600).lease(policy, layout="verl", ttl_s=3600)
    lease.read_rows()  # packs them: what is measured after it is the transfer
    seconds = {"transfer": [], "tensors": [], "copied": [], "padded": []}
    for _ in range(rounds):
        taken, rows = timed(lease.read_rows)
        seconds["transfer"].append(taken)
        body = rows._body
        taken, tensors = timed(lambda: all_columns(Rows(body)))
        seconds["tensors"].append(taken)
        shared = range(body_at(body), body_at(body) + len(body))
        assert all(tensor.data_ptr() in shared for tensor in tensors.values() if tensor.numel()), "a column was copied"
        taken, loaded = timed(lambda: load(bytes(body)))
        seconds["copied"].append(taken)
        assert all(torch.equal(loaded[name], tensor) for name, tensor in tensors.items())
        ends = tensors["cu_seqlens"].long()
        columns = ("responses", "response_mask", "rollout_log_probs", "token_level_scores")
        taken, _ = timed(lambda: [padded(tensors[name], ends[:-1], ends[1:]) for name in columns])
        seconds["padded"].append(taken)
    lease.give_back("measured")
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    print(json.dumps({**medians, "bytes": len(body), "columns": len(tensors), "rows": len(ends) - 1, "torch": torch.__version__}))


def all_columns(rows):
    return {name: rows.torch(name) for name in rows}


def body_at(body):
    return torch.frombuffer(body, dtype=torch.uint8).data_ptr()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
