"""The commands that show datasets and available names: `gen list`, `gen info`, `gen count`, `gen
preview`."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from generator.base.commands import Command, result
from generator.base.errors import UserError, one_line
from generator.base.store import EXAMPLE
from generator.cli.options import BENCHMARK, DATASET, JSON, NEW_PNG, SEED, options_given, table

WHAT = ("families", "designs", "presets", "texts", "protocols", "suites", "datasets")


@click.command("list", cls=Command, examples=["list", "list families"])
@click.argument("what", type=click.Choice(WHAT), required=False)
@JSON
def listing(what: str | None, as_json: bool) -> None:
    """List the available families, designs, presets, presets of texts, protocols, suites, or
    datasets in this folder.

    Without WHAT, list all."""
    titles = [what] if what else WHAT
    tables = {title: _LISTS[title]() for title in titles}
    lines = []
    for title, rows in tables.items():
        if rows:
            lines.append(f"{title}:")
            lines += [f"  {line}" for line in table(list(rows.items()), 2)]
    result(tables, as_json, "\n".join(lines))


def _families() -> dict[str, str]:
    """{family: how many objects, values, relations and environments it has}."""
    from generator.vocabulary.families import shipped_families
    from generator.vocabulary.schema import read_vocabulary

    summaries = {}
    for name in shipped_families():
        vocabulary = read_vocabulary(name)
        counts = {vocabulary.category: len(vocabulary.objects)}
        counts |= {kind: len(vocabulary.values(kind)) for kind in vocabulary.attributes}
        counts |= {
            "relation": len(vocabulary.relations),
            "environment": len(vocabulary.environments),
        }
        # A kind with one value is the same in every image.
        summaries[name] = ", ".join(f"{kind} {n}" for kind, n in counts.items() if n > 1)
    return summaries


def _designs() -> dict[str, str]:
    from generator.holdout.designs import design_names, find_design

    return {name: _first_sentence(type(find_design(name)).__doc__) for name in design_names()}


def _presets() -> dict[str, str]:
    from generator.holdout.presets import preset_names, read_preset

    return {name: _first_sentence(read_preset(name).about) for name in preset_names()}


def _texts() -> dict[str, str]:
    from generator.describe.request import read_text_preset, text_preset_names

    return {name: _first_sentence(read_text_preset(name).about) for name in text_preset_names()}


def _suites() -> dict[str, str]:
    from generator.suite.definition import read_suite, suite_names

    return {name: _first_sentence(read_suite(name).about) for name in suite_names()}


def _protocols() -> dict[str, str]:
    from generator.describe.protocols import find_protocol, protocol_names

    return {name: _first_sentence(find_protocol(name).__doc__) for name in protocol_names()}


def _datasets() -> dict[str, str]:
    """{name: its images and benchmarks} of the shipped dataset and of those in this folder."""
    datasets = {
        EXAMPLE: (
            "comes with the package, 990 images of 64x64; a folder of that name takes precedence"
        )
    }
    for world in sorted(Path().glob("*/world")):
        if not world.is_dir():
            continue
        summary = _summarize(world.parent)
        benchmarks = ", ".join(summary["benchmarks"]) or "no benchmark"
        datasets[world.parent.name] = f"{summary['images']}; {benchmarks}"
    return datasets


_LISTS = {
    "families": _families,
    "designs": _designs,
    "presets": _presets,
    "texts": _texts,
    "protocols": _protocols,
    "suites": _suites,
    "datasets": _datasets,
}


@click.command(cls=Command, examples=["info world"])
@DATASET
@JSON
def info(dataset: Path, as_json: bool) -> None:
    """Show what DATASET holds: images, held-out combinations, scenes by split, questions by
    protocol, certificates."""
    from generator.dataset.reader import Dataset

    # A damaged dataset is an error here, and only a line in `gen list`.
    opened = Dataset.open(dataset)
    for component in (opened.world, *map(opened.benchmark, opened.benchmark_names())):
        component.check_files()
    summary = _summarize(dataset)
    lines = [one_line(summary["images"])]
    for name, benchmark in summary["benchmarks"].items():
        lines.append(f"{name}:")
        for key, value in benchmark.items():
            if value:
                lines.append(f"  {key}: {one_line(str(value))}")
    result(summary, as_json, "\n".join(lines))


def _summarize(root: Path) -> dict[str, Any]:
    """What `gen info` and `gen list` say of a dataset; why it cannot be used, if it is damaged."""
    from generator.dataset.certificate import describe_certificate
    from generator.dataset.reader import Dataset

    try:
        dataset = Dataset.open(root)
    # A damaged dataset must not hide the others from `gen list`.
    except UserError as error:
        return {"images": f"cannot be used: {error.message}", "benchmarks": {}}
    manifest = dataset.world.manifest
    request = manifest["request"]
    size = f"{request['width']}x{request['height']}"
    quality = request["quality"]["name"]
    benchmarks = {}
    for name in dataset.benchmark_names():
        benchmark = dataset.benchmark(name)
        questions = Counter(benchmark.items["protocol"].to_pylist())
        benchmarks[name] = {
            "held out": benchmark.manifest.get("held_out"),
            "scenes": _counts(benchmark.manifest["scenes"]),
            "questions": _counts(questions),
            "certificate": describe_certificate(benchmark, dataset.world),
        }
    images = manifest["scenes"] - manifest["failed"]
    return {
        "images": f"{images:,} images of {size}, {request['family']}, {quality}",
        "benchmarks": benchmarks,
    }


def _counts(numbers: dict[str, int]) -> str:
    """Counts by name in a line, without those that are 0."""
    return ", ".join(f"{name} {n:,}" for name, n in numbers.items() if n)


def _first_sentence(text: str | None) -> str:
    """The first sentence of a docstring or a note, on one line."""
    line = " ".join((text or "").split("\n\n")[0].split())
    # "et al." before a capital letter does not end one.
    return re.split(r"(?<!et al)\. (?=[A-Z])", line)[0].rstrip(".")


@click.command(cls=Command, examples=["count small"])
@DATASET
@BENCHMARK
@JSON
def count(dataset: Path, benchmark: str | None, as_json: bool) -> None:
    """Count the questions of a benchmark of DATASET, and the atoms and compounds that its captions
    name in training and in test.

    --json also has how many captions of each split name each atom.
    """
    from generator.dataset.counts import count_benchmark, read_vocabulary_record
    from generator.dataset.reader import Dataset

    opened = Dataset.open(dataset)
    counts = count_benchmark(opened.benchmark(benchmark), read_vocabulary_record(opened.world))
    lines = [
        counts["benchmark"],
        *_table(
            counts["questions"],
            ("protocol", "kind", "split"),
            ("items", "captions", "false_texts", "set_size"),
        ),
        "",
        *_table(
            counts["names"],
            ("protocol", "split"),
            (
                "captions",
                "atoms",
                "atoms_not_in_training",
                "compounds",
                "compounds_not_in_training",
            ),
        ),
    ]
    result(counts, as_json, "\n".join(lines))


def _table(
    rows: Sequence[Mapping[str, Any]], labels: Sequence[str], numbers: Sequence[str]
) -> list[str]:
    """The lines of a table. labels, numbers: entries of a row that are words, and numbers."""
    lines = [[*labels, *(name.replace("_", " ") for name in numbers)]]
    for row in rows:
        words = [str(row[name]) for name in labels]
        counts = ["–" if row[name] is None else f"{row[name]:,}" for name in numbers]
        lines.append([*words, *counts])
    return table(lines, len(labels))


@click.command(
    cls=Command,
    examples=[
        "preview small",
        "preview zoo --grid",
        "preview small --split unseen --n 12 --out unseen.png",
    ],
)
@DATASET
@BENCHMARK
@click.option(
    "--split", "splits", multiple=True, help="Split to show. Repeat for several.  [default: all]"
)
@click.option(
    "--n",
    "number",
    type=click.IntRange(min=1),
    default=6,
    help="Number of images of each split. Without --n, the page has all images.",
)
@click.option("--seed", type=SEED, default=0, help="Seed that chooses the images.")
@click.option(
    "--grid",
    is_flag=True,
    help=(
        "Instead, show one image for each value of the tested kind on each object; held-out "
        "combinations are framed."
    ),
)
@click.option(
    "--out",
    type=NEW_PNG,
    help="PNG to write, beside the page.  [default: preview.png or grid.png in DATASET]",
)
@JSON
@click.pass_context
def preview(
    context: click.Context,
    dataset: Path,
    benchmark: str | None,
    splits: tuple[str, ...],
    number: int,
    seed: int,
    grid: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Show DATASET: a sheet with images of every split, and a page with all images and all of their
    texts."""
    from generator.inspection.sheets import draw_grid, draw_preview
    from generator.inspection.world_page import write_world_page

    typed_options = options_given(context)
    # An option without effect would look as if it had one.
    if grid and {"splits", "number", "seed"} & typed_options.keys():
        raise UserError(
            "--grid chooses its images from all splits; leave --split, --n and --seed out."
        )
    if grid:
        paths = {"preview": draw_grid(dataset, benchmark, out or dataset / "grid.png")}
    else:
        sheet = out or dataset / "preview.png"
        # The page has room for all images, the sheet has not.
        most_images = number if "number" in typed_options else None
        paths = {
            "preview": draw_preview(
                dataset, benchmark, splits=splits, number=number, seed=seed, out=sheet
            ),
            "page": write_world_page(
                dataset,
                benchmark,
                splits=splits,
                number=most_images,
                seed=seed,
                out=sheet.with_suffix(".html"),
            ),
        }
    result(
        {name: str(path) for name, path in paths.items()},
        as_json,
        "\n".join(map(str, paths.values())),
    )
