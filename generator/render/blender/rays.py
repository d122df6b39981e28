"""Casts rays from the camera through the centres of pixels: masks, depths and normals, and from
them each object's boxes.

The rays are cast on the rendered meshes. The engine's own passes blend neighbouring surfaces at
every edge, and differ between engines, qualities and devices.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import bpy
import numpy as np
from embreex.mesh_construction import TriangleMesh
from embreex.rtcore_scene import EmbreeScene

from generator.base.errors import UserError
from generator.dataset.outputs import Box, ObjectBoxes, PixelOutputs
from generator.render.blender.meshes import read_vectors
from generator.scene.projection import axes, project, ray
from generator.scene.scene import Camera, Point, Scene, SceneObject
from generator.vocabulary.schema import Vocabulary

_TOLERANCE = 1e-4
"""Difference of a declared height, in units of an object's scale, that is taken for rounding."""
_RINGS = 6
"""Circles about the middle of a disc on which vertical rays check it."""
_SPOKES = 24
"""Rays on each of these circles."""

Hits = tuple[np.ndarray, np.ndarray]
"""Depths float64 [n], infinite for a ray that hits nothing, and unit normals float64 [n, 3], 0 for
such a ray."""


class RayMesh:
    """A mesh in a search tree of Embree, for rays in the coordinates of the mesh."""

    def __init__(self, mesh: bpy.types.Mesh):
        mesh.calc_loop_triangles()
        triangles = mesh.loop_triangles
        corner_normals = read_vectors(mesh.corner_normals, "vector", np.float32)
        # The shading normals [m, 3, 3] at the corners of each triangle.
        self._normals = corner_normals[read_vectors(triangles, "loops", np.int32)]
        self.vertices = read_vectors(mesh.vertices, "co", np.float32)
        """float32 [n, 3]."""
        corners = self.vertices[read_vectors(triangles, "vertices", np.int32)]
        # Robust, so that no ray slips through between two triangles.
        self._tree = EmbreeScene(robust=True)
        TriangleMesh(self._tree, corners)

    def hits(self, origins: np.ndarray, directions: np.ndarray) -> Hits:
        """Find where rays meet the mesh, to single precision.

        Args:
            origins: Where the rays start, [3] or [n, 3].
            directions: [n, 3].

        Returns:
            Depths in units of the direction's length; and the shading normals, on the side that
            the ray hits.
        """
        starts = np.broadcast_to(origins, directions.shape).astype(np.float32)
        intersections = self._tree.run(starts, directions.astype(np.float32), output=True)
        # Embree numbers the triangle that a ray hits, with -1 for none.
        hit = intersections["primID"] >= 0
        depths = np.where(hit, intersections["tfar"].astype(np.float64), math.inf)

        # Interpolate between the corners of the triangle by barycentric coordinates.
        u = intersections["u"][hit, None].astype(np.float64)
        v = intersections["v"][hit, None].astype(np.float64)
        corner_normals = self._normals[intersections["primID"][hit]]
        first, second, third = np.moveaxis(corner_normals, 1, 0)
        shading = (1 - u - v) * first + u * second + v * third

        # The triangle's own normal, on either side, tells from which side the ray comes. A shading
        # normal on the other side is turned round.
        triangle = intersections["Ng"][hit]
        along_ray = _dots(triangle, directions[hit])
        along_shading = _dots(triangle, shading)
        is_back = along_ray * along_shading > 0
        shading[is_back] *= -1
        lengths = np.linalg.norm(shading, axis=-1, keepdims=True)
        normals = np.zeros(directions.shape)
        normals[hit] = shading / lengths
        return depths, normals


class PosedMesh:
    """A mesh at its pose in a scene, for rays from the scene's camera."""

    def __init__(
        self,
        mesh: RayMesh,
        camera: Camera,
        *,
        size: tuple[int, int],
        position: Point = (0.0, 0.0, 0.0),
        heading: float = 0.0,
        scale: float = 1.0,
    ):
        """Pose a mesh: it is scaled, turned about the vertical, and moved.

        Args:
            mesh: The mesh.
            camera: The camera of the scene.
            size: Width and height of the image, pixels.
            position: Where its origin goes, metres.
            heading: Radians, counter-clockwise seen from above.
            scale: Metres for a unit of the mesh.
        """
        self._mesh = mesh
        self._camera = camera
        self._width, self._height = size
        self._position = position
        self._heading = heading
        self._scale = scale

    def box(self) -> Box:
        """Return the box around the outline, clipped to the image.

        Returns:
            Whole pixels left, top, right, bottom (the last two exclusive). Its width or height is
            0 if the outline lies outside the image.
        """
        scaled = self._mesh.vertices * self._scale
        posed = _turned(scaled, self._heading) + self._position
        x, y, z = posed.T
        column, row, _ = project(self._camera, x, y, z, self._width, self._height)
        left = _clipped(math.floor(column.min()), self._width)
        top = _clipped(math.floor(row.min()), self._height)
        right = _clipped(math.ceil(column.max()), self._width)
        bottom = _clipped(math.ceil(row.max()), self._height)
        return left, top, right, bottom

    def center(self) -> tuple[float, float]:
        """Return column and row of the middle of the mesh: at half its height above the point it
        stands on."""
        x, y, z = self._position
        unit_height = float(self._mesh.vertices[:, 2].max())
        middle = z + self._scale * unit_height / 2
        column, row, _ = project(self._camera, x, y, middle, self._width, self._height)
        return column, row

    def hits(self, rows: np.ndarray, columns: np.ndarray) -> Hits:
        """Cast rays through the centres of pixels.

        Args:
            rows: The rows of the pixels, [n].
            columns: Their columns, [n].

        Returns:
            Depths in metres along the viewing axis (not along the ray), and normals in world axes.
        """
        components = ray(self._camera, columns + 0.5, rows + 0.5, self._width, self._height)
        directions = np.stack(components, axis=-1)
        # The rays are turned into the coordinates of the mesh, and their hits back, so that a mesh
        # needs one search tree for all of its poses.
        origin = np.subtract(self._camera.position, self._position)[None] / self._scale
        mesh_origin = _turned(origin, -self._heading)
        mesh_directions = _turned(directions, -self._heading)
        depths, normals = self._mesh.hits(mesh_origin, mesh_directions)
        return depths * self._scale, _turned(normals, self._heading)


class RayCaster:
    """Poses the meshes of a world's objects and grounds as its scenes say; builds the tree of each
    mesh once."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        meshes: Mapping[str, bpy.types.Mesh],
        find_ground: Callable[[Scene], bpy.types.Mesh],
        width: int,
        height: int,
    ):
        """Build the trees of the objects' meshes.

        Args:
            vocabulary: The world's vocabulary.
            meshes: The unit mesh of every object category.
            find_ground: Returns the mesh of a scene's ground, in world coordinates.
            width: Of the images, in pixels.
            height: Of the images, in pixels.
        """
        self.meshes = {name: RayMesh(mesh) for name, mesh in meshes.items()}
        """The mesh of every object category, for rays."""
        self.size = (width, height)
        """Width and height of the images, pixels."""
        self._vocabulary = vocabulary
        self._find_ground = find_ground
        self._grounds: dict[str, RayMesh] = {}

    def objects(self, scene: Scene) -> list[PosedMesh]:
        """Pose the objects of a scene, in its order."""
        return [self._pose(obj, scene.camera) for obj in scene.objects]

    def _pose(self, obj: SceneObject, camera: Camera) -> PosedMesh:
        return PosedMesh(
            self.meshes[obj.category],
            camera,
            size=self.size,
            position=obj.position,
            heading=obj.heading,
            scale=self._vocabulary.scale(obj.category, obj.attributes),
        )

    def ground(self, scene: Scene) -> PosedMesh:
        """Return the ground of a scene."""
        mesh = self._find_ground(scene)
        if mesh.name not in self._grounds:
            self._grounds[mesh.name] = RayMesh(mesh)
        return PosedMesh(self._grounds[mesh.name], scene.camera, size=self.size)


def check_flat_tops(vocabulary: Vocabulary, meshes: Mapping[str, RayMesh]) -> None:
    """Check the tops and feet that a vocabulary declares, by vertical rays on each unit mesh.

    Args:
        vocabulary: The vocabulary.
        meshes: The unit mesh of every object category.

    Raises:
        UserError: A declared top is not the flat, highest part of the mesh; or no part of the mesh
            touches the ground within a declared foot.
    """
    for name, declared in vocabulary.objects.items():
        mesh = meshes[name]
        if declared.top is not None:
            # Flat: as high within the radius as anywhere. Rays start above every unit mesh.
            highest = float(mesh.vertices[:, 2].max())
            lowest = min(_heights(mesh, declared.top.radius, start=10.0))
            errors = [abs(height - declared.top.height) for height in (highest, lowest)]
            if max(errors) > _TOLERANCE:
                raise UserError(
                    f"objects.{name}.top: height = {declared.top.height} and radius = "
                    f"{declared.top.radius}, but the mesh is {highest:.5f} high and within that "
                    f"radius as low as {lowest:.5f}; declare the disc on which it is flat, or no "
                    f"top."
                )
        if declared.foot is not None:
            lowest = min(_heights(mesh, declared.foot, start=-10.0))
            if lowest > 10 * _TOLERANCE:
                raise UserError(
                    f"objects.{name}.foot = {declared.foot}: the mesh does not touch the ground "
                    f"within that radius of its axis; declare a larger radius, or no foot."
                )


def _heights(mesh: RayMesh, radius: float, *, start: float) -> np.ndarray:
    """Heights where vertical rays, which start at height `start` over a disc about the axis, hit a
    mesh; infinitely far from `start` for a miss.
    """
    radii = np.linspace(0, radius, _RINGS + 1)
    angles = 2 * math.pi * np.arange(_SPOKES) / _SPOKES
    ring_radii, turns = np.meshgrid(radii, angles)
    x = (ring_radii * np.cos(turns)).ravel()
    y = (ring_radii * np.sin(turns)).ravel()
    origins = np.stack([x, y, np.full(x.size, start)], axis=-1)
    # Down from above the mesh, up from below it.
    way = -math.copysign(1, start)
    directions = np.tile((0.0, 0.0, way), (len(origins), 1))
    depths, _ = mesh.hits(origins, directions)
    return start + way * depths


def _clipped(place: int, length: int) -> int:
    """A place along a side of the image, moved to the side's nearest end if it is outside."""
    return min(max(place, 0), length)


def _dots(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The scalar products [n] of vectors [n, 3]."""
    return np.einsum("nx,nx->n", a, b)


def _turned(points: np.ndarray, angle: float) -> np.ndarray:
    """Points [n, 3] turned about the vertical, counter-clockwise seen from above."""
    cos, sin = math.cos(angle), math.sin(angle)
    x, y, z = points.T
    return np.stack([x * cos - y * sin, x * sin + y * cos, z], axis=-1)


def trace_objects(scene: Scene, caster: RayCaster) -> PixelOutputs:
    """Compute the outputs of a scene's objects for each pixel.

    Rays are cast at one object after the other, within its box only. An object takes the pixels in
    which it is nearer than the objects before it.

    Args:
        scene: The scene.
        caster: Poses the meshes of its world.

    Returns:
        The outputs; without an object, the depth is infinite and the normal 0.
    """
    width, height = caster.size
    mask = np.zeros((height, width), np.uint8)
    depth = np.full((height, width), np.inf, np.float32)
    normals = np.zeros((height, width, 3), np.float32)
    posed_meshes = caster.objects(scene)
    amodal_boxes = [posed.box() for posed in posed_meshes]

    # The nearest object at each pixel.
    amodal_pixels = []
    for i, posed in enumerate(posed_meshes):
        left, top, right, bottom = amodal_boxes[i]
        rows, columns = np.mgrid[top:bottom, left:right].reshape(2, -1)
        object_depths, object_normals = posed.hits(rows, columns)
        is_hit = np.isfinite(object_depths)
        amodal_pixels.append(int(is_hit.sum()))
        nearer = object_depths < depth[rows, columns]
        pixels = rows[nearer], columns[nearer]
        mask[pixels] = i + 1
        depth[pixels] = object_depths[nearer]
        normals[pixels] = object_normals[nearer]

    # What is left of each object.
    boxes = []
    for i, posed in enumerate(posed_meshes):
        rows, columns = np.nonzero(mask == i + 1)
        n_visible = len(rows)
        column, row = posed.center()
        # A thin object may lie between the centres of all pixels.
        fraction = 0.0
        if amodal_pixels[i]:
            fraction = round(n_visible / amodal_pixels[i], 6)
        object_boxes = ObjectBoxes(
            index=i,
            category=scene.objects[i].category,
            center=(round(column, 3), round(row, 3)),
            amodal_box=amodal_boxes[i],
            visible_box=_box_around(rows, columns) if n_visible else None,
            visible_pixels=n_visible,
            visible_fraction=fraction,
        )
        boxes.append(object_boxes)
    camera_normals = normals @ _camera_from_world(scene).T
    return PixelOutputs(mask, depth, camera_normals, boxes)


def with_ground(outputs: PixelOutputs, scene: Scene, caster: RayCaster) -> PixelOutputs:
    """Add the ground's depth and normal to pixels without an object.

    Args:
        outputs: The outputs of the scene's objects.
        scene: The scene.
        caster: Poses the meshes of its world.

    Returns:
        New outputs; the arrays of the old ones do not change.
    """
    depth = outputs.depth.copy()
    normals = outputs.normals.copy()
    rows, columns = np.nonzero(outputs.mask == 0)
    ground_depths, ground_normals = caster.ground(scene).hits(rows, columns)
    depth[rows, columns] = ground_depths
    normals[rows, columns] = ground_normals @ _camera_from_world(scene).T
    return replace(outputs, depth=depth, normals=normals)


def _camera_from_world(scene: Scene) -> np.ndarray:
    """The rotation [3, 3] from world axes to those of the camera."""
    return np.array(axes(scene.camera.position, scene.camera.target), np.float32)


def _box_around(rows: np.ndarray, columns: np.ndarray) -> Box:
    """The box around pixels: left, top, right, bottom (the last two exclusive)."""
    left, right = int(columns.min()), int(columns.max())
    top, bottom = int(rows.min()), int(rows.max())
    return (left, top, right + 1, bottom + 1)
