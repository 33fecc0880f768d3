"""Trains the exported files `trl.jsonl` and `openai.jsonl` of a folder with TRL's SFTTrainer, and prints the trained tokens as JSON:

    python -m tests_consumers.read_exports FOLDER MODEL
"""

import json
import sys
import tempfile

import datasets
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer


def trained_by_sft(file, folder):
    """Counts the labels of the batches that SFTTrainer computes its loss of."""
    with tempfile.TemporaryDirectory() as out:
        rows = datasets.load_dataset("json", data_files=file, split="train")
        args = SFTConfig(output_dir=out, use_cpu=True, bf16=False, report_to=[], save_strategy="no", max_length=None, num_train_epochs=1)
        model = AutoModelForCausalLM.from_pretrained(folder)
        trainer = SFTTrainer(model=model, args=args, train_dataset=rows, processing_class=AutoTokenizer.from_pretrained(folder))
        seen, compute = [], trainer.compute_loss

        def compute_loss(model, inputs, *positional, **options):
            seen.append(int((inputs["labels"] != -100).sum()))
            return compute(model, inputs, *positional, **options)

        trainer.compute_loss = compute_loss
        trainer.train()
        return {"rows": len(rows), "tokens": sum(seen)}


def main(folder, model):
    found = {name: trained_by_sft(f"{folder}/{name}.jsonl", model) for name in ("trl", "openai")}
    print("\nfound " + json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
