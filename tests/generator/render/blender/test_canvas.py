"""Parts are composited over the whole image as the mean of all samples (rendered: tests/generator/render/test_sample_budget.py)."""

from typing import Any


def added(folder: str) -> list[float]:
    """Alpha in the middle of a part after each of three parts of one place, and outside."""
    import bpy
    import numpy as np
    import OpenEXR

    from generator.render.blender.canvas import Canvas

    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.engine = "CYCLES"
    canvas = Canvas(bpy.context.scene, 8, 6, "fast")
    ones = np.ones((2, 3), np.float32)
    names = [f"{name}.{channel}" for name, channels in (("Combined", "RGB"), ("Denoising Albedo", "RGB"), ("Denoising Normal", "XYZ")) for channel in channels]  # fmt: skip
    channels = {f"View Layer.{name}": ones / 2 for name in names} | {"View Layer.Debug Sample Count.X": ones}
    OpenEXR.File({}, channels).write(f"{folder}/part.exr")
    found = []
    for least in (12, 4, 28):
        canvas.add_part(f"{folder}/part.exr", (2, 1, 5, 3), least, 4)
        found.append(float(canvas._layers["Image"][1, 2, 3]))
    return [*found, float(canvas._layers["Image"][0, 0, 3]), float(canvas._layers["Image"][1, 2, 0])]


def test_a_part_covers_by_its_share_of_all_samples(in_blender: Any, tmp_path: Any) -> None:
    assert in_blender(added, str(tmp_path)) == [0.75, 0.75, 0.875, 0.0, 0.4375]
