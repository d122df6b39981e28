"""The command `gen verify`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from generator.base.commands import Bar, Command, DatasetFolder, result, say
from generator.base.errors import UserError
from generator.cli.options import FILE, JSON, SEED, options_given, table

if TYPE_CHECKING:
    from generator.inspection.examination import Examination

_OF_LABELS = {"columns", "task", "train", "familiar"}
"""Parameters that have an effect on `--splits` only."""


@click.command(cls=Command, examples=["verify small", "verify small --images 200"])
@click.argument("dataset", type=DatasetFolder(), required=False)
@click.option("--benchmark", help="Benchmark to verify.  [default: all]")
@click.option(
    "--splits",
    "labels",
    type=FILE,
    help="CSV or JSON file with splits made elsewhere; check its labels instead of a DATASET.",
)
@click.option(
    "--columns",
    multiple=True,
    help="Columns of the file by role, such as split=fold,label=caption or "
    "first=animal,first.color=paint,second=...  [default: columns named like their role]",
)
@click.option(
    "--task", help="Task to check in a JSON file with the labels of several tasks.  [default: all]"
)
@click.option(
    "--train", multiple=True, help="Training split. Repeat for several.  [default: train]"
)
@click.option(
    "--familiar",
    multiple=True,
    help="Split that may show the same arrangements as training. Repeat for several.",
)
@click.option(
    "--images",
    metavar="N|all",
    help=(
        "Compare N images, drawn from every split, or all images with their records.  [default: "
        "none]"
    ),
)
@click.option(
    "--render/--no-render",
    "again",
    default=None,
    help=(
        "With --images, whether to render them again and compare.  [default: if Blender is "
        "installed]"
    ),
)
@click.option(
    "--reproduce/--no-reproduce",
    default=True,
    help="Make all files except images again and compare their bytes.",
)
@click.option(
    "--seed", type=SEED, help="Seed that draws the images of --images N.  [default: at random]"
)
@JSON
@click.pass_context
def verify(
    context: click.Context, dataset: Path | None, labels: Path | None, as_json: bool, **options: Any
) -> None:
    """Check DATASET: no leaks, every caption true, every foil false, equal familiarity, complete
    files.

    With --splits, check splits made elsewhere. It finds arrangements or images that two splits
    share (in the same words, in another order, or by converse), values that an object's position
    reveals, true negatives and unequal familiarity.

    Plans, recorded relations, texts, items and cards are also made again, and every byte is
    compared. This is skipped for a dataset that another version of the code, or other code, made.
    The certificate says whether this was done.

    With --images, also check that images show what their records say: the color, outline and box of
    every object. With Blender, render them again and compare. The certificate names the level that
    was reached: records, sampled images or all images.

    The exit code is 1 if anything is wrong. Every finding names its rows.

    """
    from generator.inspection.reproduction import Reproduction
    from generator.judge.foreign.rows import SplitRoles
    from generator.judge.foreign.verify import verify_splits
    from generator.judge.verify import verify_dataset

    names = options_given(context).keys() - {"dataset", "labels", "as_json"}
    images = options["images"]
    if not images and names & {"again", "seed"}:
        raise UserError(
            "--render, --no-render and --seed are for --images; add --images 100 or --images all."
        )
    if labels and not dataset and names <= _OF_LABELS:
        roles = SplitRoles(options["train"] or None, options["familiar"])
        reports = verify_splits(labels, options["columns"], options["task"], roles)
    elif dataset and not labels and not names & _OF_LABELS:
        examination = _examination(images, options["again"], options["seed"]) if images else None
        reproduction = Reproduction(Bar()) if options["reproduce"] else None
        reports = verify_dataset(dataset, options["benchmark"], Bar(), examination, reproduction)
    else:
        raise UserError(
            "Expected either a DATASET (--benchmark and --images are optional) or --splits FILE "
            "(--columns, --task, --train and --familiar are optional); give one of the two."
        )
    for line in describe_reports(reports):
        say(line)
    lines = [f"{name}: {report['status']}" for name, report in reports.items()]
    result(reports, as_json, "\n".join(lines))
    failed = any(report["status"] == "failed" for report in reports.values())
    raise SystemExit(1 if failed else 0)


def _examination(spec: str, again: bool | None, seed: int | None) -> "Examination":
    from generator.inspection.examination import Examination, blender_here, parse_images

    render = blender_here() is not None if again is None else again
    number = parse_images(spec)
    if seed is None:
        return Examination(number, render, progress=Bar())
    return Examination(number, render, seed, progress=Bar())


def describe_reports(reports: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines to print for each benchmark or task: findings, notes, tables of familiarity
    and the verdict."""
    for name, report in reports.items():
        for finding in report["findings"]:
            yield f"{name}: {finding['fault']}: {finding['what']}"
        for note in report.get("notes", ()):
            yield f"{name}: note: {note}"
        for kind, rows in report.get("familiarity", {}).items():
            yield from _familiarity_table(name, kind, rows)
        yield f"{name}: {report['sentence']}"


def _familiarity_table(name: str, kind: str, rows: list[dict[str, Any]]) -> Iterator[str]:
    yield (
        f"{name}: rows by how many of their {kind} bindings training never shows "
        "(in brackets: rows where swapping the values changes that number)"
    )
    levels = ("seen", "partial", "unseen")
    cells = [
        [row["split"], *(f"{row[level]:,} ({row[f'{level}_unequal']:,})" for level in levels)]
        for row in rows
    ]
    yield from table([["", "none", "some", "all"], *cells])
