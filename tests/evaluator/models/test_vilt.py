"""ViLT against the library's own API, one pair at a time; and what all families of transformers do with mistakes.

The helpers serve test_blip.py, test_vqa.py and test_blind.py too.
"""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from evaluator.models.registry import load_model
from evaluator.protocols.comparison import tied
from generator.dataset.errors import UserError

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [*SPECIAL, "a", "red", "blue", "cube", "sphere", "and", "the", "there", "is", "yes", "no", ".", "?"]
TEXTS = ["a red cube", "a blue sphere and the red cube", "There is a red sphere.", "a", "a red sphere and a blue cube"]
SIZES = ((40, 60), (64, 64), (90, 40), (48, 48))
LENGTH = 12


def bert_tokenizer(folder: Path, length: int = LENGTH) -> Any:
    """BERT's tokenizer of a few words, that reads texts up to a length."""
    from transformers import BertTokenizer

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    return BertTokenizer(str(folder / "vocab.txt"), model_max_length=length)


def shaken(model: Any, scale: float = 0.3) -> Any:
    """The model in evaluation mode with random weights large enough to tell inputs apart."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            base = parameter if parameter.ndim == 1 else torch.zeros(1)  # norms stay near 1
            parameter.copy_(base + torch.randn(parameter.shape, generator=generator) * scale)
    return model.eval()


def pictures(sizes: Sequence[tuple[int, int]] = SIZES) -> list[Image.Image]:
    """Random images of those heights and widths."""
    rng = np.random.default_rng(0)
    return [Image.fromarray(rng.integers(0, 255, (h, w, 3), dtype=np.uint8)) for h, w in sizes]


def scored(model: Any, images: Sequence[Image.Image], texts: Sequence[str], seed: int | None = None) -> np.ndarray:
    """Scores (images, texts, channels), asked in a random order of pairs."""
    pairs = [(i, text) for i in range(len(images)) for text in texts]
    order = np.arange(len(pairs)) if seed is None else np.random.default_rng(seed).permutation(len(pairs))
    found = model.score_pairs(images, [pairs[i] for i in order])
    assert found.dtype == np.float32
    assert found.shape == (len(pairs), len(model.channels))
    scores = np.empty_like(found)
    scores[order] = found
    return scores.reshape(len(images), len(texts), -1)


def assert_agrees(model: Any, images: Sequence[Image.Image], texts: Sequence[str], expected: np.ndarray) -> None:
    """The scores of a plain loop (images, texts, channels) come out whatever the batch and the order of pairs, and what
    is no tie in the loop is ranked alike."""
    assert (expected.std(axis=(0, 1)) > 1e-3).all()
    for batch in (1, 3, 64):
        scores = scored(type(model)(model._loaded, batch=batch), images, texts, seed=batch)
        assert scores == pytest.approx(expected, abs=1e-4)
        for axis in (0, 1):  # images of a text, texts of an image
            among, plain = (np.moveaxis(each, axis, 0) for each in (scores, expected))
            clear = ~tied(plain[:, None], plain[None])
            assert clear.any()
            assert (np.sign(among[:, None] - among[None]) == np.sign(plain[:, None] - plain[None]))[clear].all()


def cramped(model: Any, name: str, room: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lets the method `name` take at most `room` pairs at a time; notes how many it took."""
    inner, sizes = getattr(model, name), []

    def limited(features: Sequence[Any], texts: Sequence[str]) -> Any:
        if len(texts) > room:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        sizes.append(len(texts))
        return inner(features, texts)

    monkeypatch.setattr(model, name, limited)
    return sizes


@pytest.fixture(scope="module")
def vilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny ViLT that reads 12 tokens and patches of 16 pixels. Not to be changed."""
    return make_vilt(tmp_path_factory.mktemp("vilt"))


def make_vilt(folder: Path, kind: str = "ViltForImageAndTextRetrieval", **changes: Any) -> Path:
    """Saves a tiny ViLT with its processor."""
    import transformers
    from transformers import ViltConfig, ViltImageProcessor, ViltProcessor

    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
    sizes |= {"max_position_embeddings": LENGTH, "image_size": 64, "patch_size": 16, "vocab_size": len(WORDS)}
    shaken(getattr(transformers, kind)(ViltConfig(**(sizes | changes)))).save_pretrained(folder)
    images = ViltImageProcessor(size={"shortest_edge": 48}, size_divisor=16)
    ViltProcessor(images, bert_tokenizer(folder, 512)).save_pretrained(folder)
    (folder / "vocab.txt").unlink()
    return folder


def _plainly(folder: Path, images: Sequence[Image.Image], texts: Sequence[str]) -> np.ndarray:
    from transformers import ViltForImageAndTextRetrieval, ViltProcessor

    model = ViltForImageAndTextRetrieval.from_pretrained(folder).eval()
    processor = ViltProcessor.from_pretrained(folder)
    cut = {"truncation": True, "max_length": LENGTH}
    with torch.no_grad():
        return np.array(
            [
                [model(**processor(image, text, return_tensors="pt", **cut)).logits[0].tolist() for text in texts]
                for image in images
            ]
        )


def test_scores_are_those_of_a_plain_loop(vilt: Path) -> None:
    images, texts = pictures(), [*TEXTS, " ".join(TEXTS * 3)]
    assert_agrees(load_model(f"vilt:{vilt}", "cpu"), images, texts, _plainly(vilt, images, texts))


def test_an_image_is_embedded_once_also_when_memory_runs_out(vilt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = pictures()
    expected = scored(load_model(f"vilt:{vilt}", "cpu"), images, TEXTS)
    model = load_model(f"vilt:{vilt}", "cpu")
    embedded: list[Image.Image] = []
    inner = model._patches
    monkeypatch.setattr(model, "_patches", lambda image: embedded.append(image) or inner(image))
    sizes = cramped(model, "_read", 4, monkeypatch)
    assert scored(model, images, TEXTS, seed=0) == pytest.approx(expected, abs=1e-5)
    assert [id(image) for image in embedded] == [id(image) for image in images]
    assert sum(sizes) == len(images) * len(TEXTS)
    assert max(sizes) == 4
    scored(model, images, TEXTS)
    assert max(sizes) == 4


def test_no_memory_for_one_pair_is_said(vilt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_model(f"vilt:{vilt}", "cpu")
    cramped(model, "_read", 0, monkeypatch)
    with pytest.raises(UserError, match=r"no memory for one pair of image and text; choose --device cpu"):
        scored(model, pictures(), TEXTS)


def test_no_memory_for_the_model_is_said(vilt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr("transformers.ViltForImageAndTextRetrieval.to", full)
    with pytest.raises(UserError, match=r"does not fit in the memory of cpu; choose --device cpu or a smaller model\."):
        load_model(f"vilt:{vilt}", "cpu")


def test_tokens_are_what_is_read(vilt: Path) -> None:
    model = load_model(f"vilt:{vilt}", "cpu")
    long = "a red cube and a blue sphere and a red sphere"
    texts = [f"{long} and a blue cube", f"{long} and a red cube", "a red cube"]
    rows = model.tokens(texts)
    assert rows.shape == (3, LENGTH)
    assert (rows[0] == rows[1]).all()
    assert (rows[0] != rows[2]).any()
    assert (model.tokens(texts[2:]) == rows[2:]).all()
    first, second, third = scored(model, pictures(), texts)[:, :, 0].T
    assert tied(first, second).all()
    assert not tied(first, third).any()


def test_no_patch_is_left_to_chance(tmp_path: Path, vilt: Path) -> None:
    """`max_image_length` below the number of patches would draw some of them, others at every call."""
    limited = load_model(f"vilt:{make_vilt(tmp_path, max_image_length=4)}", "cpu")
    before = torch.get_rng_state()
    scores = [scored(limited, pictures(), TEXTS) for _ in range(2)]
    assert (torch.get_rng_state() == before).all()
    assert (scores[0] == scores[1]).all()
    assert scores[0] == pytest.approx(scored(load_model(f"vilt:{vilt}", "cpu"), pictures(), TEXTS), abs=1e-5)


def test_a_run_names_what_was_loaded(vilt: Path, tmp_path: Path) -> None:
    model = load_model(f"vilt:{vilt}", "cpu")
    assert model.channels == ("itm",)
    assert model.info["architecture"] == "ViltForImageAndTextRetrieval"
    assert model.info["weights"] == str(vilt)
    assert len(model.info["weights_sha256"]) == 64
    assert (model.info["activation"], model.info["text_length"], model.info["precision"]) == ("gelu", LENGTH, "float32")
    assert "size {'shortest_edge': 48}" in model.info["preprocessing"]
    assert "image_mean (0.5, 0.5, 0.5)" in model.info["preprocessing"]
    json.dumps(model.info)
    copy = load_model(f"vilt:{shutil.copytree(vilt, tmp_path / 'copy')}", "cpu")
    assert copy.key == model.key
    heads = load_model(f"vilt:{make_vilt(tmp_path / 'heads', num_attention_heads=4)}", "cpu")
    assert heads.info["weights_sha256"] == model.info["weights_sha256"]
    assert heads.key != model.key


def test_no_pairs_and_scores_that_are_no_numbers(vilt: Path) -> None:
    model = load_model(f"vilt:{vilt}", "cpu")
    assert model.score_pairs(pictures(), []).shape == (0, 1)
    with torch.no_grad():
        model._loaded.model.rank_output.weight.fill_(float("nan"))
    assert np.isnan(scored(model, pictures(), TEXTS)).all()


class _Evil:
    """Writes a file when it is unpickled."""

    def __init__(self, trace: Path):
        self._trace = trace

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Path.write_text, (self._trace, "executed")


def _without_head(folder: Path, trace: Path) -> None:
    shutil.rmtree(folder)
    make_vilt(folder, "ViltModel")


def _wider(folder: Path, trace: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"hidden_size": 64}))


def _cut(folder: Path, trace: Path) -> None:
    with (folder / "model.safetensors").open("r+b") as file:
        file.truncate(10_000)


def _code(folder: Path, trace: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({"rank_output.weight": _Evil(trace)}, folder / "pytorch_model.bin")


def _foreign(folder: Path, trace: Path) -> None:
    (folder / "foreign.py").write_text(f"open({str(trace)!r}, 'w').write('executed')\nclass Config: pass\n")
    config = {"model_type": "foreign", "auto_map": {"AutoConfig": "foreign.Config"}}
    (folder / "config.json").write_text(json.dumps(config))


def _other_type(folder: Path, trace: Path) -> None:
    (folder / "config.json").write_text('{"model_type": "bert"}')


def _remove(name: str) -> Callable[[Path, Path], None]:
    return lambda folder, trace: (folder / name).unlink()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_without_head, r"do not fit ViltForImageAndTextRetrieval: rank_output.bias and \d+ more tensors would be random"),
        (_wider, r"Cannot load '.*' as a vilt: model \("),
        (_cut, r"Cannot load '.*' as a vilt: model \("),
        (_code, r"Cannot load '.*' as a vilt: model \("),
        (_foreign, r"Cannot load '.*' as a vilt: model \("),
        (_other_type, r"is a model of type 'bert', which vilt: does not read; name a vilt model\."),
        (_remove("config.json"), r"Cannot load '.*' as a vilt: model \("),
        (_remove("model.safetensors"), r"Cannot load '.*' as a vilt: model \("),
        (_remove("processor_config.json"), r"Cannot load '.*' as a vilt: model \("),
        (_remove("tokenizer.json"), r"The tokenizer of '.*' has no words|Cannot load"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_in_one_sentence(
    vilt: Path, tmp_path: Path, spoil: Callable[[Path, Path], None], said: str
) -> None:
    folder, trace = Path(shutil.copytree(vilt, tmp_path / "spoilt")), tmp_path / "trace"
    spoil(folder, trace)
    with pytest.raises(UserError, match=said) as caught:
        load_model(f"vilt:{folder}", "cpu")
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")
    assert not trace.exists()


def test_what_is_not_there_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"There is no folder '/nowhere/vilt' for vilt: models; give a folder"):
        load_model("vilt:/nowhere/vilt", "cpu")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(UserError, match=r"'nobody/vilt' is not on this machine and cannot be downloaded .* check the network"):  # fmt: skip
        load_model("vilt:nobody/vilt", "cpu")
