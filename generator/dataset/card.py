"""Writes the description of a dataset at its root: README.md for people, croissant.json for
machines.

README.md is card.md.jinja filled in; croissant.json is Croissant 1.1
(https://docs.mlcommons.org/croissant/): the constant parts in croissant.json beside this file, and
one record set for each table (records.py).
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from jinja2 import Environment, PackageLoader, Template

from generator.base.errors import one_line_of_markdown
from generator.base.files import SUMS, json_text, read_json, read_sums, write_text
from generator.dataset.floor import declared_floor
from generator.dataset.licences import SHIPPED, licences_of_others
from generator.dataset.outputs import output_path
from generator.dataset.packing import member_name
from generator.dataset.records import (
    BENCHMARK_TABLES,
    KEYS,
    PLAN_FILE,
    ROWS,
    BenchmarkManifest,
    Column,
    IndexRecord,
    WorldManifest,
    columns_of,
)

_ABOUT = (
    "Rendered scenes, and benchmarks over them in which chosen combinations of attribute and "
    "object are held out of training, made with Jackalope."
)
_SPLITS = ("train", "val", "seen", "partial", "unseen", "unseen_atoms")
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))

Manifest = Mapping[str, Any]
Node = dict[str, Any]


def write_card(root: Path) -> None:
    """Write README.md and croissant.json of the dataset in `root`; write nothing while its world is
    unfinished."""
    for name, text in card(root).items():
        write_text(root / name, text)


def card(root: Path) -> dict[str, str]:
    """The texts of README.md and croissant.json, by name; empty while the world is unfinished.

    They depend only on dataset.json, the manifests, the sums and floor.json, so that equal datasets
    have equal cards.
    """
    index = read_json(root / "dataset.json", IndexRecord)
    if index["world"] is None:
        return {}
    world = read_json(root / "world" / "manifest.json", WorldManifest)
    benchmarks = {
        name: read_json(root / "benchmarks" / name / "manifest.json", BenchmarkManifest)
        for name in index["benchmarks"]
    }
    for name, made in benchmarks.items():
        floor = declared_floor(root / "benchmarks" / name, made.get("sums"))
        made["declared_leaks"] = [*made.get("declared_leaks", []), *floor]
    request = world["request"]
    title = (
        f"{request.get('family', 'world')} {request['width']}x{request['height']} seed "
        f"{request.get('seed', 0)}"
    )
    return {
        "README.md": _readme(title, world, benchmarks),
        "croissant.json": json_text(_croissant(root, title, request, benchmarks)),
    }


def _readme(title: str, world: Manifest, benchmarks: Mapping[str, Manifest]) -> str:
    world, benchmarks = _escaped([world, benchmarks])
    counted = {split for made in benchmarks.values() for split in made.get("scenes", {})}
    request = world["request"]
    return _template().render(
        title=one_line_of_markdown(title),
        about=_ABOUT,
        size=next((name for limit, name in _SIZES if world["scenes"] < limit), "n>1M"),
        tables=list(BENCHMARK_TABLES),
        world=world,
        request=request,
        benchmarks=benchmarks,
        splits=[split for split in _SPLITS if split in counted] + sorted(counted - set(_SPLITS)),
        empty_cells=[
            (name, cell)
            for name, made in benchmarks.items()
            for cell in made.get("empty_cells", [])
        ],
        leaks=[
            (name, leak)
            for name, made in benchmarks.items()
            for leak in made.get("declared_leaks", [])
        ],
        sets=asset_sets_needed(request),
        licences=licences_of_others(request.get("assets")),  # of an escaped request
    )


def _escaped(data: Any) -> Any:
    """Plain data, of which a template reads missing keys, with every text and key as one line of
    Markdown."""
    if isinstance(data, str):
        return one_line_of_markdown(data)
    if isinstance(data, Mapping):
        return {one_line_of_markdown(key): _escaped(value) for key, value in data.items()}
    return [_escaped(value) for value in data] if isinstance(data, list | tuple) else data


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("generator.dataset", "."),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("card.md.jinja")


def asset_sets_needed(request: Manifest) -> list[str]:
    """The asset sets that must be installed to render again, without the sets that come with the
    project."""
    assets = request.get("assets", {"set": "builtin", "meshes": []})
    sets = {name.rpartition("/")[0] or assets["set"] for name in assets["meshes"]} - {*SHIPPED}
    return sorted(sets)


# Croissant


def _croissant(
    root: Path, name: str, request: Manifest, benchmarks: Mapping[str, Manifest]
) -> Node:
    """The JSON-LD of the dataset: its images, its tables with their SHA-256, and a record set for
    each table."""
    made: Node = json.loads(Path(__file__).with_name("croissant.json").read_text(encoding="utf-8"))
    made |= {"name": name, "description": _ABOUT}
    (images,) = made["distribution"]
    made["distribution"] = list(_scene_files(root / "world", request, images))
    tables = [("plan", "world/plan.parquet")] if (root / "world" / PLAN_FILE).exists() else []
    tables.append(("scenes", "world/scenes.parquet"))
    tables += [
        (f"{each}/{table}", f"benchmarks/{each}/{table}.parquet")
        for each in benchmarks
        for table in BENCHMARK_TABLES
    ]
    for table, path in tables:
        folder, _, file = path.rpartition("/")
        sums = read_sums(root / folder) if (root / folder / SUMS).exists() else {}
        made["distribution"].append(_file(path, path, sums.get(file), "application/x-parquet"))
        row = table.rpartition("/")[2]
        fields = [_field(column, table, path) for column in columns_of(ROWS[row])]
        key = [{"@id": f"{table}/{column}"} for column in KEYS[row]]
        made["recordSet"].append(
            {"@type": "cr:RecordSet", "@id": table, "name": table, "key": key, "field": fields}
        )
    return made


def _scene_files(world: Path, request: Manifest, images: Node) -> Iterator[Node]:
    """Yields the images and the pixel outputs, in folders or in tars."""
    within: Node = {}
    if "tar_bytes" in request:
        tars = {path: digest for path, digest in read_sums(world).items() if path.endswith(".tar")}
        for path, digest in tars.items():
            yield _file(path, f"world/{path}", digest, "application/x-tar")
        within = {"containedIn": [{"@id": path} for path in tars]}
    yield {**images, **within, "includes": "*[0-9].png" if within else "world/images/*.png"}
    for output in request.get("outputs", ()):
        path = output_path(output, "*")
        formats = {"png": "image/png", "json": "application/json"}
        yield {
            "@type": "cr:FileSet",
            "@id": output,
            "name": output,
            **within,
            "encodingFormat": formats.get(path.rpartition(".")[2], "application/octet-stream"),
            "includes": member_name(path) if within else f"world/{path}",
            "description": (
                "One file per scene, named by its scene_id; docs/dataset.md describes it."
            ),
        }


def _file(name: str, path: str, digest: str | None, kind: str) -> Node:
    known = {"@type": "cr:FileObject", "@id": name, "name": name, "contentUrl": path}
    return {**known, "encodingFormat": kind, "sha256": digest}


def _field(column: Column, place: str, path: str, within: str = "") -> Node:
    """A column, or with `within` a field of the structs in that column. Maps are left out:
    Croissant cannot describe them."""
    name, kind = f"{place}/{column.name}", column.type
    field: Node = {"@type": "cr:Field", "@id": name, "name": name, "description": column.meaning}
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        field |= {"isArray": True, "arrayShape": str(getattr(kind, "list_size", -1))}
        kind = kind.value_type
    if column.fields:
        inner = [each for each in column.fields if not pa.types.is_map(each.type)]
        return {**field, "subField": [_field(each, name, path, column.name) for each in inner]}
    source: Node = {"fileObject": {"@id": path}, "extract": {"column": within or column.name}}
    if within:
        source["transform"] = {"jsonPath": column.name}
    return {**field, "dataType": _TYPES[kind], "source": source}


_TYPES = {
    pa.string(): "sc:Text",
    pa.bool_(): "sc:Boolean",
    pa.int32(): "sc:Integer",
    pa.float32(): "sc:Float",
    pa.float64(): "sc:Float",
}
