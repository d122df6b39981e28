"""Generative models asked for yes or no, against the library's own `generate`, one pair at a
time."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as t
from PIL import Image
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from evaluator.models.contracts import FAILED, Answer, Chat, GenerationConfig
from evaluator.models.registry import load_answering, load_model
from evaluator.models.vqa import QUESTION, SharedPrefix
from generator.base.errors import UserError
from tests.evaluator.models.conftest import change_json
from tests.evaluator.tiny_models import (
    SMALL,
    SPECIAL,
    TEXTS,
    WORDS,
    assert_agrees,
    clip_images,
    make_blip,
    pictures,
    scored,
    shaken,
)

ANSWERS = ("Yes", "ĠYes", "▁yes", "YES", "No", "Ġno")
NEARLY = ("eyes", "##yes", "not", "yesterday")
_ASKED = (
    "Does",
    "this",
    "figure",
    "show",
    '"',
    "Please",
    "answer",
    "or",
    "USER",
    "ASSISTANT",
    ":",
    "There",
)
TEMPLATE = (
    "START{% for m in messages %}USER: {% for c in m['content'] %}{% if c['type'] == 'image' "
    "%}PLACE{% else %}{{ c['text'] }}{% endif %}{% endfor %}{% endfor %}{% if "
    "add_generation_prompt %} ASSISTANT:{% endif %}"
)


def _tokenizer(
    special: Sequence[str], without: Sequence[str] = (), start: str | None = None
) -> Any:
    vocabulary = [
        w for w in (*ANSWERS, *NEARLY, *WORDS[len(SPECIAL) :], *_ASKED) if w not in without
    ]
    ids = {word: i for i, word in enumerate((*special, "[UNK]", *vocabulary))}
    tokenizer = Tokenizer(models.WordLevel(ids, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    if start:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{start} $A", special_tokens=[(start, ids[start])]
        )
    return t.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        pad_token=special[0],
        eos_token=special[1],
        bos_token=start,
        additional_special_tokens=list(special[2:]),
    )


def make_llava(folder: Path, without: Sequence[str] = ()) -> Path:
    """Saves a tiny LLaVA with a chat template that begins with the start token, as its tokenizer
    does too."""
    tokenizer = _tokenizer(("<pad>", "</s>", "<s>", "<image>"), without, start="<s>")
    config = t.LlavaConfig(
        vision_config=t.CLIPVisionConfig(**SMALL, image_size=32, patch_size=16, projection_dim=16),
        text_config=t.LlamaConfig(
            **SMALL,
            vocab_size=len(tokenizer),
            num_key_value_heads=2,
            bos_token_id=2,
            eos_token_id=1,
        ),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
    )
    shaken(t.LlavaForConditionalGeneration(config)).save_pretrained(folder)
    template = TEMPLATE.replace("START", "<s>").replace("PLACE", "<image>")
    sizes = {
        "patch_size": 16,
        "vision_feature_select_strategy": "default",
        "num_additional_image_tokens": 1,
    }
    t.LlavaProcessor(clip_images(), tokenizer, **sizes, chat_template=template).save_pretrained(
        folder
    )
    return folder


def make_qwen(folder: Path) -> Path:
    """Saves a tiny Qwen2-VL: as many patches as an image has room for, positions in three
    dimensions."""
    signs = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
    tokenizer = _tokenizer(("<pad>", "<|im_end|>", *signs))
    names = ("vision_start_token_id", "vision_end_token_id", "image_token_id", "video_token_id")
    rope = {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 10000.0}
    text = {
        **SMALL,
        "num_key_value_heads": 2,
        "vocab_size": len(tokenizer),
        "rope_parameters": rope,
    }
    vision = {
        "depth": 2,
        "embed_dim": 32,
        "hidden_size": 32,
        "num_heads": 2,
        "mlp_ratio": 2,
        "patch_size": 14,
    }
    config = t.Qwen2VLConfig(
        text_config=text | {"bos_token_id": None, "eos_token_id": 1, "pad_token_id": 0},
        vision_config=vision | {"spatial_merge_size": 2, "temporal_patch_size": 2},
        **{
            name: tokenizer.convert_tokens_to_ids(sign)
            for name, sign in zip(names, signs, strict=True)
        },
    )
    shaken(t.Qwen2VLForConditionalGeneration(config)).save_pretrained(folder)
    images = t.Qwen2VLImageProcessor(min_pixels=28 * 28, max_pixels=16 * 28 * 28)
    template = TEMPLATE.replace("START", "").replace(
        "PLACE", "<|vision_start|><|image_pad|><|vision_end|>"
    )
    t.Qwen2VLProcessor(
        images, tokenizer, t.Qwen2VLVideoProcessor(), chat_template=template
    ).save_pretrained(folder)
    return folder


def make_blip2(folder: Path) -> Path:
    """Saves a tiny BLIP-2 with T5: an encoder-decoder without a chat template."""
    tokenizer = _tokenizer(("<pad>", "</s>", "<image>"))
    words = {
        "vocab_size": len(tokenizer),
        "d_model": 32,
        "d_kv": 16,
        "d_ff": 48,
        "num_layers": 2,
        "num_heads": 2,
    }
    config = t.Blip2Config(
        vision_config={**SMALL, "image_size": 32, "patch_size": 16},
        qformer_config={**SMALL, "vocab_size": len(tokenizer), "encoder_hidden_size": 32},
        text_config=t.T5Config(**words, decoder_start_token_id=0).to_dict(),
        num_query_tokens=4,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
    )
    shaken(t.Blip2ForConditionalGeneration(config)).save_pretrained(folder)
    images = t.BlipImageProcessor(size={"height": 32, "width": 32})
    t.Blip2Processor(images, tokenizer, num_query_tokens=4).save_pretrained(folder)
    return folder


def make_paligemma(folder: Path) -> Path:
    """Saves a tiny PaliGemma: a prompt that is read in both directions, and no chat template."""
    tokenizer = _tokenizer(("<pad>", "<eos>", "<image>"))
    tokenizer.bos_token = "<eos>"
    places = 1152  # tokens for locations and segments, which the processor adds
    text = {
        **SMALL,
        "model_type": "gemma",
        "vocab_size": len(tokenizer) + places,
        "num_key_value_heads": 2,
    }
    vision = {**SMALL, "model_type": "siglip_vision_model", "image_size": 32, "patch_size": 16}
    config = t.PaliGemmaConfig(
        vision_config=vision | {"vision_use_head": False},
        text_config=text | {"head_dim": 16},
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        projection_dim=32,
    )
    shaken(t.PaliGemmaForConditionalGeneration(config)).save_pretrained(folder)
    images = t.SiglipImageProcessor(size={"height": 32, "width": 32})
    images.image_seq_length = 4
    t.PaliGemmaProcessor(images, tokenizer).save_pretrained(folder)
    return folder


def make_git(folder: Path) -> Path:
    """Saves a tiny GIT: the image before a text that its tokenizer would end with a separator, no
    chat template."""
    tokenizer = _tokenizer(("[PAD]", "[SEP]", "[CLS]"), start="[CLS]")
    tokenizer.cls_token, tokenizer.sep_token = "[CLS]", "[SEP]"
    tokenizer.backend_tokenizer.post_processor = processors.BertProcessing(
        ("[SEP]", 1), ("[CLS]", 2)
    )
    vision = {**SMALL, "image_size": 32, "patch_size": 16}
    words = {
        "vocab_size": len(tokenizer),
        "max_position_embeddings": 64,
        "eos_token_id": 1,
        "bos_token_id": 2,
    }
    shaken(t.GitForCausalLM(t.GitConfig(**SMALL, **words, vision_config=vision))).save_pretrained(
        folder
    )
    t.GitProcessor(clip_images(), tokenizer).save_pretrained(folder)
    return folder


def _make_blip_vqa(folder: Path) -> Path:
    return make_blip(folder, "BlipForQuestionAnswering")


def _plainly(
    folder: Path, kind: str, images: Sequence[Image.Image], texts: Sequence[str]
) -> np.ndarray:
    """Log odds and P(yes) (images, texts, 2) of the first token that `generate` would write."""
    model = getattr(t, kind).from_pretrained(folder).eval()
    processor = t.AutoProcessor.from_pretrained(folder)
    vocabulary = processor.tokenizer.get_vocab()
    spelled = {"yes": ("Yes", "ĠYes", "▁yes", "YES", "yes"), "no": ("No", "Ġno", "no")}
    ids = [[vocabulary[word] for word in words if word in vocabulary] for words in spelled.values()]
    scores = np.empty((len(images), len(texts), 2))
    for i, image in enumerate(images):
        for j, text in enumerate(texts):
            inputs = _given(processor, image, QUESTION.format(text))
            out = model.generate(
                **inputs,
                max_new_tokens=1,
                do_sample=False,
                output_logits=True,
                return_dict_in_generate=True,
            )
            chances = torch.softmax(out.logits[0][0].double(), 0)
            yes, no = (chances[which].sum().item() for which in ids)
            scores[i, j] = np.log(yes) - np.log(no), yes
    return scores


def _given(processor: Any, image: Image.Image, question: str) -> Any:
    if type(processor).__name__ == "GitProcessor":  # as it is documented
        ids = [
            processor.tokenizer.cls_token_id,
            *processor(text=question, add_special_tokens=False)["input_ids"],
        ]
        return {**processor(images=image, return_tensors="pt"), "input_ids": torch.tensor([ids])}
    if not getattr(processor, "chat_template", None):
        return processor(images=image, text=question, return_tensors="pt")
    content = [{"type": "image", "image": image}, {"type": "text", "text": question}]
    return processor.apply_chat_template(
        [{"role": "user", "content": content}],
        add_generation_prompt=True,
        tokenize=True,
        return_dict=True,
        return_tensors="pt",
    )


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (make_llava, "LlavaForConditionalGeneration"),
        (make_qwen, "Qwen2VLForConditionalGeneration"),
        (make_paligemma, "PaliGemmaForConditionalGeneration"),
        (make_blip2, "Blip2ForConditionalGeneration"),
        (make_git, "GitForCausalLM"),
        (_make_blip_vqa, "BlipForQuestionAnswering"),
    ],
)
def test_scores_are_those_of_a_plain_loop(
    tmp_path: Path, make: Callable[[Path], Path], kind: str
) -> None:
    images, folder = pictures(), make(tmp_path)
    model = load_model(f"vqa:{folder}", "cpu")
    assert model.channels == ("log_odds", "p_yes")
    assert_agrees(model, images, TEXTS, _plainly(folder, kind, images, TEXTS))


@pytest.fixture(scope="module")
def llava(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_llava(tmp_path_factory.mktemp("llava"))


@pytest.mark.parametrize(
    ("make", "shared"),
    [(make_llava, True), (make_qwen, True), (make_paligemma, False), (make_blip2, False)],
)
def test_an_image_is_computed_once_where_attention_is_causal(
    tmp_path: Path, make: Callable[[Path], Path], shared: bool
) -> None:
    model = load_model(f"vqa:{make(tmp_path)}", "cpu")
    assert model.info["image_prefix"] == ("computed once" if shared else "computed for each text")
    tokens: list[int] = []
    model._model.get_input_embeddings().register_forward_hook(
        lambda _, args, out: tokens.append(out[..., 0].numel())
    )
    model.batch.size = 2
    scored(model, pictures()[:2], TEXTS)
    whole = sum(tokens)
    tokens.clear()
    model.shares_prefix = False
    scored(model, pictures()[:2], TEXTS)
    assert (whole < sum(tokens)) == shared


def test_a_text_that_would_break_the_prompt_is_not_scored(llava: Path) -> None:
    scores = scored(load_model(f"vqa:{llava}", "cpu"), pictures(), [*TEXTS, "a red <image> cube"])
    assert np.isnan(scores[:, -1]).all()
    assert np.isfinite(scores[:, :-1]).all()


def test_results_are_kept_under_all_that_decides_them(llava: Path, tmp_path: Path) -> None:
    """Scores under the whole prompt, answers also under how they are generated."""
    question_changed, sampling_changed = (
        Path(shutil.copytree(llava, tmp_path / name)) for name in ("asked", "drawn")
    )
    template = question_changed / "chat_template.jinja"
    template.write_text(template.read_text().replace("USER", "PLEASE"))
    (sampling_changed / "generation_config.json").write_text('{"top_k": 1}')
    mine, other, sampled_otherwise = (
        load_answering(f"vqa:{folder}", "cpu")
        for folder in (llava, question_changed, sampling_changed)
    )
    assert (mine.tokens(TEXTS) != other.tokens(TEXTS)).any(axis=1).all()
    assert len({mine.key, other.key, sampled_otherwise.key}) == 3


def test_models_that_cannot_be_asked_are_refused(llava: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(llava, tmp_path / "silent"))
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(
        UserError,
        match=r"does not take an image and a question \(.*\); it has no chat template: add its chat_template\.jinja\.",
    ):
        load_model(f"vqa:{folder}", "cpu")
    odd = Path(shutil.copytree(llava, tmp_path / "odd"))
    change_json(odd / "processor_config.json", patch_size=8)
    with pytest.raises(
        UserError, match=r"an image and a question \(ValueError: .*\); name another model"
    ):
        load_model(f"vqa:{odd}", "cpu")
    mute = make_llava(tmp_path / "mute", without=("no", "No", "Ġno"))
    with pytest.raises(
        UserError, match=r"has no token for 'no'; name a model that answers in English\."
    ):
        load_model(f"vqa:{mute}", "cpu")
    message = r"do not fit BlipForQuestionAnswering: \S+ and \d+ more tensors would be random; name a model trained for"
    with pytest.raises(UserError, match=message):
        load_model(f"vqa:{make_blip(tmp_path / 'blip')}", "cpu")


def test_blip_alone_has_another_first_token(tmp_path: Path, llava: Path) -> None:
    folder = make_blip(tmp_path / "blip", "BlipForQuestionAnswering", published=True)
    models = [load_model(f"vqa:{folder},first_token={first}", "cpu") for first in ("cls", "enc")]
    by_cls, by_enc = (scored(model, pictures(), TEXTS)[..., 0] for model in models)
    assert models[0].key != models[1].key
    assert np.abs(by_enc - by_cls).max() > 0.1 * by_cls.std()
    with pytest.raises(
        UserError, match="is not a BLIP model, and only those take first_token=enc; leave it out"
    ):
        load_model(f"vqa:{llava},first_token=enc", "cpu")


PROMPTS = [[5, 6, 7, 8, 9, 10], [5, 6, 7, 1, 2], [5, 6, 7, 8, 9]]


def test_prompts_that_the_processor_changes_after_the_image_are_refused() -> None:
    for ids, prompts in (([5, 5, 6, 7, 8, 9, 11], PROMPTS), ([10], [[1, 10], [2, 10]])):
        with pytest.raises(ValueError, match="changes the tokens after the image"):
            SharedPrefix(None, {"input_ids": torch.tensor([ids])}, prompts)


@pytest.mark.parametrize("make", [make_llava, make_qwen, make_paligemma, make_blip2, make_git])
@pytest.mark.parametrize("temperature", [0.0, 1.5])
def test_whole_answers_are_those_of_generate(
    make: Callable[[Path], Path], temperature: float, tmp_path: Path
) -> None:
    """In batches of prompts of several lengths, and drawn ones by seeds of their own."""
    model: Any = load_answering(f"vqa:{make(tmp_path)}", "cpu")
    model._model.generation_config.top_k = (
        1  # as is published with some, whose samples would be alike
    )
    images, questions = (
        pictures(),
        ["a red cube ?", "Does this figure show a blue sphere or a red cube ?"],
    )
    chats = [
        Chat(f"{i} {k}", lambda image=image: [image], text)
        for i, image in enumerate(images)
        for k, text in enumerate(questions)
    ]
    answers: dict[str, Answer] = {}
    model.answer_all(
        chats,
        GenerationConfig(6, temperature),
        keep=lambda chat, answer: answers.update({chat.name: answer}),
    )
    assert len(answers) == len(chats)
    for chat in chats:
        inputs = model._inputs([chat.show()], [chat.text])
        torch.manual_seed(chat.seed)
        sampling = (
            {"do_sample": True, "temperature": temperature, "top_k": 0}
            if temperature
            else {"do_sample": False}
        )
        with torch.inference_mode():
            (row,) = model._model.generate(**inputs, max_new_tokens=6, **sampling).tolist()
        prompt = inputs["input_ids"][0].tolist()
        start = len(prompt) if row[: len(prompt)] == prompt else 0
        text = model._processor.decode(row[start:], skip_special_tokens=True).strip()
        assert answers[chat.name].text == text
        ends = model._loaded.tokenizer.eos_token_id in row[start + 1 :]
        assert answers[chat.name].finish == ("stop" if ends else "length")
    assert len({answer.text for answer in answers.values()}) > 1


def test_a_question_that_would_break_the_prompt_has_no_answer(llava: Path) -> None:
    answers: list[Answer] = []
    model = load_answering(f"vqa:{llava}", "cpu")
    model.answer_all(
        [Chat("x", pictures, "<image>")],
        GenerationConfig(6, 0.0),
        keep=lambda _, answer: answers.append(answer),
    )
    assert [answer.finish for answer in answers] == [
        f"{FAILED}the question has a special token of the model"
    ]
