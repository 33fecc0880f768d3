"""Writes a trainer's state as a folder named by its digest, whole or not at all, and reads it back."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch

from .language_model import ModelRefused
from .sharding import like, whole
from .tensors import TensorError, digest_tensors, read_tensors, write_tensors

FORMAT = "espalier-torch/1"


class CheckpointDamaged(Exception):
    """The folder is no checkpoint, or its bytes are not those that were written."""


def save_checkpoint(trainer: Any, folder: str | Path) -> dict[str, Any]:
    """Writes the checkpoint under `folder`. Returns its state: format, checkpoint (its digest and folder's name), weights
    (digest), steps.

    Who is killed leaves no folder of that name that is cut: files are synced before the rename. The bytes do not depend on how many processes
    hold the model; all of them call this, and the first writes.
    """
    folder = Path(folder)
    first = trainer.processes.rank == 0
    weights, rest = trainer.model.tensors(), _optimiser_tensors(trainer)
    if not first:  # it only took part in putting the tensors together
        return {}
    folder.mkdir(parents=True, exist_ok=True)
    partial, target = Path(tempfile.mkdtemp(prefix=".partial-", dir=folder)), folder
    try:
        with ThreadPoolExecutor() as threads:  # hashing and writing go on side by side
            digests = [threads.submit(digest_tensors, each) for each in (weights, rest)]
            write_tensors(partial / "trainer.safetensors", rest)
            trainer.model.save(partial, weights)
            described = {"format": FORMAT, "weights": digests[0].result(), "steps": trainer.steps, "rest": digests[1].result()}
        state = {**described, "checkpoint": hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()}
        target = folder / state["checkpoint"]
        if not target.exists():
            (partial / "state.json").write_text(json.dumps(state, sort_keys=True))
            for file in (*partial.iterdir(), partial):
                _sync(file)
            os.replace(partial, target)
            _sync(folder)
    except OSError:
        # Another process may have written the same checkpoint meanwhile: its bytes are these.
        if target == folder or not target.exists():
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return state


def load_checkpoint(trainer: Any, folder: str | Path) -> dict[str, Any]:
    """Puts a trainer into the state of a checkpoint. Returns that state. Raises CheckpointDamaged."""
    folder = Path(folder)
    try:
        state: dict[str, Any] = json.loads((folder / "state.json").read_text())
        rest = read_tensors(folder / "trainer.safetensors")
        fresh = trainer.model.read(folder)
    except (OSError, ValueError, RuntimeError, TensorError, ModelRefused) as error:
        raise CheckpointDamaged(f"{folder} is no whole checkpoint: {error}") from error
    if state.get("format") != FORMAT:
        raise CheckpointDamaged(f"{folder} has the format {state.get('format')!r}, not {FORMAT!r}")
    with ThreadPoolExecutor() as threads:
        found = list(threads.map(digest_tensors, (fresh, rest)))
    if found != [state["weights"], state["rest"]]:
        raise CheckpointDamaged(f"the tensors of {folder} are not those that were written")
    try:
        trainer.model.put(fresh)
        _restore_optimiser(trainer, rest)
    except (RuntimeError, KeyError) as error:
        raise CheckpointDamaged(f"{folder} holds another model or optimiser than this: {error}") from error
    trainer.steps = state["steps"]
    return state


def _optimiser_tensors(trainer: Any) -> dict[str, Any]:
    tensors = {f"head.{name}": tensor for name, tensor in (trainer.head.state_dict() if trainer.head else {}).items()}
    for index, entry in trainer.optimiser.state_dict()["state"].items():
        for name, value in entry.items():
            tensors[f"optimiser.{index}.{name}"] = whole(value) if torch.is_tensor(value) else torch.tensor(float(value))
    return tensors


def _restore_optimiser(trainer: Any, rest: Any) -> None:
    if trainer.head:
        trainer.head.load_state_dict({name.removeprefix("head."): rest[name] for name in rest if name.startswith("head.")})
    state: dict[int, dict[str, Any]] = {}
    for name, tensor in rest.items():
        if name.startswith("optimiser."):
            _, index, field = name.split(".", 2)
            state.setdefault(int(index), {})[field] = tensor
    own, parameters = trainer.optimiser.state_dict(), trainer.parameters()
    for index, entry in state.items():  # a parameter that no loss has reached yet has no moments
        if index >= len(parameters) or entry["exp_avg"].shape != parameters[index].shape:
            raise KeyError(f"moments of a parameter {index} that is not there or of another shape")
        # Copies, of the counts of steps too: what was read lies over the pages of the file, which would stay open.
        state[index] = {name: value.clone() for name, value in entry.items()}
        for name in ("exp_avg", "exp_avg_sq"):
            state[index][name] = like(parameters[index], state[index][name])
    trainer.optimiser.load_state_dict({**own, "state": state})


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
