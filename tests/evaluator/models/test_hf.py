"""Dual encoders of transformers: tiny ones of every type, saved and loaded back, against the
library's own answers."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf
from PIL import Image
from safetensors.torch import load_file, save_file

from evaluator.metrics.comparison import beats
from evaluator.models.contracts import DualEncoder
from evaluator.models.registry import load_model
from generator.base.errors import UserError
from tests.evaluator.models.conftest import change_json
from tests.evaluator.tiny_models import (
    SMALLER,
    bert_tokenizer,
    make_altclip,
    make_blip,
    make_clip,
    pictures,
)

TEXTS = [
    "a red cube and a blue sphere",
    "a blue cube and a red sphere",
    "A Red cube, and a blue Sphere.",
    "a cone",
    "one green cone stands behind a purple cube and a sphere",
]
LETTERS = "abcdefghijklmnopqrstuvwxyzARS,."
VISION = {**SMALLER, "image_size": 32, "patch_size": 8}
Reference = Callable[[Image.Image, str], float]


def _save(model: Any, folder: Path) -> None:
    """Save the model with larger weights than it starts with, so that inputs tell in its output."""
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim > 1:
                weight.normal_(std=0.2)
    model.save_pretrained(folder)


def _gemma_tokenizer() -> Any:
    """As SigLIP 2 is published: Gemma's tokenizer, said to lower-case, which its class does not
    do."""
    pieces = [
        "<pad>",
        "<eos>",
        "<bos>",
        "<unk>",
        "<mask>",
        "▁",
        *LETTERS,
        *(f"<0x{i:02X}>" for i in range(256)),
    ]
    tokenizer = hf.GemmaTokenizer(
        vocab={piece: i for i, piece in enumerate(pieces)},
        merges=[],
        do_lower_case=True,
        model_input_names=["input_ids"],
        padding_side="right",
    )
    assert tokenizer("A")["input_ids"] != tokenizer("a")["input_ids"]
    return tokenizer


def _qwen_tokenizer() -> Any:
    marks = [
        "<|endoftext|>",
        "<|im_start|>",
        "<|im_end|>",
        "<|vision_start|>",
        "<|vision_end|>",
        "<|image_pad|>",
        "<|video_pad|>",
    ]
    pieces = [*LETTERS, "Ġ", "Ċ", "'", "U", "u"]
    tokenizer = hf.Qwen2Tokenizer(
        vocab={piece: i for i, piece in enumerate(dict.fromkeys([*pieces, *marks]))}, merges=[]
    )
    tokenizer.add_special_tokens({"additional_special_tokens": marks[1:]})
    return tokenizer


CHAT = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% for c in m.content %}{% if c.type == "
    "'image' %}"
    "<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ c.text }}{% endif %}{% endfor "
    "%}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def _clip(folder: Path) -> None:
    _save(hf.CLIPModel.from_pretrained(make_clip(folder, length=40)), folder)


def _siglip(folder: Path) -> None:
    """SigLIP as its first version was published: a SentencePiece model that lower-cases and drops
    punctuation."""
    sentencepiece = pytest.importorskip("sentencepiece")
    pytest.importorskip("google.protobuf")
    folder.mkdir(exist_ok=True)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([text.lower() for text in TEXTS] * 20),
        model_prefix=str(folder / "spiece"),
        vocab_size=40,
        hard_vocab_limit=False,
        minloglevel=2,
        bos_id=-1,
        eos_id=1,
        unk_id=2,
        pad_id=0,
    )
    tokenizer = hf.SiglipTokenizer(
        str(folder / "spiece.model"), model_input_names=["input_ids"], model_max_length=12
    )
    text = {**SMALLER, "vocab_size": len(tokenizer), "max_position_embeddings": 12}
    _save(hf.SiglipModel(hf.SiglipConfig(text_config=text, vision_config=VISION)), folder)
    hf.SiglipProcessor(
        hf.SiglipImageProcessor(size={"height": 32, "width": 32}), tokenizer
    ).save_pretrained(folder)


def _siglip2(kind: str, vision: dict[str, int], images: Any) -> Callable[[Path], None]:
    """SigLIP 2: of one resolution, by the classes of SigLIP, or NaFlex, by classes of its own."""

    def save(folder: Path) -> None:
        tokenizer = _gemma_tokenizer()
        text = {**SMALLER, "vocab_size": len(tokenizer), "max_position_embeddings": 24}
        config = getattr(hf, f"{kind}Config")(text_config=text, vision_config=vision)
        _save(getattr(hf, f"{kind}Model")(config), folder)
        getattr(hf, f"{kind}Processor")(images, tokenizer).save_pretrained(folder)

    return save


def _align(folder: Path) -> None:
    tokenizer = bert_tokenizer(folder, 512)
    text = {**SMALLER, "vocab_size": len(tokenizer), "max_position_embeddings": 96}
    vision = {
        "image_size": 32,
        "width_coefficient": 1.0,
        "depth_coefficient": 0.1,
        "hidden_dim": 16,
        "kernel_sizes": [3],
        "in_channels": [32],
        "out_channels": [16],
        "depthwise_padding": [],
        "strides": [2],
        "num_block_repeats": [1],
        "expand_ratios": [1],
    }
    config = hf.AlignConfig(text_config=text, vision_config=vision, projection_dim=16)
    _save(hf.AlignModel(config), folder)
    images = hf.EfficientNetImageProcessor(
        size={"height": 36, "width": 36}, do_center_crop=True, crop_size=32
    )
    hf.AlignProcessor(images, tokenizer).save_pretrained(folder)


def _altclip(folder: Path) -> None:
    _save(hf.AltCLIPModel.from_pretrained(make_altclip(folder, length=30)), folder)


def _qwen3_vl(folder: Path) -> None:
    tokenizer = _qwen_tokenizer()
    token = tokenizer.convert_tokens_to_ids
    text = {
        **SMALLER,
        "vocab_size": len(tokenizer),
        "num_key_value_heads": 1,
        "head_dim": 8,
        "max_position_embeddings": 9000,
        "rope_parameters": {
            "rope_type": "default",
            "mrope_section": [2, 1, 1],
            "rope_theta": 10000.0,
        },
        "pad_token_id": None,
    }
    vision = {
        "depth": 2,
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_heads": 2,
        "patch_size": 16,
        "out_hidden_size": 16,
        "deepstack_visual_indexes": [0],
        "num_position_embeddings": 64,
    }
    config = hf.Qwen3VLConfig(
        text_config=text,
        vision_config=vision,
        image_token_id=token("<|image_pad|>"),
        video_token_id=token("<|video_pad|>"),
        vision_start_token_id=token("<|vision_start|>"),
        vision_end_token_id=token("<|vision_end|>"),
    )
    _save(hf.Qwen3VLForConditionalGeneration(config), folder)
    images = hf.Qwen2VLImageProcessor(patch_size=16, image_mean=[0.5] * 3, image_std=[0.5] * 3)
    videos = hf.Qwen3VLVideoProcessor(patch_size=16)
    hf.Qwen3VLProcessor(images, tokenizer, videos, chat_template=CHAT).save_pretrained(folder)
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode": "lasttoken"}')


MAKERS: dict[str, Callable[[Path], object]] = {
    "clip": _clip,
    "siglip": _siglip,
    "siglip2-fixed": _siglip2(
        "Siglip", VISION, hf.SiglipImageProcessor(size={"height": 32, "width": 32})
    ),
    "siglip2-naflex": _siglip2(
        "Siglip2",
        {**SMALLER, "patch_size": 8, "num_patches": 16},
        hf.Siglip2ImageProcessor(patch_size=8, max_num_patches=16),
    ),
    "align": _align,
    "altclip": _altclip,
    "blip": make_blip,
    "qwen3_vl": _qwen3_vl,
}


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a tiny model of a type; not to be changed."""
    root, folders = tmp_path_factory.mktemp("hf"), {}

    def make(kind: str) -> Path:
        if kind not in folders:
            torch.manual_seed(0)
            MAKERS[kind](root / kind)
            folders[kind] = root / kind
        return folders[kind]

    return make


@pytest.fixture
def copied(saved: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """A copy of such a folder, to be damaged."""
    return lambda kind: Path(shutil.copytree(saved(kind), tmp_path / kind))


def _reference(kind: str, folder: Path) -> Reference:
    """The cosine of one pair by the library's own classes and processor, as its documentation
    shows."""
    processor = hf.AutoProcessor.from_pretrained(folder)
    if kind == "qwen3_vl":
        return _qwen_reference(folder, processor)
    name = {"blip": "BlipForImageTextRetrieval"}.get(kind, "AutoModel")
    model = getattr(hf, name).from_pretrained(folder).eval()
    siglip = kind.startswith("siglip")
    patches = {"patch_size": 8, "max_num_patches": 16} if kind == "siglip2-naflex" else {}
    longest = {
        "clip": 40,
        "siglip": 12,
        "siglip2-fixed": 24,
        "siglip2-naflex": 24,
        "align": 64,
        "altclip": 30,
    }.get(kind)

    def score(image: Image.Image, text: str) -> float:
        inputs = processor(
            images=image,
            text=[text.lower() if siglip else text],
            truncation=True,
            max_length=longest,
            return_tensors="pt",
            padding="max_length" if siglip or kind == "align" else True,
            **patches,
        )
        if kind == "blip":
            return float(model(**inputs, use_itm_head=False).itm_score)
        outputs = model(**inputs)
        return float(outputs.image_embeds[0] @ outputs.text_embeds[0])

    return score


def _qwen_reference(folder: Path, processor: Any) -> Reference:
    model = hf.AutoModel.from_pretrained(folder).eval()
    system = {
        "role": "system",
        "content": [{"type": "text", "text": "Represent the user's input."}],
    }
    # multiples of 32 pixels that hold four squares of 32 at least, worked out by hand from the
    # published code
    sizes = {(40, 40): (64, 64), (64, 32): (96, 64), (33, 57): (64, 96)}

    def embed(content: dict[str, Any]) -> torch.Tensor:
        inputs = processor.apply_chat_template(
            [system, {"role": "user", "content": [content]}],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
        )
        vector = model(**inputs).last_hidden_state[0, -1]
        return vector / vector.norm()

    def score(image: Image.Image, text: str) -> float:
        sized = image.resize(sizes[image.size])
        return float(
            embed({"type": "image", "image": sized}) @ embed({"type": "text", "text": text})
        )

    return score


def _matrix(score: Reference, images: list[Image.Image]) -> np.ndarray:
    with torch.no_grad():
        return np.array([[score(image, text) for text in TEXTS] for image in images])


@pytest.mark.parametrize("kind", MAKERS)
def test_scores_are_the_librarys_own_and_rank_alike(
    kind: str, saved: Callable[[str], Path]
) -> None:
    images = pictures(((40, 40), (32, 64), (57, 33), (40, 40)))
    model: DualEncoder = load_model(f"hf:{saved(kind)}", "cpu")
    left, right = model.encode_images(images), model.encode_texts(TEXTS)
    assert left.dtype == right.dtype == np.float32
    assert np.linalg.norm(left, axis=1) == pytest.approx(np.ones(len(images)), abs=1e-6)
    mine, theirs = left @ right.T, _matrix(_reference(kind, saved(kind)), images)
    assert min(theirs.std(axis=0).max(), theirs.std(axis=1).max()) > 1e-3
    assert mine == pytest.approx(theirs, abs=1e-4)
    for i in range(len(TEXTS)):
        for j in range(len(TEXTS)):
            sure = beats(theirs[:, i] - 1e-4, theirs[:, j])
            assert beats(mine[:, i], mine[:, j])[sure].all()


def test_a_long_siglip_gives_a_text_alone_what_it_gives_it_among_others(tmp_path: Path) -> None:
    model: DualEncoder = load_model(f"hf:{make_clip(tmp_path, 'Siglip', 200)}", "cpu")
    assert model.encode_texts(["a"])[0] == pytest.approx(
        model.encode_texts(["a", "a long text"])[0], abs=1e-5
    )


def test_align_needs_no_pooler(copied: Callable[[str], Path]) -> None:
    folder = copied("align")
    before = load_model(f"hf:{folder}", "cpu")
    state = load_file(folder / "model.safetensors")
    without_pooler = {
        name: tensor for name, tensor in state.items() if "text_model.pooler" not in name
    }
    assert len(without_pooler) < len(state)
    save_file(without_pooler, folder / "model.safetensors", {"format": "pt"})
    assert load_model(f"hf:{folder}", "cpu").key == before.key


def test_a_pickle_of_tensors_is_read(copied: Callable[[str], Path]) -> None:
    folder = copied("clip")
    before = load_model(f"hf:{folder}", "cpu")
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    assert load_model(f"hf:{folder}", "cpu").key == before.key


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("clip", {"model_type": "vilt"}, "is not a dual encoder of hf: .*; score it as vilt:"),
        ("clip", {"model_type": "llava"}, "is a model of type 'llava', .*; score it as vqa:"),
        (
            "clip",
            {"model_type": "bert"},
            r"is not a dual encoder of hf: \(clip, .*a class of your own can score it",
        ),
        (
            "blip",
            {"architectures": ["BlipForConditionalGeneration"]},
            "which has no contrastive head",
        ),
        (
            "qwen3_vl",
            {},
            r"answers in words, not an embedding model: it has no 1_Pooling/config\.json",
        ),
    ],
)
def test_other_architectures_are_refused_with_the_family_that_reads_them(
    kind: str, changes: dict[str, Any], message: str, copied: Callable[[str], Path]
) -> None:
    folder = copied(kind)
    shutil.rmtree(folder / "1_Pooling", ignore_errors=True)
    change_json(folder / "config.json", **changes)
    with pytest.raises(UserError, match=message):
        load_model(f"hf:{folder}", "cpu")


def test_more_layers_than_the_configuration_has_are_refused(copied: Callable[[str], Path]) -> None:
    folder = copied("clip")
    text = json.loads((folder / "config.json").read_text())["text_config"]
    change_json(folder / "config.json", text_config={**text, "num_hidden_layers": 1})
    with pytest.raises(
        UserError, match=r"they also hold text_model\.encoder\.layers\.1\..* that it does not have"
    ):
        load_model(f"hf:{folder}", "cpu")
