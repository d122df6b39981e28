"""Finds coordinates that are not finite in glTF and FBX files, with Blender's parsers; its importers would read them as 0."""

import numpy as np

from generator.assets.normalise import NOT_FINITE
from generator.base.errors import UserError


def check_gltf(path: str) -> None:
    """Raises UserError where a vertex of a glTF file is not finite, and any error of the parser."""
    from io_scene_gltf2.io.imp.gltf2_io_binary import BinaryData
    from io_scene_gltf2.io.imp.gltf2_io_gltf import glTFImporter

    parsed = glTFImporter(path, {"import_user_extensions": [], "loglevel": 40})
    parsed.read()
    for mesh in parsed.data.meshes or []:
        for part in mesh.primitives:
            if "POSITION" in part.attributes:
                _check(BinaryData.decode_accessor(parsed, part.attributes["POSITION"]))


def check_fbx(path: str) -> None:
    """Raises UserError where a vertex of an FBX file is not finite, and any error of the parser."""
    from io_scene_fbx import parse_fbx

    waiting = [parse_fbx.parse(path)[0]]
    while waiting:
        element = waiting.pop()
        if element.id == b"Vertices":
            _check(np.asarray(element.props[0], np.float64))
        waiting += [each for each in element.elems if each is not None]


def _check(coordinates: np.ndarray) -> None:
    if not np.isfinite(coordinates).all():
        raise UserError(NOT_FINITE)
