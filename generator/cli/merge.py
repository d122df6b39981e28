"""The command `gen merge`."""

from pathlib import Path

import click

from generator.base.commands import Bar, DatasetFolder
from generator.cli.options import EXPOSED, JSON
from generator.cli.render import print_made


@click.command()
@click.argument("shards", type=DatasetFolder(), nargs=-1, required=True)
@EXPOSED
@click.option("--out", type=DatasetFolder(written=True), required=True, help="Folder or URL to write.")
@JSON
def merge(shards: tuple[Path, ...], exposed_negatives: bool, out: Path, as_json: bool) -> None:
    """Merge SHARDS, made by `gen render --shard i/n`, into one dataset.

    The files are the same as those of one `gen render` without --shard. They are hard links where the file system
    allows it.
    """
    from generator.api import write_first_benchmarks
    from generator.dataset.reader import Dataset
    from generator.render.shards import merge_worlds

    merge_worlds(shards, out, Bar())
    write_first_benchmarks(out, exposed_negatives, Bar())
    print_made(Dataset.open(out), as_json)
