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
"""The order of the columns of scenes by split; other splits follow in alphabetical order."""
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
"""The size categories of the Hugging Face Hub: number of scenes that each is below, and name."""
_LARGEST_SIZE = "n>1M"

Manifest = Mapping[str, Any]
Node = dict[str, Any]
"""An object of JSON-LD."""


def write_card(root: Path) -> None:
    """Write README.md and croissant.json of a dataset; write nothing while its world is unfinished.

    Args:
        root: Folder of the dataset.

    Raises:
        UserError: A file that the card depends on is damaged.
    """
    for name, text in card(root).items():
        write_text(root / name, text)


def card(root: Path) -> dict[str, str]:
    """Compose README.md and croissant.json.

    They depend only on dataset.json, the manifests, the sums and floor.json, so that equal datasets
    have equal cards.

    Args:
        root: Folder of the dataset.

    Returns:
        The texts of the files, by name; empty while the world is unfinished.

    Raises:
        UserError: A file that they depend on is damaged.
    """
    index = read_json(root / "dataset.json", IndexRecord)
    # The card describes what is finished; the command that finishes the world writes it.
    if index["world"] is None:
        return {}
    world = read_json(root / "world" / "manifest.json", WorldManifest)
    benchmarks = {}
    for name in index["benchmarks"]:
        folder = root / "benchmarks" / name
        manifest = read_json(folder / "manifest.json", BenchmarkManifest)
        # What texts alone reveal is a leak too, which `score audit` finds after the benchmark is
        # finished.
        floor = declared_floor(folder, manifest.get("sums"))
        manifest["declared_leaks"] = [*manifest.get("declared_leaks", []), *floor]
        benchmarks[name] = manifest
    request = world["request"]
    title = (
        f"{request.get('family', 'world')} {request['width']}x{request['height']} seed "
        f"{request.get('seed', 0)}"
    )
    return {
        "README.md": _readme(title, world, benchmarks),
        "croissant.json": json_text(
            _croissant(root, title, request=request, benchmarks=benchmarks)
        ),
    }


def _readme(title: str, world: Manifest, benchmarks: Mapping[str, Manifest]) -> str:
    # Names of a family of the user stand in the manifests, and must not become markup.
    world, benchmarks = _escaped([world, benchmarks])
    request = world["request"]
    splits_with_scenes: set[str] = set()
    empty_cells: list[tuple[str, str]] = []
    leaks: list[tuple[str, str]] = []
    for name, manifest in benchmarks.items():
        splits_with_scenes.update(manifest.get("scenes", {}))
        empty_cells += [(name, cell) for cell in manifest.get("empty_cells", [])]
        leaks += [(name, leak) for leak in manifest.get("declared_leaks", [])]
    splits = [split for split in _SPLITS if split in splits_with_scenes]
    splits += sorted(splits_with_scenes - set(_SPLITS))
    return _template().render(
        title=one_line_of_markdown(title),
        about=_ABOUT,
        size=_size_category(world["scenes"]),
        tables=list(BENCHMARK_TABLES),
        world=world,
        request=request,
        benchmarks=benchmarks,
        splits=splits,
        empty_cells=empty_cells,
        leaks=leaks,
        sets=asset_sets_needed(request),
        licences=licences_of_others(request.get("assets")),
    )


def _size_category(n_scenes: int) -> str:
    for limit, name in _SIZES:
        if n_scenes < limit:
            return name
    return _LARGEST_SIZE


def _escaped(data: Any) -> Any:
    """Plain data with every text and key as one line of Markdown. Its objects are plain dicts: a
    template reads keys that may be missing, which a JSON object from a file refuses."""
    if isinstance(data, str):
        return one_line_of_markdown(data)
    if isinstance(data, Mapping):
        return {one_line_of_markdown(key): _escaped(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_escaped(value) for value in data]
    return data


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
    """List the asset sets that must be installed to render a world again.

    Args:
        request: Request of the world (records.RequestRecord).

    Returns:
        Their names, sorted, without the sets that come with the project.

    Example:
        >>> asset_sets_needed({"assets": {"set": "0ad", "meshes": ["bear", "mine/fox"]}})
        ['0ad', 'mine']
    """
    assets = request.get("assets", {"set": "builtin", "meshes": []})
    # A mesh is named SET/NAME if it is not of the world's own set.
    sets = {name.rpartition("/")[0] or assets["set"] for name in assets["meshes"]}
    return sorted(sets.difference(SHIPPED))


# Croissant


def _croissant(
    root: Path, name: str, *, request: Manifest, benchmarks: Mapping[str, Manifest]
) -> Node:
    """The JSON-LD of the dataset: its images, its tables with their SHA-256, and a record set for
    each table."""
    constant = Path(__file__).with_name("croissant.json").read_text(encoding="utf-8")
    document: Node = json.loads(constant)
    document |= {"name": name, "description": _ABOUT}
    (images,) = document["distribution"]
    document["distribution"] = list(_scene_files(root / "world", request, images))
    for table, path in _tables(root, benchmarks):
        # Croissant wants the digest of every file that it describes, and SHA256SUMS has them.
        folder, _, file = path.rpartition("/")
        sums = read_sums(root / folder) if (root / folder / SUMS).exists() else {}
        document["distribution"].append(
            _file_object(path, path=path, digest=sums.get(file), kind="application/x-parquet")
        )
        # Tables of benchmarks are named NAME/TABLE.
        row = table.rpartition("/")[2]
        fields = [_field(column, place=table, path=path) for column in columns_of(ROWS[row])]
        key = [{"@id": f"{table}/{column}"} for column in KEYS[row]]
        document["recordSet"].append(
            {"@type": "cr:RecordSet", "@id": table, "name": table, "key": key, "field": fields}
        )
    return document


def _tables(root: Path, benchmarks: Mapping[str, Manifest]) -> list[tuple[str, str]]:
    """Name and path of each table of the dataset."""
    tables: list[tuple[str, str]] = []
    if (root / "world" / PLAN_FILE).exists():
        tables.append(("plan", "world/plan.parquet"))
    tables.append(("scenes", "world/scenes.parquet"))
    for benchmark in benchmarks:
        for table in BENCHMARK_TABLES:
            tables.append((f"{benchmark}/{table}", f"benchmarks/{benchmark}/{table}.parquet"))
    return tables


def _scene_files(world: Path, request: Manifest, images: Node) -> Iterator[Node]:
    """Yield the images and the pixel outputs, in folders or in tars."""
    in_tars = "tar_bytes" in request
    container: Node = {}
    if in_tars:
        sums = read_sums(world)
        tars = {path: digest for path, digest in sums.items() if path.endswith(".tar")}
        for path, digest in tars.items():
            yield _file_object(path, path=f"world/{path}", digest=digest, kind="application/x-tar")
        container = {"containedIn": [{"@id": path} for path in tars]}
    # Of the images in a tar, only their names end in a digit: 000017.png beside 000017.masks.png.
    yield {**images, **container, "includes": "*[0-9].png" if in_tars else "world/images/*.png"}
    formats = {"png": "image/png", "json": "application/json"}
    for output in request.get("outputs", ()):
        path = output_path(output, "*")
        yield {
            "@type": "cr:FileSet",
            "@id": output,
            "name": output,
            **container,
            "encodingFormat": formats.get(path.rpartition(".")[2], "application/octet-stream"),
            "includes": member_name(path) if in_tars else f"world/{path}",
            "description": (
                "One file per scene, named by its scene_id; docs/dataset.md describes it."
            ),
        }


def _file_object(name: str, *, path: str, digest: str | None, kind: str) -> Node:
    """A file. `kind`: its media type."""
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": path,
        "encodingFormat": kind,
        "sha256": digest,
    }


def _field(column: Column, *, place: str, path: str, struct_column: str = "") -> Node:
    """A column of the table at `path`, or with `struct_column` a field of the structs in that
    column. `place`: the @id of what contains it."""
    name = f"{place}/{column.name}"
    kind = column.type
    field: Node = {"@type": "cr:Field", "@id": name, "name": name, "description": column.meaning}
    # Croissant's way to say how long lists are; -1 is any length.
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        field |= {"isArray": True, "arrayShape": str(getattr(kind, "list_size", -1))}
        kind = kind.value_type
    if column.fields:
        subfields = []
        for inner in column.fields:
            # Croissant cannot describe maps.
            if not pa.types.is_map(inner.type):
                subfields.append(_field(inner, place=name, path=path, struct_column=column.name))
        return {**field, "subField": subfields}
    source: Node = {
        "fileObject": {"@id": path},
        "extract": {"column": struct_column or column.name},
    }
    if struct_column:
        source["transform"] = {"jsonPath": column.name}
    return {**field, "dataType": _TYPES[kind], "source": source}


_TYPES = {
    pa.string(): "sc:Text",
    pa.bool_(): "sc:Boolean",
    pa.int32(): "sc:Integer",
    pa.float32(): "sc:Float",
    pa.float64(): "sc:Float",
}
