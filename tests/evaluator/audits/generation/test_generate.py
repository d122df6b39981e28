"""Drawing into a folder: what is written, what is continued, what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from evaluator.audits import generation as module
from evaluator.audits.generation import Drawing, draw_captions, draw_image, seen_image
from evaluator.models.registry import load_model
from evaluator.provenance.exposure import Exposure
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, World
from tests.evaluator import diffusers_folders


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"diffusion:{diffusers_folders.stable_diffusion(tmp_path_factory.mktemp('generate') / 'sd')}"


@pytest.fixture
def drawn_texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are drawn from now on."""
    texts: list[str] = []

    def noted(*given: Any) -> Image.Image:
        texts.append(given[1])
        return draw_image(*given)

    monkeypatch.setattr(module, "draw_image", noted)
    return texts


def test_each_image_is_the_models_and_finished_ones_are_kept(
    model: str, world: World, benchmark: Benchmark, tmp_path: Path, drawn_texts: list[str]
) -> None:
    asked = Drawing((f"frozen={model}",), ("train", "unseen"), 2, 1, 5.0, 3)
    sheet = draw_captions(asked, world, benchmark, tmp_path / "out", "cpu")
    record = json.loads((tmp_path / "out" / "drawings.json").read_text())
    assert [entry["split"] for entry in record["captions"]] == ["train", "train", "unseen", "unseen"]
    assert drawn_texts == [entry["text"] for entry in record["captions"]]
    loaded: Any = load_model(model, "cpu")
    assert record["models"]["frozen"]["weights_sha256"] == loaded.info["weights_sha256"]
    paths = []
    for entry in record["captions"]:
        paths.append(tmp_path / "out" / entry["images"]["frozen"]["drawn"])
        assert np.array_equal(
            np.array(Image.open(paths[-1])), np.array(draw_image(loaded, entry["text"], entry["seed"], 5.0, 3))
        )
        seen = Image.open(tmp_path / "out" / entry["images"]["frozen"]["seen"])
        assert np.array_equal(np.array(seen), np.array(seen_image(loaded, world.image(entry["scene_id"]))))
    before = [path.read_bytes() for path in (*paths, sheet)]
    drawn_texts.clear()
    paths[0].unlink()
    paths[1].write_bytes(before[1][:-30])
    paths[2].write_bytes(before[3])  # another caption's
    draw_captions(asked, world, benchmark, tmp_path / "out", "cpu")
    assert drawn_texts == [entry["text"] for entry in record["captions"][:3]]
    assert [path.read_bytes() for path in (*paths, sheet)] == before
    with pytest.raises(UserError, match="holds drawings of another request; choose another --out"):
        draw_captions(Drawing((f"frozen={model}",), seed=2), world, benchmark, tmp_path / "out", "cpu")


def test_what_a_model_was_shown_is_said(world: World, benchmark: Benchmark, tmp_path: Path) -> None:
    folder = diffusers_folders.stable_diffusion(tmp_path / "sd")
    held = frozenset(("color", value, thing) for value, thing in (benchmark.holdout or {})["bindings"])
    (folder / "jackalope.json").write_text(json.dumps({"exposure": Exposure(held).to_dict()}))
    draw_captions(Drawing((f"diffusion:{folder}",), ("unseen",), 1, steps=1), world, benchmark, tmp_path / "out", "cpu")
    record = json.loads((tmp_path / "out" / "drawings.json").read_text())
    assert record["models"][f"diffusion:{folder}"]["training"]["said"].startswith("CONTAMINATED: 9 of 9 held-out bind")


@pytest.mark.parametrize(
    ("models", "said"),
    [
        (("blind:length",), "'blind:length' draws no images; give a diffusion: model"),
        (("a=blind:length", "a=blind:ngram"), "Expected models with names of their own, got a=blind:length, a=blind"),
    ],
)
def test_models_that_cannot_be_drawn_are_refused(
    world: World, benchmark: Benchmark, tmp_path: Path, models: tuple[str, ...], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        draw_captions(Drawing(models), world, benchmark, tmp_path / "out", "cpu")


def test_a_folder_of_something_else_is_left_alone(world: World, benchmark: Benchmark, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="is not empty and holds no drawings; choose another --out"):
        draw_captions(Drawing(("blind:length",)), world, benchmark, tmp_path, "cpu")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
