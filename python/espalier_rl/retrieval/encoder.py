"""Embeds texts by an encoder of transformers from a folder on disk."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# What published encoders were trained with in front of a text: E5 (arXiv:2212.03533, §4), BGE (its English models, v1 and v1.5).
PREFIXES = {
    "e5": ("query: ", "passage: "),
    "bge": ("Represent this sentence for searching relevant passages: ", ""),
    "none": ("", ""),
}
POOLINGS = ("mean", "cls")
BATCH = 64  # texts of one pass


@dataclass(frozen=True)
class Reading:
    """How texts are read: what is put in front of them, how the states of their tokens become one vector, how many tokens count."""

    prefixes: str = "e5"
    pooling: str = "mean"
    max_length: int = 256

    def __post_init__(self) -> None:
        if self.prefixes not in PREFIXES:
            raise ValueError(f"prefixes must be one of {', '.join(PREFIXES)}, not {self.prefixes!r}")
        if self.pooling not in POOLINGS:
            raise ValueError(f"pooling must be one of {', '.join(POOLINGS)}, not {self.pooling!r}")


class Encoder:
    """An encoder in evaluation mode. Vectors are normalised, so that their inner product is the cosine."""

    def __init__(self, folder: str | os.PathLike[str], reading: Reading, device: Any = None) -> None:
        import torch
        from transformers import AutoModel, AutoTokenizer

        if not os.path.isfile(os.path.join(folder, "config.json")):
            raise ValueError(f"{folder} holds no model: there is no config.json in it")
        self._torch, self._reading = torch, reading
        self._device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self._tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self._model = AutoModel.from_pretrained(folder, local_files_only=True, dtype=torch.float32).to(self._device).eval()

    def queries(self, texts: Sequence[str]) -> Any:
        """Returns the vectors of queries, [texts, dimension] float32."""
        return self._embed([PREFIXES[self._reading.prefixes][0] + text for text in texts])

    def passages(self, texts: Sequence[str]) -> Any:
        """Returns the vectors of passages, [texts, dimension] float32."""
        return self._embed([PREFIXES[self._reading.prefixes][1] + text for text in texts])

    def _embed(self, texts: Sequence[str]) -> Any:
        import numpy

        return numpy.concatenate([self._pass(texts[i : i + BATCH]) for i in range(0, len(texts), BATCH)])

    def _pass(self, texts: Sequence[str]) -> Any:
        torch = self._torch
        cut = {"padding": True, "truncation": True, "max_length": self._reading.max_length, "return_tensors": "pt"}
        given = self._tokenizer(texts, **cut).to(self._device)
        with torch.inference_mode():
            states = self._model(**given).last_hidden_state
            if self._reading.pooling == "cls":
                pooled = states[:, 0]
            else:
                mask = given["attention_mask"][..., None].to(states.dtype)
                pooled = (states * mask).sum(dim=1) / mask.sum(dim=1)
            return torch.nn.functional.normalize(pooled, dim=-1).float().cpu().numpy()


def fingerprint_model(folder: str | os.PathLike[str]) -> str:
    """Returns the SHA-256 (hex) of what determines a model: the names and bytes of its weights, configuration and tokenizer."""
    digest = hashlib.sha256()
    for name in sorted(os.listdir(folder)):
        if name.endswith((".json", ".safetensors", ".bin", ".txt", ".model")):
            digest.update(json.dumps([name, digest_of(os.path.join(folder, name))]).encode())
    return digest.hexdigest()


def digest_of(path: str | os.PathLike[str]) -> str:
    """Returns the SHA-256 (hex) of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else _digest(file)


def _digest(file: Any) -> str:
    digest = hashlib.sha256()
    while block := file.read(1 << 20):
        digest.update(block)
    return digest.hexdigest()
