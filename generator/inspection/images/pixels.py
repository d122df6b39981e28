"""Compares an image with the record of its scene: the colour, outline and box of every object. Renders nothing."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from skimage.color import rgb2lab

from generator.dataset.outputs import Box
from generator.inspection.images.colors import Colors, distances
from generator.inspection.images.overlap import Window, overlap, window
from generator.inspection.outlines import Mask, outlines
from generator.judge.findings import Finding, finding
from generator.scene.scene import Scene
from generator.vocabulary.schema import Vocabulary

LEAST_OVERLAP = 0.5
"""On a bare floor. In draft renders of 32 to 128 pixels, objects where they are recorded have 0.62 and more, at the median 0.9;
outlines put where nothing is have 0.3 at the median."""
LEAST_OVERLAP_IN_SCENERY = 0.35
"""Before scenery, where the same measure is 0.45 and more."""
_ALIKE = 10.0  # CIEDE2000 within which scenery may be taken for the object
_BOX = 2  # pixels by which a recorded box may differ; it is measured on the curved mesh


class PixelCheck:
    """Compares images with records; `judged` counts objects, and those whose colour and outline could be told."""

    def __init__(self, vocabulary: Vocabulary):
        self._vocabulary, self._colors = vocabulary, Colors(vocabulary)
        self.judged: Counter[str] = Counter(objects=0, colors=0, outlines=0)

    def misnamed(self) -> Iterator[str]:
        """A sentence for each value of the family that is called by the name of another value's colour."""
        return self._colors.misnamed()

    def faults(self, where: str, image: NDArray[np.uint8], scene: Scene, boxes: Sequence[Box]) -> Iterator[Finding]:
        """What image [h, w, 3] and record say differently. `where` names the scene; `boxes`: recorded, one for each object.

        Raises UserError if a mesh is not installed; ValueError or KeyError if the record cannot be drawn.
        """
        pixels = image / 255
        drawn = outlines(scene, self._vocabulary, (image.shape[1], image.shape[0]))
        everything = np.any([each.visible for each in drawn], axis=0)
        for i, (thing, each, box) in enumerate(zip(scene.objects, drawn, boxes, strict=True)):
            self.judged["objects"] += 1
            name = f"{where}: object {i} ({thing.category})"
            if (drawn_box := box_of(each.whole)) and np.abs(np.subtract(drawn_box, box)).max() > _BOX:
                yield finding("wrong box", f"{name} has the box {tuple(box)}, its pose says {drawn_box}")
            seen = window(each.visible, everything & ~each.visible)
            if seen is None:
                continue
            part = pixels[seen.at]
            if seen.solid and self._colors.kind:
                self.judged["colors"] += 1
                recorded = thing.attributes[self._colors.kind]
                if other := self._colors.other_than(recorded, part[seen.inside]):
                    shown, off, due = other
                    yield finding(
                        "wrong color",
                        f"{name} is recorded as {recorded} and its pixels show {shown} (CIEDE2000 {due:.0f} against {off:.0f})",
                    )
            scenery = self._vocabulary.environments[scene.environment].ground is not None
            if scenery and self._hidden_in_scenery(part, seen, thing.attributes):
                continue
            self.judged["outlines"] += 1
            least = LEAST_OVERLAP_IN_SCENERY if scenery else LEAST_OVERLAP
            if (share := overlap(rgb2lab(part), seen)) < least:
                yield finding(
                    "wrong outline",
                    f"{name}: what differs from its surroundings overlaps its recorded outline by {share:.2f}, expected {least} or more",
                )

    def _hidden_in_scenery(self, part: NDArray[np.float64], seen: Window, attributes: dict[str, str]) -> bool:
        """Whether much around an object has its colours, so that nothing can be told from their difference."""
        palette = self._colors.palette(attributes)
        around = part[seen.around][:: max(1, int(seen.around.sum()) // 100)]
        return len(palette) > 0 and bool((distances(around, palette).min(1) < _ALIKE).mean() > 1 / 3)


def box_of(mask: Mask) -> Box | None:
    """Left, top, right, bottom around a mask; None if it is empty."""
    rows, columns = np.nonzero(mask.any(1))[0], np.nonzero(mask.any(0))[0]
    if not len(rows):
        return None
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1
