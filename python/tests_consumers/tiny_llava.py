"""A vision-language model of random weights on the tokenizer of the tiny talker, whose processor needs no torchvision."""

from transformers import CLIPVisionConfig, LlavaConfig, LlavaForConditionalGeneration, LlavaProcessor, Qwen2Config
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

IMAGE = "<image>"
TEMPLATE = (
    "{% for m in messages %}{{ m.role }}:{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}"
    "{% if p.type == 'image' %}" + IMAGE + "{% else %}{{ p.text }}{% endif %}{% endfor %}{% endif %}<end>{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
SIDE, PATCH = 28, 14


def tiny_llava(tokenizer):
    """Returns the model and its processor; the tokenizer has a token for pictures and another template from then on."""
    tokenizer.add_tokens([IMAGE], special_tokens=True)
    tokenizer.chat_template = TEMPLATE
    processor = LlavaProcessor(
        image_processor=CLIPImageProcessorPil(size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE}),
        tokenizer=tokenizer,
        patch_size=PATCH,
        vision_feature_select_strategy="default",
        chat_template=TEMPLATE,
        image_token=IMAGE,
        num_additional_image_tokens=1,
    )
    small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(**small, image_size=SIDE, patch_size=PATCH, projection_dim=16).to_dict(),
        text_config=Qwen2Config(**small, vocab_size=len(tokenizer), num_key_value_heads=2).to_dict(),
        image_token_index=tokenizer.convert_tokens_to_ids(IMAGE),
        vision_feature_layer=-1,
        image_seq_length=(SIDE // PATCH) ** 2,
    )
    return LlavaForConditionalGeneration(config), processor
