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
from evaluator.provenance.contamination import describe_training, mark_of, warning_of
from evaluator.report.overview import MetricLine, every_row, main_lines, read_lines, side_by_side
from evaluator.report.paired import compare_two
from evaluator.report.questions import answers_of
from evaluator.report.table import Column, Row, Table, confidence, plain, population
from evaluator.report.terms import terms_of
from evaluator.report.verdict import headline_sentences, judge, other_verdicts
from evaluator.runs.folder import as_written
from evaluator.runs.parts import describe_limit, describe_splits
from generator.base.commands import result

LINES = 10
"""Maximum number of lines per model in the short table."""
_DECIMALS = 2
"""Decimals of a percentage."""


def print_results(
    runs: Sequence[dict[str, Any]], full: bool = False, as_json: bool = False
) -> None:
    """Print the results of runs to stdout.

    The JSON of each run, and of each pooled entry, has its `verdict` (evaluator.report.verdict).

    Args:
        runs: The results of each run, with its `folder`.
        full: Whether to print every row, in place of ten lines for each model.
        as_json: Whether to print JSON, which for several runs has the pooled results too.
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
    # Results without a folder, as those of Python, have no items to compare.
    paired = compare_two(entries, folders) if all(folders) else None
    _print_verdicts(entries, "" if paired is None else paired.sentence)
    rows: list[Row] = []
    for entry in entries:
        _print_heading(entry)
        if full:
            _print_every_row(entry)
            rows += entry["rows"]
    if not full:
        rows = _print_short(entries)
    for entry in entries:
        for line in _caveats(entry):
            print_line(line)
    for line in (*differences(entries), *spread_notes(entries)):
        print_line(line)
    legend = (
        "Mean over questions. Ties count as wrong. Differences are in points. "
        f"The intervals cover {population(rows)} (docs/statistics.md)."
    )
    if full:
        legend += " p: of a share against chance, of a difference against 0."
    print_line(legend, "dim")


def _print_heading(entry: dict[str, Any]) -> None:
    """Print the model, the benchmark, how it was measured, and what the model was trained on."""
    rules = (
        f", {confidence(entry)} intervals, scores tie within {entry['rules']['tie_tolerance']:g}"
    )
    pooled = ""
    if entry["runs"] > 1:
        blocks = "1 block" if entry["blocks"] == 1 else f"{entry['blocks']} blocks"
        pooled = f", {entry['runs']} runs over {blocks}"
    print_line(
        f"{entry['model']} on {entry['benchmark']} (dataset {entry['certificate']}){rules}{pooled}",
        "bold",
    )
    print_line(describe_training(entry), "bold red" if mark_of(entry) else None)


def _print_every_row(entry: dict[str, Any]) -> None:
    """Print a table of all rows for each protocol."""
    for protocol in dict.fromkeys(row["protocol"] for row in entry["rows"]):
        table = every_row(entry, protocol, by_n=False, decimals=_DECIMALS)
        _print_fitting(table, f"{table.title}. {table.mark}" if table.mark else table.title)


def _caveats(entry: dict[str, Any]) -> list[str]:
    """Lines on what of the benchmark was not asked or not measured, and how it was read."""
    lines: list[str] = []
    if entry.get("limit"):
        lines += describe_limit(entry["limit"])
    lines += describe_splits(entry["rules"])
    lines += describe_reading(entry.get("reading") or {})
    for question, reason in entry.get("not_asked", {}).items():
        lines.append(f"Not asked: {question}, since {reason}.")
    for protocol, n in entry["unknown_protocols"].items():
        lines.append(
            f"Not measured: {n:,} items of the protocol '{protocol}', which this version does not "
            f"know."
        )
    return lines


def print_any_table(table: Table, title: str) -> None:
    """Print a table to stdout, as wide as the terminal allows, with its notes.

    Args:
        table: The table.
        title: Its title.
    """
    print_wide(_printed(table, title, below="\n"))
    for note in table.all_notes():
        print_line(note, "dim")


def print_paper_table(table: Table) -> None:
    """Print a table of a paper to stdout, intervals below their values, with its notes.

    Args:
        table: The table.
    """
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
    # A benchmark of other people may have no main metric.
    lines = _choose_lines(main_lines(entries) or read_lines(entries))
    table = side_by_side(entries, lines, _DECIMALS)
    _print_fitting(table, warning_of(entries[0]) if len(entries) == 1 else table.mark)
    for entry in entries:
        _print_answers(entry, len(entries) > 1)
    terms = terms_of(line.first for line in lines)
    if terms:
        print_line(f"{'. '.join(terms)}.", "dim")
    n_printed = sum(bool(cell.numbers) for line in table.lines for cell in line.cells)
    n_hidden = sum(len(entry["rows"]) for entry in entries) - n_printed
    if n_hidden:
        print_line(
            f"{n_hidden:,} more rows: --full prints them, tables/summary.csv of each run has them "
            f"all.",
            "dim",
        )
    rows: list[Row] = []
    for line in lines:
        rows += line.rows.values()
    return rows


def _print_answers(entry: dict[str, Any], several: bool) -> None:
    """Print the question and the answer of each kind of rows that the table leaves out."""
    answers = []
    for question, sentence, _ in answers_of(entry):
        if sentence:
            answers.append((question, sentence))
    if several and answers:
        print_line(entry["model"], "bold")
    for question, sentence in answers:
        print_line(f"{question.title} {sentence}")


_GROUP_LABELS = ("protocol", "metric", "error", "kind", "skill", "level")
"""Entries of a row that name its metric and its group of items; the protocol is first."""


def _choose_lines(lines: Sequence[MetricLine]) -> list[MetricLine]:
    """The lines of at most ten pairs of metric and item group.

    The first pair of each protocol is chosen, then the second of each, and so on, so that no
    protocol is missing because another has many kinds.
    """
    lines_of: dict[tuple[str, ...], list[MetricLine]] = {}
    for line in lines:
        group = tuple(line.first[name] for name in _GROUP_LABELS)
        lines_of.setdefault(group, []).append(line)
    groups_of_protocol: dict[str, list[tuple[str, ...]]] = {}
    for group in lines_of:
        groups_of_protocol.setdefault(group[0], []).append(group)

    in_turn: list[tuple[str, ...]] = []
    for groups in zip_longest(*groups_of_protocol.values()):
        in_turn += [group for group in groups if group is not None]
    chosen = set(in_turn[:LINES])
    chosen_lines: list[MetricLine] = []
    for group, group_lines in lines_of.items():
        if group in chosen:
            chosen_lines += group_lines
    return chosen_lines


def _print_fitting(table: Table, title: str) -> None:
    """Print a table; on a narrow terminal, with two lines per row and without all-zero columns
    (`_narrow`)."""
    wide = _printed(table, title)
    print_wide(wide if fits(wide) else _printed(_narrow(table), title, below="\n"))


def _narrow(table: Table) -> Table:
    """The table with all labels in one column, and without the columns ties and unscored if they
    are all 0."""
    letters = table.letters()
    columns = []
    for i, column in enumerate(table.columns):
        is_optional = column.head in ("ties", "unscored")
        texts = {plain(line.cells[i], letters) for line in table.lines}
        if not is_optional or texts - {"0"}:
            columns.append(i)
    lines = []
    for line in table.lines:
        # The protocol and the metric above, what tells groups of items apart below.
        upper = " ".join(line.labels[:2])
        lower = " ".join(label for label in line.labels[2:] if label)
        label = f"{upper}\n{lower}".strip()
        cells = [line.cells[i] for i in columns]
        lines.append(replace(line, labels=[label], cells=cells))
    heads = [table.columns[i] for i in columns]
    return replace(table, labels=[""], columns=heads, lines=lines)


def _printed(table: Table, title: str = "", below: str = " ") -> Printed:
    """A table for the terminal. below: separator between a value and its interval."""
    letters = table.letters()
    grouped = any(column.group for column in table.columns)
    # Heads of groups take a line above those of columns, so all other heads begin with a newline.
    heads = []
    for before, column in zip([Column(""), *table.columns], table.columns, strict=False):
        # The head of a group stands above its first column alone.
        group = column.group if column.group != before.group else ""
        heads.append(f"{group}\n" * grouped + column.head)
    labels = ["\n" * grouped + label for label in table.labels]
    printed = new_table(labels, heads, title)
    for line, following in zip(table.lines, [*table.lines[1:], None], strict=True):
        cells = []
        for cell in line.cells:
            parts = (plain(cell, letters), cell.interval)
            cells.append(below.join(part for part in parts if part))
        # A rule above the following line is drawn below this one.
        ends_section = following is not None and following.rule
        printed.add_row(*line.labels, *cells, end_section=ends_section)
    return printed
