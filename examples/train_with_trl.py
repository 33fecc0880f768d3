"""Trains a language model on the batches of an installation with TRL's GRPOTrainer:

    python3 train_with_trl.py URL POLICY MODEL OUT UPDATES GROUPS MEMBERS

MODEL is a folder of transformers. Every batch has GROUPS groups of MEMBERS rollouts; the weights of version N are OUT/N."""
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig

from espalier_rl.adapters.trl import LeasedRollouts, RecordedGRPOTrainer
from espalier_rl.leases import Client, digest_file

url, policy, folder, out = sys.argv[1:5]
updates, groups, members = map(int, sys.argv[5:8])
client = Client(url, consumer="trl")
rules = {"groupsPerBatch": groups, "maxStaleness": None, "unknownSampling": "keep"}  # proxies and recorders may not know how a reply was sampled
client.declare(policy, backend="trl", weights=digest_file(f"{folder}/model.safetensors"), rules=rules)


def publish(model, version):
    model.save_pretrained(f"{out}/{version}")
    return digest_file(f"{out}/{version}/model.safetensors")


source = LeasedRollouts(client, policy, publish=publish, idle_s=60)
trainer = RecordedGRPOTrainer(
    model=AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32),
    source=source,
    args=GRPOConfig(
        output_dir=str(Path(out) / "trl"),
        max_steps=updates,
        per_device_train_batch_size=groups * members,
        num_generations=members,
        learning_rate=1e-4,
        temperature=1.0,  # that of the rollouts
        bf16=False,
        report_to=[],
        save_strategy="no",
    ),
    processing_class=AutoTokenizer.from_pretrained(folder),
)
trainer.train()
for update in source.updates:
    print(f"batch {update['ordinal']} of {update['rows']} rows, {update['tokens']} sampled tokens: version {update['version']}")
