"""A dataset that is made without rendering, for tests of its card and of croissant.json."""

import hashlib
from pathlib import Path

import pytest
from PIL import Image

from generator.dataset.reader import Dataset
from generator.dataset.writer import WorldWriter
from generator.describe.benchmark import describe_world, write_benchmarks
from generator.describe.request import first_request
from generator.placement.scenes import place_scene
from generator.plan.options import WorldOptions
from generator.plan.prepare import plan_world, prepare
from generator.render.run import Rendering, work_of
from generator.scene.planned import Planned
from generator.scene.relations import scene_row
from generator.vocabulary.schema import Vocabulary

JOB = WorldOptions(
    family="clevr",
    holdout="3x3",
    scenes={"train": 12, "val": 4, "seen": 6, "partial": 6, "unseen": 6},
    resolution="64x48",
    seed=9,
    block_seed=2,
    pairs=False,
)
SIZE = (64, 48)
FIRST, OTHER = "color-shape-3x3-b2", "again"


def record(planned: Planned, vocabulary: Vocabulary, image: Path) -> dict:
    """What a render worker answers, with an image of one colour in place of a render."""
    scene = place_scene(planned, vocabulary, JOB.seed, 0, *SIZE)
    Image.new("RGB", SIZE, (int(planned.scene_id) % 256, 0, 0)).save(image)
    seen = [([i, 1, 30, 40], 1.0) for i in range(len(scene.objects))]
    files = {f"images/{image.name}": hashlib.sha256(image.read_bytes()).hexdigest()}
    return {**scene_row(planned, scene, seen, vocabulary), "files": files}


def make_dataset(root: Path) -> Path:
    """A dataset of 34 scenes, one of them failed, with two benchmarks; nothing is rendered."""
    prepared = prepare(JOB)
    work = work_of(plan_world(prepared, root), Rendering("draft").request)
    with WorldWriter(root, work.request) as writer:
        for planned in prepared.planned[:-1]:
            writer.add(
                record(planned, prepared.vocabulary, writer.images / f"{planned.scene_id}.png")
            )
        failed = prepared.planned[-1]
        writer.add(
            {
                "scene_id": failed.scene_id,
                "cluster_id": failed.cluster_id,
                "failed": "the lamp broke",
            }
        )
        writer.finish(prepared.vocabulary.text)
    world = Dataset.open(root).world
    write_benchmarks(root, world, exposed_negatives=False)
    describe_world(
        root,
        world,
        holdout=prepared.holdout,
        name=OTHER,
        request=first_request(prepared.holdout, exposed_negatives=True),
    )
    return root


@pytest.fixture(scope="session")
def small_dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dataset of `make_dataset`. Not to be changed."""
    return make_dataset(tmp_path_factory.mktemp("card") / "dataset")
