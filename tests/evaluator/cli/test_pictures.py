"""`score generate` draws with the model that `score train scratch` makes; `score embeddings` places
embeddings."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from evaluator.audits.embeddings import on_plane
from evaluator.models.registry import load_model
from generator.dataset.reader import Dataset
from tests.evaluator.conftest import succeed
from tests.evaluator.tiny_models import make_clip


def test_a_trained_model_draws_seen_and_unseen_captions(
    class_lists: Path, tmp_path: Path, little: None
) -> None:
    name = ("--benchmark", "gzsl-relational-b0", "--device", "cpu")
    few = ("--architecture", "diffusion", "--epochs", "1", "--batch", "8")
    done = succeed("train", "scratch", class_lists, "--out", tmp_path / "m", *few, *name)
    model, out = f"scratch=jackalope:{tmp_path / 'm'}", tmp_path / "out"
    done = succeed(
        "generate",
        class_lists,
        "--model",
        model,
        "--out",
        out,
        "--captions",
        "1",
        "--steps",
        "2",
        *name,
    )
    assert done.stdout == f"{out / 'sheet.png'}\n"
    record = json.loads((out / "drawings.json").read_text())
    assert [entry["split"] for entry in record["captions"]] == ["train", "id_test", "ood_test"]
    assert record["request"]["guidance"] == 7.0
    for entry in record["captions"]:
        assert Image.open(out / entry["images"]["scratch"]["drawn"]).size == (16, 16)


def test_captions_and_images_are_placed_by_their_embeddings(
    class_lists: Path, tmp_path: Path
) -> None:
    spec, out = f"hf:{make_clip(tmp_path / 'clip')}", tmp_path / "out"
    options = (
        "--benchmark",
        "gzsl-relational-b0",
        "--images",
        "2",
        "--device",
        "cpu",
        "--out",
        out,
        "--seed",
        "3",
    )
    done = succeed("embeddings", class_lists, "--model", f"frozen={spec}", *options)
    assert done.stdout.splitlines()[:2] == [str(out / "texts.svg"), str(out / "images.svg")]
    assert "Mean cosine of images, frozen: " in done.stdout
    record = json.loads((out / "embeddings.json").read_text())
    assert {text["split"] for text in record["texts"]} == {"train", "id_test", "ood_test"}
    assert re.search(r">\w+ left \w+<", (out / "texts.svg").read_text())
    model: Any = load_model(spec, "cpu")
    expected = on_plane(model.encode_texts([text["caption"] for text in record["texts"]]), 3)
    assert np.allclose(record["places"]["texts"]["frozen"], expected, atol=1e-3)
    world = Dataset.open(class_lists).world
    images = [model.prepare(world.image(image["scene_id"])) for image in record["images"]]
    assert np.allclose(
        record["places"]["images"]["frozen"], on_plane(model.encode_images(images), 3), atol=1e-3
    )
    assert record["models"]["frozen"]["training"]["status"] == "unknown"
