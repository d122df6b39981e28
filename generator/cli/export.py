"""The commands `gen export`."""

from pathlib import Path

import click

from generator.base.commands import Bar, Commands, result, say
from generator.cli.options import BENCHMARK, DATASET, JSON, NEW_FOLDER

_OUT = click.option("--out", type=NEW_FOLDER, required=True, help="Folder to write.")


@click.group(cls=Commands)
def export() -> None:
    """Convert a dataset to the format of another tool."""


@export.command(examples=["export hf small --out small-hf"])
@DATASET
@_OUT
@BENCHMARK
@JSON
def hf(dataset: Path, out: Path, benchmark: str | None, as_json: bool) -> None:
    """Write DATASET as Parquet files with images and texts for Hugging Face's `datasets.load_dataset`."""
    from generator.dataset.reader import Dataset
    from generator.exports.training import Samples, export_hf

    opened = Dataset.open(dataset)
    chosen = opened.benchmark(benchmark)
    _tell(export_hf(Samples(opened, chosen), f"{opened.root.resolve().name} {chosen.name}", out, Bar()), out, as_json)


@export.command(examples=["export webdataset small --out small-tars --size 256MB"])
@DATASET
@_OUT
@BENCHMARK
@click.option("--size", default="256MB", help="Largest size of a tar, such as 256MB or 1GB.")
@JSON
def webdataset(dataset: Path, out: Path, benchmark: str | None, size: str, as_json: bool) -> None:
    """Write DATASET as tars of images and captions, one folder per split, for the webdataset library."""
    from generator.dataset.reader import Dataset
    from generator.exports.training import Samples, export_webdataset
    from generator.render.shards import parse_size

    opened = Dataset.open(dataset)
    samples = Samples(opened, opened.benchmark(benchmark))
    _tell(export_webdataset(samples, parse_size(size), out, Bar()), out, as_json)


@export.command(examples=["export clevr world --out world-clevr"])
@DATASET
@_OUT
@BENCHMARK
@click.option(
    "--split",
    "splits",
    multiple=True,
    help="Split to write; none for scenes without a split. Repeat for several.  [default: all]",
)
@click.option("--date", help="Date to write into the files.  [default: none]")
@click.option("--version", default="1.0", help="Version to write into the files.")
@click.option("--license", help="Licence to write into the files.  [default: none]")
@JSON
def clevr(
    dataset: Path,
    out: Path,
    benchmark: str | None,
    splits: tuple[str, ...],
    date: str | None,
    version: str,
    license: str | None,
    as_json: bool,
) -> None:
    """Write DATASET in CLEVR's format: scenes/CLEVR_<split>_scenes.json and images/<split>/.

    The family's objects must have shape, size, material and color. Scenes that the benchmark does not use are written
    as the split none.
    """
    from generator.dataset.reader import Dataset
    from generator.exports.clevr import export_clevr

    opened = Dataset.open(dataset)
    info = {"date": date or "", "version": version, "license": license or ""}
    _tell(export_clevr(opened.world, opened.benchmark(benchmark), splits, info, out), out, as_json)


def _tell(scenes: dict[str, int], out: Path, as_json: bool) -> None:
    say(f"Scenes: {', '.join(f'{split} {n:,}' for split, n in scenes.items())}.")
    result({"out": str(out), "scenes": scenes}, as_json, str(out))
