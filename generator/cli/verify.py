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

_SPLITS_OPTIONS = {"columns", "train", "familiar"}
"""The options that are only for --splits."""


@click.command(cls=Command, examples=["verify small", "verify small --images 200"])
@click.argument("dataset", type=DatasetFolder(), required=False)
@click.option("--benchmark", help="Benchmark to verify.  [default: all]")
@click.option(
    "--splits",
    "label_file",
    type=FILE,
    help="CSV file with splits made elsewhere; check its labels instead of a DATASET.",
)
@click.option(
    "--columns",
    multiple=True,
    help="Columns of the file by role, such as split=fold,first=animal,first.color=paint  "
    "[default: columns named like their role]",
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
    help="Render N images, drawn from every split, or all images again and compare them. Needs "
    "Blender.  [default: none]",
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
    context: click.Context,
    dataset: Path | None,
    label_file: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Check DATASET: no leaks, every caption true, every foil false, equal familiarity, complete
    files.

    With --splits, check splits made elsewhere. It finds arrangements or images that two splits
    share (in the same words, in another order, or by converse), values that an object's position
    reveals, true negatives and unequal familiarity.

    Plans, recorded relations, texts, items and cards are also made again, and every byte is
    compared. This is skipped for a dataset that another version of the code, or other code, made.
    The certificate says whether this was done.

    With --images, images are rendered again with Blender and compared. The certificate names the
    level that was reached: records, sampled images or all images.

    Of the folder of a suite, every world is checked, and the digests are compared with suite.json
    and with the published ones.

    The exit code is 1 if anything is wrong. Every finding names its rows.

    """
    # An option that has no effect on what is checked is refused: it would look as if it had one.
    names = options_given(context).keys() - {"dataset", "label_file", "as_json"}
    if not options["images"] and "seed" in names:
        raise UserError("--seed is for --images; add --images 100 or --images all.")
    if label_file and not dataset and names <= _SPLITS_OPTIONS:
        reports = _verify_labels(label_file, options)
    elif dataset and not label_file and not names & _SPLITS_OPTIONS:
        reports = _verify_dataset(dataset, options)
    else:
        raise UserError(
            "Expected either a DATASET (--benchmark and --images are optional) or --splits FILE "
            "(--columns, --train and --familiar are optional); give one of the two."
        )
    for line in describe_reports(reports):
        say(line)
    lines = [f"{name}: {report['status']}" for name, report in reports.items()]
    result(reports, as_json, "\n".join(lines))
    has_failed = any(report["status"] == "failed" for report in reports.values())
    raise SystemExit(1 if has_failed else 0)


def _verify_labels(label_file: Path, options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The result for a file of labels, by its name."""
    from generator.judge.foreign.table import SplitRoles
    from generator.judge.foreign.verify import verify_splits

    roles = SplitRoles(options["train"] or None, options["familiar"])
    return {label_file.stem: verify_splits(label_file, options["columns"], roles)}


def _verify_dataset(dataset: Path, options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The certificates by benchmark; of a suite, by world and benchmark, and the digests."""
    from generator.inspection.reproduction import Reproduction
    from generator.judge.verify import verify_dataset
    from generator.suite.record import is_suite

    def verify_one(root: Path, benchmark: str | None = None) -> dict[str, dict[str, Any]]:
        # Each dataset has an examination of its own, which keeps what it rendered.
        examination = None
        if options["images"]:
            examination = _examination(options["images"], options["seed"])
        reproduction = Reproduction(Bar()) if options["reproduce"] else None
        return verify_dataset(root, benchmark, Bar(), examination, reproduction)

    if not is_suite(dataset):
        return verify_one(dataset, options["benchmark"])
    if options["benchmark"] is not None:
        raise UserError(
            f"{dataset} is a suite, so --benchmark has no effect; verify one of its worlds, such "
            f"as {dataset}/TRACK/WORLD."
        )
    from generator.suite.verifying import verify_suite

    return verify_suite(dataset, verify_one)


def _examination(images: str, seed: int | None) -> "Examination":
    """The check of images. Raises UserError if Blender is not installed: better now than after the
    minutes that the judge takes."""
    from generator.base.extras import check_installed
    from generator.inspection.examination import Examination, parse_images

    number = parse_images(images)
    check_installed("bpy")
    if seed is None:
        return Examination(number, progress=Bar())
    return Examination(number, seed, progress=Bar())


def describe_reports(reports: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Describe what the judge found.

    Args:
        reports: The report of each benchmark or file of labels, by its name.

    Yields:
        Lines for each: findings, notes, tables of familiarity, and the verdict.
    """
    for name, report in reports.items():
        for finding in report["findings"]:
            yield f"{name}: {finding['fault']}: {finding['what']}"
        for note in report.get("notes", ()):
            yield f"{name}: note: {note}"
        for kind, rows in report.get("familiarity", {}).items():
            yield from _familiarity_table(name, kind, rows)
        yield f"{name}: {report['sentence']}"


def _familiarity_table(name: str, kind: str, rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a heading and a table with a row for each split."""
    yield (
        f"{name}: rows by how many of their {kind} bindings training never shows "
        "(in brackets: rows where swapping the values changes that number)"
    )
    lines = [["", "none", "some", "all"]]
    for row in rows:
        counts = [
            f"{row[level]:,} ({row[f'{level}_unequal']:,})"
            for level in ("seen", "partial", "unseen")
        ]
        lines.append([row["split"], *counts])
    yield from table(lines)
