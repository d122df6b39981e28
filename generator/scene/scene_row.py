"""The row of scenes.parquet of a placed scene."""

from collections.abc import Iterable, Sequence
from typing import Any

from generator.scene.planned import Planned
from generator.scene.relations import scene_graph
from generator.scene.scene import Scene
from generator.vocabulary.schema import Vocabulary


def scene_row(
    planned: Planned, scene: Scene, seen: Iterable[tuple[Sequence[int], float]], vocabulary: Vocabulary
) -> dict[str, Any]:
    """A row of `generator.dataset.records.SCENES`; `WorldWriter` adds status and size.

    `seen`: of each object its box in pixels (left, top, right, bottom), as if nothing hid it, and its visible share.
    """
    return {
        "scene_id": planned.scene_id,
        "cluster_id": planned.cluster_id,
        "twin_of": planned.twin_of,
        "objects": [
            {
                "index": i,
                "category": thing.category,
                "attributes": thing.attributes,
                "amodal_box": list(box),
                "visible_fraction_estimate": share,
            }
            for i, (thing, (box, share)) in enumerate(zip(scene.objects, seen, strict=True))
        ],
        "relations": [
            {"subject": i, "relation": name, "object": j, **data}
            for i, j, name, data in scene_graph(scene, vocabulary).edges(keys=True, data=True)
        ],
        "scene": scene.to_json(),
    }
