"""DreamBooth: from a pipeline to an ordinary member of its family."""

import json
from pathlib import Path

import numpy as np
import pytest

from evaluator.models.network import weights_digest
from evaluator.models.registry import load_model
from evaluator.training.methods import Dreambooth
from evaluator.training.recipe import from_preset
from evaluator.training.session import train
from evaluator.training.source import corpus_source
from generator.base.errors import UserError
from tests.conftest import succeed
from tests.evaluator import diffusers_folders
from tests.evaluator.tiny_models import scored


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    lines = []
    for i, (image, text) in enumerate(
        zip(diffusers_folders.pictures(6), diffusers_folders.TEXTS * 2, strict=True)
    ):
        image.save(tmp_path / f"{i}.png")
        lines.append(json.dumps({"image": f"{i}.png", "caption": text}))
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines))
    return tmp_path / "corpus.jsonl"


@pytest.mark.parametrize("text_encoder", [True, False])
def test_a_pipeline_is_trained_and_scored_as_its_family(
    corpus: Path, tmp_path: Path, text_encoder: bool
) -> None:
    base = f"diffusion:{diffusers_folders.stable_diffusion(tmp_path / 'sd')},samples=4"
    more = () if text_encoder else ("--no-text-encoder",)
    arguments = (
        "train",
        "dreambooth",
        corpus,
        "--model",
        base,
        "--steps",
        "8",
        "--rate",
        "1e-3",
        "--device",
        "cpu",
        *more,
    )
    done = succeed("score", *arguments, "--out", tmp_path / "out")
    assert (
        "Published (Pearson et al. 2025, appendix A, single and two objects): batch, images per "
        "class" in done.stderr
    )
    record = json.loads((tmp_path / "out" / "jackalope.json").read_text())
    assert record["origin"]["set_by_user"] == [
        "rate",
        "steps",
        *(() if text_encoder else ("text_encoder",)),
    ]
    assert ("text_encoder" in record["origin"]["published"]) is text_encoder
    assert len(record["losses"]) == 2  # six steps, and the two that are left
    assert (record["recipe"]["steps"], record["recipe"]["text_encoder"]) == (8, text_encoder)
    before, ours, theirs = (
        load_model(spec, "cpu")
        for spec in (
            base,
            f"jackalope:{tmp_path / 'out'},samples=4",
            f"diffusion:{tmp_path / 'out'},samples=4",
        )
    )
    assert record["base"] == {
        "model": base,
        "weights_sha256": before.info["weights_sha256"],
        "stand_in": False,
    }
    assert ours.key == theirs.key != before.key
    images = diffusers_folders.pictures(1)
    scores = [scored(model, images, diffusers_folders.TEXTS) for model in (before, ours, theirs)]
    assert np.array_equal(scores[1], scores[2])
    assert np.abs(scores[0] - scores[1]).max() > 1e-4
    parts = ("text_encoder", "vae")
    digests = [[weights_digest(model.network[part]) for part in parts] for model in (before, ours)]
    moved = [one != other for one, other in zip(*digests, strict=True)]
    assert moved == [text_encoder, False]


def test_other_models_are_refused(corpus: Path, tmp_path: Path) -> None:
    recipe = from_preset(Dreambooth, {})[0]
    with pytest.raises(UserError, match="'blind:length' is not a diffusion model"):
        train(
            recipe,
            corpus_source(corpus, recipe),
            tmp_path / "out",
            model="blind:length",
            device="cpu",
        )
