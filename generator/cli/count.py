"""The command `gen count`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from generator.base.commands import Command, result
from generator.cli.options import BENCHMARK, DATASET, JSON, table


@click.command(cls=Command, examples=["count small"])
@DATASET
@BENCHMARK
@JSON
def count(dataset: Path, benchmark: str | None, as_json: bool) -> None:
    """Count the questions of a benchmark of DATASET, and the atoms and compounds that its captions name in training and
    in test.

    --json also has how many captions of each split name each atom.
    """
    from generator.dataset.counts import count_benchmark, vocabulary_of
    from generator.dataset.reader import Dataset

    opened = Dataset.open(dataset)
    counts = count_benchmark(opened.benchmark(benchmark), vocabulary_of(opened.world))
    lines = [
        counts["benchmark"],
        *_table(counts["questions"], ("protocol", "kind", "split"), ("items", "captions", "false_texts", "set_size")),
        "",
        *_table(
            counts["names"],
            ("split",),
            ("captions", "atoms", "atoms_not_in_training", "compounds", "compounds_not_in_training"),
        ),
    ]
    result(counts, as_json, "\n".join(lines))


def _table(rows: Sequence[Mapping[str, Any]], labels: Sequence[str], numbers: Sequence[str]) -> list[str]:
    heads = [*labels, *(name.replace("_", " ") for name in numbers)]
    cells = [
        [*(str(row[name]) for name in labels), *("–" if row[name] is None else f"{row[name]:,}" for name in numbers)]
        for row in rows
    ]
    return table([heads, *cells], len(labels))
