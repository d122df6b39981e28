"""What tells models of either kind apart, and fingerprints."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluator.models.contracts import DualEncoder, PairScorer, fingerprints
from evaluator.models.registry import load_model
from evaluator.scoring.needs import collect_needs
from evaluator.scoring.score import score
from generator.dataset.reader import Benchmark, World
from tests.evaluator.diffusers_folders import stable_diffusion
from tests.evaluator.models.test_vqa import make_llava
from tests.evaluator.needs import needs_of, pool_ids
from tests.evaluator.scorers import Reader, TorchBag
from tests.evaluator.tiny_models import make_blip, make_gpt2, make_vilt


def test_a_model_is_of_one_kind(vilt: Path) -> None:
    for model, kind in (
        (Reader(), PairScorer),
        (load_model(f"vilt:{vilt}", "cpu"), PairScorer),
        (TorchBag(), DualEncoder),
    ):
        assert [isinstance(model, each) for each in (PairScorer, DualEncoder)] == [
            kind is PairScorer,
            kind is DualEncoder,
        ]


def test_only_models_that_say_so_are_fitted() -> None:
    assert load_model("blind:ngram", "cpu").fits_texts
    assert not load_model("blind:length", "cpu").fits_texts


def test_fingerprints_are_sha256() -> None:
    rows = fingerprints([b"a", b"b", b"a"])
    assert (rows.dtype, rows.shape) == (np.int64, (3, 4))
    assert rows[0].tobytes() == hashlib.sha256(b"a").digest()
    assert (rows[0] == rows[2]).all()
    assert fingerprints([]).shape == (0, 4)


def _made_blip_vqa(folder: Path) -> Path:
    return make_blip(folder, "BlipForQuestionAnswering")


@pytest.mark.parametrize(
    ("make", "spec", "network"),
    [
        (make_vilt, "vilt:{}", lambda model: model._loaded.model),
        (make_blip, "blip:{}", lambda model: model._loaded.model.itm_head),
        (make_llava, "vqa:{}", lambda model: model._model.lm_head),
        (_made_blip_vqa, "vqa:{}", lambda model: model._loaded.model.text_encoder),
        (stable_diffusion, "diffusion:{}@fixed,samples=2", lambda model: model.adapter.model.conv_in),
        (make_gpt2, "blind:lm:{}", lambda model: model._likelihood._model.lm_head),
    ],
)
def test_every_family_computes_as_many_at_once_as_asked(
    make: Callable[[Path], Path],
    spec: str,
    network: Callable[[Any], Any],
    world: World,
    benchmark: Benchmark,
    tmp_path: Path,
) -> None:
    """As many rows stand in one pass of its network; more than the default would be a larger pass, fewer a smaller."""
    images, texts = pool_ids(collect_needs(benchmark, ["retrieval"]), "grid")
    needs = needs_of([], {"grid": (images[:2], texts[:40])})
    folder = make(tmp_path / "model")
    for batch in (3, 17):
        model, rows = load_model(spec.format(folder), "cpu"), []
        network(model).register_forward_pre_hook(
            lambda _, args, named, rows=rows: rows.append(len((*args, *named.values())[0])), with_kwargs=True
        )
        score(model, world, benchmark, needs, tmp_path / f"{batch}", batch, tmp_path / f"cache{batch}")
        assert max(rows) == batch
