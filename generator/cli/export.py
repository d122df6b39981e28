"""The commands `gen export`."""

from pathlib import Path

import click

from generator.dataset.commands import Commands, DatasetFolder, result, say

_FOLDER = click.Path(path_type=Path, file_okay=False)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


@click.group(cls=Commands)
def export() -> None:
    """Write a dataset in the format of another tool."""


@export.command()
@click.argument("dataset", type=DatasetFolder())
@click.option("--out", type=_FOLDER, required=True, help="Folder to write.")
@click.option("--benchmark", help="Name of the benchmark whose splits and texts are written.")
@_JSON
def hf(dataset: Path, out: Path, benchmark: str | None, as_json: bool) -> None:
    """Write DATASET as Parquet that Hugging Face's `datasets.load_dataset` opens, with images and texts."""
    from generator.dataset.reader import Dataset
    from generator.exports.hf import export_hf
    from generator.exports.samples import Samples

    opened = Dataset.open(dataset)
    chosen = opened.benchmark(benchmark)
    _tell(export_hf(Samples(opened, chosen), f"{opened.root.resolve().name} {chosen.name}", out), out, as_json)


@export.command()
@click.argument("dataset", type=DatasetFolder())
@click.option("--out", type=_FOLDER, required=True, help="Folder to write.")
@click.option("--benchmark", help="Name of the benchmark whose splits and texts are written.")
@click.option("--size", default="256MB", help="Most bytes of a tar, such as 256MB or 1GB.")
@_JSON
def webdataset(dataset: Path, out: Path, benchmark: str | None, size: str, as_json: bool) -> None:
    """Write DATASET as tars of images and captions, a folder a split, for the webdataset library."""
    from generator.dataset.reader import Dataset
    from generator.exports.samples import Samples
    from generator.exports.webdataset import export_webdataset
    from generator.render.shards import parse_size

    opened = Dataset.open(dataset)
    samples = Samples(opened, opened.benchmark(benchmark))
    _tell(export_webdataset(samples, parse_size(size), out), out, as_json)


@export.command()
@click.argument("dataset", type=DatasetFolder())
@click.option("--out", type=_FOLDER, required=True, help="Folder to write.")
@click.option("--benchmark", help="Name of the benchmark whose splits are written.")
@click.option("--split", "splits", multiple=True, help="Only this split; may be given again.  [default: all]")
@click.option("--date", help="The date that the files name.  [default: none]")
@click.option("--version", default="1.0", help="The version that the files name.")
@click.option("--license", help="The licence that the files name.  [default: none]")
@_JSON
def clevr(
    dataset: Path, out: Path, benchmark: str | None, splits: tuple[str, ...], date: str | None, version: str,
    license: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Write DATASET as CLEVR's own files: scenes/CLEVR_<split>_scenes.json and images/<split>/.

    For families whose objects have shape, size, material and color.
    """
    from generator.dataset.reader import Dataset
    from generator.exports.clevr import export_clevr

    opened = Dataset.open(dataset)
    info = {"date": date or "", "version": version, "license": license or ""}
    _tell(export_clevr(opened.world, opened.benchmark(benchmark), splits, info, out), out, as_json)


def _tell(scenes: dict[str, int], out: Path, as_json: bool) -> None:
    say(f"Scenes: {', '.join(f'{split} {n:,}' for split, n in scenes.items())}.")
    result({"out": str(out), "scenes": scenes}, as_json, str(out))
