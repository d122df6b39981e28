"""Finds values and objects of a family that people could confuse: similar colours or outlines,
faint textures.

Colours use a simple model instead of a render: a matt ball in the middle of the floor, lit by the
family's sky and lamps in Blender's units, without shadows and without light from the floor.
Outlines are compared from the family's camera, over the headings that objects may have. Each
texture is rendered on each object; dividing by a render of the same object without the texture
removes light and shade and leaves the colours of the surface.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage
from skimage.color import rgb2lab

from generator.assets.sets import find_mesh
from generator.assets.shapes import UnitMesh
from generator.inspection.outlines import Mask, outlines
from generator.inspection.swatches import rendered, single_scene
from generator.scene.projection import axes, project
from generator.scene.scene import Camera
from generator.vocabulary.materials import AttributeValue
from generator.vocabulary.schema import Vocabulary

TOO_CLOSE = 10.0
"""Colours are too close if their CIEDE2000 difference is smaller. A trained eye can just see about
1."""
# Factors on the light of one of two colours. A side of an object in shade gets about half the light
# of a lit one, so colours that differ only in lightness, such as cyan and teal, are confused. The
# closest two values of a shipped family differ by 13 (clevr-original: brown and yellow).
_SHADES = np.geomspace(0.5, 2.0, 9)
_ALONG = 12  # normals of the ball in each direction


class Close(NamedTuple):
    """Two values of a kind with too close colours, the environment where they are closest, and
    CIEDE2000 there."""

    kind: str
    one: str
    other: str
    environment: str
    distance: float


def too_close(vocabulary: Vocabulary) -> Iterator[Close]:
    """Pairs of values that differ in colour alone and whose colours are too close in some
    environment, in the same light or with one of them in up to twice the other's light."""
    from skimage.color import deltaE_ciede2000, rgb2lab

    lights = np.stack([light_on_ball(vocabulary, name) for name in vocabulary.environments])
    places = list(vocabulary.environments)
    for kind, values in vocabulary.attributes.items():
        inputs = {name: value.inputs() for name, value in values.items()}
        colored = [name for name, given in inputs.items() if "linear" in given]
        pairs = [
            (a, b) for a, b in combinations(colored, 2) if _rest(inputs[a]) == _rest(inputs[b])
        ]
        if not pairs:
            continue
        shown = {name: _mean_shown(inputs[name], lights) for name in colored}
        one, other = (np.stack([shown[pair[i]] for pair in pairs]) for i in (0, 1))
        closest = np.full(one.shape[:2], np.inf)
        for shade in _SHADES:
            shaded = deltaE_ciede2000(rgb2lab(encoded(shade * one)), rgb2lab(encoded(other)))
            closest = np.minimum(closest, shaded)
        for (a, b), distances in zip(pairs, closest, strict=True):
            if distances.min() < TOO_CLOSE:
                yield Close(kind, a, b, places[distances.argmin()], float(distances.min()))


def light_on_ball(vocabulary: Vocabulary, environment: str) -> NDArray[np.float64]:
    """The linear light (n, 3) that a white matt ball reflects at n points of its visible side; 1 is
    white.

    A photographed place counts as even white light: `family_check` checks colours there on renders.
    """
    normals = _visible_normals(vocabulary)
    where = vocabulary.environments[environment]
    if where.photo is not None:
        return np.ones((len(normals), 3))
    light = np.full((len(normals), 3), vocabulary.sky if where.light is None else where.light)
    for lamp in {**vocabulary.lamps, **where.lamps}.values():
        away = math.sqrt(sum(x * x for x in lamp.position))
        facing = np.clip(normals @ (np.asarray(lamp.position) / away), 0, None)
        power = lamp.energy / math.pi if lamp.type == "sun" else lamp.energy / (math.pi * away) ** 2
        light += facing[:, None] * power * np.asarray(lamp.color)
    return light


def encoded(linear: NDArray[np.float64]) -> NDArray[np.float64]:
    """Linear light (0..1, clipped) encoded with the sRGB curve (IEC 61966-2-1)."""
    clipped = np.clip(linear, 0, 1)
    return np.where(clipped <= 0.0031308, 12.92 * clipped, 1.055 * clipped ** (1 / 2.4) - 0.055)


def decoded(shown: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inverse of `encoded`: linear light of sRGB, both 0..1."""
    return np.where(shown <= 0.04045, shown / 12.92, ((shown + 0.055) / 1.055) ** 2.4)


def _visible_normals(vocabulary: Vocabulary) -> NDArray[np.float64]:
    """Unit normals (n, 3) in world coordinates of the visible side of a ball, evenly spaced in its
    image."""
    right, up, back = (
        np.asarray(axis) for axis in axes(vocabulary.camera.position, vocabulary.camera.target)
    )
    along = (np.arange(_ALONG) + 0.5) / _ALONG * 2 - 1
    x, y = np.meshgrid(along, along)
    x, y = x[x * x + y * y < 1], y[x * x + y * y < 1]
    return x[:, None] * right + y[:, None] * up + np.sqrt(1 - x * x - y * y)[:, None] * back


def _mean_shown(inputs: Mapping[str, Any], lights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean linear colour (environments, 3) of the ball in an image, with channels clipped at
    white."""
    color = np.asarray(inputs["linear"]) / 255 * inputs.get("albedo", 1.0)
    shown: NDArray[np.float64] = np.clip(lights * color, 0, 1).mean(1)
    return shown


def _rest(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of a value without its colour."""
    return {name: value for name, value in inputs.items() if name not in ("linear", "albedo")}


SIDE = 64
HEADINGS = 8
ALIKE = 0.95
"""Two objects look alike if the intersection over union of their masks is larger."""
_SPACING = (
    1.2 / SIDE
)  # distance of points on a surface, in units of its mesh: less than a pixel of a mask
_R2 = (0.7548776662466927, 0.5698402909980532)


def alike(vocabulary: Vocabulary) -> Iterator[tuple[str, str, float]]:
    """Pairs of objects that look alike, with the overlap of their masks (0..1).

    Each object stands at the origin, at eight of its possible headings. Its bounding box is scaled
    to fill a mask of 64 x 64 pixels. For each heading of one object, takes the largest intersection
    over union among the other's headings. The overlap is the mean over the headings, the larger of
    both directions. Raises UserError if a mesh is not installed.
    """
    names = list(vocabulary.objects)
    points: dict[str, NDArray[np.float32]] = {}
    for mesh in vocabulary.meshes.values():
        if mesh not in points:
            points[mesh] = surface_points(find_mesh(mesh, vocabulary.assets))
    masks = np.stack(
        [_masks_of(vocabulary, name, points[vocabulary.meshes[name]]) for name in names]
    )
    flat = masks.reshape(len(names) * HEADINGS, -1).astype(np.float32)
    common, sizes = flat @ flat.T, flat.sum(1)
    shares = common / (sizes[:, None] + sizes[None, :] - common)
    best = shares.reshape(len(names), HEADINGS, len(names), HEADINGS).max(3).mean(1)
    best = np.maximum(best, best.T)
    for i, j in zip(*np.nonzero(np.triu(best > ALIKE, 1)), strict=True):
        yield names[i], names[j], float(best[i, j])


def _masks_of(vocabulary: Vocabulary, name: str, points: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Masks (HEADINGS, SIDE, SIDE) of an object at headings spread over its possible range."""
    turn, camera = vocabulary.objects[name].turn, vocabulary.camera
    sized = points * np.float32(sum(vocabulary.scales) / len(vocabulary.scales))
    towards = vocabulary.facing(name, camera.position)
    eye = Camera(camera.position, camera.target, camera.lens, camera.sensor)
    headings = [
        towards + math.radians(turn) * ((i + 0.5) / HEADINGS - 0.5) for i in range(HEADINGS)
    ]
    if vocabulary.objects[name].shows == "side":  # every other heading shows the other side
        headings = [heading + math.pi * (i % 2) for i, heading in enumerate(headings)]
    return np.stack([mask(sized, heading, eye) for heading in headings])


def mask(points: NDArray[np.float32], heading: float, camera: Camera) -> NDArray[np.bool_]:
    """The mask (SIDE, SIDE) of points (n, 3) turned by `heading` (radians) about z, scaled to touch
    the edges."""
    x, y, z = points.T
    cos, sin = np.float32(math.cos(heading)), np.float32(math.sin(heading))
    column, row, _ = project(camera, x * cos - y * sin, x * sin + y * cos, z, 1, 1)
    column, row = column - column.min(), row - row.min()
    scale = (SIDE - 1) / max(column.max(), row.max())
    found = np.zeros((SIDE, SIDE), bool)
    found[
        (row * scale + (SIDE - 1 - row.max() * scale) / 2).round().astype(np.int32),
        (column * scale + (SIDE - 1 - column.max() * scale) / 2).round().astype(np.int32),
    ] = True
    found[1:-1] |= found[:-2] & found[2:]
    found[:, 1:-1] |= found[:, :-2] & found[:, 2:]
    return found


def surface_points(mesh: UnitMesh) -> NDArray[np.float32]:
    """Points (n, 3) spread evenly over the surface of a mesh, in units of the mesh.

    They are its vertices, and in each triangle a number of points in proportion to its area, from a
    low-discrepancy sequence (Roberts' R2).
    """
    vertices = np.asarray(mesh.vertices, np.float32)
    corners = vertices[_triangles(mesh.faces)]
    one, other = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    areas = np.linalg.norm(np.cross(one, other), axis=1) / 2
    counts = (areas / _SPACING**2).astype(np.int64)
    of = np.repeat(np.arange(len(corners)), counts)
    number = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
    u, v = ((0.5 + number * step) % 1 for step in _R2)
    beyond = u + v > 1
    u, v = np.where(beyond, 1 - u, u), np.where(beyond, 1 - v, v)
    inner = (
        corners[of, 0]
        + u[:, None].astype(np.float32) * one[of]
        + v[:, None].astype(np.float32) * other[of]
    )
    return np.concatenate([vertices, inner])


def _triangles(faces: Iterable[list[int]]) -> NDArray[np.int64]:
    """Faces cut into triangles (n, 3) of vertex indices; the triangles of a face share its first
    corner."""
    by_length: dict[int, list[list[int]]] = {}
    for face in faces:
        by_length.setdefault(len(face), []).append(face)
    fans = [
        np.asarray(group)[:, [0, i, i + 1]]
        for length, group in by_length.items()
        for i in range(1, length - 1)
    ]
    return np.concatenate(fans)


LEAST_CONTRAST = 3.5
"""Minimum contrast of a texture on an object. Contrast is the 20% quantile, over the object's
pixels, of the local spread of colours: root mean square distance in CIELAB in a window of about a
seventh of the object."""
_TEXTURE_SIDE = 128  # pixels, at draft quality: the smallest usual image size
_GRAY = 0.5  # linear light of the surface that textures are compared with
_WINDOW = 0.15  # standard deviation of the window, over the root of the object's area
_PART = 0.2  # share of the object that may be plain, as between two marks
_PLAIN = "plain surface"  # no family uses this name


def contrasts(
    vocabulary: Vocabulary, workers: int, known: Sequence[Vocabulary] = ()
) -> Iterator[tuple[str, str, str, float]]:
    """Kind, category, value and contrast of each texture on each object, at the middle of its
    headings.

    `known`: families whose textures on their objects are skipped. Raises UserError if Blender
    cannot render the images.
    """
    for kind, values in vocabulary.attributes.items():
        textured = [name for name, value in values.items() if value.texture is not None]
        if not textured:
            continue
        compared = _with_plain(vocabulary, kind)
        usual = {each: compared.values(each)[0] for each in compared.attributes}
        place = next(iter(compared.environments))
        shown: list[tuple[str, str]] = []
        for category in compared.objects:
            new = [
                each
                for each in textured
                if not any(_has(one, vocabulary, kind, category, each) for one in known)
            ]
            shown += [(category, value) for value in (_PLAIN, *new)] if new else []
        scenes = [
            single_scene(compared, category, {**usual, kind: value}, place, close=False)
            for category, value in shown
        ]
        images = rendered(scenes, compared, workers, _TEXTURE_SIDE, "draft")
        plain: NDArray[np.float64] = np.zeros(0)
        for (category, value), scene, image in zip(shown, scenes, images, strict=True):
            light = _light(image)
            if value == _PLAIN:
                plain, mask = (
                    light,
                    outlines(scene, compared, (_TEXTURE_SIDE, _TEXTURE_SIDE))[0].visible,
                )
            else:
                yield kind, category, value, contrast_of(light, plain, mask)


def _has(known: Vocabulary, vocabulary: Vocabulary, kind: str, category: str, value: str) -> bool:
    """Whether the family `known` has the same object and value as `vocabulary`."""
    same_object = known.objects.get(category) == vocabulary.objects[category]
    return (
        same_object
        and known.attributes.get(kind, {}).get(value) == vocabulary.attributes[kind][value]
    )


def contrast_of(textured: NDArray[np.float64], plain: NDArray[np.float64], mask: Mask) -> float:
    """The contrast of a texture within a mask [h, w]. The images [h, w, 3], with and without it,
    are linear light."""
    within = ndimage.binary_erosion(mask) if ndimage.binary_erosion(mask).any() else mask
    if not within.any():
        return 0.0
    surface = _GRAY * textured[within] / (plain[within].mean(-1, keepdims=True) + 0.01)
    lab = np.zeros(textured.shape)
    lab[within] = rgb2lab(encoded(surface))
    near = _WINDOW * float(np.sqrt(within.sum()))
    weight = np.maximum(ndimage.gaussian_filter(within.astype(float), near), 1e-6)

    def around(values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Local mean at each pixel of the object."""
        return np.asarray(ndimage.gaussian_filter(values, (near, near, 0)) / weight[..., None])

    spread = np.sqrt(np.clip(around(lab**2) - around(lab) ** 2, 0, None).sum(-1))
    return float(np.quantile(spread[within], _PART))


def _light(image: Image.Image) -> NDArray[np.float64]:
    return decoded(np.asarray(image) / 255)


def _with_plain(vocabulary: Vocabulary, kind: str) -> Vocabulary:
    """The family with one more value of a kind, without texture: gray if textures set colours, else
    as the object."""
    values = vocabulary.attributes[kind]
    covering = any(value.texture and value.texture.colors for value in values.values())
    first = next(value for value in values.values() if value.texture is not None)
    changes = {
        "texture": None,
        "linear": (255 * _GRAY,) * 3 if covering else None,
        "synonyms": (),
        "article": None,
    }
    plain: AttributeValue = first.model_copy(update=changes)
    return vocabulary.model_copy(
        update={"attributes": {**vocabulary.attributes, kind: {**values, _PLAIN: plain}}}
    )
