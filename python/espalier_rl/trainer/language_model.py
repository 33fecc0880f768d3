"""Opens a causal language model: a folder of transformers, a folder that this package wrote, or a tiny one from random
weights."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from .adapters import CONFIG as ADAPTER_CONFIG
from .adapters import adapter_tensors, add_adapter, open_adapter, put_adapter, read_adapter, save_adapter
from .packing import PackedRows, pack_attention, unpack_attention
from .sharding import put_tensors, whole_tensors
from .tensors import read_tensors, write_tensors
from .tiny_model import END, MODEL_TYPE, TinyConfig, TinyModel, decode_reply, encode_chat

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
    """One interface over both kinds: `score(batch)` returns the logits of trained tokens, `encode_chat`, `decode`, `end_ids`,
    `context`, `save(folder)`."""

    reads_pictures = False

    def __init__(self, module: Any, tokenizer: Any, device: Any, precision: str = "float32") -> None:
        self.module = module.to(device)
        self.tokenizer = tokenizer
        self.device = device
        self.precision = precision
        self.packed = False
        self.sharded = False
        self.adapter = None  # peft's configuration of a LoRA adapter: then it alone is trained and saved

    def adapt(self, lora: Mapping[str, Any], spec: dict[str, Any], seed: int) -> None:
        """Freezes the weights and adds a LoRA adapter, which is trained instead. Raises ModelRefused."""
        if self.is_tiny:
            raise ModelRefused("LoRA needs a folder of a model of transformers, not a tiny model")
        self.adapter = add_adapter(self.module, lora, spec["path"], seed)
        self.module.to(self.device)

    def trained_parameters(self) -> list[Any]:
        return [parameter for parameter in self.module.parameters() if parameter.requires_grad]

    def pack(self) -> bool:
        """Runs rows behind each other instead of padded, where the model can: two rows are compared with what they yield alone, since a
        layer may drop the keyword that says where rows lie. Returns whether it does."""
        self.packed = self.is_tiny or pack_attention(self.module)
        if not self.packed or self.is_tiny:
            return self.packed
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
    def original_context(self) -> int | None:
        """Tokens up to which a row is computed with other rotary factors than a longer one (longrope), and every row with those of the
        longest of its pass; None where all have the same."""
        if self.is_tiny:
            return None
        config = self.module.config.get_text_config()
        rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
        for part in (rope, *(each for each in rope.values() if isinstance(each, dict))):
            if part.get("rope_type", part.get("type")) == "longrope":
                return int(part.get("original_max_position_embeddings") or config.original_max_position_embeddings)
        return None

    @property
    def carries_state(self) -> bool:
        """Whether layers carry a state from token to token (Mamba, linear attention), besides keys and values."""
        if self.is_tiny:
            return False
        base = self.module.get_base_model() if hasattr(self.module, "get_base_model") else self.module
        kinds = set(getattr(base.config.get_text_config(), "layer_types", None) or ())
        return bool(getattr(base, "_is_stateful", False)) or not kinds <= ATTENTION_LAYERS

    @property
    def is_tiny(self) -> bool:
        return self.tokenizer is None

    @property
    def width(self) -> int:
        return int(self.module.config.width if self.is_tiny else self.module.config.get_text_config().hidden_size)

    @property
    def context(self) -> int:
        if self.is_tiny:
            return int(self.module.config.context)
        return int(getattr(self.module.config.get_text_config(), "max_position_embeddings", None) or 2**20)

    @property
    def end_ids(self) -> set[int]:
        if self.is_tiny:
            return {END}
        ends = self.module.generation_config.eos_token_id
        ends = self.tokenizer.eos_token_id if ends is None else ends
        return set(ends if isinstance(ends, list) else [ends]) - {None}

    def score(self, batch: Any, hidden: bool = False) -> tuple[Any, Any]:
        """Returns, for each trained token of a micro-batch, the logits that it was drawn by and, where asked for, the hidden
        state that they come from. Other tokens get no row of the vocabulary."""
        at, _ = batch.trained()
        # What autocast keeps of the weights of a sharded model is the whole of it.
        half = {"enabled": self.precision == "bfloat16", "cache_enabled": not self.sharded}
        with torch.autocast(torch.device(self.device).type, torch.bfloat16, **half):
            return self._packed(batch, at, hidden) if self.packed else self._padded(batch, hidden)

    def _packed(self, batch: Any, at: Any, hidden: bool) -> tuple[Any, Any]:
        ids = batch.ids.unsqueeze(0)
        if self.is_tiny:
            logits, states = self.module(ids, batch.lengths)
            return logits[0, at], states[0, at]
        output = self._run_packed(batch.ids, PackedRows(batch.lengths, ids.device), at, hidden)
        return output.logits[0], output.hidden_states[-1][0, at] if hidden else None

    def _run_packed(self, ids: Any, rows: PackedRows, at: Any, hidden: bool = False) -> Any:
        return self.module(
            input_ids=ids.unsqueeze(0),
            position_ids=rows.positions.unsqueeze(0),
            packed_rows=rows,
            logits_to_keep=at,
            output_hidden_states=hidden,
            use_cache=False,
        )

    def _padded(self, batch: Any, hidden: bool) -> tuple[Any, Any]:
        """The pads follow what counts, so a causal model never looks at them."""
        ids, lengths = batch.padded_ids()
        chosen = batch.mask > 0
        with self._rows_of_the_vocabulary(chosen):
            logits, states = self.forward(ids, lengths, hidden)
        logits = logits[:, :-1][chosen] if self.is_tiny else logits[0]
        return logits, states[:, :-1][chosen] if hidden else None

    @contextlib.contextmanager
    def _rows_of_the_vocabulary(self, chosen: Any) -> Iterator[None]:
        """Hands the output layer the chosen places [rows, longest - 1] alone: a row of the vocabulary for each pad is gigabytes."""
        if self.is_tiny:
            yield
            return
        cut = lambda _, given: (given[0][:, :-1][chosen].unsqueeze(0), *given[1:])  # noqa: E731
        hook = self.module.get_output_embeddings().register_forward_pre_hook(cut)
        try:
            yield
        finally:
            hook.remove()

    def forward(self, ids: Any, lengths: Any, hidden: bool = False) -> Any:
        """Runs rows that are padded on the right, with all their logits. @param lengths: tokens of each row."""
        if self.is_tiny:
            return self.module(ids)
        attention = (torch.arange(ids.shape[1], device=ids.device)[None, :] < lengths[:, None]).long()
        output = self.module(input_ids=ids, attention_mask=attention, output_hidden_states=hidden, use_cache=False)
        return output.logits, output.hidden_states[-1] if hidden else None

    @property
    def has_template(self) -> bool:
        """Whether its chats are written by a template of its own, which may know tools."""
        return not self.is_tiny and bool(getattr(self.tokenizer, "chat_template", None))

    def encode_chat(self, messages: Any, tools: Any = None) -> list[int]:
        if self.is_tiny:
            return encode_chat(messages)
        if self.has_template:
            return list(self.tokenizer.apply_chat_template(messages, tools=tools, add_generation_prompt=True, return_dict=False))
        # A base model without a template of its own.
        text = "".join(f"{m['role']}: {m['content']}\n" for m in messages) + "assistant:"
        return list(self.tokenizer(text)["input_ids"])

    def decode(self, ids: Any) -> str:
        return decode_reply(ids) if self.is_tiny else self.tokenizer.decode(ids, skip_special_tokens=True)

    def decode_whole(self, ids: Any) -> str:
        """The text with special tokens written out: tags may be tokens of their own."""
        return decode_reply(ids) if self.is_tiny else self.tokenizer.decode(ids, skip_special_tokens=False)

    @property
    def vocabulary(self) -> int:
        """Rows of the embedding: ids are below it."""
        return int(self.module.tokens.num_embeddings if self.is_tiny else self.module.get_input_embeddings().num_embeddings)

    def tensors(self, keep: bool = True) -> dict[str, Any]:
        """The weights by name, put together; tied ones under each of their names. Of a model with an adapter, the adapter alone.
        Without `keep` a process only takes part in putting them together."""
        return adapter_tensors(self.module) if self.adapter else whole_tensors(self.module, keep)

    def put(self, tensors: Mapping[str, Any]) -> None:
        """Puts whole weights in place. Raises KeyError where they are those of another model."""
        (put_adapter if self.adapter else put_tensors)(self.module, tensors)

    def read(self, folder: str | Path) -> dict[str, Any]:
        """Returns the weights that `save` wrote."""
        return read_adapter(folder) if self.adapter else open_model({"kind": "folder", "path": str(folder)}, 0, "cpu").tensors()

    def save(self, folder: str | Path, tensors: Mapping[str, Any]) -> None:
        """Writes the model as a folder that `open_model` and, for models of transformers, every other tool opens."""
        folder = Path(folder)
        if self.is_tiny:
            (folder / "config.json").write_text(json.dumps(self.module.config.to_json()))
            write_tensors(folder / "model.safetensors", tensors)
            return
        if self.adapter:
            save_adapter(self.adapter, tensors, folder)
        else:
            self.module.save_pretrained(folder, state_dict=tensors, safe_serialization=True)
        self.tokenizer.save_pretrained(folder)


def open_model(spec: dict[str, Any], seed: int, device: Any) -> LanguageModel:
    """Opens what `spec` names: {"kind": "tiny", layers, width, heads, context} or {"kind": "folder", path}, each with a
    "precision". Raises ModelRefused."""
    kind, precision = spec.get("kind"), spec.get("precision", "float32")
    # cuDNN plans its attention for each length of rows, tens of milliseconds each time: here lengths are always new.
    torch.backends.cuda.enable_cudnn_sdp(False)
    if precision not in PRECISIONS:
        raise ModelRefused(f"there is no precision {precision!r}; there are {', '.join(PRECISIONS)}")
    if kind == "tiny":
        torch.manual_seed(seed)
        sizes = {name: value for name, value in spec.items() if name not in ("kind", "precision")}
        try:
            return LanguageModel(TinyModel(TinyConfig(**sizes)), None, device, precision)
        except (TypeError, ValueError) as error:
            raise ModelRefused(f"no tiny model of these sizes: {error}") from error
    if kind == "folder":
        return _open_folder(Path(spec["path"]), device, precision)
    raise ModelRefused(f"there is no kind of model {kind!r}; there are tiny and folder")


def _open_folder(folder: Path, device: Any, precision: str) -> LanguageModel:
    if (folder / ADAPTER_CONFIG).exists():
        return open_adapter(folder, lambda base: _open_folder(Path(base), device, precision))
    try:
        config = json.loads((folder / "config.json").read_text())
    except (OSError, ValueError) as error:
        raise ModelRefused(f"{folder} is no folder of a model: {error}") from error
    if config.get("model_type") == MODEL_TYPE:
        sizes = {name: value for name, value in config.items() if name != "model_type"}
        module = TinyModel(TinyConfig(**sizes))
        module.load_state_dict(read_tensors(folder / "model.safetensors"))
        return LanguageModel(module, None, device, precision)
    try:
        import transformers
    except ImportError as error:
        raise ModelRefused("a model of this kind needs the package transformers; install it with pip") from error
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
