"""Makes the scenes of a ladder from its first scene.

The first scene of a ladder in its plan is the hardest step. It shows every object, so all other
steps follow from the plan and from its poses, without a draw:

- `distractors`: some distractors are left out.
- `interference`: some distractors have values of their own in place of a value of a target.
- `size`: the camera has a longer lens.
- `contrast` and `occlusion`: the image is degraded less (generator/render/degradation.py).
- `caption-length`: the image stays the same, and captions name fewer objects.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from generator.scene.exchange import swapped
from generator.scene.ladder import (
    CAPTION_LENGTH,
    INTERFERENCE,
    SIZE,
    Ladder,
    steps_of_images,
)
from generator.scene.planned import Planned
from generator.scene.scene import Rung, Scene, SceneObject

Contents = Sequence[tuple[str, dict[str, str]]]
"""Category and attribute values by kind of each object, listed from left to right."""


def ladder_contents(planned: Planned, ladder: Ladder) -> Contents:
    """Return what a step of a ladder shows.

    Args:
        planned: The plan of any scene of the ladder; all have the same objects.
        ladder: The step.

    Returns:
        The contents of the objects that are present.
    """
    assert planned.exchange is not None
    assert planned.exchange.kind is not None
    kind = planned.exchange.kind
    values = [attributes[kind] for _, attributes in planned.objects]

    if ladder.factor == INTERFERENCE:
        # The targets' values in turn, so that both are met equally often. Taken before the
        # exchange, so that both halves of a ladder have the same distractors.
        target_values = [values[target] for target in ladder.targets]
        n_interfering = int(ladder.magnitude)
        for i, distractor in enumerate(ladder.distractors[:n_interfering]):
            values[distractor] = target_values[i % 2]
    if ladder.is_exchanged:
        values = swapped(values, planned.exchange)

    contents = []
    for i in ladder.present:
        category, attributes = planned.objects[i]
        contents.append((category, {**attributes, kind: values[i]}))
    return contents


def first_step(scene: Scene, planned: Planned) -> Scene:
    """Return the first scene of a ladder in its plan, the hardest.

    Args:
        scene: The placed scene, with every object of the plan, as the easiest step has its camera.
        planned: The plan of any scene of the ladder.
    """
    assert planned.ladder is not None
    magnitudes = planned.ladder.magnitudes
    last_step = len(steps_of_images(planned.ladder)) - 1
    hardest = planned.ladder._replace(step=last_step, is_exchanged=False)
    if hardest.factor == SIZE:
        scene = _with_area(scene, magnitudes[-1] / magnitudes[0])
    return _with_contents(scene, planned, ladder=hardest, poses=range(len(planned.objects)))


def at_step(first: Scene, planned: Planned) -> Scene:
    """Return the scene of a plan from the first scene of its ladder.

    Args:
        first: The scene of `first_step`.
        planned: The plan of the scene.
    """
    ladder = planned.ladder
    assert ladder is not None
    scene = first
    if ladder.factor == SIZE:
        scene = _with_area(first, ladder.magnitude / ladder.magnitudes[-1])
    return _with_contents(scene, planned, ladder=ladder, poses=ladder.present)


def as_recorded(recorded: Scene, planned: Planned) -> Scene:
    """Return the scene of a plan at its own recorded poses and with its own recorded lens.

    Args:
        recorded: The scene as a world recorded it.
        planned: Its plan.

    Raises:
        ValueError: The record has another number of objects.
    """
    assert planned.ladder is not None
    n_objects = len(planned.ladder.present)
    if len(recorded.objects) != n_objects:
        raise ValueError(f"its record has {len(recorded.objects)} objects, its plan {n_objects}")
    scene = replace(recorded, environment=planned.environment, yaw=planned.yaw)
    return _with_contents(scene, planned, ladder=planned.ladder, poses=range(n_objects))


def all_steps(scene: Scene, planned: Planned) -> tuple[Scene, ...]:
    """Return every scene of a ladder, in the order of the plan.

    Args:
        scene: As of `first_step`.
        planned: The plan of any scene of the ladder.
    """
    assert planned.ladder is not None
    first = first_step(scene, planned)
    scenes = []
    for is_exchanged in (False, True):
        for step in reversed(steps_of_images(planned.ladder)):
            ladder = planned.ladder._replace(step=step, is_exchanged=is_exchanged)
            scenes.append(at_step(first, planned._replace(ladder=ladder)))
    return tuple(scenes)


def own_place(planned: Planned) -> int:
    """Return the place of a planned scene among the scenes that are placed together.

    Args:
        planned: A scene, a twin or a step of a ladder.
    """
    if planned.ladder is not None:
        return planned.ladder.place
    return 0 if planned.twin_of is None else 1


def _with_area(scene: Scene, factor: float) -> Scene:
    """The scene with a focal length that changes the image area of each object by a factor."""
    # Lengths in the image grow with the lens, so areas grow with its square.
    lens = round(scene.camera.lens * math.sqrt(factor), 3)
    return replace(scene, camera=replace(scene.camera, lens=lens))


def _with_contents(
    posed: Scene, planned: Planned, *, ladder: Ladder, poses: Sequence[int]
) -> Scene:
    """A scene with the contents of a step, and its rung. `poses`: the object of `posed` that each
    object has its pose from."""
    contents = ladder_contents(planned, ladder)
    objects = []
    for (category, attributes), place in zip(contents, poses, strict=True):
        pose = posed.objects[place]
        objects.append(SceneObject(category, attributes, pose.position, pose.heading))
    first, second = (ladder.present.index(target) for target in ladder.targets)
    magnitude = ladder.magnitude
    if ladder.factor == CAPTION_LENGTH:
        # The items of all steps are about one image.
        magnitude = ladder.magnitudes[-1]
    rung = Rung(ladder.factor, magnitude, (first, second))
    return replace(posed, objects=tuple(objects), rung=rung)
