"""Names the weights of a folder by a digest, and makes the folder one that vLLM, SGLang, transformers and `trainer.serve` open."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
from pathlib import Path

from ..errors import EspalierError
from ..leases import digest_file

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
ADAPTER, ADAPTER_CONFIG = "adapter_model.safetensors", "adapter_config.json"
# A tokenizer by its own files; without one of these nothing can turn a text into ids.
TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "sentencepiece.bpe.model")
# What is read next to the weights and does not change as they are trained.
BESIDES = (
    *TOKENIZERS,
    *("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "merges.txt", "chat_template.jinja", "chat_template.json"),
    *("generation_config.json", "preprocessor_config.json", "processor_config.json", "video_preprocessor_config.json"),
)


class Weights(str):
    """The SHA-256 of the weights of a folder in lower-case hex; `folder` is where they are."""

    folder: Path

    def __new__(cls, digest: str, folder: Path) -> Weights:
        weights = super().__new__(cls, digest)
        weights.folder = folder
        return weights


def publish_folder(folder: str | os.PathLike[str], *, like: str | os.PathLike[str] | None = None) -> Weights:
    """Checks that a folder holds a whole model, completes it and syncs it to the disk. Returns its Weights.

    The weights are safetensors: `model.safetensors`, parts under `model.safetensors.index.json`, or an adapter; the digest is that of
    the one file, or of the names and digests of the parts. Files of the tokenizer and the processor that are missing are copied from
    the folder `like`. Raises EspalierError that names the file that is missing or cut."""
    path = Path(folder)
    if not path.is_dir():
        raise _refuse(path, "is no folder", "write one with model.save_pretrained(folder)")
    files = _weight_files(path)
    for file in files:
        _check_whole(file)
    config = ADAPTER_CONFIG if files[0].name == ADAPTER else "config.json"
    if not (path / config).is_file():
        raise _refuse(path, f"has no {config}", "write the folder with model.save_pretrained(folder)")
    _complete(path, None if like is None else Path(like))
    if config == "config.json" and not any((path / name).is_file() for name in TOKENIZERS):
        raise _refuse(path, "has no tokenizer, and no server opens it without one", "tokenizer.save_pretrained(folder) writes it")
    digest = digest_file(files[0]) if len(files) == 1 else _digest_of_parts(files)
    for each in (*(file for file in path.iterdir() if file.is_file()), path):
        _sync(each)
    return Weights(digest, path)


def _weight_files(path: Path) -> list[Path]:
    if (path / INDEX).is_file():
        try:
            names = sorted(set(json.loads((path / INDEX).read_text())["weight_map"].values()))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise _refuse(path / INDEX, "is no index of parts", "save the model again") from None
        missing = [name for name in names if not (path / name).is_file()]
        if missing or not names:
            raise _refuse(path, f"lacks the part {missing[0]}" if missing else "has an index without parts", "save the model again")
        return [path / name for name in names]
    found = [path / name for name in (SINGLE, ADAPTER) if (path / name).is_file()]
    if not found:
        raise _refuse(path, f"has no {SINGLE}", "save the model with model.save_pretrained(folder): pickled weights are not taken")
    return found[:1]


def _check_whole(file: Path) -> None:
    size = file.stat().st_size
    with file.open("rb") as body:
        start = body.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else -1
        try:
            header = json.loads(body.read(length)) if 0 <= length <= size - 8 else None
            ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"] if header else []
        except (ValueError, KeyError, TypeError, AttributeError, IndexError):
            ends = []
    if not ends or 8 + length + max(ends) != size:
        raise _refuse(file, f"is cut or no safetensors file ({size} bytes)", "save the model again, and publish it when that is done")


def _complete(path: Path, like: Path | None) -> None:
    if like is None or like.resolve() == path.resolve():
        return
    # A tokenizer is one thing in several files: parts of two do not go together.
    own = any((path / name).is_file() for name in TOKENIZERS)
    for name in BESIDES:
        source, target = like / name, path / name
        taken = own and ("token" in name or name in TOKENIZERS or name == "merges.txt")
        if source.is_file() and not target.exists() and not taken:
            partial = path / f".{name}.partial"
            shutil.copyfile(source, partial)
            os.replace(partial, target)


def _digest_of_parts(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.name} {digest_file(file)}\n".encode())
    return digest.hexdigest()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _refuse(path: Path, what: str, remedy: str) -> EspalierError:
    return EspalierError(f"{path} {what}", remedy=remedy, field="folder")
