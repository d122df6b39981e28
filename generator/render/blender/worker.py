"""A worker process that renders scenes: it reads planned scenes as lines of JSON and answers each
with a line.

The first line is the setup; it answers {"ready": {"blender": version}} or {"broken": reason}. Each
further line is a planned scene. The answer is {"scene": record, "worn": whether the process has
grown too large}; {"failed": reason} where this scene cannot be rendered, with "final" where another
try would fail too; or {"broken": reason} where no scene can be written. The process ends with its
input, and at once if its parent ends.
"""

import errno
import hashlib
import json
import math
import os
import resource
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from generator.assets.sets import check_assets
from generator.base.confinement import end_with_parent
from generator.base.errors import UserError
from generator.base.files import write_bytes
from generator.base.process import answer_with
from generator.dataset.outputs import Box, PixelOutputs, encode, output_path, png
from generator.placement.scenes import place_scenes
from generator.render.blender.system import load_fault, show_gpu
from generator.render.settings import Quality
from generator.scene.planned import Job, Recorded, read_job
from generator.scene.relations import scene_row
from generator.scene.scene import Scene
from generator.vocabulary.schema import Vocabulary, parse_vocabulary

_PLACEMENTS = 200
_GROWTH = (
    1 << 20
)  # kilobytes since the first scene; Blender frees little of the memory of landscapes


class Renderer:
    """Renders planned scenes into the folder of a world, at one size and quality."""

    def __init__(self, setup: dict[str, Any]):
        from generator.render.blender.rays import RayCaster, check_flat_tops
        from generator.render.blender.stage import Stage

        if setup.get("blender", version("bpy")) != version("bpy"):
            raise UserError(
                f"A worker has bpy {version('bpy')}, whose images would differ from those of "
                f"{setup['blender']}; install that version there."
            )
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
            setup["device"],
        )
        self._caster = RayCaster(
            self._vocabulary, self._stage.meshes, self._stage.ground, *self._size
        )
        check_flat_tops(self._vocabulary, self._caster.meshes)
        self._outputs: list[str] = setup.get("outputs", [])
        for name in ("images", *self._outputs):
            (self._folder / name).mkdir(parents=True, exist_ok=True)

    def render(self, job: Job) -> dict[str, Any]:
        """Place and render a scene and write its files, each atomically.

        Returns its record: a row of `generator.dataset.records.SCENES`, and `files`, the SHA-256 of
        each file by path. Raises UserError where no placement shows every object.
        """
        scene, pixels = self._place(job)
        files = self._write(job.scene_id, scene, pixels)
        seen = [(each.amodal_box, each.visible_fraction) for each in pixels.boxes]
        return {**scene_row(job, scene, seen, self._vocabulary), "files": files}

    def _place(self, job: Job) -> tuple[Scene, PixelOutputs]:
        """The scene and its pixel outputs; placements that hide too much are drawn again."""
        if isinstance(job, Recorded):
            scene = Scene.from_json(job.scene)
            return scene, self._traced(scene)
        width, height = self._size
        rules = self._vocabulary.placement
        least_area = rules.min_pixels * width * height / (320 * 240)
        for attempt in range(_PLACEMENTS):
            scenes = place_scenes(job, self._vocabulary, self._seed, attempt, width, height)
            found = [self._traced(scene) for scene in scenes]
            if all(
                each.visible_pixels >= least_area and each.visible_fraction >= rules.min_visible
                for pixels in found
                for each in pixels.boxes
            ):
                own = (
                    job.twin_of is not None
                )  # a scene is refused with its twin, whichever of them is rendered
                return scenes[own], found[own]
        raise UserError(
            f"no placement in {_PLACEMENTS} shows every object; lessen [placement] min_pixels or "
            f"min_visible."
        )

    def _traced(self, scene: Scene) -> PixelOutputs:
        from generator.render.blender.rays import trace_objects

        return trace_objects(scene, self._caster)

    def _write(self, scene_id: str, scene: Scene, pixels: PixelOutputs) -> dict[str, str]:
        """Write the files of a scene; returns the SHA-256 of each by its path within the world."""
        from generator.render.blender.rays import with_ground

        if self._outputs:
            pixels = with_ground(pixels, scene, self._caster)
        files = {output_path(name, scene_id): encode(name, pixels) for name in self._outputs}
        files[f"images/{scene_id}.png"] = self._image(
            scene_id, scene, [each.amodal_box for each in pixels.boxes]
        )
        for path, data in files.items():
            write_bytes(self._folder / path, data)
        return {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}

    def _image(self, scene_id: str, scene: Scene, boxes: Sequence[Box]) -> bytes:
        draft = self._folder / "images" / f".{scene_id}.{os.getpid()}.png"
        try:
            self._stage.pose(scene)
            return png(self._stage.render(str(draft), boxes))
        except (RuntimeError, OSError):
            draft.write_bytes(
                bytes(math.prod(self._size) * 4)
            )  # raises the storage error that Blender does not name
            raise
        finally:
            draft.unlink(missing_ok=True)


def main() -> None:
    """Answer lines of stdin on stdout until stdin ends. Blender's own output goes to stderr."""
    end_with_parent()
    answer = answer_with()
    renderer = _start(json.loads(sys.stdin.readline()), answer)
    if renderer is None:
        return
    most: int | None = None
    for line in sys.stdin:
        try:
            record = renderer.render(read_job(json.loads(line)))
            most = most or _peak_memory() + _GROWTH
            answer(scene=record, worn=_peak_memory() > most)
        except (RuntimeError, OSError, ValueError) as error:
            reason = _storage_fault(error)
            answer(**({"broken": reason} if reason else {"failed": str(error).strip()}))
        except UserError as error:
            answer(failed=error.message, final=True)


def _start(setup: dict[str, Any], answer: Callable[..., None]) -> Renderer | None:
    os.sched_setaffinity(0, setup["cores"])  # before Blender counts the cores
    if "gpu" in setup:
        show_gpu(setup["device"], setup["gpu"])
    try:
        import bpy

        renderer = Renderer(setup)
    except (ImportError, MemoryError) as error:
        answer(broken=load_fault(error))
        return None
    except UserError as error:
        answer(broken=error.message.removesuffix("."))
        return None
    answer(ready={"blender": bpy.app.version_string})
    return renderer


def _peak_memory() -> int:
    """Kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _storage_fault(error: Exception) -> str | None:
    """Why no image can be written at all (disk full, quota, read-only); None for any other
    error."""
    codes = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
    if isinstance(error, OSError) and error.errno in codes:
        return str(error.strerror)
    return next((os.strerror(code) for code in codes if os.strerror(code) in str(error)), None)


if __name__ == "__main__":
    main()
