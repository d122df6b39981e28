"""Options that several commands of `score` share."""

from pathlib import Path
from typing import Any

import click

from generator.base.commands import DatasetFolder, LocalFolder, OutFile

FOLDER, NEW_FOLDER = LocalFolder(), LocalFolder(written=True)
FILE = click.Path(path_type=Path, dir_okay=False)
NEW_FILE = OutFile()


class Questions(DatasetFolder):
    """The folder of a dataset, its URL, or a benchmark of others as NAME:PATH; as a string."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The string. Raises UserError for a NAME that no one offers, and for what is no folder."""
        from evaluator.benchmarks.registry import external_source

        return value if external_source(value, None) else str(super().convert(value, param, ctx))


SEED = click.IntRange(0, 2**32 - 1)
JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
DEVICE = click.option(
    "--device", help="Device to compute on, such as cpu or cuda:1.  [default: the first GPU, else the CPU]"
)
FILTERS = click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="Leave out questions of a benchmark of others, such as first=1000 (docs/external.md lists all); the results say so. Repeat for "
    "several.",
)
LEVEL = click.option(
    "--level",
    type=float,
    help="Level of the intervals, from 0.5 to 0.999, such as 0.9.  [default: that of `score run`, else 0.95]",
)
FULL = click.option(
    "--full", is_flag=True, help="Print every row of the results instead of the ten lines that matter most."
)
CHANNEL = click.option(
    "--channel",
    metavar="NAME",
    help="Which of the model's scores to measure, such as itm or itc.  [default: the model's first]",
)
JSONL = click.option(
    "--jsonl", is_flag=True, help="Also write items.jsonl: a line for each item with its words, candidates and scores."
)
SPLITS = click.option(
    "--splits",
    type=FOLDER,
    help="Folder of `score familiarity`: its partitions seen, mixed and unseen become the splits of a benchmark of others.",
)
BENCHMARK = click.option("--benchmark", help="Name of the benchmark, if DATASET has several.")
