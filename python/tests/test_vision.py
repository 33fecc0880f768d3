"""Vision-language models: what they sample is what the trainer computes, and the picture is the one that was shown."""

import base64
import io
import json
import shutil
import tempfile
import threading
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from .device import DEVICE

try:
    import torch
    import transformers  # noqa: F401
    from PIL import Image

    from espalier_rl.trainer.checkpoints import CheckpointDamaged, load_checkpoint, save_checkpoint
    from espalier_rl.trainer.generate import _Stepper, sample_replies
    from espalier_rl.trainer.language_model import open_model
    from espalier_rl.trainer.pictures import PictureRefused, open_picture, read_album, read_messages, show_pictures
    from espalier_rl.trainer.rows import read_rows
    from espalier_rl.trainer.serve import ModelServer, make_model_server
    from espalier_rl.trainer.tiny import FAMILIES, write_tiny
    from espalier_rl.trainer.trainer import Trainer

    from .test_losses import DEFAULTS
    from .test_trainer import opened, rows_of
except ImportError:
    torch = None

STEP = "step 3 of rollout r"


def png_of(seed, width=61, height=90, mode="RGB"):
    noise = torch.randint(0, 256, (height, width, len(mode)), generator=torch.Generator().manual_seed(seed), dtype=torch.uint8)
    written = io.BytesIO()
    Image.fromarray(noise.numpy(), mode).save(written, "PNG")
    return written.getvalue()


def url_of(png):
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


def asked_with(*pngs):
    parts = [{"type": "image_url", "image_url": {"url": url_of(png)}} for png in pngs]
    return [{"role": "system", "content": "Act."}, {"role": "user", "content": [*parts, {"type": "text", "text": "What now?"}]}]


@unittest.skipIf(torch is None, "torch, transformers or pillow is not installed")
class Vision(unittest.TestCase):
    folders = {}

    @classmethod
    def setUpClass(cls):
        whole = tempfile.TemporaryDirectory()
        cls.addClassCleanup(whole.cleanup)
        cls.folders = {family: write_tiny(Path(whole.name) / family, family, context=8192) for family in FAMILIES[1:]}

    def trainer(self, family="qwen2.5-vl", **settings):
        return Trainer({"model": {"kind": "folder", "path": str(self.folders[family])}, "device": DEVICE, **settings})

    def rows(self, trainer, prompt, pictures, replies, advantage=1.0):
        tensors = rows_of(*((len(prompt), [*prompt, *ids], advantage) for ids in replies))
        rows = read_rows(tensors, trainer.model.vocabulary, trainer.model.context)
        shown = [{"step": STEP, "prompt": len(prompt), "pictures": [each.id for each in pictures]}] * len(replies)
        return show_pictures(rows, shown, {each.id: each for each in pictures}, trainer.model)

    def encode(self, trainer, messages):
        chat, pictures = read_messages(messages)
        return trainer.model.encode_shown(chat, pictures), pictures

    def test_log_probs_of_samples_equal_those_at_the_update_in_every_family(self):
        for family in self.folders:
            with self.subTest(family):
                trainer = self.trainer(family)
                prompt, pictures = self.encode(trainer, asked_with(png_of(1), png_of(2, 200, 60)))
                replies = sample_replies(
                    trainer.model, prompt, count=4, longest=12, temperature=1.0, seed=3, pictures=pictures
                )
                rows = self.rows(trainer, prompt, pictures, [reply["ids"] for reply in replies])
                read = trainer.read(rows, [[0, 1, 2], [3]], 1.0)["log_probs"]
                sampled = torch.tensor([value for reply in replies for value in reply["log_probs"]])
                torch.testing.assert_close(read[rows.mask == 1], sampled, rtol=0, atol=1e-4)

    def test_replies_of_a_vision_model_that_carries_a_state_do_not_depend_on_how_many_are_drawn(self):
        trainer = self.trainer("qwen3.5")
        self.assertTrue(trainer.model.carries_state)
        for shown in ([png_of(1)], []):
            prompt, pictures = self.encode(trainer, asked_with(*shown))
            asked = {"longest": 8, "temperature": 3.0, "seed": 5, "pictures": pictures, "stop": ("a", "e", "i", "o")}
            many = sample_replies(trainer.model, prompt, count=6, **asked)
            self.assertGreater(len({len(reply["ids"]) for reply in many}), 1)  # some end before others
            for count in (1, 3):
                self.assertEqual(sample_replies(trainer.model, prompt, count=count, **asked), many[:count])

    def test_positions_and_places_are_those_that_transformers_finds_itself(self):
        for family in self.folders:
            with self.subTest(family):
                trainer = self.trainer(family)
                prompt, pictures = self.encode(trainer, asked_with(png_of(1), png_of(2, 200, 60)))
                ids = torch.tensor([[*prompt, 65, 66, 67]], device=DEVICE)
                seen = trainer.model.processor(images=[each.image for each in pictures], return_tensors="pt").to(DEVICE)
                kinds = (ids == trainer.model.image_token).int()
                with torch.no_grad():
                    logits = trainer.model.module(input_ids=ids, mm_token_type_ids=kinds, **seen).logits
                expected = torch.log_softmax(logits[0, -4:-1], -1).gather(-1, ids[0, -3:, None]).squeeze(-1).cpu()
                rows = self.rows(trainer, prompt, pictures, [[65, 66, 67]])
                torch.testing.assert_close(trainer.read(rows, [[0]], 1.0)["log_probs"][-3:], expected, rtol=0, atol=1e-5)

    def test_an_image_token_that_the_policy_sampled_is_a_token_like_any_other(self):
        for family in self.folders:
            with self.subTest(family):
                trainer = self.trainer(family)
                prompt, pictures = self.encode(trainer, asked_with(png_of(1)))
                stray = [65, trainer.model.image_token, 66, 67]
                step = _Stepper(trainer.model)
                with torch.no_grad():
                    logits = [step.begin([prompt], pictures), *(step.go_on([token], [0]) for token in stray[:-1])]
                stepped = [float(torch.log_softmax(each[0], -1)[token]) for each, token in zip(logits, stray)]
                rows = self.rows(trainer, prompt, pictures, [stray, [65, 66]])
                read = trainer.read(rows, [[0, 1]], 1.0)["log_probs"]
                torch.testing.assert_close(read[rows.mask == 1][:4], torch.tensor(stepped), rtol=0, atol=1e-4)

    def test_an_image_token_in_a_reply_that_the_prompt_goes_on_behind_shows_nothing(self):
        trainer = self.trainer()
        prompt, pictures = self.encode(trainer, asked_with(png_of(1)))
        stray = trainer.model.image_token
        longer = [*prompt, 65, stray, 66, 67]  # the reply to the step before, then what was observed
        rows = self.rows(trainer, longer, pictures, [[68]])
        self.assertEqual([length for _, _, length in rows.pictures[0]], [6])
        once = trainer.read(self.rows(trainer, prompt, pictures, [[65, stray, 66, 67, 68]]), [[0]], 1.0)["log_probs"][-1:]
        torch.testing.assert_close(trainer.read(rows, [[0]], 1.0)["log_probs"][-1:], once, rtol=0, atol=1e-5)

    def test_another_picture_changes_the_log_probs_also_next_to_a_row_without_one(self):
        trainer = self.trainer()
        first, pictures = self.encode(trainer, asked_with(png_of(1)))
        second, others = self.encode(trainer, asked_with(png_of(2)))
        self.assertEqual(first, second)  # the token ids are the same
        read = lambda shown: trainer.read(self.rows(trainer, first, shown, [[65, 66]]), [[0]], 1.0)["log_probs"][-2:]
        self.assertGreater(float((read(pictures) - read(others)).abs().max()), 1e-3)

        text, _ = self.encode(trainer, asked_with())
        alone = trainer.read(self.rows(trainer, text, [], [[65, 66]]), [[0]], 1.0)["log_probs"][-2:]
        tensors = rows_of((len(first), [*first, 65, 66], 1.0), (len(text), [*text, 65, 66], 1.0))
        rows = read_rows(tensors, trainer.model.vocabulary, trainer.model.context)
        shown = [
            {"step": STEP, "prompt": len(first), "pictures": [pictures[0].id]},
            {"step": "step 4", "prompt": len(text), "pictures": []},
        ]
        mixed = trainer.read(show_pictures(rows, shown, {pictures[0].id: pictures[0]}, trainer.model), [[0, 1]], 1.0)["log_probs"]
        torch.testing.assert_close(mixed[rows.mask == 1], torch.cat([read(pictures), alone]), rtol=0, atol=1e-5)

    def test_an_update_reaches_the_vision_part_and_its_checkpoint_opens_with_the_same_processor(self):
        trainer = self.trainer(learningRate=1e-2)
        prompt, pictures = self.encode(trainer, asked_with(png_of(1)))
        before = {name: value.clone() for name, value in trainer.model.tensors().items()}
        rows = self.rows(trainer, prompt, pictures, [[65, 66], [67, 68, 69]])
        likelier = lambda: trainer.read(rows, [[0, 1]], 1.0)["log_probs"].sum()
        start = likelier()
        settings = {"loss": {"name": "clipped", "options": DEFAULTS["clipped"]}, "miniBatches": [[[0], [1]]], "temperature": 1.0}
        self.assertEqual(trainer.update(rows, settings)["steps"], 1)
        self.assertGreater(likelier(), start)
        moved = {name for name, value in trainer.model.tensors().items() if not torch.equal(value, before[name])}
        self.assertTrue(any("visual" in name for name in moved))
        with tempfile.TemporaryDirectory() as folder:
            state = save_checkpoint(trainer, folder)
            kept = Path(folder) / state["checkpoint"]
            for name in ("preprocessor_config.json", "chat_template.jinja"):
                self.assertEqual((kept / name).read_bytes(), (self.folders["qwen2.5-vl"] / name).read_bytes())
            other = self.trainer(seed=9)
            self.assertEqual(load_checkpoint(other, kept), state)
            again = other.read(self.rows(other, prompt, pictures, [[65, 66], [67, 68, 69]]), [[0, 1]], 1.0)["log_probs"]
            self.assertTrue(torch.equal(again, trainer.read(rows, [[0, 1]], 1.0)["log_probs"]))
            (kept / "preprocessor_config.json").write_text("{}")
            with self.assertRaisesRegex(CheckpointDamaged, "preprocessor_config.json of .* is not that of the folder"):
                load_checkpoint(other, kept)

    def test_an_adapter_is_trained_on_pictures_and_opens_with_the_processor_of_its_base(self):
        try:
            import peft  # noqa: F401
        except ImportError:
            self.skipTest("the package peft is not installed")
        trainer = self.trainer(learningRate=1e-2, lora={"rank": 2})
        prompt, pictures = self.encode(trainer, asked_with(png_of(1)))
        rows = self.rows(trainer, prompt, pictures, [[65, 66], [67, 68, 69]])
        start = trainer.read(rows, [[0, 1]], 1.0)["log_probs"]
        for _ in range(2):
            trainer.update(rows, {"loss": {"name": "clipped", "options": DEFAULTS["clipped"]}, "miniBatches": [[[0, 1]]], "temperature": 1.0})
        after = trainer.read(rows, [[0, 1]], 1.0)["log_probs"]
        self.assertGreater(float(after.sum()), float(start.sum()))
        with tempfile.TemporaryDirectory() as folder:
            kept = Path(folder) / save_checkpoint(trainer, folder)["checkpoint"]
            opened_again = open_model({"kind": "folder", "path": str(kept)}, 0, DEVICE)
            replies = sample_replies(
                opened_again, prompt, count=1, longest=3, temperature=1.0, seed=5, pictures=pictures
            )
        rows = self.rows(trainer, prompt, pictures, [replies[0]["ids"]])
        read = trainer.read(rows, [[0]], 1.0)["log_probs"][rows.mask == 1]
        torch.testing.assert_close(read, torch.tensor(replies[0]["log_probs"]), rtol=0, atol=1e-4)

    def test_what_does_not_fit_its_picture_is_refused_and_the_step_is_named(self):
        trainer = self.trainer()
        prompt, pictures = self.encode(trainer, asked_with(png_of(1)))
        larger = open_picture(png_of(3, 200, 200), "p")
        cases = (
            (prompt, [larger], r"holds image tokens \[6\], and the processor of this model makes \[49\] of 200 x 200"),
            (prompt, [], r"makes \[\] of no picture"),
            (prompt, [*pictures, larger], r"makes \[6, 49\]"),
            ([65, 66], pictures, r"holds image tokens \[\]"),
        )
        for ids, shown, reason in cases:
            with self.assertRaisesRegex(PictureRefused, f"{STEP}.*{reason}"):
                self.rows(trainer, ids, shown, [[65]])
        texts = opened()
        with self.assertRaisesRegex(PictureRefused, f"{STEP} was asked with a picture, which this model does not read"):
            self.rows(texts, [65, 66], pictures, [[65]])

    def test_a_picture_that_differs_from_its_id_is_refused_and_the_step_is_named(self):
        png, other = png_of(1), png_of(2)
        named = open_picture(png, "p").id
        tensors = lambda data: {
            "png": torch.frombuffer(bytearray(data), dtype=torch.uint8),
            "offsets": torch.tensor([0, len(data)], dtype=torch.int32),
        }
        listed = [{"id": named, "step": STEP}]
        self.assertEqual(list(read_album(listed, tensors(png))), [named])
        with self.assertRaisesRegex(PictureRefused, f"{named} of {STEP}: its pixels have the id {open_picture(other, 'p').id}"):
            read_album(listed, tensors(other))
        with self.assertRaisesRegex(PictureRefused, f"of {STEP}: these 10 bytes are no PNG"):
            read_album(listed, tensors(png[:10]))
        with self.assertRaisesRegex(PictureRefused, "do not cut"):
            read_album([], tensors(png))

    def test_a_folder_of_an_older_release_opens_and_a_picture_above_its_limit_is_made_smaller_on_both_sides(self):
        with tempfile.TemporaryDirectory() as whole:
            folder = Path(whole) / "older"
            shutil.copytree(self.folders["qwen2.5-vl"], folder)
            config = json.loads((folder / "preprocessor_config.json").read_text())
            del config["size"]
            older = {"image_processor_type": "Qwen2VLImageProcessorFast", "min_pixels": 3_136, "max_pixels": 4 * 28 * 28}
            (folder / "preprocessor_config.json").write_text(json.dumps({**config, **older}))
            template = (folder / "chat_template.jinja").read_text()
            (folder / "chat_template.jinja").unlink()
            (folder / "chat_template.json").write_text(json.dumps({"chat_template": template}))
            trainer = Trainer({"model": {"kind": "folder", "path": str(folder)}, "device": DEVICE})
        prompt, pictures = self.encode(trainer, asked_with(png_of(1, 400, 400)))
        self.assertEqual(prompt.count(trainer.model.image_token), 4)
        [reply] = sample_replies(trainer.model, prompt, count=1, longest=4, temperature=1.0, seed=1, pictures=pictures)
        rows = self.rows(trainer, prompt, pictures, [reply["ids"]])
        read = trainer.read(rows, [[0]], 1.0)["log_probs"][rows.mask == 1]
        torch.testing.assert_close(read, torch.tensor(reply["log_probs"]), rtol=0, atol=1e-4)

    def test_a_transparent_picture_is_laid_on_white(self):
        clear = io.BytesIO()
        Image.new("RGBA", (3, 2), (0, 0, 0, 0)).save(clear, "PNG")
        white = io.BytesIO()
        Image.new("RGB", (3, 2), "white").save(white, "PNG")
        self.assertEqual(open_picture(clear.getvalue(), "p").id, open_picture(white.getvalue(), "p").id)


@unittest.skipIf(torch is None, "torch, transformers or pillow is not installed")
class Serving(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = write_tiny(Path(folder.name) / "tiny", "qwen2.5-vl", context=512)
        server = ModelServer(self.folder, name="tiny", device=DEVICE, precision="float32", weights_root=None)
        http = make_model_server(server)
        threading.Thread(target=http.serve_forever, daemon=True).start()
        self.addCleanup(http.server_close)
        self.addCleanup(http.shutdown)
        self.url = f"http://127.0.0.1:{http.server_address[1]}/v1/chat/completions"

    def ask(self, messages):
        wanted = {"max_tokens": 5, "seed": 2, "logprobs": True, "return_token_ids": True}
        request = urllib.request.Request(self.url, data=json.dumps({"messages": messages, **wanted}).encode(), headers={"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def test_a_picture_in_a_request_is_answered_with_ids_and_log_probs_that_the_trainer_finds_again(self):
        messages = asked_with(png_of(5, 120, 80))
        status, answer = self.ask(messages)
        self.assertEqual(status, 200)
        prompt, choice = answer["prompt_token_ids"], answer["choices"][0]
        trainer = Trainer({"model": {"kind": "folder", "path": str(self.folder)}, "device": DEVICE})
        pictures = read_messages(messages)[1]
        rows = Vision.rows(self, trainer, prompt, pictures, [choice["token_ids"]])
        read = trainer.read(rows, [[0]], 1.0)["log_probs"][rows.mask == 1]
        torch.testing.assert_close(read, torch.tensor([each["logprob"] for each in choice["logprobs"]["content"]]), rtol=0, atol=1e-4)
        self.assertEqual(prompt.count(trainer.model.image_token), 12)  # 112 x 84 pixels in units of 28
        self.assertEqual(self.ask([{"role": "user", "content": "text alone"}])[0], 200)

    def test_what_is_no_picture_is_refused_with_its_place(self):
        for part, reason in (
            ({"type": "image_url", "image_url": {"url": "http://127.0.0.1/a.png"}}, "message 0, part 0: a picture comes as data:"),
            ({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}, "part 0: these 3 bytes are no PNG"),
            ({"type": "image_url", "image_url": {"url": "data:image/png;base64,?"}}, "base64 cannot be read"),
            ({"type": "video"}, "part 0: a part is text or image_url, not 'video'"),
            ({"type": "text", "text": "<|image_pad|>"}, "shows 1 pictures of 0"),
        ):
            status, answer = self.ask([{"role": "user", "content": [part]}])
            self.assertEqual(status, 400, answer)
            self.assertIn(reason, answer["error"]["message"])
