"""Writes the description of a dataset at its root: README.md for people, croissant.json for machines."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from generator.base.files import SUMS, json_text, read_json, read_sums, write_text
from generator.dataset.licences import licence_section
from generator.dataset.outputs import output_path
from generator.dataset.packing import member_name
from generator.dataset.records import (
    BENCHMARK_TABLES,
    PLAN,
    PLAN_FILE,
    SCENES,
    BenchmarkManifest,
    IndexRecord,
    WorldManifest,
)

_SPLITS = ("train", "val", "seen", "partial", "unseen", "unseen_atoms")
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_RENDERED_FROM = {
    "blender", "block_seed", "design", "holdout", "opposites", "quality", "scenes", "scenes_asked", "seed", "vocabulary",
}  # fmt: skip

Manifest = Mapping[str, Any]


def write_card(root: Path) -> None:
    """Write README.md and croissant.json of the dataset in `root`; write nothing while its world is unfinished."""
    for name, text in card(root).items():
        write_text(root / name, text)


def card(root: Path) -> dict[str, str]:
    """The texts of README.md and croissant.json, by name; none while the world is unfinished.

    They depend only on dataset.json, the manifests and the sums, so that equal datasets have equal cards.
    """
    index = read_json(root / "dataset.json", IndexRecord)
    if index["world"] is None:
        return {}
    world = read_json(root / "world" / "manifest.json", WorldManifest)
    benchmarks = {
        name: read_json(root / "benchmarks" / name / "manifest.json", BenchmarkManifest) for name in index["benchmarks"]
    }
    title = _title(world["request"])
    about = (
        "Rendered scenes, and benchmarks over them in which chosen combinations of attribute and object are held out "
        "of training, made with Jackalope."
    )
    return {
        "README.md": _readme(title, about, world, benchmarks),
        "croissant.json": json_text(croissant(root, title, about, benchmarks)),
    }


def _title(request: Manifest) -> str:
    return f"{request.get('family', 'world')} {request['width']}x{request['height']} seed {request.get('seed', 0)}"


def _readme(title: str, about: str, world: Manifest, benchmarks: Mapping[str, Manifest]) -> str:
    parts = [
        _front_matter(title, world["scenes"], benchmarks),
        f"# {title}\n\n{about}",
        _world(world),
        _benchmarks(benchmarks),
        _reading(benchmarks, "tar_bytes" in world["request"]),
        _VERIFYING,
        _rendering_again(world["request"], benchmarks),
        licence_section(world["request"].get("assets")),
        _CLOSE,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _front_matter(title: str, n_scenes: int, benchmarks: Mapping[str, Manifest]) -> str:
    size = next((name for limit, name in _SIZES if n_scenes < limit), "n>1M")
    lines = [
        f"pretty_name: {title}", "language:", "- en", "task_categories:", "- zero-shot-image-classification",
        "size_categories:", f"- {size}", "tags:", "- synthetic", "- compositionality", "- vision-language",
    ]  # fmt: skip
    tables = [
        line for name in benchmarks for table in BENCHMARK_TABLES
        for line in (f"- config_name: {name}-{table}", f"  data_files: benchmarks/{name}/{table}.parquet")
    ]  # fmt: skip
    return "\n".join(["---", *lines, *(["configs:", *tables] if tables else []), "---"])


def _world(world: Manifest) -> str:
    request, failed = world["request"], world.get("failed", 0)
    facts = {
        "family": request.get("family"),
        "objects in a scene": _objects(request),
        "scenes": f"{world['scenes']:,}" + (f", of which {failed:,} failed and are in no split" if failed else ""),
        "resolution": f"{request['width']} x {request['height']} pixels",
        "quality": _quality(request) if "quality" in request else None,
        "rendered": f"with Cycles on {request['device']}" if "device" in request else None,
        "beside the images": ", ".join(request.get("outputs", ())) or None,
        "meshes": _meshes(request["assets"]) if "assets" in request else None,
        "part of the scenes": _fraction(request["shard"]) if "shard" in request else None,
        "seed of the scenes": request.get("seed"),
        "Blender": request.get("blender"),
    }
    rows = [f"| {name} | {value} |" for name, value in facts.items() if value is not None]
    return "\n".join(["## World", "", "| | |", "|---|---|", *rows])


def _meshes(assets: Manifest) -> str:
    return f"{', '.join(assets['meshes'])} of the asset set `{assets['set']}`, digest {assets['digest'][:12]}"


def _fraction(shard: Sequence[int]) -> str:
    return f"{shard[0]}/{shard[1]}"


def _objects(request: Manifest) -> str | None:
    """The number of objects in a scene, written as for `--objects`."""
    if "objects" not in request:
        return None
    least, most = request["objects"]
    return f"{least}" if least == most else f"{least}..{most}"


def _quality(request: Manifest) -> str:
    quality = request["quality"]
    denoised = "denoised" if quality["denoise"] else "not denoised"
    most = "up to " if quality.get("noise") else ""
    elsewhere = f" about the objects, {quality['floor']} on a bare floor" if quality.get("floor") else ""
    elsewhere += f", {quality['landscape']} in a landscape" if quality.get("landscape") else ""
    samples = f"{most}{quality['samples']} samples a pixel{elsewhere}"
    return f"{quality['name']}: {samples}, {denoised}, up to {quality['bounces']} bounces"


def _benchmarks(benchmarks: Mapping[str, Manifest]) -> str:
    if not benchmarks:
        return "## Benchmarks\n\nNone yet: `gen split . --holdout 3x3` makes one."
    counted = {split for manifest in benchmarks.values() for split in manifest.get("scenes", {})}
    splits = [split for split in _SPLITS if split in counted] + sorted(counted - set(_SPLITS))
    rows = [
        " | ".join([f"| {name}", _held_out(manifest), *(f"{manifest.get('scenes', {}).get(s, 0):,}" for s in splits)])
        + " |"
        for name, manifest in benchmarks.items()
    ]
    leaks = [
        f"- {name}: {leak}." for name, manifest in benchmarks.items() for leak in manifest.get("declared_leaks", [])
    ]
    return "\n".join([
        "## Benchmarks", "",
        "What is held out is in no training image or caption, nor in a training negative, unless that is declared below. An image "
        "of `seen` shows none of it, one of `partial` some, in one of `unseen` every object shows it. Each benchmark's holdout.json "
        "spells it out. Scenes by split:", "",
        f"| {' | '.join(['benchmark', 'held out', *splits])} |", f"|---|---|{'---:|' * len(splits)}", *rows, "",
        *(["Declared leaks:", "", *leaks] if leaks else ["Declared leaks: none."]),
    ])  # fmt: skip


def _held_out(manifest: Manifest) -> str:
    held = manifest.get("holdout")
    return f"{manifest['held_out']} (block seed {held['block_seed']})" if held else "nothing"


def _reading(benchmarks: Mapping[str, Manifest], in_tars: bool) -> str:
    if not benchmarks:
        return ""
    image = "image" if in_tars else "image_path"
    return f"""## Reading

With Jackalope installed, in this folder, with Python started as `python -P`, which imports nothing from here:

```python
from generator.dataset.reader import Dataset

dataset = Dataset.open(".")
benchmark = dataset.benchmark("{next(iter(benchmarks))}")
for row in benchmark.candidates.slice(0, 4).to_pylist():
    print(dataset.world.{image}(row["scene_id"]), row["truth"], benchmark.text_of[row["text_id"]])
```

Every table is a Parquet file that any reader of Parquet opens; `croissant.json` describes every column."""


_VERIFYING = """## Verifying

```sh
gen verify .
for part in world benchmarks/*; do (cd "$part" && sha256sum --check --quiet SHA256SUMS); done
```

The first proves that nothing held out is shown in training, that every caption called true is true and every other false,
and that all files are whole; it needs no model and nothing but these files. The second needs no Jackalope."""


def _rendering_again(request: Manifest, benchmarks: Mapping[str, Manifest]) -> str:
    if not request.keys() >= _RENDERED_FROM:
        return ""
    first, *later = _lineage(request)
    made = [name for name, manifest in benchmarks.items() if manifest.get("with_world")]
    exposed = ["--exposed-negatives"] if any(benchmarks[name].get("exposed_negatives") for name in made) else []
    folders = ["../again", *(f"../again-{n}" for n in range(2, len(later) + 2))]
    commands = [
        [*_render(first, made), "--out", folders[0], *exposed],
        *(_split(each, manifest) for each, manifest in benchmarks.items() if each not in made and manifest.get("holdout")),
        *(["gen", "render", "--from", source, *_rendering(each), "--with", ",".join(each["outputs"]), "--out", out]
          for each, source, out in zip(later, folders, folders[1:], strict=False)),
    ]  # fmt: skip
    return "\n".join([
        "## Rendering again", "",
        f"In this folder, with Jackalope and Blender {request['blender']}{_needed(request)}:", "",
        "```sh", *(shlex.join(command) for command in commands), "```", "",
        "Texts and items are then the same bytes on any machine; images are the same bytes with the same build of Blender on "
        "the same processor architecture.",
    ])  # fmt: skip


def _needed(request: Manifest) -> str:
    """A clause on the asset sets that must be installed to render again; empty for built-in meshes."""
    assets = request.get("assets", {"set": "builtin", "meshes": []})
    sets = sorted({name.rpartition("/")[0] or assets["set"] for name in assets["meshes"]} - {"builtin"})
    names = " and ".join(f"`{name}`" for name in sets)
    return f", and the same meshes in the asset set{'s' * (len(sets) > 1)} {names} (`gen assets list`)" if sets else ""


def _lineage(request: Manifest) -> list[Manifest]:
    """The requests from which a world was rendered, one from another (`gen render --from`), the first request first."""
    steps = [request]
    while "from" in steps[0]:
        earlier = steps[0]["from"]
        steps.insert(
            0, {**{key: value for key, value in steps[0].items() if key not in ("from", "tar_bytes")}, **earlier}
        )
    return steps


def _render(request: Manifest, made: Sequence[str]) -> list[str]:
    saved = [f"benchmarks/{name}/holdout.json" for name in made[:1]]
    holdout = saved if any(spec.endswith(".json") for spec in request["holdout"]) else request["holdout"]
    return [
        "gen", "render", "--family", "world/vocabulary.toml",
        *(["--assets", request["assets"]["set"]] if "assets" in request else []),
        "--design", request["design"],
        *(part for spec in holdout for part in ("--holdout", spec)), *([] if request["opposites"] else ["--no-opposites"]),
        "--objects", _objects(request) or "2", *_scenes(request["scenes_asked"]), *_rendering(request),
        "--seed", str(request["seed"]), "--block-seed", ",".join(map(str, request["block_seed"])),
        *(["--pairs"] if request.get("pairs") else []),
        *(["--with", ",".join(request["outputs"])] if request.get("outputs") else []),
        *(["--shard", _fraction(request["shard"])] if "shard" in request else []),
    ]  # fmt: skip


def _scenes(asked: Mapping[str, int] | str | None) -> list[str]:
    if asked is None:
        return []
    return ["--scenes", asked if isinstance(asked, str) else ",".join(f"{split}={n}" for split, n in asked.items())]


def _rendering(request: Manifest) -> list[str]:
    size, tars = f"{request['width']}x{request['height']}", str(request.get("tar_bytes", ""))
    return [
        "--resolution",
        size,
        "--quality",
        request["quality"]["name"],
        "--device",
        request.get("device", "cpu"),
        *(["--shards", tars] if tars else []),
    ]


def _split(name: str, manifest: Manifest) -> list[str]:
    exposed = ["--exposed-negatives"] if manifest.get("exposed_negatives") else []
    return ["gen", "split", "../again", "--holdout", f"benchmarks/{name}/holdout.json", "--name", name, *exposed]


_CLOSE = "This file and `croissant.json` are written by `gen`, and written anew whenever a benchmark is added."


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
