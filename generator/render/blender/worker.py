"""A worker process: reads planned scenes as JSON lines, renders them, answers with what it rendered.

The first line it reads is the setup; it answers {"ready": {"blender": version}} or {"broken": reason}. Each further
line is a planned scene, answered by {"scene": {...}}, by {"failed": reason} when this scene cannot be rendered (with "final" where trying again would end the same), or by
{"broken": reason} when no scene can be written. It ends when its input does, so it never outlives its parent by more
than one image.
"""

import errno
import hashlib
import json
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from generator.assets.lookup import check_assets
from generator.dataset.errors import UserError
from generator.dataset.files import write_bytes
from generator.dataset.outputs import encode, output_path, png
from generator.placement.scenes import place_scenes
from generator.plan.record import Planned
from generator.render.device import Drive
from generator.render.quality import Quality
from generator.render.sample_budget import Box
from generator.scene.scene import Scene
from generator.vocabulary.schema import Vocabulary, parse_vocabulary

_PLACEMENTS = 200


class Renderer:
    """Renders planned scenes into the folder of a world, at one size and quality."""

    def __init__(self, setup: dict[str, Any]):
        from generator.render.blender.flat_tops import check_tops
        from generator.render.blender.passes import Passes
        from generator.render.blender.stage import Stage
        from generator.render.blender.visibility import Eye

        check_assets(setup.get("assets"))
        self._vocabulary: Vocabulary = parse_vocabulary(setup["vocabulary"], "vocabulary")
        self._seed: int = setup["seed"]
        self._size: tuple[int, int] = (setup["width"], setup["height"])
        self._folder = Path(setup["folder"])
        self._stage = Stage(
            self._vocabulary,
            Quality.model_validate(setup["quality"]),
            *self._size,
            len(setup["cores"]),
            Drive(setup["engine"], setup["device"]),
        )
        check_tops(self._vocabulary, self._stage.meshes)
        self._eye = Eye(self._stage.meshes, *self._size)
        self._outputs: list[str] = setup.get("outputs", [])
        self._passes = Passes(self._stage.meshes, self._stage.ground, *self._size) if self._outputs else None
        for name in ("images", *self._outputs):
            (self._folder / name).mkdir(parents=True, exist_ok=True)

    def render(self, planned: Planned) -> dict[str, Any]:
        """Render a scene; its files appear whole or not at all. Returns its record (dataset/schema.py, SCENES)."""
        scene, seen = self._place(planned)
        files = self._write(planned.scene_id, scene, [view.box for view in seen])
        return {
            "scene_id": planned.scene_id,
            "cluster_id": planned.cluster_id,
            "twin_of": planned.twin_of,
            "objects": [
                {
                    "index": i,
                    "category": thing.category,
                    "attributes": thing.attributes,
                    "box": list(view.box),
                    "visible": view.visible,
                }
                for i, (thing, view) in enumerate(zip(scene.objects, seen, strict=True))
            ],
            "relations": [
                {"subject": i, "relation": name, "object": j, **data}
                for i, j, name, data in scene.graph(self._vocabulary).edges(keys=True, data=True)
            ],
            "scene": scene.to_json(),
            "files": files,
        }

    def _place(self, planned: Planned) -> tuple[Scene, list[Any]]:
        if planned.record is not None:
            scene = Scene.from_json(planned.record)
            return scene, self._eye.look(scene, self._scales(scene))
        width, height = self._size
        rules = self._vocabulary.placement
        enough = rules.min_pixels * width * height / (320 * 240)
        for attempt in range(_PLACEMENTS):
            scenes = place_scenes(planned, self._vocabulary, self._seed, attempt, width, height)
            seen = [self._eye.look(scene, self._scales(scene)) for scene in scenes]
            if all(view.pixels >= enough and view.visible >= rules.min_visible for views in seen for view in views):
                own = planned.twin_of is not None  # a scene is refused with its twin, whichever of them is rendered
                return scenes[own], seen[own]
        raise UserError(
            f"no placement in {_PLACEMENTS} shows every object; lessen [placement] min_pixels or min_visible."
        )

    def _scales(self, scene: Scene) -> list[float]:
        from generator.render.blender.stage import material_inputs

        return [material_inputs(thing, self._vocabulary)["scale"] for thing in scene.objects]

    def _write(self, scene_id: str, scene: Scene, boxes: list[Box]) -> dict[str, str]:
        """Write the files of a scene; returns the SHA-256 of each by its path within the world."""
        files = {output_path(name, scene_id): data for name, data in self._look(scene)}
        files[f"images/{scene_id}.png"] = self._image(scene_id, scene, boxes)
        for path, data in files.items():
            write_bytes(self._folder / path, data)
        return {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}

    def _look(self, scene: Scene) -> Iterator[tuple[str, bytes]]:
        if self._passes is not None:
            surfaces = self._passes.look(scene, self._scales(scene))
            yield from ((name, encode(name, surfaces)) for name in self._outputs)

    def _image(self, scene_id: str, scene: Scene, boxes: list[Box]) -> bytes:
        draft = self._folder / "images" / f".{scene_id}.{os.getpid()}.png"
        try:
            self._stage.pose(scene)
            return png(self._stage.render(str(draft), boxes))
        except (RuntimeError, OSError):
            draft.write_bytes(bytes(math.prod(self._size) * 4))  # Blender does not say that the disk is full; this does
            raise
        finally:
            draft.unlink(missing_ok=True)


def main() -> None:
    """Serve the protocol above on stdin and the original stdout; whatever Blender prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    renderer = _start(sys.stdin.readline(), answers)
    if renderer is None:
        return
    for line in sys.stdin:
        try:
            _answer(answers, scene=renderer.render(Planned.from_dict(json.loads(line))))
        except (RuntimeError, OSError, ValueError) as error:
            reason = _no_storage(error)
            _answer(answers, **({"broken": reason} if reason else {"failed": str(error).strip()}))
        except UserError as error:
            _answer(answers, failed=error.message, final=True)


def _start(setup: str, answers: TextIO) -> Renderer | None:
    given = json.loads(setup)
    os.sched_setaffinity(0, given["cores"])  # before Blender counts the cores
    try:
        import bpy

        renderer = Renderer(given)
    except ImportError as error:
        from generator.render.blender.system import missing_library

        _answer(answers, broken=missing_library(error))
        return None
    except UserError as error:
        _answer(answers, broken=error.message.removesuffix("."))
        return None
    _answer(answers, ready={"blender": bpy.app.version_string})
    return renderer


def _no_storage(error: Exception) -> str | None:
    """The reason when no image can be written at all: disk full, quota, read-only; else None."""
    codes = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
    if isinstance(error, OSError) and error.errno in codes:
        return str(error.strerror)
    return next((os.strerror(code) for code in codes if os.strerror(code) in str(error)), None)


def _answer(answers: TextIO, **message: Any) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
