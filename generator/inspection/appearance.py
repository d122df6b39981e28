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
from scipy import ndimage
from skimage.color import rgb2lab

from generator.assets.sets import find_mesh
from generator.assets.shapes import UnitMesh
from generator.base.srgb import decode_srgb, encode_srgb
from generator.inspection.object_masks import Mask, object_masks
from generator.inspection.swatches import rendered, single_scene
from generator.scene.projection import axes, project
from generator.scene.scene import Camera
from generator.vocabulary.materials import AttributeValue
from generator.vocabulary.schema import Vocabulary

TOO_CLOSE = 10.0
"""Colours are too close if their CIEDE2000 difference is smaller. A trained eye can just see about
1."""
_SHADES = np.geomspace(0.5, 2.0, 9)
"""Factors on the light of one of two colours. A side of an object in shade gets about half the
light of a lit one, so colours that differ only in lightness, such as cyan and teal, are confused.
The closest two values of a shipped family differ by 13 (clevr-original: brown and yellow)."""
_ALONG = 12
"""Normals of the ball in each direction."""


class Close(NamedTuple):
    """Two values of a kind with too close colours."""

    kind: str
    """The kind of attribute."""
    one: str
    """The first value."""
    other: str
    """The second value."""
    environment: str
    """The environment where they are closest."""
    distance: float
    """CIEDE2000 there."""


def too_close(vocabulary: Vocabulary) -> Iterator[Close]:
    """Pairs of values that differ in colour alone and whose colours are too close in some
    environment, in the same light or with one of them in up to twice the other's light."""
    environments = list(vocabulary.environments)
    lights = np.stack([light_on_ball(vocabulary, name) for name in environments])
    for kind, values in vocabulary.attributes.items():
        inputs = {name: value.inputs() for name, value in values.items()}
        pairs = _pairs_of_colors(inputs)
        if not pairs:
            continue
        firsts = np.stack([_mean_color(inputs[one], lights) for one, _ in pairs])
        seconds = np.stack([_mean_color(inputs[other], lights) for _, other in pairs])
        smallest = _smallest_differences(firsts, seconds)
        for (one, other), distances in zip(pairs, smallest, strict=True):
            closest = int(distances.argmin())
            if distances[closest] < TOO_CLOSE:
                yield Close(kind, one, other, environments[closest], float(distances[closest]))


def _pairs_of_colors(inputs: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str]]:
    """The pairs of values of a kind that differ in colour alone, from the inputs of each value.

    Values that differ in more, such as a texture, are told apart by that.
    """
    colored = [name for name, own in inputs.items() if "linear" in own]
    pairs = []
    for one, other in combinations(colored, 2):
        if _without_color(inputs[one]) == _without_color(inputs[other]):
            pairs.append((one, other))
    return pairs


def _smallest_differences(
    firsts: NDArray[np.float64], seconds: NDArray[np.float64]
) -> NDArray[np.float64]:
    """CIEDE2000 (pairs, environments) between linear colours (pairs, environments, 3), where the
    light on the first colour is such that it comes closest to the second."""
    from skimage.color import deltaE_ciede2000

    seconds_in_lab = rgb2lab(encoded(seconds))
    smallest = np.full(firsts.shape[:2], np.inf)
    for shade in _SHADES:
        firsts_in_lab = rgb2lab(encoded(shade * firsts))
        smallest = np.minimum(smallest, deltaE_ciede2000(firsts_in_lab, seconds_in_lab))
    return smallest


def light_on_ball(vocabulary: Vocabulary, environment: str) -> NDArray[np.float64]:
    """The linear light (n, 3) that a white matt ball reflects at n points of its visible side; 1 is
    white.

    A photographed place counts as even white light: `family_check` checks colours there on renders.
    """
    normals = _visible_normals(vocabulary)
    place = vocabulary.environments[environment]
    if place.photo is not None:
        return np.ones((len(normals), 3))
    sky = vocabulary.sky if place.light is None else place.light
    light = np.full((len(normals), 3), sky)
    for lamp in {**vocabulary.lamps, **place.lamps}.values():
        distance = math.sqrt(sum(x * x for x in lamp.position))
        direction = np.asarray(lamp.position) / distance
        # Lambert's cosine law; a surface that is turned away gets nothing.
        cosine = np.clip(normals @ direction, 0, None)
        if lamp.type == "sun":
            # Its energy is watts per square metre, whatever the distance.
            strength = lamp.energy / math.pi
        else:
            # Watts, of which less arrives with the square of the distance.
            strength = lamp.energy / (math.pi * distance) ** 2
        light += cosine[:, None] * strength * np.asarray(lamp.color)
    return light


def encoded(linear: NDArray[np.float64]) -> NDArray[np.float64]:
    """Linear light, clipped to 0..1, encoded with the sRGB curve."""
    return encode_srgb(np.clip(linear, 0, 1))


def _visible_normals(vocabulary: Vocabulary) -> NDArray[np.float64]:
    """Unit normals (n, 3) in world coordinates of the visible side of a ball, evenly spaced in its
    image."""
    camera = vocabulary.camera
    right, up, back = (np.asarray(axis) for axis in axes(camera.position, camera.target))
    steps = (np.arange(_ALONG) + 0.5) / _ALONG * 2 - 1
    x, y = np.meshgrid(steps, steps)
    is_on_ball = x * x + y * y < 1
    x, y = x[is_on_ball], y[is_on_ball]
    z = np.sqrt(1 - x * x - y * y)
    return x[:, None] * right + y[:, None] * up + z[:, None] * back


def _mean_color(inputs: Mapping[str, Any], lights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean linear colour (environments, 3) of the ball in an image, with channels clipped at
    white."""
    color = np.asarray(inputs["linear"]) / 255 * inputs.get("albedo", 1.0)
    mean: NDArray[np.float64] = np.clip(lights * color, 0, 1).mean(1)
    return mean


def _without_color(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of a value without its colour."""
    return {name: value for name, value in inputs.items() if name not in ("linear", "albedo")}


SIDE = 64
"""Width and height of a mask, pixels."""
HEADINGS = 8
"""Headings at which objects are compared."""
ALIKE = 0.95
"""Two objects look alike if the intersection over union of their masks is larger."""
_SPACING = 1.2 / SIDE
"""Distance of points on a surface, in units of its mesh: less than a pixel of a mask."""
_R2 = (0.7548776662466927, 0.5698402909980532)
"""Steps of Roberts' low-discrepancy sequence in two dimensions."""


def alike(vocabulary: Vocabulary) -> Iterator[tuple[str, str, float]]:
    """Pairs of objects that look alike, with the overlap of their masks (0..1).

    Each object stands at the origin, at eight of its possible headings. Its bounding box is scaled
    to fill a mask of 64 x 64 pixels. For each heading of one object, takes the largest intersection
    over union among the other's headings. The overlap is the mean over the headings, the larger of
    both directions. Raises UserError if a mesh is not installed.
    """
    names = list(vocabulary.objects)
    points: dict[str, NDArray[np.float32]] = {}
    masks_of_objects = []
    for name in names:
        mesh = vocabulary.meshes[name]
        if mesh not in points:
            points[mesh] = surface_points(find_mesh(mesh, vocabulary.assets))
        masks_of_objects.append(_masks_of(vocabulary, name, points[mesh]))
    masks = np.stack(masks_of_objects)

    # Intersections of all pairs of masks as one product of matrices: the area of a mask is its
    # product with itself.
    flat = masks.reshape(len(names) * HEADINGS, -1).astype(np.float32)
    intersections = flat @ flat.T
    areas = flat.sum(1)
    unions = areas[:, None] + areas[None, :] - intersections
    overlaps = (intersections / unions).reshape(len(names), HEADINGS, len(names), HEADINGS)
    # By object, heading and other object; then by object and other object.
    best_overlap = overlaps.max(3)
    likeness = best_overlap.mean(1)
    likeness = np.maximum(likeness, likeness.T)
    for i, j in zip(*np.nonzero(np.triu(likeness > ALIKE, 1)), strict=True):
        yield names[i], names[j], float(likeness[i, j])


def _masks_of(vocabulary: Vocabulary, name: str, points: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Masks (HEADINGS, SIDE, SIDE) of an object at headings spread over its possible range."""
    spec = vocabulary.objects[name]
    view = vocabulary.camera
    camera = Camera(view.position, view.target, view.lens, view.sensor)
    mean_scale = sum(vocabulary.scales) / len(vocabulary.scales)
    scaled_points = points * np.float32(mean_scale)
    middle = vocabulary.facing(name, view.position)
    masks = []
    for i in range(HEADINGS):
        heading = middle + math.radians(spec.turn) * ((i + 0.5) / HEADINGS - 0.5)
        if spec.shows == "side":
            # Every other heading shows the other side.
            heading += math.pi * (i % 2)
        masks.append(mask(scaled_points, heading, camera))
    return np.stack(masks)


def mask(points: NDArray[np.float32], heading: float, camera: Camera) -> NDArray[np.bool_]:
    """Draw the mask of an object, scaled so that it touches the edges.

    Args:
        points: Points on its surface (n, 3), metres.
        heading: Its turn about z, radians.
        camera: The camera that sees it at the origin.

    Returns:
        (SIDE, SIDE).
    """
    x, y, z = points.T
    cos = np.float32(math.cos(heading))
    sin = np.float32(math.sin(heading))
    turned_x = x * cos - y * sin
    turned_y = x * sin + y * cos
    # An image of 1 x 1 pixels: the scale follows from the outline itself.
    column, row, _ = project(camera, turned_x, turned_y, z, 1, 1)
    column = column - column.min()
    row = row - row.min()
    scale = (SIDE - 1) / max(column.max(), row.max())

    pixels = np.zeros((SIDE, SIDE), bool)
    pixels[_centred(row * scale), _centred(column * scale)] = True
    # Points may miss a pixel between two that they hit.
    pixels[1:-1] |= pixels[:-2] & pixels[2:]
    pixels[:, 1:-1] |= pixels[:, :-2] & pixels[:, 2:]
    return pixels


def _centred(places: NDArray[np.float32]) -> NDArray[np.int32]:
    """Places from 0 on as pixels in the middle of a side of a mask."""
    return (places + (SIDE - 1 - places.max()) / 2).round().astype(np.int32)


def surface_points(mesh: UnitMesh) -> NDArray[np.float32]:
    """Points (n, 3) spread evenly over the surface of a mesh, in units of the mesh.

    They are its vertices, and in each triangle a number of points in proportion to its area, from a
    low-discrepancy sequence (Roberts' R2).
    """
    vertices = np.asarray(mesh.vertices, np.float32)
    triangles = vertices[_triangles(mesh.faces)]
    first_edges = triangles[:, 1] - triangles[:, 0]
    second_edges = triangles[:, 2] - triangles[:, 0]
    areas = np.linalg.norm(np.cross(first_edges, second_edges), axis=1) / 2
    counts = (areas / _SPACING**2).astype(np.int64)

    # For each point its triangle, and its number within the triangle.
    triangle = np.repeat(np.arange(len(triangles)), counts)
    first_points = np.cumsum(counts) - counts
    number = np.arange(len(triangle)) - np.repeat(first_points, counts)

    # The sequence fills the square of both edges; its far half is folded onto the triangle.
    u, v = ((0.5 + number * step) % 1 for step in _R2)
    is_beyond = u + v > 1
    u = np.where(is_beyond, 1 - u, u)
    v = np.where(is_beyond, 1 - v, v)
    along_first = u[:, None].astype(np.float32) * first_edges[triangle]
    along_second = v[:, None].astype(np.float32) * second_edges[triangle]
    return np.concatenate([vertices, triangles[triangle, 0] + along_first + along_second])


def _triangles(faces: Iterable[list[int]]) -> NDArray[np.int64]:
    """Faces cut into triangles (n, 3) of vertex indices; the triangles of a face share its first
    corner."""
    faces_by_corners: dict[int, list[list[int]]] = {}
    for face in faces:
        faces_by_corners.setdefault(len(face), []).append(face)
    fans = []
    for n_corners, group in faces_by_corners.items():
        for i in range(1, n_corners - 1):
            fans.append(np.asarray(group)[:, [0, i, i + 1]])
    return np.concatenate(fans)


LEAST_CONTRAST = 3.5
"""Minimum contrast of a texture on an object. Contrast is the 20% quantile, over the object's
pixels, of the local spread of colours: root mean square distance in CIELAB in a window of about a
seventh of the object. The textures of `pug` had 4 to 32; stripes that leave a side plain had 1 to
2."""
_TEXTURE_SIDE = 128
"""Width and height of the compared images, pixels: the smallest usual size."""
_GRAY = 0.5
"""Linear light of the surface that textures are compared with."""
_WINDOW = 0.15
"""Standard deviation of the window, over the root of the object's area."""
_PART = 0.2
"""Share of the object that may be plain, as between two marks."""
_PLAIN = "plain surface"
"""Name of the value without a texture; no family uses it."""


def contrasts(
    vocabulary: Vocabulary, workers: int, known: Sequence[Vocabulary] = ()
) -> Iterator[tuple[str, str, str, float]]:
    """Render each texture on each object, at the middle of its headings, and measure its contrast.

    Args:
        vocabulary: The family.
        workers: Number of render processes.
        known: Families whose textures on their objects are skipped.

    Yields:
        Kind, category, value and contrast.

    Raises:
        UserError: Blender cannot render the images.
    """
    for kind, values in vocabulary.attributes.items():
        textured = [name for name, value in values.items() if value.texture is not None]
        if not textured:
            continue
        compared = _with_plain(vocabulary, kind)
        usual = {own: compared.values(own)[0] for own in compared.attributes}
        environment = next(iter(compared.environments))

        swatches: list[tuple[str, str]] = []
        for category in vocabulary.objects:
            unknown = []
            for value in textured:
                if not any(_has(family, vocabulary, kind, category, value) for family in known):
                    unknown.append((category, value))
            if unknown:
                # The plain surface first, since the textures are compared with it.
                swatches += [(category, _PLAIN), *unknown]
        scenes = [
            single_scene(compared, category, {**usual, kind: value}, environment, close=False)
            for category, value in swatches
        ]
        images = rendered(scenes, compared, workers, _TEXTURE_SIDE, "draft")
        plain: NDArray[np.float64] = np.zeros(0)
        for (category, value), scene, image in zip(swatches, scenes, images, strict=True):
            light = decode_srgb(np.asarray(image) / 255)
            if value == _PLAIN:
                plain = light
                (object_mask,) = object_masks(scene, compared, (_TEXTURE_SIDE, _TEXTURE_SIDE))
            else:
                yield kind, category, value, contrast_of(light, plain, object_mask.visible)


def _has(known: Vocabulary, vocabulary: Vocabulary, kind: str, category: str, value: str) -> bool:
    """Whether the family `known` has the same object and value as `vocabulary`."""
    if known.objects.get(category) != vocabulary.objects[category]:
        return False
    return known.attributes.get(kind, {}).get(value) == vocabulary.attributes[kind][value]


def contrast_of(textured: NDArray[np.float64], plain: NDArray[np.float64], mask: Mask) -> float:
    """Measure the contrast of a texture.

    Args:
        textured: The image of an object with it, linear light [h, w, 3].
        plain: The image of the same object without it.
        mask: The object's pixels [h, w].

    Returns:
        The contrast, as LEAST_CONTRAST defines it; 0 if no pixel shows the object.
    """
    # Pixels of the edge mix the object with what is behind it; a thin object has no others.
    inside = ndimage.binary_erosion(mask)
    if not inside.any():
        inside = mask
    if not inside.any():
        return 0.0

    # Dividing by the plain render removes light and shade.
    brightness = plain[inside].mean(-1, keepdims=True) + 0.01
    lab = np.zeros(textured.shape)
    lab[inside] = rgb2lab(encoded(_GRAY * textured[inside] / brightness))

    # The local spread: the variance in a window is E[x²] - E[x]². Blurring counts pixels outside of
    # the object as 0, so the blurred values are divided by the blurred mask.
    sigma = _WINDOW * float(np.sqrt(inside.sum()))
    weight = np.maximum(ndimage.gaussian_filter(inside.astype(float), sigma), 1e-6)

    def local_mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean around each pixel, over pixels of the object alone."""
        return np.asarray(ndimage.gaussian_filter(values, (sigma, sigma, 0)) / weight[..., None])

    variance = np.clip(local_mean(lab**2) - local_mean(lab) ** 2, 0, None)
    spread = np.sqrt(variance.sum(-1))
    return float(np.quantile(spread[inside], _PART))


def _with_plain(vocabulary: Vocabulary, kind: str) -> Vocabulary:
    """The family with one more value of a kind, without texture: gray if textures set colours, else
    as the object."""
    values = vocabulary.attributes[kind]
    sets_color = any(value.texture and value.texture.colors for value in values.values())
    first = next(value for value in values.values() if value.texture is not None)
    changes = {
        "texture": None,
        "linear": (255 * _GRAY,) * 3 if sets_color else None,
        "synonyms": (),
        "article": None,
    }
    plain: AttributeValue = first.model_copy(update=changes)
    attributes = {**vocabulary.attributes, kind: {**values, _PLAIN: plain}}
    return vocabulary.model_copy(update={"attributes": attributes})
