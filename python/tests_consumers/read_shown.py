"""Reads exported files of rollouts that were shown pictures with the packages that are to read them, and prints what each holds as JSON:

    python -m tests_consumers.read_shown FOLDER MODEL

FOLDER has `verl.parquet` (rows of token ids), `steps.parquet` (verl, a row per step), `openai.jsonl` and `trl.jsonl`; MODEL is the folder of
the processor. A text of a prompt is a string, a picture the SHA-256 of its PNG.
"""

import base64
import hashlib
import io
import json
import os
import sys

import datasets
from omegaconf import OmegaConf
from openai.types.chat import ChatCompletionContentPartParam, ChatCompletionMessageParam
from PIL import Image
from pydantic import TypeAdapter
from transformers import AutoImageProcessor, AutoTokenizer, Qwen2_5_VLProcessor
from trl.trainer.sft_trainer import DataCollatorForVisionLanguageModeling
from verl.utils.dataset.rl_dataset import RLHFDataset


class Processor(Qwen2_5_VLProcessor):
    """The processor of a folder without its part for videos, which needs torchvision."""

    def check_argument_for_proper_class(self, name, argument):
        return None if name == "video_processor" else super().check_argument_for_proper_class(name, argument)


def processor_of(folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    images = AutoImageProcessor.from_pretrained(folder, backend="pil")
    return Processor(image_processor=images, tokenizer=tokenizer, chat_template=tokenizer.chat_template)


def picture(png):
    Image.open(io.BytesIO(png)).convert("RGB").load()
    return {"png": hashlib.sha256(png).hexdigest()}


def said(content, picture_of):
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [part["text"] if part["type"] == "text" else picture_of(part) for part in parts]


def chat(messages, picture_of):
    return [{"role": each["role"], "parts": said(each["content"], picture_of)} for each in messages]


def by_verl(file, processor):
    """Rows as verl's RLHFDataset returns them to its rollouts."""
    config = OmegaConf.create({"prompt_key": "raw_prompt", "image_key": "images", "filter_overlong_prompts": False, "cache_dir": file + ".cache"})
    rows = RLHFDataset(file, processor.tokenizer, config, processor)
    read = []
    for i in range(len(rows)):
        row = rows[i]
        # rendered as a rollout does it: as many image tokens as there are pictures is checked by the processor
        images = [part["image"] for each in row["raw_prompt"] if not isinstance(each["content"], str) for part in each["content"] if "image" in part]
        text = processor.apply_chat_template(row["raw_prompt"], add_generation_prompt=True, tokenize=False)
        ids = processor(text=[text], images=images or None)["input_ids"][0]
        read.append({"prompt": chat(row["raw_prompt"], lambda part: picture(part["bytes"])), "ids": list(map(int, ids)), "row": row})
    return read


def token_rows(file, processor):
    names = ("step_ids", "prompts", "responses", "response_mask", "tokenised")
    return [{**{name: each["row"][name] for name in names}, "prompt": each["prompt"]} for each in by_verl(file, processor)]


def step_rows(file, processor):
    return [
        {"step_ids": [each["row"]["step_id"]], "prompt": each["prompt"], "reply": each["row"]["response_text"], "ids": each["ids"]}
        for each in by_verl(file, processor)
    ]


def by_openai(file):
    """Rows as the types of the package openai take them: a conversation with its reply last."""
    messages_of = TypeAdapter(list[ChatCompletionMessageParam])
    parts_of = TypeAdapter(list[ChatCompletionContentPartParam])

    def png(part):
        kind, data = part["image_url"]["url"].split(",")
        assert kind == "data:image/png;base64", kind
        return picture(base64.b64decode(data, validate=True))

    read = []
    with open(file, encoding="utf-8") as lines:
        for line in lines:
            messages = json.loads(line)["messages"]
            messages_of.validate_python(messages)
            for each in messages:  # the type of a message reads its parts only when they are iterated
                if not isinstance(each["content"], str):
                    parts_of.validate_python(each["content"])
            *prompt, reply = chat(messages, png)
            assert reply["role"] == "assistant", reply
            read.append({"prompt": prompt, "reply": "".join(reply["parts"])})
    return read


def by_trl(file, processor):
    """Rows as datasets reads them, and the prompt ids that TRL's collator for vision-language models makes of each."""
    os.chdir(os.path.dirname(file))  # paths of pictures are relative to the folder of the file
    rows = datasets.load_dataset("json", data_files=file, split="train")
    files = rows["images"]
    shown = rows.cast_column("images", datasets.List(datasets.Image()))
    collate = DataCollatorForVisionLanguageModeling(processor, completion_only_loss=True)
    read = []
    for row, paths, example in zip(rows, files, shown):
        pictures = iter([open(path, "rb").read() for path in paths])
        prompt = chat(row["prompt"], lambda _: picture(next(pictures)))
        assert next(pictures, None) is None, "a picture that no part of the prompt stands for"
        batch = collate([example])
        asked = (batch["labels"][0] == -100) & (batch["attention_mask"][0] == 1)
        ids = batch["input_ids"][0][asked].tolist()
        [reply] = chat(row["completion"], picture)
        read.append({"prompt": prompt, "reply": "".join(reply["parts"]), "ids": ids})
    return read


def main(folder, model):
    processor = processor_of(model)
    found = {
        "verl": token_rows(f"{folder}/verl.parquet", processor),
        "steps": step_rows(f"{folder}/steps.parquet", processor),
        "openai": by_openai(f"{folder}/openai.jsonl"),
        "trl": by_trl(f"{folder}/trl.jsonl", processor),
    }
    print("\nfound " + json.dumps(found))


if __name__ == "__main__":
    main(*map(os.path.abspath, sys.argv[1:]))
