"""A glTF binary file of one triangle, made by hand."""

import json
import struct
from typing import Any


def triangle() -> tuple[dict[str, Any], bytes]:
    """The description of a mesh of one triangle, and its data: three points, then three indices."""
    views = [
        {"buffer": 0, "byteOffset": 0, "byteLength": 36},
        {"buffer": 0, "byteOffset": 36, "byteLength": 6},
    ]
    points = {
        "bufferView": 0,
        "componentType": 5126,
        "count": 3,
        "type": "VEC3",
        "min": [0, 0, 0],
        "max": [1, 1, 0],
    }
    corners = {"bufferView": 1, "componentType": 5123, "count": 3, "type": "SCALAR"}
    description = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "buffers": [{"byteLength": 44}],
        "bufferViews": views,
        "accessors": [points, corners],
    }
    return description, struct.pack("<9f3H", 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 2)


def glb(description: dict[str, Any], data: bytes) -> bytes:
    """The bytes of a .glb file."""
    header = json.dumps(description).encode()
    chunks = b"".join(
        struct.pack("<I4s", len(part), kind) + part
        for kind, part in (
            (b"JSON", header + b" " * (-len(header) % 4)),
            (b"BIN\0", data + b"\0" * (-len(data) % 4)),
        )
    )
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks
