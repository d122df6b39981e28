"""Where embeddings place captions and images: which are shown, that neighbours stay together, and
the figure."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluator.audits.embeddings import (
    choose_classes,
    embed_images,
    embed_texts,
    mean_cosines,
    on_plane,
    with_own_images,
)
from evaluator.models.registry import load_model
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, World
from tests.evaluator.tiny_models import make_clip


def test_captions_stand_in_the_first_split_that_has_them(benchmark: Benchmark) -> None:
    classes = choose_classes(benchmark, (), most=10_000, images=2, seed=0)
    assert len({caption_class.caption for caption_class in classes}) == len(classes)
    assert {caption_class.split for caption_class in classes} == {
        "train",
        "seen",
        "partial",
        "unseen",
    }
    assert max(len(caption_class.scenes) for caption_class in classes) == 2
    few = choose_classes(benchmark, (), most=10, images=2, seed=0)
    assert len(few) == 10
    assert (
        few
        == choose_classes(benchmark, (), most=10, images=2, seed=0)
        != choose_classes(benchmark, (), most=10, images=2, seed=1)
    )
    assert {
        caption_class.split
        for caption_class in choose_classes(benchmark, ("unseen",), most=10, images=2, seed=0)
    } == {"unseen"}


def test_the_other_order_of_a_caption_has_no_images_of_its_own(benchmark: Benchmark) -> None:
    classes = choose_classes(benchmark, ("unseen",), most=10_000, images=1, seed=0)
    distinct = with_own_images(classes, benchmark)
    assert len(classes) == 2 * len(distinct)
    assert len(
        {frozenset(caption_class.caption.split(" and ")) for caption_class in distinct}
    ) == len(distinct)


def test_clusters_stay_together() -> None:
    rng = np.random.default_rng(0)
    centres = np.repeat(np.eye(8)[:3], 12, axis=0)
    embeddings = (centres + rng.normal(scale=0.02, size=centres.shape)).astype(np.float32)
    places = on_plane(embeddings, 0)
    distance = np.linalg.norm(places[:, None] - places[None], axis=-1) + np.diag(
        np.full(36, np.inf)
    )
    nearest = distance.argsort(axis=1)[:, :5]
    assert (nearest // 12 == np.arange(36)[:, None] // 12).all()
    assert np.array_equal(places, on_plane(embeddings, 0))
    assert not np.allclose(places, on_plane(embeddings, 1))


def test_cosines_are_told_by_how_captions_of_two_objects_differ() -> None:
    """Pearson et al. 2025, figure 6: the four arrangements of two objects."""
    words = (
        "cube left cone, cone right cube, cone left cube, cube right cone, cube left ring, cube "
        "front cone"
    )
    triples: list[Any] = [triple.split() for triple in words.split(", ")]
    first, second, *others = np.eye(6, dtype=np.float32)
    embeddings = np.stack([first, (first + second) / np.sqrt(2), *others])
    texts = mean_cosines(embeddings, triples, of_images=False)
    assert texts["same meaning"] == pytest.approx(
        np.sqrt(0.5) / 2, abs=1e-4
    )  # of two pairs the first is alike
    apart = {"other axis", "other objects", "relation turned", "objects exchanged"}
    assert {how for how, value in texts.items() if value == 0} == apart
    images = mean_cosines(embeddings[:4], triples[:4], of_images=True)
    assert images == {"other arrangement": 0, "same arrangement": texts["same meaning"]}


def test_few_points_have_no_plane() -> None:
    assert on_plane(np.eye(4, dtype=np.float32), 0).shape == (4, 2)
    with pytest.raises(
        UserError, match=r"Expected at least 4 captions and 4 images .* got 3; raise --captions"
    ):
        on_plane(np.eye(3, dtype=np.float32), 0)


def test_batches_are_those_of_the_model(world: World, tmp_path: Path) -> None:
    model: Any = load_model(f"hf:{make_clip(tmp_path / 'clip')}", "cpu")
    texts = [f"a red cube {'a' * (i % 9)}" for i in range(70)]
    assert np.allclose(embed_texts(model, texts), model.encode_texts(texts), atol=1e-6)
    names = world.scenes["scene_id"].to_pylist()[:70]
    images = [model.prepare(world.image(name)) for name in names]
    assert np.allclose(embed_images(model, world, names), model.encode_images(images), atol=1e-6)
