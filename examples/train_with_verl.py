"""Trains a language model on the batches of an installation with verl's estimators and the loss of its actors:

    python3 train_with_verl.py URL POLICY MODEL OUT UPDATES

MODEL is a folder of transformers; the weights of version N are OUT/N. On a cluster `data` goes to verl's own workers (update_actor)."""
import sys

import torch
from transformers import AutoModelForCausalLM
from verl.utils import tensordict_utils
from verl.workers.config import FSDPActorConfig
from verl.workers.utils.losses import ppo_loss
from verl.workers.utils.padding import left_right_2_no_padding

from espalier_rl.adapters.verl import acknowledge, data_proto, estimator_of, with_advantages
from espalier_rl.leases import Client, digest_file

url, policy, folder, out, updates = sys.argv[1:6]
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4)
config = FSDPActorConfig(ppo_micro_batch_size_per_gpu=1, rollout_n=1)


def log_probs(row, temperature):  # of each token of a row after the first; the last place is nobody's
    logits = model(row.unsqueeze(0)).logits[0] / temperature
    return torch.log_softmax(logits, -1).gather(1, torch.roll(row, -1).unsqueeze(1)).squeeze(1)


client = Client(url, consumer="verl")
rules = {"groupsPerBatch": 2, "maxStaleness": None, "unknownSampling": "keep"}  # proxies and recorders may not know how a reply was sampled
client.declare(policy, backend="verl", weights=digest_file(f"{folder}/model.safetensors"), rules=rules)
for lease in client.batches(policy, layout="verl", idle_s=60):
    data = with_advantages(data_proto(lease.rows), estimator_of(lease))
    tokens = int(data.batch["response_mask"].sum())
    batch = left_right_2_no_padding(data.to_tensordict())
    tensordict_utils.assign_non_tensor(batch, dp_size=1, batch_num_tokens=tokens, global_batch_size=len(data))
    rows = batch["input_ids"]
    found = torch.cat([log_probs(row, data.meta_info["temperature"]) for row in rows.unbind()])
    nested = torch.nested.nested_tensor_from_jagged(found, offsets=rows.offsets())
    loss, metrics = ppo_loss(config, {"log_probs": nested}, batch)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    version = lease.base["version"] + 1
    model.save_pretrained(f"{out}/{version}")
    made = acknowledge(lease, digest_file(f"{out}/{version}/model.safetensors"), {**metrics, "own_tokens": tokens})
    print(f"batch {made['ordinal']} of {len(data)} rows, {tokens} sampled tokens: version {made['version']}", flush=True)
    if version == int(updates):
        break
