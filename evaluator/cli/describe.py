"""`score ask --form describe`: asks for descriptions, and prints how they were judged."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from evaluator.cli.console import new_table, print_line, print_table
from evaluator.descriptions.measures import GAPS
from evaluator.metrics.formats import number
from evaluator.provenance.contamination import describe_training, mark_of
from evaluator.report.descriptions.measures import (
    MAIN_MEASURES,
    describe_answers,
    describe_reader,
    intervals_note,
)
from evaluator.report.table import p_value, population
from evaluator.runs.answered_attributes import is_attributes, read_attributes
from evaluator.runs.describe import describe_images, measure_descriptions
from evaluator.runs.described import ROWS_FILE, is_described, read_described
from evaluator.runs.described_pairs import SIGNIFICANT, compare_described
from evaluator.runs.request import AskRequest
from generator.base.commands import Bar, result, say
from generator.base.errors import UserError
from generator.base.tables import write_csv


def ask_for_descriptions(
    request: AskRequest,
    out: Path,
    *,
    answers: Sequence[Path],
    full: bool,
    as_json: bool,
) -> None:
    """Ask for descriptions and print the results.

    Args:
        request: What to ask, and how.
        out: The folder of the run.
        answers: Result files of a batch to read instead of asking.
        full: Whether to print every measure.
        as_json: Whether to print JSON.

    Raises:
        UserError: The request cannot be met.
    """
    results = describe_images(request, out, Bar(), answers)
    say(f"Descriptions and results are in {out}. Next: score report {out}")
    if as_json:
        result(results, True, "")
    else:
        print_descriptions(results, full)


def print_descriptions(results: Mapping[str, Any], full: bool = False) -> None:
    """Print the results of descriptions.

    Args:
        results: The contents of descriptions.json.
        full: Whether to print every measure in place of the main ones.
    """
    print_line(results["sentence"], "bold")
    print_line("")
    print_line(
        f"{results['model']} on {results['benchmark_name']} (dataset {results['certificate']}), "
        f"{100 * results['level']:g}% intervals",
        "bold",
    )
    print_line(describe_training(dict(results)), "bold red" if mark_of(results) else None)

    n_hidden = print_measures(results["rows"], full)
    for line in describe_answers(results["answers"]):
        print_line(line)
    reader = describe_reader(results)
    if reader:
        print_line(reader)
    print_notes(results["rows"], n_hidden, ROWS_FILE, full)


def print_measures(rows: Sequence[Mapping[str, Any]], full: bool) -> int:
    """Print the rows by split as a table.

    Args:
        rows: The rows of results.
        full: Whether to print every measure in place of the main ones.

    Returns:
        How many rows with a value are not printed.
    """
    table = new_table(
        ["split", "measure"], ["value", "interval", "blind", "unbound", "images"], folds=True
    )
    n_hidden = 0
    last_split = None
    for row in rows:
        # The other groupings are for figures: as a table they would be hundreds of rows.
        is_by_split = row["objects"] is row["interference"] is row["load"] is None
        is_main = is_by_split and row["measure"] in MAIN_MEASURES
        if not (is_main or (full and is_by_split)):
            n_hidden += 1
            continue
        # A measure can be undefined in all images of a split, such as recall of held-out bindings
        # in `seen`. Such a row has no value to print.
        if not row["images"]:
            continue
        # Said once, so that a split reads as a block.
        split = row["split"] if row["split"] != last_split else ""
        if split and last_split is not None:
            table.add_section()
        last_split = row["split"]
        table.add_row(split, row["measure"], *_cells(row))
    print_table(table)
    return n_hidden


def print_notes(rows: Sequence[Mapping[str, Any]], n_hidden: int, file: str, full: bool) -> None:
    """Print what the numbers are, and where the others are.

    Args:
        rows: The rows of results.
        n_hidden: Rows that were not printed.
        file: The file that has all rows.
        full: Whether every measure was printed.
    """
    by_split = [row for row in rows if row["objects"] is row["interference"] is row["load"] is None]
    print_line(
        f"Mean over images, in percent; the difference is in points. {intervals_note(by_split)} "
        "blind: describes another image of the split. unbound: deals the image's own values at "
        "random (docs/descriptions.md).",
        "dim",
    )
    if n_hidden:
        more = "" if full else "--full prints every measure; "
        print_line(f"{n_hidden:,} more rows: {more}{file} has them all.", "dim")


def _cells(row: Mapping[str, Any]) -> list[str]:
    """The numbers of a row: value, interval, the two floors, and images."""
    unit = _unit_of(row["measure"])
    interval = ""
    if row["low"] is not None:
        interval = f"{number(row['low'], unit)} to {number(row['high'], unit)}"
    floors = [number(row[floor], unit) for floor in ("blind", "unbound")]
    return [number(row["value"], unit), interval, *floors, f"{row['images']:,}"]


def _unit_of(measure: str) -> str:
    return "difference" if measure in GAPS else "share"


def report_descriptions(
    runs: Sequence[str],
    out: Path | None,
    *,
    drawn: Path | None,
    moved: Sequence[Path],
    inline: bool,
    full: bool,
    as_json: bool,
) -> None:
    """Write the page of runs of descriptions, and print their results.

    Args:
        runs: Each as [NAME=]FOLDER; runs of attributes may stand beside at least one of
            descriptions.
        out: The file of the page; None for report.html beside the first run.
        drawn: A folder to write the figures to; None to write none.
        moved: Folders of datasets that were moved since.
        inline: Whether to embed images of up to 512 pixels.
        full: Whether to print every measure.
        as_json: Whether to print JSON.

    Raises:
        UserError: One is not a run of descriptions, is damaged, or its dataset is missing.
    """
    from evaluator.report.descriptions.page import write_description_page
    from evaluator.report.figure import write_figures

    attributes = [run for run in runs if is_attributes(run)]
    described_runs = [run for run in runs if run not in attributes]
    check_all_described(described_runs)
    described = [read_described(run) for run in described_runs]
    path = out or described[0].folder.resolve().parent / "report.html"
    figures = write_description_page(
        described,
        path,
        attributes=[read_attributes(run) for run in attributes],
        moved=moved,
        inline=inline,
    )
    if drawn:
        say(f"{len(write_figures(figures, drawn))} files of figures are in {drawn}.")
    if not as_json:
        for run in described:
            print_descriptions({**run.record, "model": run.name}, full)
    results = [{**run.record, "model": run.name} for run in described]
    result({"report": str(path), "results": results}, as_json, str(path))


def measure_again(runs: Sequence[Path], *, level: float | None, full: bool, as_json: bool) -> None:
    """Read and judge the stored answers of runs again, and print the results.

    Args:
        runs: Their folders.
        level: Level of the intervals; None for that of each run.
        full: Whether to print every measure.
        as_json: Whether to print JSON.

    Raises:
        UserError: One is not a run of descriptions, is damaged, or its dataset is missing.
    """
    check_all_described([str(run) for run in runs])
    results = [measure_descriptions(run, level=level) for run in runs]
    if as_json:
        result({"results": results}, True, "")
        return
    for record in results:
        print_descriptions(record, full)


def compare_descriptions(
    runs: Sequence[str], *, metric: str | None, full: bool, out: Path | None, as_json: bool
) -> None:
    """Compare models on the images that all of them described, and print the differences.

    Args:
        runs: Each as [NAME=]FOLDER.
        metric: The measure to compare; None for the main ones.
        full: Whether to print every measure.
        out: A CSV file to write all rows to; None to write none.
        as_json: Whether to print JSON.

    Raises:
        UserError: The runs cannot be compared.
    """
    check_all_described(runs)
    rows = compare_described([read_described(run) for run in runs], metric)
    if out:
        write_csv(out, pa.Table.from_pylist(rows))
        say(f"The rows are in {out}.")
    if as_json:
        result({"rows": rows}, True, "")
        return
    table = new_table(
        ["split", "measure", "models"],
        ["first %", "second %", "difference", "95% interval", "p", "q", "images"],
        folds=True,
    )
    n_hidden = 0
    for row in rows:
        # A measure that the user names is shown, whether it is a main one or not.
        if not full and metric is None and row["measure"] not in MAIN_MEASURES:
            n_hidden += 1
            continue
        table.add_row(
            row["split"], row["measure"], f"{row['first']} − {row['second']}", *_paired_cells(row)
        )
    print_table(table)
    print_line(
        "Mean over the images that both models described, in percent; differences in points, first "
        f"− second. The intervals cover {population(rows)} (docs/statistics.md). q: p after "
        "Benjamini and Hochberg over pairs of models, * q ≤ 0.05.",
        "dim",
    )
    if n_hidden:
        print_line(f"{n_hidden:,} more rows: --full prints every measure.", "dim")


def _paired_cells(row: Mapping[str, Any]) -> list[str]:
    """The numbers of a row of a comparison."""
    unit = _unit_of(row["measure"])
    star = "*" if row["q"] <= SIGNIFICANT else ""
    return [
        number(row["first_mean"], unit),
        number(row["second_mean"], unit),
        number(row["difference"], "difference") + star,
        interval_in_points(row),
        p_value(row["p"]),
        p_value(row["q"]),
        f"{row['images']:,}",
    ]


def interval_in_points(row: Mapping[str, Any]) -> str:
    """Write the interval of a difference.

    Args:
        row: A row with `low` and `high`, as shares.

    Returns:
        The ends in points; "none" if there is no interval.

    Example:
        >>> interval_in_points({"low": -0.02, "high": 0.1})
        '-2.0, +10.0'
    """
    if row["low"] is None:
        return "none"
    return f"{number(row['low'], 'difference')}, {number(row['high'], 'difference')}"


def check_all_described(runs: Sequence[str]) -> None:
    """Raise UserError if some runs are of descriptions and others are not.

    Args:
        runs: Each as [NAME=]FOLDER. At least one is of descriptions.
    """
    others = [run for run in runs if not is_described(run)]
    if others:
        # The message names one run of each sort, since a mixed list is most often a wrong folder
        # among right ones.
        first = next(run for run in runs if is_described(run))
        raise UserError(
            f"{first} has descriptions and {others[0]} does not; give runs of descriptions alone."
        )
