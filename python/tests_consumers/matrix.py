"""Reads the exports of a folder with the packages that are to read them, and counts what each trains on:

    python -m tests_consumers.matrix FOLDER MODEL

FOLDER has a folder `one` and a folder `two` of each format (`one/trl/data.jsonl`), MODEL the tiny talker with its tokenizer, a token per
sign. Prints `found` and a list of rows as JSON: the format, the reader with its version, what it read, and numbers.
"""

import contextlib
import glob
import importlib.machinery
import importlib.util
import io
import json
import os
import sys
import tempfile
import types
from importlib.metadata import version

import atif
import datasets
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.json
import pyarrow.parquet
import torch
from omegaconf import OmegaConf
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer
from verl import DataProto
from verl.utils.dataset.rl_dataset import RLHFDataset

if importlib.util.find_spec("torchaudio") is None:  # LLaMA-Factory imports it next to its converters, which have no use for it
    sys.modules["torchaudio"] = types.ModuleType("torchaudio")
    sys.modules["torchaudio"].__spec__ = importlib.machinery.ModuleSpec("torchaudio", None)

FOUND = []
WITH_GENERATION = (
    "{% for m in messages %}{{ m.role }}:{% if m.role == 'assistant' %}{% generation %}{{ m.content }}<end>{% endgeneration %}"
    "{% else %}{{ m.content }}<end>{% endif %}{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"
)


def found(format, reader, package, read, **numbers):
    FOUND.append({"format": format, "reader": reader, "version": version(package), "read": read, **numbers})


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def counted(trainer, count):
    """Trains, and adds up what `count` finds in the batches that the loss is computed of."""
    seen, compute = [], trainer.compute_loss

    def compute_loss(model, inputs, *positional, **options):
        seen.append(count(inputs))
        return compute(model, inputs, *positional, **options)

    trainer.compute_loss = compute_loss
    trainer.train()
    return int(sum(seen))


def common(out):
    return {"output_dir": out, "use_cpu": True, "bf16": False, "report_to": [], "save_strategy": "no", "max_length": None, "num_train_epochs": 1, "disable_tqdm": True}


def by_sft(folder, format, model, **options):
    tokenizer = AutoTokenizer.from_pretrained(model)
    if options.get("assistant_only_loss"):
        tokenizer.chat_template = WITH_GENERATION
    rows = datasets.load_dataset("json", data_files=f"{folder}/{format}/data.jsonl", split="train")
    with tempfile.TemporaryDirectory() as out:
        args = SFTConfig(**common(out), **options)
        trainer = SFTTrainer(model=AutoModelForCausalLM.from_pretrained(model), args=args, train_dataset=rows, processing_class=tokenizer)
        tokens = counted(trainer, lambda inputs: int((inputs["labels"] != -100).sum()))
    name = "SFTTrainer" + ("(assistant_only_loss=True)" if options.get("assistant_only_loss") else "")
    found(format, f"TRL {name}", "trl", "file", rows=len(rows), tokens=tokens)


def by_dpo(folder, model):
    rows = datasets.load_dataset("json", data_files=f"{folder}/dpo/data.jsonl", split="train")
    with tempfile.TemporaryDirectory() as out:
        args = DPOConfig(**common(out))
        trainer = DPOTrainer(
            model=AutoModelForCausalLM.from_pretrained(model),
            args=args,
            train_dataset=rows.select_columns(["prompt", "chosen", "rejected"]),
            processing_class=AutoTokenizer.from_pretrained(model),
        )
        tokens = counted(trainer, lambda inputs: int(inputs["completion_mask"].sum()))
    found("dpo", "TRL DPOTrainer", "trl", "file", rows=len(rows), tokens=tokens)


def by_llamafactory(folder, format, tokenizer):
    """Every reply of what its converters make of a row is trained on, unless a user masks the history."""
    from llamafactory.data.converter import OpenAIDatasetConverter, SharegptDatasetConverter
    from llamafactory.data.parser import DatasetAttr

    attributes = DatasetAttr(load_from="file", dataset_name=format, formatting=format)
    if format == "openai":
        for name, value in {"messages": "messages", "role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant", "system_tag": "system"}.items():
            setattr(attributes, name, value)
    convert = {"openai": OpenAIDatasetConverter, "sharegpt": SharegptDatasetConverter}[format](attributes, None)
    rows = lines(f"{folder}/{format}/data.jsonl")
    replies = [each["content"] for row in map(convert, rows) for each in [*row["_prompt"], *row["_response"]] if each["role"] == "assistant"]
    tokens = sum(len(tokenizer(reply)["input_ids"]) + 1 for reply in replies)
    found(format, "LLaMA-Factory converter", "llamafactory", "file", rows=len(rows), tokens=tokens, weight=float(len(replies)))


def xtuner_encode():
    """xtuner's `encode_fn` from its own file: the package around it imports mmengine and models that it does not use."""
    root = os.path.dirname(importlib.util.find_spec("xtuner").origin)
    constants = loaded("xtuner_constants", f"{root}/utils/constants.py")
    sys.modules["xtuner.utils"] = types.SimpleNamespace(**vars(constants))
    return loaded("xtuner_dataset_utils", f"{root}/dataset/utils.py").encode_fn


def loaded(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def by_xtuner(folder, tokenizer):
    encode = xtuner_encode()
    tokenizer.bos_token = tokenizer.eos_token  # which xtuner puts before each turn, without loss
    rows = lines(f"{folder}/xtuner/data.jsonl")
    tokens = sum(label != -100 for row in rows for label in encode(row, tokenizer, 4096)["labels"])
    found("xtuner", "xtuner encode_fn", "xtuner", "file", rows=len(rows), tokens=tokens)


def by_atif(folder, tokenizer):
    rows = [atif.Trajectory.model_validate(row) for row in lines(f"{folder}/atif/data.jsonl")]
    replies = [step for row in rows for step in row.steps if step.source == "agent" and not step.is_copied_context]
    tokens = sum(len(tokenizer(step.message)["input_ids"]) + 1 for step in replies)
    found("atif", "atif Trajectory", "atif", "file", rows=len(rows), tokens=tokens, weight=float(len(replies)))


def by_rlhf(folder, tokenizer):
    config = OmegaConf.create({"cache_dir": f"{folder}/cache"})
    rows = RLHFDataset(f"{folder}/prompts/data.parquet", tokenizer, config)
    truths = sorted(rows[i]["reward_model"]["ground_truth"] for i in range(len(rows)))
    found("verl --data prompts", "verl RLHFDataset", "verl", "file", rows=len(rows), truths=truths)


def by_data_proto(folder):
    table = datasets.load_dataset("parquet", data_files=f"{folder}/verl/data.parquet", split="train")
    width = max(len(ids) for ids in table["responses"])
    padded = lambda name: torch.tensor([[*row, *[0] * (width - len(row))] for row in table[name]])
    data = DataProto.from_dict(
        tensors={"responses": padded("responses"), "response_mask": padded("response_mask"), "token_level_scores": padded("token_level_scores")},
        non_tensors={"uid": np.array(table["uid"], dtype=object)},
    )
    whole = DataProto.concat([data[:1], data[1:]])
    score = float(whole.batch["token_level_scores"].sum())
    found("verl --tokenizer", "verl DataProto", "verl", "file", rows=len(whole), tokens=int(whole.batch["response_mask"].sum()), score=round(score, 4))


def by_datasets(folder, format):
    files = sorted(glob.glob(f"{folder}/*/{format}/data.*"))
    for read, options in (
        ("file", {"data_files": files[0]}),
        ("two runs", {"data_files": files}),
        ("two runs, the other first", {"data_files": files[::-1]}),
    ):
        kind = "parquet" if files[0].endswith(".parquet") else "json"
        counts(format, read, datasets.load_dataset(kind, **options, split="train"))
    counts(format, "folder", datasets.load_dataset(f"{folder}/one/{format}", split="train"))


def counts(format, read, rows):
    numbers = {"tokens": sum(map(sum, rows["loss_mask"]))} if "loss_mask" in rows.column_names else {}
    if format == "parquet":
        numbers = {"weight": float(sum(step["weight"] for row in rows["steps"] for step in row))}
    found(format, "load_dataset", "datasets", read, rows=len(rows), **numbers)


def by_tables(folder):
    """Sums of what a file says is trained on, by readers of tables."""
    path, steps = f"{folder}/trl-tokens/data.jsonl", f"{folder}/parquet/data.parquet"
    for name, masks, weights in (
        ("pandas", pd.read_json(path, lines=True)["loss_mask"].map(sum).sum(), sum(step["weight"] for row in pd.read_parquet(steps)["steps"] for step in row)),
        ("polars", pl.read_ndjson(path)["loss_mask"].list.sum().sum(), pl.read_parquet(steps)["steps"].explode().struct.field("weight").sum()),
        (
            "duckdb",
            duckdb.sql(f"select sum(list_sum(loss_mask)) from read_json('{path}')").fetchall()[0][0],
            duckdb.sql(f"select sum(list_sum(list_transform(steps, lambda step: step.weight))) from '{steps}'").fetchall()[0][0],
        ),
        (
            "pyarrow",
            sum(sum(row) for row in pyarrow.json.read_json(path)["loss_mask"].to_pylist()),
            sum(step["weight"] for row in pyarrow.parquet.read_table(steps)["steps"].to_pylist() for step in row),
        ),
    ):
        found("trl --tokenizer", name, name, "file", tokens=int(masks))
        found("parquet", name, name, "file", weight=float(weights))


def by_hub_layout(folder):
    for split in ("train", "test"):
        rows = datasets.load_dataset(f"{folder}/hf", split=split)
        found("trl --layout hf", "load_dataset", "datasets", f"folder, split {split}", rows=len(rows))


def main(folder, model):
    tokenizer = AutoTokenizer.from_pretrained(model)
    one = f"{folder}/one"
    by_sft(one, "trl", model)
    by_sft(one, "trl-tokens", model)
    by_sft(one, "openai", model, assistant_only_loss=True)
    by_dpo(one, model)
    for format in ("openai", "sharegpt"):
        by_llamafactory(one, format, tokenizer)
    by_xtuner(one, tokenizer)
    by_atif(one, tokenizer)
    by_rlhf(one, tokenizer)
    by_data_proto(one)
    for format in ("openai", "sharegpt", "trl", "trl-tokens", "trl-grpo", "xtuner", "dpo", "atif", "parquet"):
        by_datasets(folder, format)
    by_tables(one)
    by_hub_layout(one)
    print("\nfound " + json.dumps(FOUND))


if __name__ == "__main__":
    with contextlib.redirect_stderr(io.StringIO()) if os.environ.get("QUIET") else contextlib.nullcontext():
        main(*map(os.path.abspath, sys.argv[1:]))
