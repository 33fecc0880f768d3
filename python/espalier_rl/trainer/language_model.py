"""Opens a causal language model of transformers: a folder, or a tiny one from random weights."""

from __future__ import annotations

import contextlib
import gc
import json
import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from .adapters import ADAPTER_CONFIG, add_adapter, file_name, has_adapter, load_adapter, module_name, read_adapter
from .packing import PackedRows, pack_attention, unpack_attention
from .sharding import put_tensors, whole_tensors

# Weights and optimiser are always float32: steps of 1e-6 vanish in the 8 bits of a bfloat16 weight. bfloat16 is how the passes
# are computed.
PRECISIONS = ("float32", "bfloat16")
PROBE = 8  # tokens of the longer row by which packing is tried
LARGEST_GAP = 1e-3  # of the deviation of logits, in float32: rounding stays far below, another row far above
ATTENTION_LAYERS = {"full_attention", "sliding_attention", "chunked_attention"}
TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "tokenizer_config.json")


class ModelRefused(Exception):
    """The model that a request names cannot be opened here; the message says why."""


class LanguageModel:
    """A module and its tokenizer: `score(batch)` returns the logits of trained tokens, `encode_chat`, `decode`, `end_ids`, `context`,
    `save(folder)`."""

    reads_pictures = False

    def __init__(self, module: Any, tokenizer: Any, device: Any, precision: str = "float32") -> None:
        self.module = module.to(device)
        self.tokenizer = tokenizer
        self.device = device
        self.precision = precision
        self.packed = False

    @property
    def has_adapter(self) -> bool:
        """Whether it has a LoRA adapter: then that alone is trained and saved."""
        return has_adapter(self.module)

    def adapt(self, lora: Mapping[str, Any], seed: int) -> None:
        """Freezes the weights and adds a LoRA adapter, which is trained instead. Raises ModelRefused."""
        if not self.module.name_or_path:
            raise ModelRefused("LoRA needs a folder of a model, which its checkpoints name, not a tiny model")
        try:
            add_adapter(self.module, lora, seed)
        except (ImportError, ValueError) as error:
            raise ModelRefused(f"no LoRA adapter for this model: {error}") from error
        self.module.to(self.device)

    def trained_parameters(self) -> list[Any]:
        return [parameter for parameter in self.module.parameters() if parameter.requires_grad]

    def pack(self) -> bool:
        """Runs rows behind each other instead of padded, where the model can: two rows are compared with what they yield alone, since a
        layer may drop the keyword that says where rows lie. Returns whether it does."""
        self.packed = pack_attention(self.module)
        if not self.packed:
            return False
        gap = self._packing_gap()
        if not gap <= LARGEST_GAP:  # nor where it is no number
            self.packed = False
            unpack_attention(self.module)
            kind = type(self.module).__name__
            print(f"espalier_rl.trainer: rows are padded: in {kind} a row changes the logits of the row behind it by {gap:.2g} of their deviation", file=sys.stderr, flush=True)
        return self.packed

    def _packing_gap(self) -> float:
        """Returns the largest difference of logits between two packed rows and each alone, in deviations of the logits; infinite where the
        model takes no packed rows."""
        lengths = [PROBE // 2, PROBE]
        ids = (torch.arange(sum(lengths), device=self.device) * 11 + 3) % self.vocabulary
        rows, every = PackedRows(lengths, ids.device), torch.arange(len(ids), device=ids.device)
        with torch.no_grad():
            try:
                packed = self._run_packed(ids, rows, every).logits[0]
            except TypeError:
                return math.inf
            alone = torch.cat([self.module(input_ids=row[None], use_cache=False).logits[0] for row in ids.split(lengths)])
        return float((packed - alone).abs().max() / alone.std())

    @property
    def carries_state(self) -> bool:
        """Whether layers carry a state from token to token (Mamba, linear attention), besides keys and values."""
        kinds = set(getattr(self.module.config.get_text_config(), "layer_types", None) or ())
        return bool(getattr(self.module, "_is_stateful", False)) or not kinds <= ATTENTION_LAYERS

    @property
    def width(self) -> int:
        return int(self.module.config.get_text_config().hidden_size)

    @property
    def context(self) -> int:
        """Most tokens of a row. Of longrope the original context: a longer row is computed with other rotary factors, so that keys that
        were kept while it was sampled are not those that a trainer computes."""
        config = self.module.config.get_text_config()
        rope = getattr(config, "rope_parameters", None) or {}
        for part in (rope, *(each for each in rope.values() if isinstance(each, dict))):
            if part.get("rope_type") == "longrope":
                return int(part.get("original_max_position_embeddings") or config.original_max_position_embeddings)
        return int(getattr(config, "max_position_embeddings", None) or 2**20)

    @property
    def end_ids(self) -> set[int]:
        ends = self.module.generation_config.eos_token_id
        ends = self.tokenizer.eos_token_id if ends is None else ends
        return set(ends if isinstance(ends, list) else [ends]) - {None}

    def score(self, batch: Any, hidden: bool = False) -> tuple[Any, Any]:
        """Returns, for each trained token of a micro-batch, the logits that it was drawn by and, where asked for, the hidden
        state that they come from. Other tokens get no row of the vocabulary."""
        # What autocast keeps of the weights of a sharded model is the whole of it.
        half = {"enabled": self.precision == "bfloat16", "cache_enabled": not torch.distributed.is_initialized()}
        with torch.autocast(torch.device(self.device).type, torch.bfloat16, **half):
            if self.packed:
                at, _ = batch.trained()
                output = self._run_packed(batch.ids, PackedRows(batch.lengths, batch.ids.device), at, hidden)
                return output.logits[0], output.hidden_states[-1][0, at] if hidden else None
            chosen = batch.mask > 0
            with self.inputs(batch) as inputs, self._rows_of_the_vocabulary(chosen):
                output = self.module(**inputs, output_hidden_states=hidden, use_cache=False)
            return output.logits[0], output.hidden_states[-1][:, :-1][chosen] if hidden else None

    def _run_packed(self, ids: Any, rows: PackedRows, at: Any, hidden: bool = False) -> Any:
        return self.module(
            input_ids=ids.unsqueeze(0),
            position_ids=rows.positions.unsqueeze(0),
            packed_rows=rows,
            logits_to_keep=at,
            output_hidden_states=hidden,
            use_cache=False,
        )

    @contextlib.contextmanager
    def inputs(self, batch: Any) -> Iterator[dict[str, Any]]:
        """Yields what the module is given of padded rows. The pads follow what counts, so a causal model never looks at them."""
        ids, lengths = batch.padded_ids()
        yield {"input_ids": ids, "attention_mask": (torch.arange(ids.shape[1], device=ids.device)[None, :] < lengths[:, None]).long()}

    @contextlib.contextmanager
    def _rows_of_the_vocabulary(self, chosen: Any) -> Iterator[None]:
        """Hands the output layer the chosen places [rows, longest - 1] alone: a row of the vocabulary for each pad is gigabytes."""
        cut = lambda _, given: (given[0][:, :-1][chosen].unsqueeze(0), *given[1:])  # noqa: E731
        hook = self.module.get_output_embeddings().register_forward_pre_hook(cut)
        try:
            yield
        finally:
            hook.remove()

    @property
    def has_template(self) -> bool:
        """Whether its chats are written by a template of its own, which may know tools."""
        return bool(getattr(self.tokenizer, "chat_template", None))

    def encode_chat(self, messages: Any, tools: Any = None) -> list[int]:
        if self.has_template:
            return list(self.tokenizer.apply_chat_template(messages, tools=tools, add_generation_prompt=True, return_dict=False))
        # A base model without a template of its own.
        text = "".join(f"{m['role']}: {m['content']}\n" for m in messages) + "assistant:"
        return list(self.tokenizer(text)["input_ids"])

    def decode(self, ids: Any) -> str:
        return str(self.tokenizer.decode(ids, skip_special_tokens=True))

    def decode_whole(self, ids: Any) -> str:
        """The text with special tokens written out: tags may be tokens of their own."""
        return str(self.tokenizer.decode(ids, skip_special_tokens=False))

    @property
    def vocabulary(self) -> int:
        """Rows of the embedding: ids are below it."""
        return int(self.module.get_input_embeddings().num_embeddings)

    def tensors(self) -> dict[str, Any]:
        """The weights by name, put together; tied ones under each of their names. Of a model with an adapter, the adapter alone. All
        processes call it, and the first has them."""
        found = whole_tensors(self.module)
        return {file_name(name): found[name] for name in found} if self.has_adapter else found

    def put(self, tensors: Mapping[str, Any]) -> None:
        """Puts whole weights in place. Raises KeyError, and puts none, where they are those of another model."""
        put_tensors(self.module, self._by_module(tensors))

    def read(self, folder: str | Path) -> dict[str, Any]:
        """Returns the weights that `save` wrote."""
        if self.has_adapter:
            return read_adapter(folder)
        found: dict[str, Any] = open_model({"kind": "folder", "path": str(folder)}, 0, "cpu").module.state_dict()
        gc.collect()  # a module refers to itself: what it maps of the file would stay open
        return found

    def save(self, folder: str | Path, tensors: Mapping[str, Any]) -> None:
        """Writes the model, or its adapter, as a folder that `open_model` and every other tool opens."""
        self.module.save_pretrained(folder, state_dict=self._by_module(tensors))
        self.tokenizer.save_pretrained(folder)

    def _by_module(self, tensors: Mapping[str, Any]) -> dict[str, Any]:
        return {module_name(name) if self.has_adapter else name: tensor for name, tensor in tensors.items()}


def open_model(spec: dict[str, Any], seed: int, device: Any) -> LanguageModel:
    """Opens what `spec` names: {"kind": "tiny", layers, width, heads, context} or {"kind": "folder", path}, each with a
    "precision". Raises ModelRefused."""
    kind, precision = spec.get("kind"), spec.get("precision", "float32")
    # cuDNN plans its attention for each length of rows, tens of milliseconds each time: here lengths are always new.
    torch.backends.cuda.enable_cudnn_sdp(False)
    if precision not in PRECISIONS:
        raise ModelRefused(f"there is no precision {precision!r}; there are {', '.join(PRECISIONS)}")
    try:
        import transformers
    except ImportError as error:
        raise ModelRefused(f"a model needs the package transformers; install it with pip: {error}") from error
    if kind == "tiny":
        from .tiny import tiny_model  # it builds on this module

        module, tokenizer = tiny_model(seed, **{name: value for name, value in spec.items() if name not in ("kind", "precision")})
        return LanguageModel(module, tokenizer, device, precision)
    if kind == "folder":
        return _open_folder(transformers, Path(spec["path"]), device, precision)
    raise ModelRefused(f"there is no kind of model {kind!r}; there are tiny and folder")


def _open_folder(transformers: Any, folder: Path, device: Any, precision: str) -> LanguageModel:
    try:
        adapter = folder / ADAPTER_CONFIG
        if adapter.exists():
            base = Path(json.loads(adapter.read_text())["base_model_name_or_path"])
            model = _open_folder(transformers, base, device, precision)
            load_adapter(model.module, folder)
            return model
        config = json.loads((folder / "config.json").read_text())
    except (OSError, ValueError) as error:
        raise ModelRefused(f"{folder} is no folder of a model: {error}") from error
    if "vision_config" in config:
        from .vision_model import open_vision_folder  # it builds on this module

        return open_vision_folder(folder, device, precision)
    tokenizer = open_tokenizer(transformers, folder)
    return LanguageModel(open_module(transformers.AutoModelForCausalLM, folder), tokenizer, device, precision)


def open_module(kind: Any, folder: Path) -> Any:
    """Opens the weights of a folder by a class of transformers. Raises ModelRefused."""
    try:
        # local_files_only: this process never reaches for the network, and a wrong path must not become a name on a hub.
        module = kind.from_pretrained(folder, dtype=torch.float32, local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise ModelRefused(f"{folder} holds no model that transformers opens: {error}") from error
    module.eval()  # no dropout: log-probs of an update must be those of the sampling
    return module


def open_tokenizer(transformers: Any, folder: Path) -> Any:
    """Opens the tokenizer of a folder. Raises ModelRefused."""
    # Without its files transformers makes a tokenizer that knows one token, and says nothing.
    if not any((folder / name).exists() for name in TOKENIZER_FILES):
        files = ", ".join(TOKENIZER_FILES)
        raise ModelRefused(f"{folder} has no tokenizer ({files}); copy its files from the model that the weights come from")
    try:
        return transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise ModelRefused(f"the tokenizer of {folder} cannot be opened: {error}") from error


def value_head(width: int, device: Any) -> Any:
    """A critic on the last hidden states that begins at 0 everywhere, so that it yields no advantage before it has learned."""
    head = nn.Linear(width, 1).to(device)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    return head
