"""DrawingRequest captions into a folder: which captions, what is written, what is continued, what is
refused; the sheet."""

import io
import json
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageColor

from evaluator.audits import generation as module
from evaluator.audits.generation import (
    DrawingRequest,
    SheetRow,
    draw_captions,
    draw_image,
    draw_sheet,
    seen_image,
)
from evaluator.audits.prompts import choose_prompts
from evaluator.models.registry import load_model
from evaluator.provenance.exposure import Exposure
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, World
from tests.evaluator import diffusers_folders

COLOURS = ["red", "blue", "lime", "yellow", "cyan", "magenta"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"diffusion:{diffusers_folders.stable_diffusion(tmp_path_factory.mktemp('generate') / 'sd')}"


@pytest.fixture
def drawn_texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are drawn from now on."""
    texts: list[str] = []

    def noted(model: Any, text: str, **options: Any) -> Image.Image:
        texts.append(text)
        return draw_image(model, text, **options)

    monkeypatch.setattr(module, "draw_image", noted)
    return texts


@pytest.mark.full
def test_each_image_is_the_models_and_finished_ones_are_kept(
    model: str, world: World, benchmark: Benchmark, tmp_path: Path, drawn_texts: list[str]
) -> None:
    request = DrawingRequest((f"frozen={model}",), ("train", "unseen"), 2, 1, 5.0, 3)
    sheet = draw_captions(request, world, benchmark, out=tmp_path / "out", device="cpu")
    record = json.loads((tmp_path / "out" / "drawings.json").read_text())
    texts = [entry["text"] for entry in record["captions"]]
    assert [entry["split"] for entry in record["captions"]] == [
        "train",
        "train",
        "unseen",
        "unseen",
    ]
    assert drawn_texts == texts
    loaded: Any = load_model(model, "cpu")
    assert record["models"]["frozen"]["weights_sha256"] == loaded.info["weights_sha256"]
    paths = []
    for entry in record["captions"]:
        drawing, seen = (
            tmp_path / "out" / entry["images"]["frozen"][what] for what in ("drawn", "seen")
        )
        expected = (
            draw_image(loaded, entry["text"], seed=entry["seed"], guidance=5.0, steps=3),
            seen_image(loaded, world.image(entry["scene_id"])),
        )
        for path, image in zip((drawing, seen), expected, strict=True):
            assert np.array_equal(np.array(Image.open(path)), np.array(image))
        paths += [drawing, seen]
    before = [path.read_bytes() for path in (*paths, sheet)]
    paths[0].unlink()
    paths[3].unlink()
    draw_captions(request, world, benchmark, out=tmp_path / "out", device="cpu")
    assert drawn_texts == [*texts, texts[0]]
    assert [path.read_bytes() for path in (*paths, sheet)] == before
    for other in (
        {"seed": 2},
        {"steps": 2},
        {"guidance": 4.0},
    ):  # nothing of another request is taken
        other_request = replace(request, splits=("unseen",), captions=1, **other)
        draw_captions(other_request, world, benchmark, out=tmp_path / "out", device="cpu")
    assert len(drawn_texts) == 5 + 3


def test_results_name_what_a_model_was_shown(
    world: World, benchmark: Benchmark, tmp_path: Path
) -> None:
    folder = diffusers_folders.stable_diffusion(tmp_path / "sd")
    held = frozenset(
        ("color", value, object_) for value, object_ in (benchmark.holdout or {})["bindings"]
    )
    (folder / "jackalope.json").write_text(json.dumps({"exposure": Exposure(held).to_dict()}))
    draw_captions(
        DrawingRequest((f"diffusion:{folder}",), ("unseen",), 1, steps=1),
        world,
        benchmark,
        out=tmp_path / "out",
        device="cpu",
    )
    record = json.loads((tmp_path / "out" / "drawings.json").read_text())
    assert record["models"][f"diffusion:{folder}"]["training"]["sentence"].startswith(
        "CONTAMINATED: 9 of 9 held-out bind"
    )


@pytest.mark.parametrize(
    ("models", "message"),
    [
        (("blind:length",), "'blind:length' draws no images; give a diffusion: model"),
        (
            ("a=blind:length", "a=blind:ngram"),
            "Expected models with different names, got a=blind:length, a=blind",
        ),
    ],
)
def test_models_that_cannot_be_drawn_are_refused(
    world: World, benchmark: Benchmark, tmp_path: Path, models: tuple[str, ...], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        draw_captions(DrawingRequest(models), world, benchmark, out=tmp_path / "out", device="cpu")


def test_images_stand_on_the_sheet_in_rows_and_columns() -> None:
    images = [
        Image.new("RGB", (64 if i % 2 else 48, 32), colour) for i, colour in enumerate(COLOURS)
    ]
    captions = [
        "seen: a red cube",
        "seen: a blue cube",
        "unseen: " + " ".join(["a red cube and"] * 12),
    ]
    rows = [SheetRow(caption, images[2 * i : 2 * i + 2]) for i, caption in enumerate(captions)]
    data = draw_sheet(["true image", "m" * 90], rows, ["A note."])
    assert data == draw_sheet(["true image", "m" * 90], rows, ["A note."])
    sheet = np.array(Image.open(io.BytesIO(data)).convert("RGB"))
    boxes = []
    for colour, image in zip(COLOURS, images, strict=True):
        y, x = np.nonzero((sheet == ImageColor.getrgb(colour)).all(-1))
        left, top, width, height = x.min(), y.min(), np.ptp(x) + 1, np.ptp(y) + 1
        assert len(x) > 0.99 * width * height  # a whole rectangle but for its frame
        assert width / height == pytest.approx(image.width / image.height, rel=0.03)
        boxes.append((left + width / 2, top + height / 2))
    across, down = np.array(boxes).T.reshape(2, 3, 2)
    assert across[:, 0].max() < across[:, 1].min()
    assert np.ptp(across, axis=0).max() <= 2
    assert np.ptp(down, axis=1).max() <= 2
    assert (np.diff(down[:, 0]) > 0).all()
    assert (sheet[:, -2:] == 255).all()  # nothing is cut


def test_captions_are_true_of_their_images_and_of_their_split(benchmark: Benchmark) -> None:
    prompts = choose_prompts(benchmark, (), most=3, seed=0)
    assert [prompt.split for prompt in prompts[::3]] == ["train", "seen", "partial", "unseen"]
    split_of = {row["scene_id"]: row["split"] for row in benchmark.splits.to_pylist()}
    true = {
        (split_of[row["scene_id"]], benchmark.text_of[row["text_id"]], row["scene_id"])
        for row in benchmark.candidates.to_pylist()
        if row["truth"]
    }
    assert {astuple(prompt) for prompt in prompts} <= true
    assert len({prompt.text for prompt in prompts}) == 12
    assert not any(
        prompt.text.endswith(".") for prompt in prompts
    )  # relations are not learnt by default
    assert (
        choose_prompts(benchmark, (), most=3, seed=0)
        == prompts
        != choose_prompts(benchmark, (), most=3, seed=1)
    )
    assert choose_prompts(benchmark, ("unseen",), most=3, seed=0) == prompts[-3:]
    assert [
        prompt.split for prompt in choose_prompts(benchmark, ("val", "train"), most=1, seed=0)
    ] == [
        "val",
        "train",
    ]
    with pytest.raises(
        UserError, match="has no captions of a split 'unsee'; did you mean 'unseen'"
    ):
        choose_prompts(benchmark, ("unsee",), most=1, seed=0)
