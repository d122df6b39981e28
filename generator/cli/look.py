"""The commands `gen list` and `gen info`."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import click

from generator.base.commands import Command, result
from generator.base.store import EXAMPLE
from generator.cli.options import DATASET, JSON, table

WHAT = ("families", "designs", "presets", "texts", "protocols", "datasets")


@click.command("list", cls=Command, examples=["list", "list families"])
@click.argument("what", type=click.Choice(WHAT), required=False)
@JSON
def listing(what: str | None, as_json: bool) -> None:
    """List WHAT there is: families, designs, presets, presets of texts, protocols, and datasets in this folder.

    Without WHAT, list all."""
    found = {each: _FOUND[each]() for each in ([what] if what else WHAT)}
    lines = []
    for title, rows in found.items():
        lines += [f"{title}:", *(f"  {line}" for line in table(list(rows.items()), 2))] if rows else []
    result(found, as_json, "\n".join(lines) or f"There are no {what} in this folder.")


def _families() -> dict[str, str]:
    from generator.vocabulary.families import shipped_families
    from generator.vocabulary.schema import read_vocabulary

    said = {}
    for name in shipped_families():
        vocabulary = read_vocabulary(name)
        counts = {vocabulary.category: len(vocabulary.objects)}
        counts |= {kind: len(vocabulary.values(kind)) for kind in vocabulary.attributes}
        counts |= {"relation": len(vocabulary.relations), "environment": len(vocabulary.environments)}
        said[name] = ", ".join(f"{kind} {n}" for kind, n in counts.items() if n > 1)
    return said


def _designs() -> dict[str, str]:
    from generator.holdout.designs.registry import design_names, find_design

    return {name: _first_sentence(type(find_design(name)).__doc__) for name in design_names()}


def _presets() -> dict[str, str]:
    from generator.holdout.presets import preset_names, read_preset

    return {name: _first_sentence(read_preset(name).about) for name in preset_names()}


def _texts() -> dict[str, str]:
    from generator.describe.request import read_text_preset, text_preset_names

    return {name: _first_sentence(read_text_preset(name).about) for name in text_preset_names()}


def _protocols() -> dict[str, str]:
    from generator.describe.protocols.registry import find_protocol, protocol_names

    return {name: _first_sentence(find_protocol(name).__doc__) for name in protocol_names()}


def _datasets() -> dict[str, str]:
    found = {}
    for world in sorted(Path().glob("*/world")):
        summary = _summary(world.parent)
        found[world.parent.name] = f"{summary['images']}; {', '.join(summary['benchmarks']) or 'no benchmark'}"
    return {EXAMPLE: "comes with the package, 990 images of 64x64; a folder of that name comes first", **found}


_FOUND = {
    "families": _families,
    "designs": _designs,
    "presets": _presets,
    "texts": _texts,
    "protocols": _protocols,
    "datasets": _datasets,
}


@click.command(cls=Command, examples=["info world"])
@DATASET
@JSON
def info(dataset: Path, as_json: bool) -> None:
    """Say what DATASET holds: images, held-out combinations, scenes by split, questions by protocol, certificates."""
    found = _summary(dataset)
    lines = [found["images"]]
    for name, each in found["benchmarks"].items():
        lines += [f"{name}:", *(f"  {key}: {value}" for key, value in each.items() if value)]
    result(found, as_json, "\n".join(lines))


def _summary(root: Path) -> dict[str, Any]:
    from generator.base.errors import UserError
    from generator.dataset.certificates import found_certificate
    from generator.dataset.reader import Dataset

    try:
        dataset = Dataset.open(root)
    except UserError as error:
        if not (root / "world").is_dir():
            raise
        return {"images": f"cannot be used: {error.message}", "benchmarks": {}}
    manifest = dataset.world.manifest
    request = manifest["request"]
    size, quality = f"{request['width']}x{request['height']}", request["quality"]["name"]
    benchmarks = {}
    for name in dataset.benchmark_names():
        benchmark = dataset.benchmark(name)
        asked = Counter(benchmark.items["protocol"].to_pylist())
        benchmarks[name] = {
            "held out": benchmark.manifest.get("held_out"),
            "scenes": _counts(benchmark.manifest["scenes"]),
            "questions": _counts(asked),
            "certificate": found_certificate(benchmark, dataset.world),
        }
    images = manifest["scenes"] - manifest["failed"]
    return {"images": f"{images:,} images of {size}, {request['family']}, {quality}", "benchmarks": benchmarks}


def _counts(numbers: dict[str, int]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in numbers.items() if n)


def _first_sentence(text: str | None) -> str:
    """The first sentence of a docstring or a note, on one line."""
    line = " ".join((text or "").split("\n\n")[0].split())
    return re.split(r"(?<!et al)\. (?=[A-Z])", line)[0].rstrip(".")
