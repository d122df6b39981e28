"""Builds a photographed place: a panorama that lights the scene, is its backdrop, and is projected
onto the ground."""

import math

import bpy
import numpy as np
from scipy import ndimage

from generator.assets.sets import panorama_file
from generator.render.blender.materials import new_material
from generator.render.blender.nodes import Nodes, Socket
from generator.scene.scene import Camera
from generator.vocabulary.environments import PhotoSpec

_WHITE = 0.85
"""Brightness of a white sheet on the ground before the exposure of the place; 1 is white in the
image."""
_BALANCE = 0.75
"""How much of the light's tint the camera corrects: 1 makes a white sheet on the ground white."""
_ROWS = 512
"""The most rows of an enlarged panorama."""
_FAR = 500.0
"""Half the side of the ground, metres."""
_NEAR = 20.0
"""Half the side of its middle, a face of its own, metres."""
_CONTACT = 0.7
"""How far from an object its contact shadow reaches, metres."""
_CONTACT_STRENGTH = 1.6
"""How dark contact shadows are: an exponent, 0 for none."""


class Photo:
    """The ground's mesh and the sky of a photographed place, which are turned for each scene.

    The lower half of the panorama is projected onto the ground from a point `height` above it, at
    the camera's place. Without shadows, the ground has the colours of the panorama, so that there
    is no seam to the backdrop.
    """

    def __init__(self, name: str, spec: PhotoSpec):
        """Load the panorama, and build the ground and the sky.

        Args:
            name: The name of the environment.
            spec: What the vocabulary declares of it.

        Raises:
            UserError: There is no such panorama.
        """
        self._height = spec.height
        loaded = bpy.data.images.load(str(panorama_file(spec.panorama)))
        panorama = _enlarge(_read_pixels(loaded))
        self._image = _new_image(name, panorama)
        # Sockets that `turn` sets.
        self._angles: list[Socket] = []
        self._eye: Socket | None = None

        # Exposure and white balance, as a camera of its own would choose them for this place.
        light = _light_on_ground(panorama)
        gray = float(light.mean())
        balance = (gray / light) ** _BALANCE
        strength = balance * _WHITE / gray * 2.0**spec.exposure
        self._sky = self._build_sky(
            name, strength, even_share=spec.even, mean_light=light * strength
        )
        # Lit by this light, a ground of the panorama's colour over the light shows the panorama.
        self._ground = self._build_ground(name, 1 / light)

    def turn(self, yaw: float, camera: Camera) -> tuple[bpy.types.Mesh, bpy.types.World]:
        """Turn the place for a scene.

        Args:
            yaw: How many degrees right of its left edge the panorama is in the middle of the image.
            camera: The camera of the scene.

        Returns:
            The ground and the sky.
        """
        x, y, z = camera.position
        target_x, target_y, _ = camera.target
        camera_angle = math.atan2(target_y - y, target_x - x)
        turn = math.pi - math.radians(yaw) - camera_angle
        for angle in self._angles:
            angle.default_value = turn
        assert self._eye is not None
        self._eye.default_value = (x, y, self._height or z)
        return self._ground, self._sky

    def _build_sky(
        self, name: str, strength: np.ndarray, *, even_share: float, mean_light: np.ndarray
    ) -> bpy.types.World:
        """The world: the camera sees the panorama, which gives a share 1 - `even_share` of the
        light; the rest is the mean light from everywhere."""
        world = bpy.data.worlds.new(name)
        world.use_nodes = True
        world.cycles.sampling_method = "MANUAL"
        world.cycles.sample_map_resolution = 1024
        nodes = Nodes(world.node_tree)
        direction = nodes.add("TexCoord").outputs["Generated"]
        color = self._look_up(nodes, direction, strength)
        if even_share:
            # For the camera the whole panorama, for all other rays its share of the light.
            from_camera = nodes.add("LightPath").outputs["Is Camera Ray"]
            panorama_share = nodes.compute("MAXIMUM", from_camera, 1 - even_share)
            even_color = tuple(map(float, mean_light))
            color = nodes.mix(panorama_share, even_color, color)
        nodes.set(world.node_tree.nodes["Background"].inputs["Color"], color)
        return world

    def _build_ground(self, name: str, strength: np.ndarray) -> bpy.types.Mesh:
        mesh = bpy.data.meshes.new(name)
        # A small square inside a large one. One large face would round points to a tenth of a
        # millimetre: contact shadows would be flecked.
        corners = []
        for half_side in (_NEAR, _FAR):
            for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
                corners.append((x * half_side, y * half_side, 0.0))
        small_square = (0, 1, 2, 3)
        frame = []
        for i in small_square:
            following = (i + 1) % 4
            frame.append((i, i + 4, following + 4, following))
        mesh.from_pydata(corners, [], [small_square, *frame])

        material = new_material(name)
        nodes = Nodes(material.node_tree)
        position = nodes.add("NewGeometry").outputs["Position"]
        from_eye = nodes.add("VectorMath", Vector=position)
        from_eye.operation = "SUBTRACT"
        self._eye = from_eye.inputs[1]
        color = self._look_up(nodes, from_eye.outputs[0], strength)
        shadowed = _add_contact_shadow(nodes, color)
        matt = nodes.add("BsdfDiffuse", Color=shadowed)
        nodes.set(nodes.surface, matt.outputs["BSDF"])
        mesh.materials.append(material)
        return mesh

    def _look_up(self, nodes: Nodes, direction: Socket, strength: np.ndarray) -> Socket:
        """The panorama's colour in a direction of the world, times a strength for each channel."""
        turned = nodes.add("VectorRotate", Vector=direction)
        turned.rotation_type = "Z_AXIS"
        self._angles.append(turned.inputs["Angle"])
        panorama = nodes.add("TexEnvironment", Vector=turned.outputs[0])
        panorama.image = self._image
        scaled = nodes.add("VectorMath", Vector=panorama.outputs["Color"])
        scaled.operation = "MULTIPLY"
        nodes.set(scaled.inputs[1], tuple(float(channel) for channel in strength))
        return scaled.outputs[0]


def _add_contact_shadow(nodes: Nodes, color: Socket) -> Socket:
    """A colour of the ground, darker where an object is near.

    Light from a whole panorama leaves hardly any shadow under thin legs, so that objects on bright
    floors seem to float. The colour is multiplied by the share of the sky that is free of objects
    within _CONTACT metres, to the power _CONTACT_STRENGTH.
    """
    occlusion = nodes.add("AmbientOcclusion", Distance=_CONTACT)
    occlusion.samples = 4
    shade = nodes.compute("POWER", occlusion.outputs["AO"], _CONTACT_STRENGTH)
    shaded = nodes.add("VectorMath", Vector=color)
    shaded.operation = "SCALE"
    nodes.set(shaded.inputs["Scale"], shade)
    return shaded.outputs[0]


def _read_pixels(image: bpy.types.Image) -> np.ndarray:
    """Linear light float32 [h, w, 3] of an image, lowest row first."""
    width, height = image.size
    pixels = np.empty(width * height * 4, np.float32)
    image.pixels.foreach_get(pixels)
    return pixels.reshape(height, width, 4)[..., :3]


def _new_image(name: str, panorama: np.ndarray) -> bpy.types.Image:
    """An image of Blender with the pixels [h, w, 3], lowest row first."""
    height, width, _ = panorama.shape
    image = bpy.data.images.new(name, width, height, float_buffer=True, is_data=True)
    # Blender's pixels have an alpha channel too.
    opaque = np.ones((height, width, 4), panorama.dtype)
    opaque[..., :3] = panorama
    image.pixels.foreach_set(opaque.ravel())
    image.update()
    return image


def _enlarge(panorama: np.ndarray) -> np.ndarray:
    """A panorama enlarged by a whole factor, to at most _ROWS rows, with a cubic B-spline that
    blurs it.

    Cycles' own cubic interpolation would take longer than the rest of an image.
    """
    factor = _ROWS // len(panorama)
    if factor < 2:
        return panorama
    options = {"order": 3, "grid_mode": True, "prefilter": False}
    channels = []
    for i in range(3):
        # Columns go round the horizon; rows end at the zenith and the nadir.
        channel = panorama[..., i]
        widened = ndimage.zoom(channel, (1, factor), mode="grid-wrap", **options)
        enlarged = ndimage.zoom(widened, (factor, 1), mode="nearest", **options)
        channels.append(enlarged)
    return np.stack(channels, axis=-1)


def _light_on_ground(panorama: np.ndarray) -> np.ndarray:
    """The light from the upper half of a panorama that a white sheet on the ground reflects: red,
    green and blue.

    A ring of the sky at the elevation e counts by its solid angle times sin(e) (Lambert's law).
    The integral of that up to e is sin(e)^2, and 1 over the whole sky.
    """
    # Row by row from the horizon up.
    upper = panorama[len(panorama) // 2 :].mean(1, dtype=np.float64)
    elevations = np.linspace(0, math.pi / 2, len(upper) + 1)
    weights = np.diff(np.sin(elevations) ** 2)
    return np.asarray(weights @ upper)
