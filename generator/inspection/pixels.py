"""Checks images against the records of their scenes without rendering: the colour, outline and box
of every object, and bare floors against the floors of other scenes.

Light changes the brightness of a colour, so each declared colour is compared at many brightnesses,
and the smallest CIEDE2000 counts. In draft renders of the built-in families at 32 to 128 pixels,
each of 538 objects was nearer to its recorded colour than to any other colour, by at least 5.8.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import ImageColor
from scipy import ndimage
from skimage.color import deltaE_ciede2000, rgb2lab

from generator.dataset.outputs import Box
from generator.inspection.appearance import encoded
from generator.inspection.outlines import Mask, outlines, shadows
from generator.judge.certificate import Finding, finding
from generator.scene.scene import Scene
from generator.vocabulary.materials import linear_of
from generator.vocabulary.schema import Vocabulary

LEAST_OVERLAP = 0.5
"""Minimum `overlap` on a bare floor. In draft renders of 32 to 128 pixels, true outlines have at
least 0.62 (median 0.9); outlines placed where no object is have a median of 0.3."""
LEAST_OVERLAP_IN_SCENERY = 0.35
"""Minimum `overlap` in front of scenery, where true outlines have at least 0.45."""
_ALIKE = 10.0  # CIEDE2000 below which scenery may be mistaken for the object
_BOX = 2  # pixels by which a recorded box may differ; it is measured on the curved mesh


_TINT = 20.0
"""Maximum difference in a* and b* (CIELAB) between a pixel of a bare floor, far from objects, and
that floor's median. In 108 draft renders of four families it is at most 10; where a red object
stands it is 64."""
_EDGE = 12.0
"""Maximum difference of lightness between such a pixel and its surroundings: at most 6 there;
letters have ≥ 17."""
_FLOOR = np.array(
    [8.0, 3.0, 3.0]
)  # maximum CIELAB difference of a floor from the usual floor: at most 2, 1, 1 there
_FEWEST_FLOORS = 5
_LEAST = 12  # minimum number of pixels for a comparison
_SOLID = 24  # minimum number of pixels that show a colour
_NOISE = 4.0  # variance that is added to each CIELAB channel of a Gaussian


class Window(NamedTuple):
    """The part of an image around an object.

    `at`: rows and columns of the image. Masks of the part: `inside`: well within the outline;
    `around`: well outside
    it and other objects; `shape`: the outline; `known`: where no other object is. `solid`: whether
    enough pixels for a
    colour are well within the outline, away from its edge, where colours mix.
    """

    at: tuple[slice, slice]
    solid: bool
    inside: Mask
    around: Mask
    shape: Mask
    known: Mask


def window(outline: Mask, others: Mask) -> Window | None:
    """The window around an outline, with a margin of a third of its size; None if the object or its
    surroundings show too few pixels.

    `others`: mask of the visible parts of other objects.
    """
    if not outline.any():
        return None
    rows, columns = ndimage.find_objects(outline.astype(int))[0]
    margin = max(3, (rows.stop - rows.start) // 3, (columns.stop - columns.start) // 3)
    down, across = (
        slice(max(0, part.start - margin), part.stop + margin) for part in (rows, columns)
    )
    at = (down, across)
    shape, known = outline[at], ~others[at]
    inside, around = ndimage.binary_erosion(shape), ~ndimage.binary_dilation(shape) & known
    solid = bool(inside.sum() >= _SOLID)
    if inside.sum() < _LEAST:
        inside = shape
    if min(inside.sum(), around.sum()) < _LEAST:
        return None
    return Window(at, solid, inside, around, shape, known)


def overlap(lab: NDArray[np.float64], seen: Window) -> float:
    """Intersection over union, 0..1, of the outline and the pixels that look like its inside rather
    than its surroundings.

    `lab`: the window's pixels [h, w, 3] in CIELAB. They are classified by two Gaussians, fitted to
    the pixels inside
    and around.
    """
    own = (_likelihood(lab, lab[seen.inside]) > _likelihood(lab, lab[seen.around])) & seen.known
    shape = seen.shape & seen.known
    return float((own & shape).sum() / max(1, (own | shape).sum()))


def _likelihood(lab: NDArray[np.float64], like: NDArray[np.float64]) -> NDArray[np.float64]:
    """Twice the log density of each pixel under a Gaussian fitted to the pixels `like`, without the
    constant term."""
    spread = np.cov(like.T) + _NOISE * np.eye(3)
    off = lab - like.mean(0)
    found: NDArray[np.float64] = (
        -np.einsum("...i,ij,...j", off, np.linalg.inv(spread), off) - np.linalg.slogdet(spread)[1]
    )
    return found


Pixels = NDArray[np.float64]
CLEARLY = 3.0
"""A record counts as wrong if another colour is nearer by more than this, in CIEDE2000."""
IN_PHOTOGRAPHS = 8.0
"""The same in the coloured light of photographed places. At 96x72, 392 true records had at most
5.3; 98% of 2,744 false records had more than 8."""
_LIGHTS = np.geomspace(0.15, 2.5, 15)[
    :, None, None
]  # brightness relative to a white wall in full light
_MOST = 100  # maximum number of an object's pixels that are compared; more do not change the result

# The colours that people most often call by these names: Munroe's survey of 222,500 people
# (xkcd.com/color/rgb, CC0).
_NAMED = {
    "red": "#e50000",
    "green": "#15b01a",
    "blue": "#0343df",
    "yellow": "#ffff14",
    "brown": "#653700",
    "purple": "#7e1e9c",
    "cyan": "#00ffff",
    "gray": "#929591",
    "grey": "#929591",
    "orange": "#f97306",
    "pink": "#ff81c0",
    "black": "#000000",
    "white": "#ffffff",
}


def distances(pixels: Pixels, colors: Pixels) -> Pixels:
    """CIEDE2000 [n, v] of each pixel from each colour, at the brightness where the colour is
    nearest.

    `pixels`: sRGB [n, 3], 0..1. `colors`: linear light [v, 3], 0..1.
    """
    shown = rgb2lab(encoded(_LIGHTS * colors))
    found: Pixels = deltaE_ciede2000(rgb2lab(pixels)[:, None, None], shown[None]).min(1)
    return found


class Colors:
    """The colours that a family declares.

    `kind`: the attribute kind that sets an object's colour; None if there is none, e.g. if textures
    have own colours.
    """

    def __init__(self, vocabulary: Vocabulary):
        self._vocabulary = vocabulary
        self.kind = next(
            (
                kind
                for kind, values in vocabulary.attributes.items()
                if all(each.color for each in values.values())
            ),
            None,
        )

    @cached_property
    def _declared(self) -> dict[str, tuple[float, ...]]:
        """Linear light, 0..1, of each value of the kind."""
        values = self._vocabulary.attributes[self.kind] if self.kind else {}
        return {
            name: tuple((value.albedo or 1.0) * channel / 255 for channel in value.color or ())
            for name, value in values.items()
        }

    def palette(self, attributes: dict[str, str]) -> Pixels:
        """The colours [v, 3] that an object may show: its own, or those of its texture."""
        for kind, name in attributes.items():
            texture = self._vocabulary.attributes[kind][name].texture
            if texture is not None and texture.colors is not None:
                return np.array([linear_of(color) for color in texture.colors]) / 255
        return np.array([self._declared[attributes[self.kind]]]) if self.kind else np.zeros((0, 3))

    def other_than(
        self, recorded: str, pixels: Pixels, clearly: float = CLEARLY
    ) -> tuple[str, float, float] | None:
        """The nearest value to pixels [n, 3], and CIEDE2000 of it and of the recorded value; None
        if it is not clearly nearer.

        `clearly`: how much nearer it must be, in CIEDE2000.
        """
        shown = self.nearest(recorded, pixels)
        return shown if shown[2] - shown[1] > clearly else None

    def nearest(self, recorded: str, pixels: Pixels) -> tuple[str, float, float]:
        """The value that pixels [n, 3] are nearest to, and CIEDE2000 of it and of the recorded
        value."""
        some = pixels[np.linspace(0, len(pixels) - 1, min(len(pixels), _MOST)).astype(int)]
        off = np.median(distances(some, np.array(list(self._declared.values()))), axis=0)
        names = list(self._declared)
        return names[off.argmin()], float(off.min()), float(off[names.index(recorded)])

    def misnamed(self) -> Iterator[str]:
        """A sentence for each value whose colour people would clearly call by another value's
        name."""
        names = [name for name in self._declared if name in _NAMED]
        if len(names) < 2:
            return
        common = np.array([ImageColor.getrgb(_NAMED[name]) for name in names]) / 255
        for name in names:
            shown = encoded(_LIGHTS[:, 0] * np.array(self._declared[name]))
            off = deltaE_ciede2000(rgb2lab(shown)[:, None], rgb2lab(common)[None]).min(0)
            if other := _clearly_other(names, off, name):
                yield (
                    f"the value '{name}' of {self.kind} has the colour that people call {other[0]}"
                )


def _clearly_other(names: Sequence[str], off: Pixels, own: str) -> tuple[str, float, float] | None:
    nearest, due = int(off.argmin()), off[names.index(own)]
    if due - off[nearest] <= CLEARLY:
        return None
    return names[nearest], float(off[nearest]), float(due)


class PixelCheck:
    """Compares images with records. `judged` counts objects, and how many colours, outlines and
    floors were checked."""

    def __init__(self, vocabulary: Vocabulary):
        self._vocabulary, self._colors = vocabulary, Colors(vocabulary)
        self.judged: Counter[str] = Counter(objects=0, colors=0, outlines=0, floors=0)
        self._floors = defaultdict[str, dict[str, NDArray[np.float64]]](dict)

    def misnamed(self) -> Iterator[str]:
        """A sentence for each value of the family whose colour people would call by another value's
        name."""
        return self._colors.misnamed()

    def faults(
        self, where: str, image: NDArray[np.uint8], scene: Scene, boxes: Sequence[Box]
    ) -> Iterator[Finding]:
        """Differences between an image [h, w, 3] and its record. `where` names the scene; `boxes`:
        the recorded box of each object.

        Raises UserError if a mesh is not installed; ValueError or KeyError if the record cannot be
        drawn.
        """
        pixels = image / 255
        drawn = outlines(scene, self._vocabulary, (image.shape[1], image.shape[0]))
        everything = np.any([each.visible for each in drawn], axis=0)
        place = self._vocabulary.environments[scene.environment]
        scenery, clearly = not place.bare, IN_PHOTOGRAPHS if place.photo else CLEARLY
        if not scenery:
            shaded = everything | shadows(scene, self._vocabulary, (image.shape[1], image.shape[0]))
            yield from self._floor_faults(where, rgb2lab(pixels), shaded, scene.environment)
        for i, (thing, each, box) in enumerate(zip(scene.objects, drawn, boxes, strict=True)):
            self.judged["objects"] += 1
            name = f"{where}: object {i} ({thing.category})"
            if (drawn_box := box_of(each.whole)) and np.abs(
                np.subtract(drawn_box, box)
            ).max() > _BOX:
                yield finding(
                    "wrong box", f"{name} has the box {tuple(box)}, its pose says {drawn_box}"
                )
            seen = window(each.visible, everything & ~each.visible)
            if seen is None:
                continue
            part = pixels[seen.at]
            if seen.solid and self._colors.kind:
                self.judged["colors"] += 1
                recorded = thing.attributes[self._colors.kind]
                if other := self._colors.other_than(recorded, part[seen.inside], clearly):
                    shown, off, due = other
                    yield finding(
                        "wrong color",
                        f"{name} is recorded as {recorded} and its pixels show {shown} (CIEDE2000 "
                        f"{due:.0f} against {off:.0f})",
                    )
            if scenery and self._hidden_in_scenery(part, seen, thing.attributes):
                continue
            self.judged["outlines"] += 1
            least = LEAST_OVERLAP_IN_SCENERY if scenery else LEAST_OVERLAP
            if (share := overlap(rgb2lab(part), seen)) < least:
                yield finding(
                    "wrong outline",
                    f"{name}: the pixels that differ from its surroundings overlap its recorded "
                    f"outline by {share:.2f}, expected {least} or more",
                )

    def floor_faults(self) -> Iterator[Finding]:
        """Images whose floor differs in colour from the median of the checked floors in the same
        environment."""
        for floors in self._floors.values():
            usual = np.median(list(floors.values()), axis=0)
            for where, floor in floors.items():
                if len(floors) >= _FEWEST_FLOORS and (np.abs(floor - usual) > _FLOOR).any():
                    yield finding(
                        "strange floor",
                        f"{where}: its floor has the colour {floor.round().tolist()} in CIELAB, "
                        f"the floors of other scenes {usual.round().tolist()}",
                    )

    def _floor_faults(
        self, where: str, lab: NDArray[np.float64], everything: Mask, environment: str
    ) -> Iterator[Finding]:
        """Finds signs of an unrecorded object on a bare floor: a hue, or an edge.

        `everything`: mask of objects and of the shadows of suns. Shadows of other lamps have
        neither hue nor edge.
        """
        far = ndimage.distance_transform_edt(~everything) > max(3, lab.shape[1] // 16)
        if far.sum() < _SOLID:
            return
        self.judged["floors"] += 1
        floor = np.median(lab[far], axis=0)
        self._floors[environment][where] = floor
        smooth = ndimage.median_filter(lab, (3, 3, 1))
        tint = float(np.linalg.norm((smooth - floor)[..., 1:], axis=-1)[far].max())
        edge = float(np.abs(smooth[..., 0] - ndimage.median_filter(smooth[..., 0], 9))[far].max())
        if tint > _TINT or edge > _EDGE:
            yield finding(
                "strange floor",
                f"{where}: away from its objects the floor has a pixel that differs by {tint:.0f} "
                f"in hue and saturation and {edge:.0f} in lightness (CIELAB), expected at most "
                f"{_TINT:.0f} and {_EDGE:.0f}",
            )

    def _hidden_in_scenery(
        self, part: NDArray[np.float64], seen: Window, attributes: dict[str, str]
    ) -> bool:
        """Whether over a third of an object's surroundings has its colours, so its outline cannot
        be checked."""
        palette = self._colors.palette(attributes)
        around = part[seen.around][:: max(1, int(seen.around.sum()) // 100)]
        return len(palette) > 0 and bool(
            (distances(around, palette).min(1) < _ALIKE).mean() > 1 / 3
        )


def box_of(mask: Mask) -> Box | None:
    """Left, top, right, bottom around a mask; None if it is empty."""
    rows, columns = np.nonzero(mask.any(1))[0], np.nonzero(mask.any(0))[0]
    if not len(rows):
        return None
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1
