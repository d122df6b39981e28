"""The row of scenes.parquet of a placed scene."""

from collections.abc import Iterable, Sequence
from typing import Any

from generator.scene.planned import Job
from generator.scene.relations import scene_graph
from generator.scene.scene import Scene
from generator.vocabulary.schema import Vocabulary


def scene_row(
    job: Job, scene: Scene, seen: Iterable[tuple[Sequence[int], float]], vocabulary: Vocabulary
) -> dict[str, Any]:
    """A row of `generator.dataset.records.SCENES`; `WorldWriter` adds status and size.

    `seen`: of each object its box in pixels (left, top, right, bottom), as if nothing hid it, and its visible share.
    """
    return {
        "scene_id": job.scene_id,
        "cluster_id": job.cluster_id,
        "twin_of": job.twin_of,
        "objects": [
            {
                "category": thing.category,
                "attributes": thing.attributes,
                "amodal_box": list(box),
                "visible_fraction": share,
            }
            for thing, (box, share) in zip(scene.objects, seen, strict=True)
        ],
        "relations": [
            {"subject": i, "relation": name, "object": j}
            for i, j, name, holds in scene_graph(scene, vocabulary).edges(keys=True, data="holds")
            if holds
        ],
        "scene": scene.to_json(),
    }
