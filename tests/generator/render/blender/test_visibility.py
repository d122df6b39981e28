"""What rays say of hidden objects before an image is rendered, against what the pixels' own rays count."""

import json
import subprocess
import sys

from tests.paths import CHECKOUT

COUNTED = """
import json, os, sys
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
from generator.render.blender.passes import Passes
from generator.render.blender.stage import Stage, material_inputs
from generator.render.blender.visibility import Eye
from generator.holdout.blocks import draw_block
from generator.plan.plan import plan_scenes
from generator.render.quality import read_quality
from generator.placement.scenes import place_scene
from generator.holdout.membership import SplitPlan
from generator.vocabulary.schema import read_vocabulary
family = read_vocabulary("clevr-original")
stage = Stage(family, read_quality("draft"), 320, 240, 1)
eye, passes = Eye(stage.meshes, 320, 240), Passes(stage.meshes, stage.ground, 320, 240)
found = []
for planned in plan_scenes(family, SplitPlan(family, draw_block("3x2", family, 0)), {"train": 12}, 0, (9, 10)):
    scene = place_scene(planned, family, 0, 0, 320, 240)
    scales = [material_inputs(thing, family)["scale"] for thing in scene.objects]
    for view, extent in zip(eye.look(scene, scales), passes.look(scene, scales).extents, strict=True):
        found.append([view.visible, extent.visible, view.pixels, extent.pixels])
json.dump(found, answers)
answers.close()
"""


def test_rays_know_what_is_hidden_as_pixels_count_it() -> None:
    done = subprocess.run([sys.executable, "-c", COUNTED], capture_output=True, text=True, check=True, cwd=CHECKOUT)
    found = json.loads(done.stdout)
    assert sum(counted < 0.7 for _, counted, _, _ in found) >= 8
    assert max(abs(said - counted) for said, counted, _, _ in found) < 0.05
    assert all(abs(said - counted) < 20 + 0.05 * counted for _, _, said, counted in found)
