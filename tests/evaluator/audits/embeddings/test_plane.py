"""Neighbours stay neighbours on the plane."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluator.audits.embeddings import embed_images, embed_texts, on_plane
from evaluator.models.registry import load_model
from generator.base.errors import UserError
from generator.dataset.reader import World
from tests.evaluator.tiny_models import make_clip


def test_clusters_stay_together() -> None:
    rng = np.random.default_rng(0)
    centres = np.repeat(np.eye(8)[:3], 12, axis=0)
    embeddings = (centres + rng.normal(scale=0.02, size=centres.shape)).astype(np.float32)
    places = on_plane(embeddings, 0)
    distance = np.linalg.norm(places[:, None] - places[None], axis=-1) + np.diag(np.full(36, np.inf))
    nearest = distance.argsort(axis=1)[:, :5]
    assert (nearest // 12 == np.arange(36)[:, None] // 12).all()
    assert np.array_equal(places, on_plane(embeddings, 0))
    assert not np.allclose(places, on_plane(embeddings, 1))


def test_few_points_have_no_plane() -> None:
    assert on_plane(np.eye(4, dtype=np.float32), 0).shape == (4, 2)
    with pytest.raises(UserError, match=r"Expected 4 captions and images or more .* got 3; raise --captions"):
        on_plane(np.eye(3, dtype=np.float32), 0)


def test_batches_are_those_of_the_model(world: World, tmp_path: Path) -> None:
    model: Any = load_model(f"hf:{make_clip(tmp_path / 'clip')}", "cpu")
    texts = [f"a red cube {'a' * (i % 9)}" for i in range(70)]
    assert np.allclose(embed_texts(model, texts), model.encode_texts(texts), atol=1e-6)
    names = world.scenes["scene_id"].to_pylist()[:70]
    images = [model.prepare(world.image(name)) for name in names]
    assert np.allclose(embed_images(model, world, names), model.encode_images(images), atol=1e-6)
