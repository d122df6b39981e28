"""Reading and checking a large vocabulary: 64 values of one kind, objects of all built-in meshes;
CPU time of the one process."""

import colorsys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.figures import Figure, repeated
from generator.assets.sets import BUILTIN, asset_names
from generator.assets.shapes import SHAPES
from generator.inspection.family_check import check_family
from generator.vocabulary.schema import read_vocabulary

VALUES = 64
MESHES = [*SHAPES, *asset_names(BUILTIN)]


def figures() -> list[Figure]:
    """CPU seconds, the meshes being those of all shapes and of all built-in animals."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "large.toml"
        path.write_text(large_family(), encoding="utf-8")
        # Imports and the family that it extends are loaded before the clock starts.
        read_vocabulary("clevr")
        first = cpu_seconds(lambda: check_family(str(path)))
        return [
            repeated(
                f"load {VALUES} values x {len(MESHES)} objects",
                "s of CPU",
                lambda: cpu_seconds(lambda: read_vocabulary(str(path))),
            ),
            Figure("load and check them, first time in a process", "s of CPU", (first,)),
            repeated(
                "load and check them again",
                "s of CPU",
                lambda: cpu_seconds(lambda: check_family(str(path))),
            ),
        ]


def large_family() -> str:
    """A family that extends clevr: 64 colours with synonyms, an object of every mesh there is."""
    colors = [
        f'"tint {i}" = {{ srgb = "{_hex(i)}", synonyms = ["hue {i}"] }}' for i in range(VALUES)
    ]
    objects = [
        f'"body {i}" = {{ mesh = "{mesh}", turn = 40, synonyms = ["form {i}"] }}'
        for i, mesh in enumerate(MESHES)
    ]
    removed = [f"objects.{name}" for name in read_vocabulary("clevr").objects]
    removed += [f"attributes.color.{name}" for name in read_vocabulary("clevr").values("color")]
    tables = ["[attributes.color]", *colors, "[objects]", *objects]
    return "\n".join(['extends = "clevr"', f"remove = {removed}", *tables])


def _hex(i: int) -> str:
    red, green, blue = colorsys.hsv_to_rgb(
        i % 16 / 16, (0.35, 1.0)[i // 16 % 2], (0.5, 1.0)[i // 32]
    )
    return f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"


def cpu_seconds(action: Callable[[], object]) -> float:
    """Processor time of an action."""
    start = time.process_time()
    action()
    return time.process_time() - start
