"""A generative model asked ten texts per image: the image computed once, against the whole prompt
for each text."""

import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers
from PIL import Image
from tokenizers import Tokenizer, models, pre_tokenizers

from bench.figures import Figure, seconds
from evaluator.models.vqa import VqaScorer, load_vqa

IMAGES = 2
"""Images that are asked about."""
TEXTS = 10
"""Texts of each image."""
RUNS = 3
"""How often both ways are timed."""
SIDE = 336
"""Side of an image, pixels; with PATCH that makes 576 tokens an image, as LLaVA 1.5 has."""
PATCH = 14
"""Side of the part of an image that becomes a token, pixels."""
_SPECIAL = ("<pad>", "</s>", "<s>", "<image>", "[UNK]")
_WORDS = (
    "Yes",
    "No",
    "a",
    "red",
    "large",
    "blue",
    "sphere",
    "cube",
    "and",
    "Does",
    "this",
    "figure",
    "show",
)
_SHAPE = {
    "hidden_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "intermediate_size": 688,
}
_TEMPLATE = (
    "{% for m in messages %}{% for c in m['content'] %}{% if c['type'] == 'image' %}<image>{% else "
    "%}{{ c['text'] }}{% endif %}{% endfor %}{% endfor %}"
)


def figures() -> list[Figure]:
    """Pairs a second of both ways, one after the other in each run; their ratio; the largest
    difference of log odds."""
    noise = np.random.default_rng(0).integers(0, 255, (IMAGES, SIDE, SIDE, 3), dtype=np.uint8)
    images = [Image.fromarray(pixels) for pixels in noise]
    # Texts of different lengths.
    texts = [f"a red cube and{' large' * (k + 1)} blue sphere" for k in range(TEXTS)]
    pairs = [(i, text) for i in range(IMAGES) for text in texts]
    scores_of_way: dict[str, np.ndarray] = {}

    def run(way: str, model: VqaScorer) -> float:
        """Pairs a second; the scores are kept for the comparison of both ways."""

        def score_all() -> None:
            scores_of_way[way] = model.score_pairs(images, pairs)

        return len(pairs) / seconds(score_all)

    with tempfile.TemporaryDirectory() as folder:
        model = _model(Path(folder))
        whole = _model(Path(folder))
    whole.shares_prefix = False
    # In turn, since the speed of a machine varies.
    timed = [(run("once", model), run("each", whole)) for _ in range(RUNS)]
    once, one_by_one = (tuple(rates) for rates in zip(*timed, strict=True))
    apart = float(np.abs(scores_of_way["once"] - scores_of_way["each"]).max())
    return [
        Figure("10 texts an image, the image once", "pairs/s", once),
        Figure("10 texts an image, whole prompts", "pairs/s", one_by_one),
        Figure(
            "once against whole prompts (bar: 3 or more)", "times", tuple(a / b for a, b in timed)
        ),
        Figure("largest difference of their scores (bar: 1e-4 or less)", "", (apart,)),
    ]


def _model(folder: Path) -> VqaScorer:
    """A LLaVA with random weights, always the same."""
    words = Tokenizer(
        models.WordLevel({word: i for i, word in enumerate((*_SPECIAL, *_WORDS))}, "[UNK]")
    )
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words,
        unk_token="[UNK]",
        pad_token="<pad>",
        eos_token="</s>",
        additional_special_tokens=["<image>"],
    )
    # Both models have the same weights, so that their scores can be compared.
    torch.manual_seed(0)
    config = transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(**_SHAPE, image_size=SIDE, patch_size=PATCH),
        text_config=transformers.LlamaConfig(
            **_SHAPE, vocab_size=len(tokenizer), initializer_range=0.1
        ),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
    )
    transformers.LlavaForConditionalGeneration(config).save_pretrained(folder)
    reader = transformers.CLIPImageProcessor(
        size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE}
    )
    sizes = {
        "patch_size": PATCH,
        "vision_feature_select_strategy": "default",
        "num_additional_image_tokens": 1,
    }
    transformers.LlavaProcessor(
        reader, tokenizer, **sizes, chat_template=_TEMPLATE
    ).save_pretrained(folder)
    loaded = load_vqa(str(folder), "cpu")
    assert isinstance(loaded, VqaScorer)
    return loaded
