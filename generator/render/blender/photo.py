"""Builds a photographed place: a panorama that lights the scene, is its backdrop, and is projected
onto the ground."""

import math
from functools import partial

import bpy
import numpy as np
from scipy import ndimage

from generator.assets.sets import panorama_file
from generator.render.blender.materials import new_material
from generator.render.blender.textures import Nodes, Socket
from generator.scene.scene import Camera
from generator.vocabulary.environments import PhotoSpec

# brightness of a white sheet on the ground before the place's own exposure; 1 is white in the image
_WHITE = 0.85
# how much of the light's tint the camera corrects: 1 makes a white sheet on the ground white
_BALANCE = 0.75
_ROWS = 512
_FAR, _NEAR = 500.0, 20.0  # half the side of the ground, and of its middle, metres
# contact shadows: how far from an object they reach, metres, and how dark they are
_CONTACT = 0.7
_CONTACT_STRENGTH = 1.6


class Photo:
    """The ground's mesh and the sky of a photographed place, which are turned for each scene.

    The lower half of the panorama is projected onto the ground from a point `height` above it, at
    the camera's place. Without shadows, the ground has the colours of the panorama, so that there
    is no seam to the backdrop.
    """

    def __init__(self, name: str, spec: PhotoSpec):
        self._height = spec.height
        panorama = _smooth(_pixels(bpy.data.images.load(str(panorama_file(spec.panorama)))))
        light = _light_on_ground(panorama)
        rows, columns, _ = panorama.shape
        self._image = bpy.data.images.new(name, columns, rows, float_buffer=True, is_data=True)
        self._image.pixels.foreach_set(
            np.pad(panorama, ((0, 0), (0, 0), (0, 1)), constant_values=1.0).ravel()
        )
        self._image.update()
        gray = float(light.mean())
        tint = (gray / light) ** _BALANCE
        self._angles: list[Socket] = []
        self._eye: Socket | None = None
        strength = tint * _WHITE / gray * 2.0**spec.exposure
        self._world = self._sky(name, strength, spec.even, light * strength)
        self._mesh = self._ground(name, 1 / light)

    def turned(self, yaw: float, camera: Camera) -> tuple[bpy.types.Mesh, bpy.types.World]:
        """The ground and the sky; the middle of the image shows the panorama `yaw` degrees right of
        its left edge."""
        (x, y, z), target = camera.position, camera.target
        for angle in self._angles:
            angle.default_value = (
                math.pi - math.radians(yaw) - math.atan2(target[1] - y, target[0] - x)
            )
        assert self._eye is not None
        self._eye.default_value = (x, y, self._height or z)
        return self._mesh, self._world

    def _sky(
        self, name: str, strength: np.ndarray, even: float, mean_light: np.ndarray
    ) -> bpy.types.World:
        """The world: the camera sees the panorama, which gives a share 1 - `even` of the light."""
        world = bpy.data.worlds.new(name)
        world.use_nodes = True
        world.cycles.sampling_method, world.cycles.sample_map_resolution = "MANUAL", 1024
        nodes = Nodes(world.node_tree)
        color = self._lookup(nodes, nodes.add("TexCoord").outputs["Generated"], strength)
        if even:
            from_camera = nodes.add("LightPath").outputs["Is Camera Ray"]
            share = nodes.compute("MAXIMUM", from_camera, 1 - even)
            color = nodes.mix(share, tuple(map(float, mean_light)), color)
        nodes.set(world.node_tree.nodes["Background"].inputs["Color"], color)
        return world

    def _ground(self, name: str, strength: np.ndarray) -> bpy.types.Mesh:
        mesh = bpy.data.meshes.new(name)
        # one large face would round points to a tenth of a millimetre: contact shadows would be
        # flecked
        corners = [
            (x * half, y * half, 0.0)
            for half in (_NEAR, _FAR)
            for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))
        ]
        around = [(i, i + 4, (i + 1) % 4 + 4, (i + 1) % 4) for i in range(4)]
        mesh.from_pydata(corners, [], [(0, 1, 2, 3), *around])
        material = new_material(name)
        nodes = Nodes(material.node_tree)
        seen = nodes.add("VectorMath", Vector=nodes.add("NewGeometry").outputs["Position"])
        seen.operation = "SUBTRACT"
        self._eye = seen.inputs[1]
        color = self._lookup(nodes, seen.outputs[0], strength)
        matt = nodes.add("BsdfDiffuse", Color=_with_contact_shadow(nodes, color))
        nodes.set(nodes.surface, matt.outputs["BSDF"])
        mesh.materials.append(material)
        return mesh

    def _lookup(self, nodes: Nodes, direction: Socket, strength: np.ndarray) -> Socket:
        """The panorama's colour in a direction of the world, times a strength for each channel."""
        turned = nodes.add("VectorRotate", Vector=direction)
        turned.rotation_type = "Z_AXIS"
        self._angles.append(turned.inputs["Angle"])
        seen = nodes.add("TexEnvironment", Vector=turned.outputs[0])
        seen.image = self._image
        scaled = nodes.add("VectorMath", Vector=seen.outputs["Color"])
        scaled.operation = "MULTIPLY"
        nodes.set(scaled.inputs[1], tuple(float(channel) for channel in strength))
        return scaled.outputs[0]


def _with_contact_shadow(nodes: Nodes, color: Socket) -> Socket:
    """A colour of the ground, darker where an object is near.

    Light from a whole panorama leaves hardly any shadow under thin legs, so that objects on bright
    floors seem to float. The colour is multiplied by the share of the sky that is free of objects
    within _CONTACT metres, to the power _CONTACT_STRENGTH.
    """
    free = nodes.add("AmbientOcclusion", Distance=_CONTACT)
    free.samples = 4
    shade = nodes.compute("POWER", free.outputs["AO"], _CONTACT_STRENGTH)
    shaded = nodes.add("VectorMath", Vector=color)
    shaded.operation = "SCALE"
    nodes.set(shaded.inputs["Scale"], shade)
    return shaded.outputs[0]


def _pixels(image: bpy.types.Image) -> np.ndarray:
    """Linear light float32 [h, w, 3] of an image, lowest row first."""
    width, height = image.size
    pixels = np.empty(width * height * 4, np.float32)
    image.pixels.foreach_get(pixels)
    return pixels.reshape(height, width, 4)[..., :3]


def _smooth(panorama: np.ndarray) -> np.ndarray:
    """A panorama enlarged by a whole factor, to at most _ROWS rows, with a cubic B-spline that
    blurs it.

    Cycles' own cubic interpolation would take longer than the rest of an image.
    """
    times = _ROWS // len(panorama)
    if times < 2:
        return panorama
    smooth = partial(ndimage.zoom, order=3, grid_mode=True, prefilter=False)
    channels = [
        smooth(smooth(panorama[..., i], (1, times), mode="grid-wrap"), (times, 1), mode="nearest")
        for i in range(3)
    ]
    return np.stack(channels, axis=-1)


def _light_on_ground(panorama: np.ndarray) -> np.ndarray:
    """The light from the upper half of a panorama that a white sheet on the ground reflects: red,
    green and blue."""
    upper = panorama[len(panorama) // 2 :].mean(1, dtype=np.float64)  # from the horizon up
    edges = np.sin(np.linspace(0, math.pi / 2, len(upper) + 1)) ** 2
    return np.asarray(np.diff(edges) @ upper)
