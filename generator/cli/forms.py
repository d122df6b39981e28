"""The command `gen forms`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from generator.base.commands import Bar, Command, DatasetFolder, Number, result, say
from generator.base.errors import UserError
from generator.cli.options import JSON, table

if TYPE_CHECKING:
    from generator.suite.equivalence import Equivalence

_DEFAULT_MARGIN = 0.2


@click.command(cls=Command, examples=["forms jackalope-1 jackalope-1-fresh-7"])
@click.argument("folders", type=DatasetFolder(), nargs=-1, required=True)
@click.option(
    "--margin",
    type=Number(min=0, max=5, min_open=True),
    default=_DEFAULT_MARGIN,
    help="Standard deviations within which two means count as equivalent.",
)
@JSON
def forms(folders: tuple[Path, ...], margin: float, as_json: bool) -> None:
    """Compare FOLDERS, forms of a suite: is one of them harder than the first?

    Each is a folder of `gen suite`, or a dataset. Counts of values, objects and combinations
    are compared by split. Object area, visibility, contrast, distance and shared features are
    tested for equivalence by two one-sided t tests (TOST): a factor is `equivalent` if the 90%
    interval of its difference lies within the margin, `different` if it lies beyond, and else
    `not shown`, as of few scenes (docs/suite.md).
    """
    from generator.dataset.reader import Dataset
    from generator.suite.equivalence import compare_factors
    from generator.suite.factors import scene_factors, split_counts

    if len(folders) < 2:
        raise UserError(f"Expected two folders or more to compare, got {len(folders)}.")
    worlds_of_form = [_worlds(folder) for folder in folders]
    of_first, *of_others = worlds_of_form
    common = [key for key in of_first if all(key in of_other for of_other in of_others)]
    # Counts and factors of different worlds say nothing of forms.
    if not common:
        raise UserError(
            f"{folders[0]} and {folders[1]} have no world in common; give forms of one suite."
        )
    data: dict[str, Any] = {}
    lines: list[str] = []
    for key in common:
        datasets = [Dataset.open(of_form[key]) for of_form in worlds_of_form]
        first_factors, *factors = (scene_factors(dataset.world, Bar()) for dataset in datasets)
        first_counts, *counts = (split_counts(dataset) for dataset in datasets)
        data[key] = {}
        # Each other form with the first.
        for folder, other_factors, other_counts in zip(folders[1:], factors, counts, strict=True):
            comparisons = compare_factors(first_factors, other_factors, margin)
            differences = _count_differences(first_counts, other_counts)
            data[key][str(folder)] = {
                "counts": differences,
                "factors": _factor_data(comparisons),
            }
            lines += [f"{key or folders[0]}: {folder} against {folders[0]}", ""]
            lines += [*_count_lines(differences), "", *_factor_lines(comparisons), ""]
    say(f"Differences, intervals (90%) and the margin of ±{margin:g} are in standard deviations.")
    result(data, as_json, "\n".join(lines).rstrip("\n"))


def _factor_data(comparisons: "Mapping[str, Equivalence]") -> dict[str, dict[str, Any]]:
    """The comparison of each factor with its verdict, ready for JSON."""
    data = {}
    for name, comparison in comparisons.items():
        data[name] = {**asdict(comparison), "verdict": comparison.verdict}
    return data


def _worlds(folder: Path) -> dict[str, Path]:
    """The datasets of a folder: of a suite by TRACK/WORLD, of a dataset itself by ""."""
    from generator.base.paths import folder_in
    from generator.suite.record import is_suite, read_record

    if not is_suite(folder):
        return {"": folder}
    return {key: folder_in(folder, key) for key in read_record(folder)["worlds"]}


def _count_differences(
    first: Mapping[str, Any], second: Mapping[str, Any]
) -> dict[str, dict[str, dict[str, float]]]:
    """For each split and kind of name: the largest difference of counts, and their mean."""
    from generator.suite.factors import largest_difference

    differences: dict[str, dict[str, dict[str, float]]] = {}
    for split, counts in first.items():
        if split not in second:
            continue
        of_split = {}
        for role, names in counts.names.items():
            largest, mean = largest_difference(names, second[split].names[role])
            of_split[role] = {"largest": largest, "mean": mean}
        differences[split] = of_split
    return differences


def _count_lines(differences: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[str]:
    """A row for each split."""
    rows = [["counts", "values", "objects", "combinations"]]
    for split, of_split in differences.items():
        cells = []
        for difference in of_split.values():
            if difference["largest"] == 0:
                cells.append(f"equal ({difference['mean']:,.0f})")
            else:
                cells.append(f"±{difference['largest']:.0f} of {difference['mean']:,.0f}")
        rows.append([split, *cells])
    return table(rows)


def _factor_lines(comparisons: "Mapping[str, Equivalence]") -> list[str]:
    """A row for each factor."""
    rows: list[Sequence[str]] = [["factor", "first", "second", "difference", "interval", "verdict"]]
    rows += _factor_rows(comparisons)
    return table(rows)


def _factor_rows(comparisons: "Mapping[str, Equivalence]") -> Iterator[list[str]]:
    for name, comparison in comparisons.items():
        yield [
            name,
            f"{comparison.first:.3f}",
            f"{comparison.second:.3f}",
            f"{comparison.difference:+.3f}",
            f"[{comparison.low:+.3f}, {comparison.high:+.3f}]",
            comparison.verdict,
        ]
