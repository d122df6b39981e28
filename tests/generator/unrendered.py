"""Datasets made without rendering: placed scenes with plain images of one colour."""

import hashlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image

from generator.base.errors import UserError
from generator.dataset.reader import Dataset
from generator.dataset.writer import WorldWriter
from generator.describe.benchmark import describe_world
from generator.describe.request import first_request
from generator.placement.scenes import place_scene
from generator.plan.options import WorldOptions
from generator.plan.prepare import Prepared, plan_world, prepare
from generator.render.process import given_up
from generator.render.run import Rendering, work_of
from generator.scene.planned import Planned
from generator.scene.relations import scene_row

WIDTH, HEIGHT = 64, 48
BENCHMARK = "bench"


def write_world(
    root: Path,
    scenes: Mapping[str, int],
    family: str = "clevr",
    objects: tuple[int, int] = (2, 2),
    block: str = "3x3",
    seed: int = 0,
    block_seed: int = 0,
) -> Prepared:
    """Write a world of so many scenes of each split, each of so many objects (least, most), without
    twins, into `root`."""
    prepared = prepare(
        WorldOptions(
            family=family,
            holdout=block,
            scenes=scenes,
            resolution=f"{WIDTH}x{HEIGHT}",
            seed=seed,
            block_seed=block_seed,
            objects=objects,
            pairs=False,
        )
    )
    write_planned(root, prepared)
    return prepared


def write_planned(root: Path, prepared: Prepared, tar_bytes: int | None = None) -> None:
    """Write the world of a plan into `root`, with `tar_bytes` in tars of at most that size."""
    rendering = Rendering("draft", tar_bytes=tar_bytes)
    work = work_of(plan_world(prepared, root), rendering.request)
    with WorldWriter(root, work.request) as writer:
        for planned in work.scenes:
            try:
                writer.add(_record(planned, prepared, writer.images))
            except UserError as error:  # one scene in some thousands of ten objects has no room
                writer.add(given_up(planned, error.message))
        writer.finish(prepared.vocabulary.text)


def write_texts(root: Path, prepared: Prepared) -> int:
    """Write the benchmark over the world in `root`; returns the number of its texts and items."""
    describe_world(
        root,
        Dataset.open(root).world,
        holdout=prepared.holdout,
        name=BENCHMARK,
        request=first_request(prepared.holdout),
    )
    benchmark = Dataset.open(root).benchmark(BENCHMARK)
    return int(benchmark.texts.num_rows + benchmark.items.num_rows)


def _record(planned: Planned, prepared: Prepared, folder: Path) -> dict[str, Any]:
    scene = place_scene(planned, prepared.vocabulary, prepared.options.seed, 0, WIDTH, HEIGHT)
    png = io.BytesIO()
    number = int(planned.scene_id)
    Image.new("RGB", (WIDTH, HEIGHT), (number % 256, number // 256 % 256, number // 65536)).save(
        png, "PNG"
    )
    (folder / f"{planned.scene_id}.png").write_bytes(png.getvalue())
    seen = [([0, 0, WIDTH, HEIGHT], 1.0)] * len(scene.objects)
    files = {f"images/{planned.scene_id}.png": hashlib.sha256(png.getvalue()).hexdigest()}
    return {**scene_row(planned, scene, seen, prepared.vocabulary), "files": files}
