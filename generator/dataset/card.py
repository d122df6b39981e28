"""Writes the description of a dataset at its root: README.md for people, croissant.json for machines."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from generator.base.files import json_text, read_json, write_text
from generator.dataset.croissant import croissant
from generator.dataset.licences import licence_section
from generator.dataset.records import BenchmarkManifest, IndexRecord, WorldManifest
from generator.dataset.schema import BENCHMARK_TABLES

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
