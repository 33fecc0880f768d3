"""Writes the samples of slime's rollout dumps (`--save-debug-rollout-data`, `--dump-details`) as JSON in lines, which `espalier import` reads:

    python -m espalier_rl.adapters.slime dump/rollout_data/*.pt > samples.jsonl

Needs torch; slime need not be installed, and no code of a dump is run.
"""

from __future__ import annotations

import argparse
import json
import pickle
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any


def samples_of(path: str | Path, left_out: Counter[str] | None = None) -> Iterator[dict[str, Any]]:
    """Yields the samples of a dump as JSON has them. Fields of more than one dimension, such as pixels and routed experts, are counted in `left_out`.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no dump of slime, or holds more than numbers, texts and tensors.
    """
    import torch

    try:
        with torch.serialization.safe_globals(_arrays()):
            dump = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
        raise ValueError(f"{path} is no dump that can be read without running its code: {str(error).splitlines()[0]}") from error
    if not isinstance(dump, dict) or not isinstance(dump.get("samples"), list):
        raise ValueError(f"{path} is no rollout dump of slime: it holds no list `samples`")
    for sample in dump["samples"]:
        kept = {name: _as_json(value) for name, value in sample.items()}
        for name in [name for name, value in kept.items() if value is _LEFT_OUT]:
            del kept[name]
            if left_out is not None:
                left_out[name] += 1
        yield kept


_LEFT_OUT: Any = object()


def _arrays() -> list[Any]:
    """Returns what a dump needs that holds arrays of numpy, such as routed experts."""
    try:
        import numpy as np

        _reconstruct = import_module("numpy._core.multiarray")._reconstruct
    except ImportError:  # no numpy, or one before 2.0
        return []
    return [_reconstruct, np.ndarray, np.dtype, *(type(np.dtype(each)) for each in ("bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64"))]


def _as_json(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist() if value.ndim <= 1 else _LEFT_OUT
    if isinstance(value, Mapping):
        held = {str(name): _as_json(each) for name, each in value.items()}
        return _LEFT_OUT if any(each is _LEFT_OUT for each in held.values()) else held
    if isinstance(value, list | tuple):
        items = [_as_json(each) for each in value]
        return _LEFT_OUT if any(each is _LEFT_OUT for each in items) else items
    return value


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m espalier_rl.adapters.slime", description="Writes the samples of slime's rollout dumps as JSON in lines.")
    parser.add_argument("dumps", nargs="+", help="files of --save-debug-rollout-data, .pt")
    left_out: Counter[str] = Counter()
    try:
        for path in parser.parse_args().dumps:
            for sample in samples_of(path, left_out):
                print(json.dumps(sample, ensure_ascii=False, allow_nan=False))
    except (OSError, ValueError, TypeError) as error:
        print(f"espalier_rl.adapters.slime: {error}", file=sys.stderr)
        return 1
    for name, count in left_out.items():
        print(f"note: {name} of {count} samples is left out", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
