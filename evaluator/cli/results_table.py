"""Prints tables of results and tables of papers to stdout."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from rich.table import Table as Printed

from evaluator.analysis.pooling import differences, pool_runs, spread_notes
from evaluator.benchmarks.reading import describe_reading
from evaluator.cli.console import fits, new_table, print_line
from evaluator.cli.console import print_table as print_wide
from evaluator.provenance.contamination import mark_of, training_said, warning_of
from evaluator.report.overview import MetricLine, every_row, main_lines, read_lines, side_by_side
from evaluator.report.paired import compare_two
from evaluator.report.questions import answers_of
from evaluator.report.table import Column, Row, Table, confidence, plain, population
from evaluator.report.terms import terms_of
from evaluator.report.verdict import headline_sentences, judge, other_verdicts
from evaluator.runs.folder import as_written
from evaluator.runs.parts import limit_said, splits_said
from generator.base.commands import result

LINES = 10
"""Maximum number of lines per model in the short table."""
_DECIMALS = 2


def print_results(
    runs: Sequence[dict[str, Any]], full: bool = False, as_json: bool = False
) -> None:
    """Print the results of runs to stdout: as tables, or as JSON, which for several runs has the
    pooled results too.

    The JSON of each run, and of each pooled entry, has its `verdict` (evaluator.report.verdict).
    """
    if not as_json:
        _print_for_people(runs, full)
    elif len(runs) == 1:
        result(_with_verdict(runs[0]), True, "")
    else:
        pooled = [_with_verdict(entry) for entry in pool_runs(runs)]
        result({"results": [_with_verdict(run) for run in runs], "pooled": pooled}, True, "")


def _with_verdict(entry: dict[str, Any]) -> dict[str, Any]:
    """The contents of results.json with the verdict. The folder, which only analyses need, is left
    out: equal runs print equal results."""
    return {**as_written(entry), "verdict": judge(entry).record()}


def _print_for_people(runs: Sequence[dict[str, Any]], full: bool) -> None:
    """Print pooled runs (evaluator.analysis.pooling): ten lines per model, or with `full` every row
    except rows by number of atoms, which only the report and tables/summary.csv have.

    A line is a metric of a model on a group of items, with a column for each split.
    """
    entries = pool_runs(runs)
    folders = [str(run.get("folder", "")) for run in runs]
    paired = compare_two(entries, folders) if all(folders) else None
    _print_verdicts(entries, "" if paired is None else paired.sentence)
    for entry in entries:
        rules = (
            f", {confidence(entry)} intervals, scores tie within "
            f"{entry['rules']['tie_tolerance']:g}"
        )
        blocks = f"{entry['blocks']} block{'s' * (entry['blocks'] > 1)}"
        runs_said = f", {entry['runs']} runs over {blocks}" if entry["runs"] > 1 else ""
        print_line(
            f"{entry['model']} on {entry['benchmark']} (dataset "
            f"{entry['certificate']}){rules}{runs_said}",
            "bold",
        )
        print_line(training_said(entry), "bold red" if mark_of(entry) else None)
        for protocol in dict.fromkeys(row["protocol"] for row in entry["rows"]) if full else ():
            table = every_row(entry, protocol, by_n=False, decimals=_DECIMALS)
            title = f"{table.title}. {table.mark}" if table.mark else table.title
            _print_fitting(table, title)
    every = [row for entry in entries for row in entry["rows"]]
    rows = every if full else _print_short(entries)
    for entry in entries:
        limits = limit_said(entry["limit"]) if entry.get("limit") else []
        for line in (
            *limits,
            *splits_said(entry["rules"]),
            *describe_reading(entry.get("reading") or {}),
        ):
            print_line(line)
        for what, why in entry.get("not_asked", {}).items():
            print_line(f"Not asked: {what}, since {why}.")
        for protocol, n in entry["unknown_protocols"].items():
            print_line(
                f"Not measured: {n:,} items of the protocol '{protocol}', which this version does "
                f"not know."
            )
    for line in (*differences(entries), *spread_notes(entries)):
        print_line(line)
    print_line(
        "Mean over questions. Ties count as wrong. Differences are in points. "
        f"The intervals cover {population(rows)} (docs/statistics.md)."
        + full
        * " p: of a share against chance, of a difference against 0.",
        "dim",
    )


def print_paper_table(table: Table) -> None:
    """Print a table of a paper to stdout, intervals below their values, with its notes."""
    print_line(f"{table.name}. {table.title}", "bold")
    if table.mark:
        print_line(table.mark, "bold red")
    print_wide(_printed(table, below="\n"))
    for note in table.all_notes():
        print_line(note, "dim")
    print_line("")


def _print_verdicts(entries: Sequence[dict[str, Any]], paired: str) -> None:
    """Print the verdict on each model, the best one first, and what was held out.

    paired: a sentence that compares two models, "" for none.
    """
    print_line(" ".join(headline_sentences(entries, paired)), "bold")
    for sentence in other_verdicts(entries):
        print_line(sentence)
    for held_out in dict.fromkeys(entry["held_out"] for entry in entries):
        if held_out:
            print_line(f"Held out of training: {held_out}.")
    print_line("")


def _print_short(entries: Sequence[dict[str, Any]]) -> list[Row]:
    """Print the main metrics by split, and one sentence for each question that other rows answer.

    Returns: The rows of the table.
    """
    lines = _chosen(main_lines(entries) or read_lines(entries))
    table = side_by_side(entries, lines, _DECIMALS)
    _print_fitting(table, warning_of(entries[0]) if len(entries) == 1 else table.mark)
    for entry in entries:
        _print_answers(entry, len(entries) > 1)
    if terms := terms_of(line.first for line in lines):
        print_line(f"{'. '.join(terms)}.", "dim")
    n_shown = sum(bool(cell.numbers) for line in table.lines for cell in line.cells)
    if more := sum(len(entry["rows"]) for entry in entries) - n_shown:
        print_line(
            f"{more:,} more rows: --full prints them, tables/summary.csv of each run has them all.",
            "dim",
        )
    return [row for line in lines for row in line.rows.values()]


def _print_answers(entry: dict[str, Any], several: bool) -> None:
    """Print the question and the answer of each kind of rows that the table leaves out."""
    answers = [(question, sentence) for question, sentence, _ in answers_of(entry) if sentence]
    if several and answers:
        print_line(entry["model"], "bold")
    for question, sentence in answers:
        print_line(f"{question.title} {sentence}")


def _chosen(lines: Sequence[MetricLine]) -> list[MetricLine]:
    """The lines of at most ten pairs of metric and item group: the first of each protocol, then the
    second, …"""
    groups: dict[tuple[str, ...], list[MetricLine]] = {}
    for line in lines:
        groups.setdefault(
            tuple(
                line.first[name]
                for name in ("protocol", "metric", "error", "kind", "skill", "level")
            ),
            [],
        ).append(line)
    of_protocol: dict[str, list[tuple[str, ...]]] = {}
    for group in groups:
        of_protocol.setdefault(group[0], []).append(group)
    in_turn = [
        group for turn in zip_longest(*of_protocol.values()) for group in turn if group is not None
    ]
    return [line for group in groups if group in in_turn[:LINES] for line in groups[group]]


def _print_fitting(table: Table, title: str) -> None:
    """Print a table; on a narrow terminal, with two lines per row and without all-zero columns
    (`_narrow`)."""
    wide = _printed(table, title)
    print_wide(wide if fits(wide) else _printed(_narrow(table), title, below="\n"))


def _narrow(table: Table) -> Table:
    """The table with all labels in one column, and without the columns ties and unscored if they
    are all 0."""
    letters = table.letters()
    shown_columns = [
        i
        for i, column in enumerate(table.columns)
        if column.head not in ("ties", "unscored")
        or any(plain(line.cells[i], letters) != "0" for line in table.lines)
    ]
    lines = [
        replace(
            line,
            labels=[
                f"{' '.join(line.labels[:2])}\n{' '.join(filter(None, line.labels[2:]))}".strip()
            ],
            cells=[line.cells[i] for i in shown_columns],
        )
        for line in table.lines
    ]
    return replace(
        table, labels=[""], columns=[table.columns[i] for i in shown_columns], lines=lines
    )


def _printed(table: Table, title: str = "", below: str = " ") -> Printed:
    """A table for the terminal. below: separator between a value and its interval."""
    letters, grouped = table.letters(), any(column.group for column in table.columns)
    heads = []
    for before, column in zip([Column(""), *table.columns], table.columns, strict=False):
        group = column.group if column.group != before.group else ""
        heads.append(f"{group}\n" * grouped + column.head)
    printed = new_table(["\n" * grouped + label for label in table.labels], heads, title)
    for line, following in zip(table.lines, [*table.lines[1:], None], strict=True):
        cells = [
            below.join(part for part in (plain(cell, letters), cell.interval) if part)
            for cell in line.cells
        ]
        printed.add_row(*line.labels, *cells, end_section=following is not None and following.rule)
    return printed
