"""Reads the exports of a folder with the packages that are to read them, and counts what each trains on:

    python -m tests_consumers.matrix FOLDER MODEL

FOLDER has a folder `one` and a folder `two` of each format (`one/trl/data.jsonl`), a folder `mined` of examples of searched trees, `several`
with files of all three, and `lease.safetensors`, the body of a leased batch; MODEL is the tiny talker with its tokenizer, a token per sign. Prints `found` and a list of rows as JSON: the format, the reader with its
version, what it read, how many rows, how many tokens it trains on, and the sum of their weights.
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
from pathlib import Path

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
from trl import DPOConfig, DPOTrainer, GRPOConfig, SFTConfig, SFTTrainer
from verl import DataProto
from verl.utils.dataset.rl_dataset import RLHFDataset

from espalier_rl.adapters.trl import LeasedRollouts, RecordedDPOTrainer, RecordedGRPOTrainer, ScoredCompletions, preference_dataset, sft_dataset
from espalier_rl.adapters.verl import data_proto
from espalier_rl.rows import Rows

from . import trained
from .tiny_llava import tiny_llava
from .trained import by_completions, by_labels, rounded, runs, trained_by

if importlib.util.find_spec("torchaudio") is None:  # LLaMA-Factory imports it next to its converters, which have no use for it
    sys.modules["torchaudio"] = types.ModuleType("torchaudio")
    sys.modules["torchaudio"].__spec__ = importlib.machinery.ModuleSpec("torchaudio", None)

os.environ["DISABLE_VERSION_CHECK"] = "1"  # LLaMA-Factory 0.9.5 asks for an older transformers than TRL is tested with
if importlib.util.find_spec("verl.models.transformers.qwen2_vl"):  # its positions of pictures ask for an older one, too
    sys.modules["verl.models.transformers.qwen2_vl"] = types.SimpleNamespace(get_rope_index=None)

from verl.utils.dataset.multiturn_sft_dataset import MultiTurnSFTDataset  # noqa: E402  behind what it imports

FOUND = []
WITH_GENERATION = (
    "{% for m in messages %}{{ m.role }}:{% if m.role == 'assistant' %}{% generation %}{{ m.content }}<end>{% endgeneration %}"
    "{% else %}{{ m.content }}<end>{% endif %}{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"
)


def found(format, reader, package, read, rows, counted):
    FOUND.append({"format": format, "reader": reader, "version": version(package), "read": read, "rows": rows, **counted._asdict()})


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def common(out):
    return {"output_dir": out, "use_cpu": True, "bf16": False, "report_to": [], "save_strategy": "no", "max_length": None, "num_train_epochs": 1, "disable_tqdm": True}


def file_of(folder, format):
    """The file of a format, and what `load_dataset` calls its form."""
    [path] = glob.glob(f"{folder}/{format.removeprefix('mined-')}/data.*")
    return path, "parquet" if path.endswith(".parquet") else "json"


def by_sft(folder, format, model, **options):
    tokenizer = AutoTokenizer.from_pretrained(model)
    if options.get("assistant_only_loss"):
        tokenizer.chat_template = WITH_GENERATION
    path, kind = file_of(folder, format)
    rows = datasets.load_dataset(kind, data_files=path, split="train")
    with tempfile.TemporaryDirectory() as out:
        args = SFTConfig(**common(out), **options)
        trainer = SFTTrainer(model=AutoModelForCausalLM.from_pretrained(model), args=args, train_dataset=rows, processing_class=tokenizer)
        counted = trained_by(trainer, by_labels)
    name = "SFTTrainer" + ("(assistant_only_loss=True)" if options.get("assistant_only_loss") else "")
    found(format, f"TRL {name}", "trl", "file", len(rows), counted)


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
        counted = trained_by(trainer, by_completions)
    found("dpo", "TRL DPOTrainer", "trl", "file", len(rows), counted)


class OneLease:
    """A client whose only batch is this body."""

    base = {"version": 0}

    def __init__(self, rows):
        self.rows, self.acknowledged = rows, None

    def batches(self, policy_id, *, layout, idle_s, ttl_s):
        yield self

    def ack(self, **made):
        self.acknowledged = made
        return {"kind": "acked", "version": 1}


def by_leases(folder, model):
    """A leased batch of the server by the trainers of TRL and as a DataProto of verl."""
    body = Path(folder, "lease.safetensors").read_bytes()
    tokenizer = AutoTokenizer.from_pretrained(model)

    def load():
        return AutoModelForCausalLM.from_pretrained(model)

    with tempfile.TemporaryDirectory() as out:
        rows = sft_dataset(Rows(body))
        trainer = SFTTrainer(model=load(), args=SFTConfig(**common(out)), train_dataset=rows, processing_class=tokenizer)
        found("lease", "TRL SFTTrainer", "trl", "body", len(rows), trained_by(trainer, by_labels))
        pairs = preference_dataset(Rows(body))
        trainer = RecordedDPOTrainer(model=load(), args=DPOConfig(**common(out)), train_dataset=pairs, processing_class=tokenizer)
        found("lease", "TRL DPOTrainer", "trl", "body", len(pairs), trained_by(trainer, by_completions))
        lease = OneLease(Rows(body))
        options = {name: value for name, value in common(out).items() if name not in ("max_length", "num_train_epochs")}
        shape = {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 1, "num_generations": 4, "max_completion_length": 32, "max_steps": 1}
        args = GRPOConfig(**options, **shape, logging_steps=1, temperature=1.0, beta=0.0)
        trainer = RecordedGRPOTrainer(model=load(), source=LeasedRollouts(lease, "p"), args=args, processing_class=tokenizer)
        counted = trained_by(trainer, lambda inputs: (int((inputs["completion_mask"] * inputs["tool_mask"]).sum()), 0))
    rewards = rounded(lease.acknowledged["metrics"]["reward"] * 4)  # TRL measures their mean
    found("lease", "TRL GRPOTrainer", "trl", "body, as rollouts", 4, counted._replace(weight=rewards))
    data = data_proto(Rows(body))
    found("lease", "verl DataProto", "verl", "body", len(data), in_proto(data))


def by_grpo(folder, model):
    """A file of scored completions as the rollouts of GRPOTrainer: the first two of each group, as its groups are of one size."""
    tokenizer = AutoTokenizer.from_pretrained(model)
    groups = {}
    for row in lines(f"{folder}/trl-grpo/data.jsonl"):
        groups.setdefault(row["group"], []).append(row)
    rows = [row for group in groups.values() for row in group[:2]]
    with tempfile.TemporaryDirectory() as out:
        Path(out, "two.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        source = ScoredCompletions(f"{out}/two.jsonl", tokenizer)
        options = {name: value for name, value in common(out).items() if name not in ("max_length", "num_train_epochs")}
        shape = {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 1, "num_generations": 2, "max_completion_length": 256, "max_steps": 1}
        args = GRPOConfig(**options, **shape, logging_steps=1, temperature=1.0, beta=0.0)
        trainer = RecordedGRPOTrainer(model=AutoModelForCausalLM.from_pretrained(model), source=source, args=args, processing_class=tokenizer)
        counted = trained_by(trainer, lambda inputs: (int((inputs["completion_mask"] * inputs["tool_mask"]).sum()), 0))
    rewards = rounded(source.updates[-1]["reward"] * len(rows))
    found("trl-grpo", "TRL GRPOTrainer", "trl", "file, as rollouts of two a group", len(rows), counted._replace(weight=rewards))


def in_proto(data):
    whole = DataProto.concat([data[:1], data[1:]])
    return trained.Counted(int(whole.batch["response_mask"].sum()), rounded(whole.batch["token_level_scores"].sum()))


def by_llamafactory(folder, format, tokenizer):
    """What its converter makes of a row, and its processor of that: the labels of the batches that it trains on, by the template of the tokenizer."""
    from llamafactory.data.converter import OpenAIDatasetConverter, SharegptDatasetConverter
    from llamafactory.data.parser import DatasetAttr
    from llamafactory.data.processor.supervised import SupervisedDatasetProcessor
    from llamafactory.data.template import parse_template
    from llamafactory.hparams import DataArguments

    formatting = format.split("-")[-1]
    attributes = DatasetAttr(load_from="file", dataset_name=format, formatting=formatting)
    if formatting == "openai":
        for name, value in {"messages": "messages", "role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant", "system_tag": "system"}.items():
            setattr(attributes, name, value)
    arguments = DataArguments(template="default", cutoff_len=4096)
    convert = {"openai": OpenAIDatasetConverter, "sharegpt": SharegptDatasetConverter}[formatting](attributes, arguments)
    rows = list(map(convert, lines(f"{folder}/{format.removeprefix('mined-')}/data.jsonl")))
    processor = SupervisedDatasetProcessor(template=parse_template(tokenizer), tokenizer=tokenizer, processor=None, data_args=arguments)
    labels = processor.preprocess_dataset({name: [row[name] for row in rows] for name in rows[0]})["labels"]
    found(format, "LLaMA-Factory SupervisedDatasetProcessor", "llamafactory", "file", len(labels), in_labels(labels))


def in_labels(labels):
    masks = [[int(label != -100) for label in row] for row in labels]
    return trained.Counted(sum(map(sum, masks)), float(sum(map(runs, masks))))


def by_verl_sft(folder, format, tokenizer):
    """verl's dataset of conversations, which reads Parquet: the file as `datasets` writes it."""
    rows = datasets.load_dataset("json", data_files=f"{folder}/{format.removeprefix('mined-')}/data.jsonl", split="train")
    with tempfile.TemporaryDirectory() as out:
        rows.select_columns(["messages"]).to_parquet(f"{out}/data.parquet")
        read = MultiTurnSFTDataset(f"{out}/data.parquet", tokenizer, {"pad_mode": "no_padding", "max_length": 4096})
        masks = [read[i]["loss_mask"].tolist() for i in range(len(read))]
    found(format, "verl MultiTurnSFTDataset", "verl", "file", len(masks), trained.Counted(sum(map(sum, masks)), float(sum(map(runs, masks)))))


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


def by_xtuner(folder, format, tokenizer):
    encode = xtuner_encode()
    tokenizer.bos_token = tokenizer.eos_token  # which xtuner puts before each turn, without loss
    file = f"{folder}/{format.removeprefix('mined-')}/data.jsonl"
    # through `datasets`, as xtuner reads files, a turn has every field that any turn of the file has
    for read, rows in (("file", lines(file)), ("file, by load_dataset", list(datasets.load_dataset("json", data_files=file, split="train")))):
        found(format, "xtuner encode_fn", "xtuner", read, len(rows), in_labels([encode(row, tokenizer, 4096)["labels"] for row in rows]))


def by_atif(folder, tokenizer):
    rows = [atif.Trajectory.model_validate(row) for row in lines(f"{folder}/atif/data.jsonl")]
    replies = [step for row in rows for step in row.steps if step.source == "agent" and not step.is_copied_context]
    tokens = sum(len(tokenizer(step.message)["input_ids"]) + 1 for step in replies)
    found("atif", "atif Trajectory", "atif", "file", len(rows), trained.Counted(tokens, float(len(replies))))


def by_rlhf(folder, tokenizer):
    config = OmegaConf.create({"cache_dir": f"{folder}/cache"})
    rows = RLHFDataset(f"{folder}/prompts/data.parquet", tokenizer, config)
    items = [rows[i] for i in range(len(rows))]
    prompted = sum(trained.prompted(item["raw_prompt"], tokenizer) for item in items)
    found("prompts", "verl RLHFDataset", "verl", "file", len(rows), trained.Prompts(prompted))
    FOUND[-1]["truths"] = sorted(item["reward_model"]["ground_truth"] for item in items)
    # as ToolAgentLoop asks for what a tool of a row is made with; the other row names no tool
    made = [(item["extra_info"]["need_tools_kwargs"], item["tools_kwargs"].get("judge", {}).get("create_kwargs", {}).get("ground_truth")) for item in items]
    assert sorted(made) == [(False, None), (True, "an axe")], made


def by_data_proto(folder):
    table = datasets.load_dataset("parquet", data_files=f"{folder}/verl/data.parquet", split="train")
    width = max(len(ids) for ids in table["responses"])
    padded = lambda name: torch.tensor([[*row, *[0] * (width - len(row))] for row in table[name]])
    data = DataProto.from_dict(
        tensors={"responses": padded("responses"), "response_mask": padded("response_mask"), "token_level_scores": padded("token_level_scores")},
        non_tensors={"uid": np.array(table["uid"], dtype=object)},
    )
    found("verl", "verl DataProto", "verl", "file", len(data), in_proto(data))


FORMATS = ("openai", "sharegpt", "trl", "trl-tokens", "trl-grpo", "xtuner", "dpo", "atif", "parquet", "verl", "prompts", "steps", "trl-tokens-parquet")
PICTURED = ("openai", "sharegpt", "trl", "trl-grpo", "parquet", "steps")


def by_datasets(folder, format, tokenizer, prefix=""):
    files = [*glob.glob(f"{folder}/one/{format}/data.*"), *glob.glob(f"{folder}/two/{format}/data.*")]
    kind = "parquet" if files[0].endswith(".parquet") else "json"
    for read, options in (
        ("file", {"data_files": files[0]}),
        ("two runs", {"data_files": files}),
        ("two runs, the other first", {"data_files": files[::-1]}),
    ):
        loaded_by_datasets(prefix + format, read, datasets.load_dataset(kind, **options, split="train"), tokenizer)
    loaded_by_datasets(prefix + format, "folder", datasets.load_dataset(f"{folder}/one/{format}", split="train"), tokenizer)


def loaded_by_datasets(format, read, rows, tokenizer):
    found(format, "load_dataset", "datasets", read, len(rows), trained.counted(format.removeprefix("seen-"), list(rows), tokenizer))


TABLES = {
    "pandas": lambda path: (pd.read_parquet(path) if path.endswith(".parquet") else pd.read_json(path, lines=True)).to_dict("records"),
    "polars": lambda path: (pl.read_parquet(path) if path.endswith(".parquet") else pl.read_ndjson(path)).to_dicts(),
    "duckdb": lambda path: duckdb.sql(f"select * from '{path}'").to_arrow_table().to_pylist(),
    "pyarrow": lambda path: (pyarrow.parquet.read_table(path) if path.endswith(".parquet") else pyarrow.json.read_json(path)).to_pylist(),
}


def by_tables(folder, format, tokenizer):
    """What readers of tables make of a file."""
    [path] = glob.glob(f"{folder}/{format}/data.*")
    for name, read in TABLES.items():
        rows = read(path)
        found(format, name, name, "file", len(rows), trained.counted(format, rows, tokenizer))


def by_pictured(folder, tokenizer):
    """Files whose pictures begin behind the rows that polars looks at: it and pyarrow are asked to look at all."""
    everything = {
        "polars": lambda path: pl.read_ndjson(path, infer_schema_length=None).to_dicts(),
        "pyarrow": lambda path: pyarrow.json.read_json(path, read_options=pyarrow.json.ReadOptions(block_size=os.path.getsize(path) + 1)).to_pylist(),
    }
    said = {"polars": "file, infer_schema_length=None", "pyarrow": "file, block_size of the file"}
    for format in PICTURED:
        by_datasets(folder, format, tokenizer, prefix="seen-")
        path, kind = file_of(f"{folder}/one", format)
        for name, read in TABLES.items():
            whole = kind == "json" and name in everything
            rows = (everything[name] if whole else read)(path)
            found("seen-" + format, name, name, said[name] if whole else "file", len(rows), trained.counted(format, rows, tokenizer))


def by_vision_sft(folder, model):
    """A file with pictures by the trainer of vision-language models, which is shown each picture of it."""
    path = os.path.abspath(f"{folder}/trl/data.jsonl")
    network, processor = tiny_llava(AutoTokenizer.from_pretrained(model))
    shown = []

    def count(inputs):
        shown.append(len(inputs["pixel_values"]) if "pixel_values" in inputs else 0)
        return by_labels(inputs)

    with tempfile.TemporaryDirectory() as out, contextlib.chdir(os.path.dirname(path)):  # paths of pictures begin there
        rows = datasets.load_dataset("json", data_files=path, split="train").cast_column("images", datasets.List(datasets.Image()))
        trainer = SFTTrainer(model=network, args=SFTConfig(**common(out)), train_dataset=rows, processing_class=processor)
        counted = trained_by(trainer, count)
    pictures = sum(len(row["images"]) for row in lines(path))
    assert sum(shown) == pictures > 0, f"{sum(shown)} of {pictures} pictures were shown"
    found("seen-trl", "TRL SFTTrainer, vision", "trl", "file", len(rows), counted)


def by_hub_layout(folder, tokenizer):
    for split in ("train", "test"):
        rows = datasets.load_dataset(f"{folder}/hf", split=split)
        found("trl-tokens --layout hf", "load_dataset", "datasets", f"folder, split {split}", len(rows), trained.counted("trl-tokens", list(rows), tokenizer))


def by_mined(folder, model, tokenizer):
    mined = f"{folder}/mined"
    by_sft(mined, "mined-trl", model)
    by_sft(mined, "mined-trl-tokens", model)
    by_sft(mined, "mined-trl-tokens-parquet", model)
    by_llamafactory(mined, "mined-openai", tokenizer)
    by_verl_sft(mined, "mined-openai", tokenizer)
    by_xtuner(mined, "mined-xtuner", AutoTokenizer.from_pretrained(model))
    rows = datasets.load_dataset("json", data_files=f"{mined}/agent-r/data.jsonl", split="train")
    found("mined-agent-r", "load_dataset", "datasets", "file", len(rows), trained.counted("agent-r", list(rows), tokenizer))
    loaded_by_datasets("trl", "folder of two runs and mined examples", datasets.load_dataset(f"{folder}/several", split="train"), tokenizer)


def main(folder, model):
    tokenizer = AutoTokenizer.from_pretrained(model)
    one = f"{folder}/one"
    by_sft(one, "trl", model)
    by_sft(one, "trl-tokens", model)
    by_sft(one, "trl-tokens-parquet", model)
    by_sft(one, "openai", model, assistant_only_loss=True)
    by_dpo(one, model)
    for format in ("openai", "sharegpt"):
        by_llamafactory(one, format, tokenizer)
    by_verl_sft(one, "openai", tokenizer)
    by_mined(folder, model, tokenizer)
    by_xtuner(one, "xtuner", AutoTokenizer.from_pretrained(model))
    by_atif(one, tokenizer)
    by_rlhf(one, tokenizer)
    by_data_proto(one)
    by_grpo(one, model)
    by_leases(folder, model)
    for format in FORMATS:
        by_datasets(folder, format, tokenizer)
    for format in FORMATS:
        by_tables(one, format, tokenizer)
    by_pictured(f"{folder}/seen", tokenizer)
    by_vision_sft(f"{folder}/seen/one", model)
    by_hub_layout(one, tokenizer)
    print("\nfound " + json.dumps(FOUND))


if __name__ == "__main__":
    with contextlib.redirect_stderr(io.StringIO()) if os.environ.get("QUIET") else contextlib.nullcontext():
        main(*map(os.path.abspath, sys.argv[1:]))
