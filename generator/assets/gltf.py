"""Reduces a glTF file to its shape, so that Blender's importer reads nothing else of it.

The importer skips parts that it does not know without an error, shows nodes that no scene has, and
opens every file that a texture names. The reduced file has only nodes, meshes, skins and their
numbers; what it cannot keep is refused by name, or said in a note. The format:
https://registry.khronos.org/glTF/specs/2.0/glTF-2.0.html
"""

import base64
import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import numpy as np

from generator.base.errors import UserError

Description = dict[str, Any]
"""A glTF file's JSON, or an object in it."""

DRACO = "KHR_draco_mesh_compression"
"""The extension that compresses meshes."""
_INSTANCING = "EXT_mesh_gpu_instancing"
_VISIBILITY = "KHR_node_visibility"
_SHAPE_EXTENSIONS = (DRACO, _INSTANCING, "KHR_mesh_quantization")
"""Extensions of shapes that the importer of Blender 4.5 and 5.2 reads."""
_OTHER_EXTENSIONS = (
    "KHR_materials_",
    "KHR_texture_",
    "EXT_texture_",
    "MSFT_texture_",
    "MSFT_packing_",
    "KHR_lights_",
    "EXT_lights_",
    "KHR_animation_",
    "KHR_audio_",
    "KHR_xmp",
)
"""Starts of names of extensions that change no shape: they may be required, since colours are not
read."""
NOT_FINITE = (
    "it has coordinates that are not finite numbers: mend them in the program that made it, and "
    "export it again."
)
"""The message for such a mesh file of any format."""
_FLOAT = 5126
"""The type of accessors of 32-bit floats."""
_FIRST_WITH_FACES = 4
"""Modes of primitives: 0 to 3 are points and lines; triangles (the default), strips and fans
follow."""
# What is kept of skins, accessors and views of buffers.
_SKIN_KEYS = ("inverseBindMatrices", "skeleton", "joints")
_ACCESSOR_KEYS = (
    "bufferView",
    "byteOffset",
    "componentType",
    "normalized",
    "count",
    "type",
    "sparse",
)
_VIEW_KEYS = ("buffer", "byteOffset", "byteLength", "byteStride")


@dataclass(frozen=True)
class ReducedGltf:
    """A reduced copy of a glTF file."""

    path: Path
    """The copy, a .gltf file."""
    notes: list[str]
    """A clause for each part that was left out."""
    compressed: bool
    """Whether a mesh needs Draco, which some builds of Blender lack."""


def reduce_gltf(path: Path, folder: Path) -> ReducedGltf:
    """Write the shape of a glTF file to `reduced.gltf`.

    Args:
        path: A .gltf or .glb file; buffers may lie beside it or in folders below.
        folder: An existing folder for the copy and its buffers.

    Returns:
        The copy. It has the nodes of the default scene, or of the first one if none is the default.

    Raises:
        UserError: A required extension is unknown, a buffer is missing, or lies outside of the
            file's folder.
        ValueError, LookupError, TypeError, AttributeError, struct.error: The file is damaged.
    """
    description, binary = _read_parts(path.read_bytes())
    notes = _check_extensions(description)
    nodes = _reduce_nodes(description)
    _check_nodes(description, nodes)
    visible_meshes = {node["mesh"] for node in nodes if "mesh" in node}

    buffers = _read_buffers(description, binary, path)
    compressed = False
    for index, mesh in enumerate(description.get("meshes", [])):
        if index in visible_meshes:
            notes += _notes_on_mesh(mesh, index)
            _check_mesh(description, buffers, mesh)
            compressed = compressed or _uses_draco(mesh)

    copy = folder / "reduced.gltf"
    reduced = _reduce_description(description, nodes, _write_buffers(buffers, folder))
    copy.write_text(json.dumps(reduced), encoding="utf-8")
    return ReducedGltf(copy, notes, compressed)


def _reduce_description(
    description: Description, nodes: list[Description], buffers: list[Description]
) -> Description:
    """The JSON of the copy, with the reduced nodes and the buffers of the copy."""
    skins = description.get("skins", [])
    accessors = description.get("accessors", [])
    views = description.get("bufferViews", [])
    extensions = description.get("extensionsUsed", [])
    reduced: Description = {
        "asset": {"version": description["asset"]["version"]},
        "scene": 0,
        "scenes": [{"nodes": _roots(description)}],
        "nodes": nodes,
        "meshes": [_reduce_mesh(mesh) for mesh in description.get("meshes", [])],
        "skins": [_keep_keys(skin, *_SKIN_KEYS) for skin in skins],
        "accessors": [_keep_keys(accessor, *_ACCESSOR_KEYS) for accessor in accessors],
        "bufferViews": [_keep_keys(view, *_VIEW_KEYS) for view in views],
        "buffers": buffers,
        "extensionsUsed": [name for name in extensions if name in _SHAPE_EXTENSIONS],
    }
    # The importer takes an empty list for a damaged file.
    return {key: value for key, value in reduced.items() if value != []}


def _read_parts(data: bytes) -> tuple[Description, bytes | None]:
    """The description of a glTF file, and the binary part of a .glb."""
    if data[:4] != b"glTF":
        return json.loads(data.decode("utf-8-sig")), None
    # Magic, version and length; then chunks, each with its length and kind before its bytes.
    (end,) = struct.unpack_from("<I", data, 8)
    if end > len(data):
        raise ValueError(f"it states {end:,} bytes and has {len(data):,}")
    chunks: dict[bytes, bytes] = {}
    offset = 12
    while offset < end:
        size, kind = struct.unpack_from("<I4s", data, offset)
        offset += 8
        chunks.setdefault(kind, data[offset : offset + size])
        offset += size
    return json.loads(chunks[b"JSON"].decode()), chunks.get(b"BIN\0")


def _check_extensions(description: Description) -> list[str]:
    """Refuse required extensions that are not read; returns a note for each optional one."""
    required = description.get("extensionsRequired", [])
    names = description.get("extensionsUsed", []) + required
    unknown = [name for name in names if not _is_known(name)]
    unread = [name for name in required if name in unknown]
    if unread:
        raise UserError(
            f"it requires the glTF extension {', '.join(unread)}, which is not read; export it "
            f"without this extension."
        )
    return [f"its optional extension {name} was not read" for name in dict.fromkeys(unknown)]


def _is_known(name: str) -> bool:
    return name in (*_SHAPE_EXTENSIONS, _VISIBILITY) or name.startswith(_OTHER_EXTENSIONS)


def _roots(description: Description) -> list[int]:
    """The nodes of the default scene; without a scene, all nodes that are not children."""
    scenes = description.get("scenes")
    if scenes:
        scene = _entry(scenes, description.get("scene", 0), "scene")
        return list(scene.get("nodes", []))
    nodes = description.get("nodes", [])
    children = {child for node in nodes for child in node.get("children", [])}
    return [index for index in range(len(nodes)) if index not in children]


def _visible_nodes(description: Description) -> set[int]:
    """The nodes of the default scene, without those that are hidden together with their
    children."""
    nodes = description.get("nodes", [])
    visible: set[int] = set()
    waiting = _roots(description)
    while waiting:
        index = waiting.pop()
        node = _entry(nodes, index, "node")
        visibility = node.get("extensions", {}).get(_VISIBILITY, {})
        is_visible = visibility.get("visible", True)
        if index not in visible and is_visible:
            visible.add(index)
            waiting += node.get("children", [])
    return visible


def _reduce_nodes(description: Description) -> list[Description]:
    """All nodes, since they are named by number; only visible ones have a mesh."""
    visible = _visible_nodes(description)
    nodes = []
    for index, node in enumerate(description.get("nodes", [])):
        reduced = _without_mesh(node)
        if index in visible:
            reduced |= _keep_keys(node, "mesh", "skin", "weights")
            if _INSTANCING in node.get("extensions", {}):
                reduced["extensions"] = {_INSTANCING: node["extensions"][_INSTANCING]}
        nodes.append(reduced)
    return nodes


def _without_mesh(node: Description) -> Description:
    """A node that is only a place: for its children, or as the joint of a skin."""
    return _keep_keys(node, "name", "children", "matrix", "translation", "rotation", "scale")


def _reduce_mesh(mesh: Description) -> Description:
    primitives = []
    for primitive in mesh["primitives"]:
        reduced = _reduce_primitive(primitive)
        # Without positions there is nothing to place; the importer would skip such a part.
        if "POSITION" in reduced["attributes"]:
            primitives.append(reduced)
    return {**_keep_keys(mesh, "name", "weights"), "primitives": primitives}


def _reduce_primitive(primitive: Description) -> Description:
    reduced = _keep_keys(primitive, "mode", "indices")
    reduced["attributes"] = _positions_and_joints(primitive["attributes"])
    if "targets" in primitive:
        reduced["targets"] = [_keep_keys(target, "POSITION") for target in primitive["targets"]]
    draco = primitive.get("extensions", {}).get(DRACO)
    if draco is not None:
        attributes = _positions_and_joints(draco["attributes"])
        reduced["extensions"] = {DRACO: {**draco, "attributes": attributes}}
    return reduced


def _uses_draco(mesh: Description) -> bool:
    return any(DRACO in primitive.get("extensions", {}) for primitive in mesh["primitives"])


def _positions_and_joints(attributes: Description) -> Description:
    starts = ("POSITION", "JOINTS_", "WEIGHTS_")
    return {name: value for name, value in attributes.items() if name.startswith(starts)}


def _keep_keys(entry: Description, *keys: str) -> Description:
    return {key: entry[key] for key in keys if key in entry}


def _notes_on_mesh(mesh: Description, index: int) -> list[str]:
    """A clause for each kind of primitive of a mesh that has no faces."""
    name = mesh.get("name", f"mesh {index}")
    primitives = mesh["primitives"]
    modes = [primitive.get("mode", _FIRST_WITH_FACES) for primitive in primitives]
    notes = []
    if any(mode < _FIRST_WITH_FACES for mode in modes):
        notes.append(f"lines and points of '{name}' were left out")
    if any("POSITION" not in primitive["attributes"] for primitive in primitives):
        notes.append(f"a part of '{name}' without positions was left out")
    return notes


def _check_nodes(description: Description, nodes: list[Description]) -> None:
    """Check the numbers by which nodes name meshes, skins and places of instances.

    The importer puts nothing where a node names no mesh, and counts negative numbers from the end.
    """
    accessors = description.get("accessors", [])
    for node in nodes:
        for child in node.get("children", []):
            _entry(nodes, child, "node")
        if "mesh" in node:
            _entry(description.get("meshes", []), node["mesh"], "mesh")
        if "skin" in node:
            skin = _entry(description.get("skins", []), node["skin"], "skin")
            for joint in skin["joints"]:
                _entry(nodes, joint, "node")
        if _INSTANCING in node.get("extensions", {}):
            places = node["extensions"][_INSTANCING]["attributes"]
            counts = [_entry(accessors, index, "accessor")["count"] for index in places.values()]
            # The importer would make no instance where only the instances' own attributes are
            # stated.
            has_places = not {"TRANSLATION", "ROTATION", "SCALE"}.isdisjoint(places)
            if not has_places or min(counts) < 1:
                raise ValueError(f"{_INSTANCING} of '{node.get('name', 'a node')}' has no places")


def _check_mesh(description: Description, buffers: list[bytes], mesh: Description) -> None:
    """Check the numbers by which a mesh names its data."""
    for primitive in mesh["primitives"]:
        draco = primitive.get("extensions", {}).get(DRACO)
        if draco is not None:
            _check_view(description, draco["bufferView"])
        accessors = [*primitive["attributes"].values()]
        for target in primitive.get("targets", []):
            accessors += target.values()
        if "indices" in primitive:
            accessors.append(primitive["indices"])
        for index in accessors:
            _check_accessor(description, index)
        if draco is None and "POSITION" in primitive["attributes"]:
            _check_finite(description, buffers, primitive["attributes"]["POSITION"])


def _check_accessor(description: Description, index: int) -> None:
    accessor = _entry(description.get("accessors", []), index, "accessor")
    if "bufferView" in accessor:
        _check_view(description, accessor["bufferView"])
    if "sparse" in accessor:
        for part in ("indices", "values"):
            _check_view(description, accessor["sparse"][part]["bufferView"])


def _check_view(description: Description, index: int) -> None:
    view = _entry(description.get("bufferViews", []), index, "buffer view")
    _entry(description.get("buffers", []), view["buffer"], "buffer")


def _entry(entries: list[Any], index: Any, kind: str) -> Description:
    """An entry of a list by its number. Raises ValueError if there is none of that number."""
    if not isinstance(index, int) or not 0 <= index < len(entries):
        raise ValueError(f"it names {kind} {index}, and has {len(entries)}")
    return dict(entries[index])


def _read_buffers(description: Description, binary: bytes | None, path: Path) -> list[bytes]:
    """The bytes of all buffers of a file."""
    buffers = []
    for index, buffer in enumerate(description.get("buffers", [])):
        address = buffer.get("uri")
        if address is None and index == 0 and binary is not None:
            data = binary
        elif address is None:
            # Only a compression gives a buffer without data, as a fallback for readers that do not
            # know it.
            names = ", ".join(buffer.get("extensions", {})) or "no extension"
            raise UserError(
                f"its buffer {index} has no data (it has {names}): export it without compression."
            )
        elif address.startswith("data:"):
            data = base64.b64decode(address.partition(";base64,")[2])
        else:
            data = _file_beside(path, address).read_bytes()
        if len(data) < buffer["byteLength"]:
            raise ValueError(
                f"its buffer {index} states {buffer['byteLength']:,} bytes and has {len(data):,}"
            )
        buffers.append(data)
    return buffers


def _write_buffers(buffers: list[bytes], folder: Path) -> list[Description]:
    """Write each buffer to a file; returns their descriptions."""
    descriptions = []
    for index, data in enumerate(buffers):
        file = folder / f"{index}.bin"
        file.write_bytes(data)
        descriptions.append({"byteLength": len(data), "uri": quote(str(file))})
    return descriptions


def _check_finite(description: Description, buffers: list[bytes], index: int) -> None:
    """Refuse positions that are not numbers: the importer turns them into zeros."""
    accessor = _entry(description["accessors"], index, "accessor")
    if accessor["componentType"] != _FLOAT:
        return
    # Where positions are stored, and how many: in the accessor's own view, and in the values that
    # replace some of them.
    stored = []
    if "bufferView" in accessor:
        stored.append((accessor, accessor["count"]))
    if "sparse" in accessor:
        stored.append((accessor["sparse"]["values"], accessor["sparse"]["count"]))
    for place, count in stored:
        view = description["bufferViews"][place["bufferView"]]
        positions: np.ndarray = np.ndarray(
            (count, 3),
            "<f4",
            buffer=buffers[view["buffer"]],
            offset=view.get("byteOffset", 0) + place.get("byteOffset", 0),
            strides=(view.get("byteStride", 12), 4),
        )
        if not np.isfinite(positions).all():
            raise UserError(NOT_FINITE)


def _file_beside(path: Path, address: str) -> Path:
    """The file that a buffer names, which must be a file in the folder of the glTF file or
    below."""
    home = path.parent.resolve()
    file = (home / unquote(address.replace("\\", "/"))).resolve()
    if not file.is_relative_to(home) or not file.is_file():
        raise UserError(
            f"it names the file '{address}', which is missing in its folder: put it beside the "
            f"mesh file."
        )
    return file
