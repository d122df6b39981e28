"""Describes a dataset for machines as croissant.json, in Croissant 1.1 (https://docs.mlcommons.org/croissant/)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from generator.base.files import SUMS, read_json, read_sums
from generator.base.tars import member_name
from generator.dataset.outputs import output_path
from generator.dataset.plan_file import PLAN_FILE
from generator.dataset.records import WorldManifest
from generator.dataset.schema import BENCHMARK_TABLES, PLAN, SCENES

# The meaning of each column, for readers who have only the files; docs/dataset.md says more.
MEANING = {
    "plan": {
        "scene_id": "id of the scene",
        "cluster_id": "group of scenes with the same values and objects in any order or pairing",
        "twin_of": "scene_id of its minimal pair",
        "part": "place, from 0, of the holdout that it is made for",
        "split": "the split that it is made for; null where every benchmark has its own splits",
        "named": "for class lists, places of the objects in the order in which the label names them",
        "environment": "where it is",
        "objects": "what it shall hold, from left to right; their attributes are in the Parquet file",
        "exchange": "what a minimal pair exchanges",
        "objects/category": "what the object is",
        "objects/depth": "rank from front to behind, 0 the nearest to the camera",
        "objects/rests_on": "place of the object that carries it; null on the ground",
        "objects/clump": "number of the group of near objects it belongs to; null where near and far are left to chance",
        "exchange/kind": "attribute kind whose values are exchanged; null for places",
        "exchange/first": "place of the first of the two objects",
        "exchange/second": "place of the second of the two objects",
    },
    "scenes": {
        "scene_id": "id of the scene and name of its image",
        "cluster_id": "group of scenes with the same values and objects in any order or pairing",
        "twin_of": "scene_id of its minimal pair",
        "status": "ok or failed",
        "reason": "why the scene failed",
        "width": "pixels",
        "height": "pixels",
        "objects": "the objects, from left to right; their attributes are in `scene`",
        "relations": "every relation of every ordered pair of objects",
        "scene": "JSON: poses, attributes, camera and lamps, all that is needed to render the image again",
        "objects/index": "place of the object in the scene, from 0",
        "objects/category": "what it is",
        "objects/amodal_box": "left, top, right, bottom of it as if nothing hid it, in whole pixels, right and bottom exclusive",
        "objects/visible_fraction_estimate": "about how much of it no other object hides, 0 to 1, by some hundred rays",
        "relations/subject": "index of the first object",
        "relations/relation": "name of the relation",
        "relations/object": "index of the second object",
        "relations/margin": "signed metres by which the first object stands in the relation to the second",
        "relations/holds": "whether the relation holds; null where the margin does not decide",
    },
    "splits": {
        "scene_id": "the scene",
        "split": "train, val, seen, partial or unseen; null for a scene in none",
        "held_out_bindings": "held-out bindings that the scene shows",
        "held_out_triples": "held-out relation triples that the scene shows",
    },
    "texts": {
        "text_id": "content hash of the text",
        "text": "the words",
        "form": "JSON: what the text asserts",
        "template": "name of the grammar's template",
        "level": "what the text names: O objects, A attributes, R relations",
        "n_objects": "objects that the text names",
        "n_attributes": "attributes that the text names",
        "n_relations": "relations that the text names",
    },
    "items": {
        "item_id": "the question",
        "protocol": "protocol that asks it",
        "kind": "kind of question within the protocol",
        "skill": "what it tests",
        "split": "split of its scene",
        "cluster_id": "group that intervals are computed over",
        "pool_id": "pool of texts it is asked against; null for none",
        "held_out_positive": "held-out bindings in its true texts",
        "held_out_negative": "held-out bindings in its false texts; null for none",
    },
    "candidates": {
        "item_id": "the question",
        "scene_id": "the image",
        "text_id": "the text",
        "slot": "role of the pair in its item",
        "truth": "whether the text is true of the image",
        "kind": "kind of falsehood, where an item has several; null for none",
        "changed": "what was changed to make it, as place:kind:old>new",
        "of": "text_id of the text it was made from",
    },
    "pools": {"pool_id": "the pool", "text_id": "a text of it"},
}  # fmt: skip

_KEYS = {"plan": ["scene_id"], "scenes": ["scene_id"], "splits": ["scene_id"], "texts": ["text_id"], "items": ["item_id"],
         "candidates": ["item_id", "scene_id", "text_id"], "pools": ["pool_id", "text_id"]}  # fmt: skip
_TYPES = {pa.string(): "sc:Text", pa.bool_(): "sc:Boolean", pa.int32(): "sc:Integer", pa.float32(): "sc:Float", pa.float64(): "sc:Float"}  # fmt: skip

# The context, word for word as in the specification.
_PLAIN = [
    "arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field", "fileProperty", "fileObject", "fileSet",
    "format", "includes", "isArray", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex",
    "repeated", "replace", "samplingRate", "separator", "source", "subField", "transform",
]  # fmt: skip
_CONTEXT = {
    "@language": "en", "@vocab": "https://schema.org/", "sc": "https://schema.org/", "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/", "dct": "http://purl.org/dc/terms/", "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"}, "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"}, "description": {"@container": "@language"}, "name": {"@container": "@language"},
    **{name: f"cr:{name}" for name in _PLAIN},
}  # fmt: skip

Node = dict[str, Any]


def croissant(root: Path, name: str, description: str, benchmarks: Iterable[str]) -> Node:
    """The JSON-LD of the dataset in `root`: its images, its tables with their SHA-256, and a record set for each table."""
    planned = (root / "world" / PLAN_FILE).exists()
    tables = [_Table("plan", root / "world", f"world/{PLAN_FILE}", PLAN)] if planned else []
    tables.append(_Table("scenes", root / "world", "world/scenes.parquet", SCENES))
    for benchmark in benchmarks:
        folder = f"benchmarks/{benchmark}"
        tables += [_Table(f"{benchmark}/{table}", root / folder, f"{folder}/{table}.parquet", schema)
                   for table, schema in BENCHMARK_TABLES.items()]  # fmt: skip
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": name,
        "description": description,
        "distribution": [*_world_files(root / "world"), *(table.file() for table in tables)],
        "recordSet": [_IMAGES, *(table.record_set() for table in tables)],
    }


def _world_files(world: Path) -> Iterator[Node]:
    """The images and what is written beside them, in folders or in tars."""
    request = read_json(world / "manifest.json", WorldManifest)["request"]
    within: Node = {}
    if "tar_bytes" in request:
        tars = [(path, digest) for path, digest in read_sums(world).items() if path.endswith(".tar")]
        for path, digest in tars:
            yield {"@type": "cr:FileObject", "@id": path, "name": path, "contentUrl": f"world/{path}", "sha256": digest,
                   "encodingFormat": "application/x-tar"}  # fmt: skip
        within = {"containedIn": [{"@id": path} for path, _ in tars]}
    yield {**_IMAGE_FILES, **within, "includes": "*[0-9].png" if within else "world/images/*.png"}
    for output in request.get("outputs", ()):
        path = output_path(output, "*")
        kind = {"png": "image/png", "json": "application/json"}.get(path.rpartition(".")[2], "application/octet-stream")
        yield {"@type": "cr:FileSet", "@id": output, "name": output, "encodingFormat": kind, **within,
               "includes": member_name(path) if within else f"world/{path}",
               "description": "One file a scene, named by its scene_id; docs/dataset.md says what it holds."}  # fmt: skip


@dataclass(frozen=True)
class _Table:
    """A Parquet file: the id of its record set, the folder whose sums list it, its path from the root, its columns."""

    name: str
    folder: Path
    path: str
    schema: pa.Schema

    def file(self) -> Node:
        listed = read_sums(self.folder) if (self.folder / SUMS).exists() else {}
        return {"@type": "cr:FileObject", "@id": self.path, "name": self.path, "contentUrl": self.path,
                "encodingFormat": "application/x-parquet", "sha256": listed.get(self.path.rpartition("/")[2])}  # fmt: skip

    def record_set(self) -> Node:
        table = self.name.rpartition("/")[2]
        return {
            "@type": "cr:RecordSet", "@id": self.name, "name": self.name,
            "key": [{"@id": f"{self.name}/{column}"} for column in _KEYS[table]],
            "field": [self._field(column, MEANING[table]) for column in self.schema],
        }  # fmt: skip

    def _field(self, column: pa.Field, meaning: dict[str, str]) -> Node:
        field = _described(f"{self.name}/{column.name}", meaning[column.name])
        if pa.types.is_struct(column.type):
            return {**field, "subField": [self._part(column.name, part, meaning) for part in column.type]}
        if not pa.types.is_list(column.type):
            return {**field, "dataType": _TYPES[column.type], "source": self._source(column.name)}
        several = {**field, "isArray": True, "arrayShape": "-1"}
        if not pa.types.is_struct(column.type.value_type):
            return {**several, "dataType": _TYPES[column.type.value_type], "source": self._source(column.name)}
        inner = [part for part in column.type.value_type if not pa.types.is_map(part.type)]
        return {**several, "subField": [self._part(column.name, part, meaning) for part in inner]}

    def _part(self, column: str, part: pa.Field, meaning: dict[str, str]) -> Node:
        """A field of the structs in a column."""
        listed = pa.types.is_fixed_size_list(part.type)
        return {
            **_described(f"{self.name}/{column}/{part.name}", meaning[f"{column}/{part.name}"]),
            **({"isArray": True, "arrayShape": str(part.type.list_size)} if listed else {}),
            "dataType": _TYPES[part.type.value_type if listed else part.type],
            "source": {**self._source(column), "transform": {"jsonPath": part.name}},
        }

    def _source(self, column: str) -> Node:
        return {"fileObject": {"@id": self.path}, "extract": {"column": column}}


def _described(name: str, meaning: str) -> Node:
    return {"@type": "cr:Field", "@id": name, "name": name, "description": meaning}


_IMAGE_FILES = {
    "@type": "cr:FileSet", "@id": "image-files", "name": "image-files", "encodingFormat": "image/png",
    "description": "One PNG a scene, named by its scene_id; world/SHA256SUMS has their digests.",
}  # fmt: skip
_FROM_IMAGES = {"fileSet": {"@id": "image-files"}}
_IMAGES = {
    "@type": "cr:RecordSet", "@id": "images", "name": "images", "key": {"@id": "images/scene_id"},
    "field": [
        {**_described("images/scene_id", "the scene that the image shows"), "dataType": "sc:Text",
         "source": {**_FROM_IMAGES, "extract": {"fileProperty": "filename"}, "transform": {"regex": r"(.*)\.png"}}},
        {**_described("images/image", "the image"), "dataType": "sc:ImageObject",
         "source": {**_FROM_IMAGES, "extract": {"fileProperty": "content"}}},
    ],
}  # fmt: skip
