"""Opens a vision-language model of the Qwen-VL families: what its processor makes of pictures, their places in a prompt, and
positions of three axes."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from .language_model import LanguageModel, ModelRefused, open_module, open_tokenizer
from .pictures import PictureRefused

if TYPE_CHECKING:
    from .rows import MicroBatch

# Copied into a checkpoint as they are: it is opened by the same processor, here and by every other tool.
PROCESSOR_FILES = ("preprocessor_config.json", "processor_config.json", "video_preprocessor_config.json", "chat_template.json")


class VisionModel(LanguageModel):
    """A language model that reads pictures too. Pictures of rows come as lists in the order of their places."""

    reads_pictures = True

    def __init__(self, module: Any, tokenizer: Any, processor: Any, device: Any, precision: str, folder: Any) -> None:
        super().__init__(module, tokenizer, device, precision)
        self.processor = processor
        self.files = {name: (folder / name).read_bytes() for name in PROCESSOR_FILES if (folder / name).exists()}

    @property
    def image_token(self) -> int:
        return int(self.module.config.image_token_id)

    def processor_digest(self) -> str:
        """What the processor does to a picture, as a digest: size limits, patches, normalisation."""
        return hashlib.sha256(json.dumps(self.processor.to_dict(), sort_keys=True, default=str).encode()).hexdigest()

    def tokens_of(self, picture: Any) -> int:
        """How many image tokens a picture takes, by the size that the processor brings it to. Raises PictureRefused."""
        try:
            patches = self.processor.get_number_of_image_patches(picture.height, picture.width, {})
        except ValueError as error:  # more than 200 times as long as wide
            size = f"{picture.width} x {picture.height}"
            raise PictureRefused(f"picture {picture.id}: the processor does not take {size} pixels: {error}") from error
        return int(patches // self.processor.merge_size**2)

    def encode_shown(self, messages: Any, pictures: Sequence[Any]) -> list[int]:
        """Returns the token ids of a chat with pictures, each pad written out as often as its picture takes tokens."""
        content = self.encode_chat(messages)
        counts = iter([self.tokens_of(picture) for picture in pictures])
        if content.count(self.image_token) != len(pictures):
            held = content.count(self.image_token)
            raise PictureRefused(f"the chat template shows {held} pictures of {len(pictures)}; its text may hold an image token")
        return [each for token in content for each in ([token] * next(counts) if token == self.image_token else [token])]

    def places_of(self, ids: Any, pictures: Sequence[Any], where: str) -> list[tuple[int, int]]:
        """Finds the image tokens of a prompt that the pictures stand on, in order: a list of (start, length). Raises
        PictureRefused that names `where`."""
        every, start = [], 0
        for token, group in itertools.groupby(ids):
            length = len(list(group))
            if token == self.image_token:
                every.append((start, length))
            start += length
        # A prompt goes on behind replies to the prompts before it: an image token that was sampled there shows nothing.
        opens = getattr(self.module.config, "vision_start_token_id", None)
        announced = [(start, length) for start, length in every if start > 0 and ids[start - 1] == opens]
        wanted = [self.tokens_of(picture) for picture in pictures]
        held = [length for _, length in every]
        for runs in (every, announced):
            if [length for _, length in runs] == wanted:
                return runs
        sizes = ", ".join(f"{picture.width} x {picture.height}" for picture in pictures) or "no picture"
        raise PictureRefused(
            f"{where}: its prompt holds image tokens {held}, and the processor of this model makes {wanted} of {sizes}; the server "
            "that sampled it had another processor (min and max pixels), or the picture is not the one that it was shown"
        )

    def pack(self) -> bool:
        """Rows with pictures run padded: positions of three axes, and the windows of the vision part, are made for whole rows."""
        return False

    @contextmanager
    def inputs(self, batch: MicroBatch) -> Iterator[dict[str, Any]]:
        with super().inputs(batch) as given:
            ids, attention = given["input_ids"], given["attention_mask"]
            shown, positions, extra = self._see(ids, batch.pictures, attention)
            with self._own_tokens_alone(ids, shown) as read:
                yield {"input_ids": read, "attention_mask": attention, "position_ids": positions, **extra}

    def _see(self, ids: Any, pictures: Sequence[Any], attention: Any) -> tuple[Any, Any, dict[str, Any]]:
        """Returns where pictures stand [rows, longest], the positions [3, rows, longest], and pixels and grids for the module.

        @param pictures: for each row a list of (Picture, start, length).
        """
        shown = torch.zeros_like(ids, dtype=torch.bool)
        for row, own in enumerate(pictures):
            for _, start, length in own:
                shown[row, start : start + length] = True
        images = [picture.image for own in pictures for picture, _, _ in own]
        extra = {}
        if images:
            seen = self.processor(images=images, return_tensors="pt")
            extra = {name: seen[name].to(ids.device) for name in ("pixel_values", "image_grid_thw")}
        finder = next(part for part in self.module.modules() if hasattr(part, "get_rope_index"))
        positions, _ = finder.get_rope_index(
            ids, mm_token_type_ids=shown.int(), image_grid_thw=extra.get("image_grid_thw"), attention_mask=attention
        )
        return shown, positions, extra

    @contextmanager
    def _own_tokens_alone(self, ids: Any, shown: Any) -> Iterator[None]:
        """An image token that the policy sampled is a token like any other: the module, which would look for a picture there,
        reads another id, and the embedding is put right."""
        strays = (ids == self.image_token) & ~shown
        if not bool(strays.any()):
            yield ids
            return
        token = torch.tensor(self.image_token, device=ids.device)
        put_right = lambda table, _, found: torch.where(strays[..., None], table.weight[token], found)
        hook = self.module.get_input_embeddings().register_forward_hook(put_right)
        try:
            yield ids.masked_fill(strays, 0)
        finally:
            hook.remove()

    def see_prompt(self, ids: Any, pictures: Sequence[Any]) -> tuple[Any, dict[str, Any]]:
        """Returns the positions of a prompt that several rows begin with, and pixels and grids for the module."""
        places = self.places_of(ids[0].tolist(), pictures, "the request")
        rows = [[(picture, *at) for picture, at in zip(pictures, places)]] * len(ids)
        _, positions, extra = self._see(ids, rows, torch.ones_like(ids))
        return positions, extra

    def read(self, folder: Any) -> dict[str, Any]:
        """Returns the weights that `save` wrote. Raises ModelRefused where they were saved with another processor: log-probs of
        an update must be those of the sampling."""
        for name, data in self.files.items():
            saved = Path(folder) / name
            if not saved.exists() or saved.read_bytes() != data:
                raise ModelRefused(f"{name} of {folder} is not that of the folder that the training began from; restore it there")
        return super().read(folder)

    def save(self, folder: Any, tensors: Mapping[str, Any]) -> None:
        super().save(folder, tensors)
        for name, data in self.files.items():
            (Path(folder) / name).write_bytes(data)


def open_vision_folder(folder: Any, device: Any, precision: str) -> VisionModel:
    """Opens a folder whose config has a vision part. Raises ModelRefused."""
    try:
        import PIL  # noqa: F401
        import transformers
    except ImportError as error:
        raise ModelRefused(f"{folder} is a vision-language model; install pillow and transformers to open it: {error}") from error
    if int(transformers.__version__.split(".")[0]) < 5:
        raise ModelRefused(f"a vision-language model needs transformers 5, this is {transformers.__version__}")
    try:
        # By pillow on every machine, whatever else is installed: torchvision resizes to other pixels, and log-probs of an update
        # must be those of the sampling.
        processor = transformers.AutoImageProcessor.from_pretrained(folder, local_files_only=True, backend="pil")
    except (OSError, ValueError) as error:
        raise ModelRefused(f"{folder} has no image processor (preprocessor_config.json): {error}") from error
    module = open_module(transformers.AutoModelForImageTextToText, folder)
    base = next((part for part in module.modules() if hasattr(part, "get_rope_index")), None)
    if base is None or not hasattr(processor, "get_number_of_image_patches") or not hasattr(module.config, "image_token_id"):
        raise ModelRefused(f"{folder} is a {module.config.model_type}; pictures are read by models of the Qwen-VL families")
    tokenizer = open_tokenizer(transformers, folder)
    if not tokenizer.chat_template and (folder / "chat_template.json").exists():  # that of the processor, in older folders
        tokenizer.chat_template = json.loads((folder / "chat_template.json").read_text())["chat_template"]
    return VisionModel(module, tokenizer, processor, device, precision, folder)
