"""What every family keeps to, with a tiny model of each: keys that follow weights, tokens, info,
batches that fit."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from evaluator.models.contracts import DualEncoder
from evaluator.models.registry import load_model
from evaluator.scoring.needs import collect_needs
from evaluator.scoring.score import score
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, World
from tests.evaluator.diffusers_folders import stable_diffusion
from tests.evaluator.evil import Evil
from tests.evaluator.models import test_hf, test_vqa
from tests.evaluator.needs import needs_of, pool_ids
from tests.evaluator.tiny_models import (
    TEXTS,
    make_blip,
    make_gpt2,
    make_vilt,
    matrix,
    open_clip_folder,
    pictures,
)


class Tried(NamedTuple):
    """A family: what saves a tiny model of it, its spec for a folder, and the network in it that
    runs for each row."""

    make: Callable[[Path], Any]
    spec: str
    network: Callable[[Any], Any]


FAMILIES: dict[str, Tried] = {
    **{
        f"hf {kind}": Tried(make, "hf:{}", lambda model: model.network)
        for kind, make in test_hf.MAKERS.items()
    },
    "vilt": Tried(make_vilt, "vilt:{}", lambda model: model._loaded.model),
    "blip": Tried(make_blip, "blip:{}", lambda model: model._loaded.model.itm_head),
    "vqa blip": Tried(
        test_vqa._make_blip_vqa, "vqa:{}", lambda model: model._loaded.model.text_encoder
    ),
    "vqa llava": Tried(test_vqa.make_llava, "vqa:{}", lambda model: model._model.lm_head),
    "vqa qwen": Tried(test_vqa.make_qwen, "vqa:{}", lambda model: model._model.lm_head),
    "vqa blip-2": Tried(
        test_vqa.make_blip2, "vqa:{}", lambda model: model._model.language_model.lm_head
    ),
    "blind:lm": Tried(make_gpt2, "blind:lm:{}", lambda model: model._model.lm_head),
    "diffusion": Tried(
        stable_diffusion, "diffusion:{},samples=2", lambda model: model.adapter.model.conv_in
    ),
    "open_clip": Tried(lambda folder: None, "open_clip:local-dir:{}", lambda model: model.network),
}
IN_ROWS = [
    name for name in FAMILIES if not name.startswith(("hf", "open_clip", "vqa qwen", "vqa blip-2"))
]
"""Families whose own batch is sized by `batch`, with a network that runs once for each row."""
pytestmark = pytest.mark.parametrize("name", FAMILIES)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory, tiny: Any) -> Callable[[str], Path]:
    """The folder of a tiny model of a family; not to be changed."""
    root, folders = tmp_path_factory.mktemp("families"), dict[str, Path]()

    def folder(name: str) -> Path:
        if name not in folders:
            torch.manual_seed(0)
            folders[name] = root / name.replace(" ", "-").replace(":", "-") / "embedding"
            folders[name].parent.mkdir()
            if name == "open_clip":
                open_clip_folder(tiny(), folders[name])
            else:
                folders[name] = FAMILIES[name].make(folders[name]) or folders[name]
        return folders[name]

    return folder


@pytest.fixture
def folder(name: str, folders: Callable[[str], Path]) -> Path:
    return folders(name)


@pytest.fixture
def model(name: str, folder: Path) -> Any:
    return load(name, folder)


@pytest.fixture
def moved(folder: Path, tmp_path: Path) -> Path:
    """The folder elsewhere, to be changed."""
    return Path(shutil.copytree(folder, tmp_path / "embedding@home"))


def load(name: str, folder: Path) -> Any:
    return load_model(FAMILIES[name].spec.format(folder), "cpu")


def weights_of(folder: Path) -> Path:
    return next(file for file in sorted(folder.rglob("*.safetensors")) if "safety" not in str(file))


def change(weights: Path, to: Callable[[Any], Any]) -> None:
    """The largest tensor becomes another one, or is left out."""
    tensors = load_file(weights)
    largest = max(tensors, key=lambda name: tensors[name].numel())
    tensors[largest] = to(tensors[largest])
    save_file(
        {key: tensor for key, tensor in tensors.items() if tensor is not None},
        weights,
        {"format": "pt"},
    )


def notes_rows(name: str, model: Any, room: int = 1000) -> list[int]:
    """How many rows the network computes at once, noted as it does; it has memory for some."""
    sizes = list[int]()

    def note(_: Any, args: Any, named: Any) -> None:
        rows = len((*args, *named.values())[0])
        if rows > room:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        sizes.append(rows)

    FAMILIES[name].network(model).register_forward_pre_hook(note, with_kwargs=True)
    return sizes


def test_the_key_follows_the_weights_and_not_the_place(name: str, model: Any, moved: Path) -> None:
    assert load(name, moved).key == model.key
    change(weights_of(moved), lambda tensor: tensor + 1)
    other = load(name, moved)
    assert other.key != model.key
    assert other.info["weights_sha256"] != model.info["weights_sha256"]


def put_code_in(weights: Path) -> None:
    names = {"open_clip_model": "open_clip_pytorch_model", "model": "pytorch_model"}
    pickled = weights.with_name(f"{names.get(weights.stem, weights.stem)}.bin")
    torch.save({"a.weight": Evil(Path("trace").absolute())}, pickled)
    weights.unlink()


DAMAGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "cut": (lambda weights: weights.write_bytes(weights.read_bytes()[:-9]), "cannot be loaded"),
    "a tensor less": (
        lambda weights: change(weights, lambda tensor: None),
        "would be random; name|lack .* in all|do not fit its configuration",
    ),
    "a wider tensor": (
        lambda weights: change(weights, lambda tensor: torch.cat([tensor] * 2)),
        "do not fit its configuration|cannot be loaded",
    ),
    "code": (put_code_in, "cannot be loaded"),
    "gone": (Path.unlink, "cannot be loaded"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_weights_that_are_not_whole_are_refused_in_one_sentence(
    name: str, damage: str, moved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(moved.parent)
    spoil, message = DAMAGES[damage]
    spoil(weights_of(moved))
    with pytest.raises(UserError, match=message) as caught:
        load(name, moved)
    assert str(moved) in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.message.endswith(".")
    assert not Path("trace").exists()


def test_tokens_tell_texts_apart_as_the_model_does(name: str, model: Any) -> None:
    """Texts that truncation makes equal have equal tokens and scores; fingerprints tell texts of
    any length apart."""
    rows = model.tokens(TEXTS)
    assert (rows.dtype, rows.ndim, len(rows)) == (np.int64, 2, len(TEXTS))
    assert len({row.tobytes() for row in rows}) == len(TEXTS)
    assert all(
        np.array_equal(model.tokens([text])[0], row) for text, row in zip(TEXTS, rows, strict=True)
    )
    long = [" ".join(["a red cube"] * 30 + ["and a", word]) for word in ("cube", "sphere")]
    first, second, other = model.tokens([*long, "a red cube"])
    assert (first != other).any()
    equal = np.array_equal(first, second)
    assert equal == (model.info["text_length"] is not None and model.info["text_length"] < 100)
    if equal:
        scores = matrix(model, pictures()[:2], [*long, "a"])[0]
        assert scores[0] == pytest.approx(scores[1], abs=1e-6)


def test_a_run_names_what_was_loaded(name: str, model: Any, folder: Path) -> None:
    info = json.loads(json.dumps(model.info))
    assert str(folder) in info["weights"]
    assert len(info["weights_sha256"]) == 64
    assert info["parameters"] > 0
    assert (info["precision"], info["device"]) == ("float32", "cpu")
    assert info["preprocessing"]
    assert model.exposure is None
    assert model.reusable
    if not isinstance(model, DualEncoder):
        assert model.score_pairs(pictures(), []).shape == (0, len(model.channels))


def test_half_precision_gives_float32_near_the_full_scores(name: str, model: Any) -> None:
    if name == "vqa blip-2":
        pytest.skip("T5 of this size overflows in bfloat16")
    full = matrix(model, pictures()[:2], TEXTS[:2])
    with torch.autocast("cpu", torch.bfloat16):
        half = matrix(model, pictures()[:2], TEXTS[:2])
    assert half.dtype == np.float32
    assert half == pytest.approx(full, abs=0.1 * max(1.0, float(np.abs(full).max())))


def test_weights_that_are_no_numbers_give_scores_that_are_none(name: str, model: Any) -> None:
    with torch.no_grad():
        for weight in FAMILIES[name].network(model).parameters():
            weight.fill_(float("nan"))
    assert np.isnan(matrix(model, pictures()[:2], TEXTS[:2])[..., 0]).all()


def test_memory_that_runs_out_halves_the_batch_and_loses_nothing(name: str, model: Any) -> None:
    if name not in IN_ROWS:
        pytest.skip("batches of dual encoders are sized by the scoring")
    expected = matrix(model, pictures()[:2], TEXTS)
    sizes = notes_rows(name, model, room=3)
    model._scores = {}
    assert matrix(model, pictures()[:2], TEXTS) == pytest.approx(expected, abs=1e-4)
    assert max(sizes) <= 3
    notes_rows(name, model, room=0)
    model._scores = {}
    with pytest.raises(
        UserError, match=r"Not enough memory for one .*choose --device cpu or a smaller model"
    ):
        matrix(model, pictures()[:2], TEXTS)


def test_as_many_are_computed_at_once_as_asked(
    name: str, folder: Path, world: World, benchmark: Benchmark, tmp_path: Path
) -> None:
    """More than the default are a larger pass of the network, fewer a smaller."""
    if name not in IN_ROWS:
        pytest.skip("batches of dual encoders are sized by the scoring")
    images, texts = pool_ids(collect_needs(benchmark, ["retrieval"]), "grid")
    needs = needs_of([], {"grid": (images[:2], texts[:40])})
    for batch in (3, 17):
        model = load(name, folder)
        rows = notes_rows(name, model)
        score(
            model,
            world,
            benchmark=benchmark,
            needs=needs,
            out=tmp_path / f"{batch}",
            batch=batch,
            cache_folder=tmp_path / f"cache{batch}",
        )
        assert max(rows) == batch
