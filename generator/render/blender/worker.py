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

from PIL import Image

from generator.assets.sets import check_assets
from generator.base.confinement import end_with_parent
from generator.base.errors import UserError
from generator.base.files import write_bytes
from generator.base.process import answer_with
from generator.dataset.outputs import Box, PixelOutputs, encode, output_path, png
from generator.placement.scenes import place_scenes
from generator.render.blender.system import load_fault, show_gpu
from generator.render.degradation import degraded_image, with_panels
from generator.render.settings import Quality
from generator.scene.ladder import clearest_place
from generator.scene.planned import Job, Planned, Recorded, read_job
from generator.scene.relations import scene_row
from generator.scene.scene import Scene
from generator.scene.steps import own_place
from generator.vocabulary.schema import Vocabulary, parse_vocabulary

_PLACEMENTS = 200
"""Placements that are tried for a scene before it fails."""
_GROWTH = 1 << 20
"""Kilobytes by which a process may grow after its first scene. Blender frees little of the memory
of landscapes, so a process that renders many of them is replaced now and then."""
_PIXELS_OF_REFERENCE = 320 * 240
"""Pixels of the image for which [placement] min_pixels is declared."""


class Renderer:
    """Renders planned scenes into the folder of a world, at one size and quality."""

    def __init__(self, setup: dict[str, Any]):
        """Build the scene in Blender, and make the folders of the outputs.

        Args:
            setup: The first message to the process (generator.render.run.worker_setup, with the
                numbers of the `cores`).

        Raises:
            UserError: The version of Blender or a mesh differs from the world's.
        """
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
        self._width: int = setup["width"]
        self._height: int = setup["height"]
        self._folder = Path(setup["folder"])
        self._outputs: list[str] = setup.get("outputs", [])
        self._stage = Stage(
            self._vocabulary,
            Quality.model_validate(setup["quality"]),
            width=self._width,
            height=self._height,
            threads=len(setup["cores"]),
            device=setup["device"],
        )
        self._caster = RayCaster(
            self._vocabulary,
            meshes=self._stage.meshes,
            find_ground=self._stage.ground,
            width=self._width,
            height=self._height,
        )
        check_flat_tops(self._vocabulary, self._caster.meshes)
        for name in ("images", *self._outputs):
            (self._folder / name).mkdir(parents=True, exist_ok=True)

    def render(self, job: Job) -> dict[str, Any]:
        """Place and render a scene and write its files, each atomically.

        Args:
            job: The scene.

        Returns:
            Its record: a row of `generator.dataset.records.SCENES`, and `files`, the SHA-256 of
            each file by path.

        Raises:
            UserError: No placement shows every object.
        """
        scene, pixels = self._place(job)
        files = self._write(job.scene_id, scene, pixels)
        seen_boxes = with_panels(pixels, scene).boxes
        visibility = [(boxes.amodal_box, boxes.visible_fraction) for boxes in seen_boxes]
        return {**scene_row(job, scene, visibility, self._vocabulary), "files": files}

    def _place(self, job: Job) -> tuple[Scene, PixelOutputs]:
        """The scene and its pixel outputs; placements that hide too much are drawn again."""
        if isinstance(job, Recorded):
            scene = Scene.from_json(job.scene)
            return scene, self._trace(scene)
        for attempt in range(_PLACEMENTS):
            scenes = place_scenes(
                job, self._vocabulary, self._seed, attempt, self._width, self._height
            )
            # A scene is refused with its twin or its ladder, whichever of them is rendered, so
            # that all workers choose the same placement.
            outputs = {place: self._trace(scenes[place]) for place in _places_to_check(job, scenes)}
            if all(self._shows_every_object(pixels) for pixels in outputs.values()):
                own = own_place(job)
                scene = scenes[own]
                return scene, outputs.get(own) or self._trace(scene)
        raise UserError(
            f"no placement in {_PLACEMENTS} shows every object; lessen [placement] min_pixels or "
            f"min_visible."
        )

    def _trace(self, scene: Scene) -> PixelOutputs:
        from generator.render.blender.rays import trace_objects

        return trace_objects(scene, self._caster)

    def _shows_every_object(self, pixels: PixelOutputs) -> bool:
        """Whether enough of each object is visible, by the rules of the vocabulary."""
        rules = self._vocabulary.placement
        least_area = rules.min_pixels * self._width * self._height / _PIXELS_OF_REFERENCE
        for boxes in pixels.boxes:
            if boxes.visible_pixels < least_area or boxes.visible_fraction < rules.min_visible:
                return False
        return True

    def _write(self, scene_id: str, scene: Scene, pixels: PixelOutputs) -> dict[str, str]:
        """Write the files of a scene; returns the SHA-256 of each by its path within the world."""
        from generator.render.blender.rays import with_ground

        if self._outputs:
            pixels = with_ground(pixels, scene, self._caster)
        files = {output_path(name, scene_id): encode(name, pixels) for name in self._outputs}
        amodal_boxes = [boxes.amodal_box for boxes in pixels.boxes]
        image = self._image(scene_id, scene, amodal_boxes)
        files[f"images/{scene_id}.png"] = png(degraded_image(image, scene, pixels))
        for path, data in files.items():
            write_bytes(self._folder / path, data)
        return {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}

    def _image(self, scene_id: str, scene: Scene, boxes: Sequence[Box]) -> Image.Image:
        """The rendered image of a scene."""
        draft = self._folder / "images" / f".{scene_id}.{os.getpid()}.png"
        try:
            self._stage.pose(scene)
            return self._stage.render(str(draft), boxes)
        except (RuntimeError, OSError):
            # Blender does not name errors of storage. Writing as many bytes raises such an error.
            draft.write_bytes(bytes(self._width * self._height * 4))
            raise
        finally:
            draft.unlink(missing_ok=True)


def _places_to_check(job: Planned, scenes: Sequence[Scene]) -> Sequence[int]:
    """Which of the scenes that are placed together must show every object."""
    if job.ladder is not None:
        return [clearest_place(job.ladder)]
    return range(len(scenes))


def main() -> None:
    """Answer lines of stdin on stdout until stdin ends. Blender's own output goes to stderr."""
    end_with_parent()
    answer = answer_with()
    renderer = _start(json.loads(sys.stdin.readline()), answer)
    if renderer is None:
        return
    max_memory = math.inf
    for line in sys.stdin:
        try:
            record = renderer.render(read_job(json.loads(line)))
            # Meshes and textures are loaded with the first scene.
            if max_memory == math.inf:
                max_memory = _peak_memory() + _GROWTH
            answer(scene=record, worn=_peak_memory() > max_memory)
        except (RuntimeError, OSError, ValueError) as error:
            reason = _storage_fault(error)
            if reason:
                answer(broken=reason)
            else:
                answer(failed=str(error).strip())
        except UserError as error:
            answer(failed=error.message, final=True)


def _start(setup: dict[str, Any], answer: Callable[..., None]) -> Renderer | None:
    """The renderer; None if it cannot be made. Answers the setup in either case."""
    # Before Blender counts the cores.
    os.sched_setaffinity(0, setup["cores"])
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
    """The most memory that this process has had, kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _storage_fault(error: Exception) -> str | None:
    """Why no image can be written at all (disk full, quota, read-only); None for any other
    error."""
    codes = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
    if isinstance(error, OSError) and error.errno in codes:
        return str(error.strerror)
    # Blender's own errors have no code, but some quote the system's message.
    for code in codes:
        if os.strerror(code) in str(error):
            return os.strerror(code)
    return None


if __name__ == "__main__":
    main()
