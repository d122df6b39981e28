"""`Paper`: the tables and figures of a paper, by their numbers; makes them from results and writes
their files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evaluator.papers.inputs import (
    AFTER,
    BEFORE,
    LabelledRuns,
    PaperInputs,
    RowFilter,
    count_row,
    has,
)
from evaluator.papers.selection import SIZES, Selection, by_label, result, select
from evaluator.protocols.items import reported_splits
from evaluator.protocols.records import Results
from evaluator.provenance.contamination import marked
from evaluator.report.figure import Figure
from evaluator.report.table import Cell, Table, chance_cell, result_cell
from evaluator.report.writers import latex, markdown, write_csv_rows
from evaluator.runs.folder import folder_name
from generator.base.errors import UserError
from generator.base.files import write_bytes, write_text
from generator.base.limits import check_file
from generator.base.registry import Registry


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper."""

    number: str
    """Its number in the paper, which names its files."""
    title: str
    """What it shows."""
    make: Callable[[PaperInputs], Table]
    """Makes it from the inputs, without number and title."""
    if_empty: str = "no run answers it"
    """Why it is empty, if no label gives a reason."""


@dataclass(frozen=True)
class PaperFigure:
    """A figure of a paper."""

    number: str
    """Its number in the paper, which names its files."""
    draw: Callable[[PaperInputs], list[Figure] | dict[str, bytes]]
    """Returns figures, or {file name: contents}."""
    if_empty: str
    """Why it is missing, if `draw` returns nothing."""


@dataclass(frozen=True)
class Paper:
    """The tables and figures of a paper."""

    tables: Sequence[PaperTable]
    """The tables."""
    figures: Sequence[PaperFigure] = ()
    """The figures."""
    notes: Sequence[str] = ()
    """Sentences on parts of the paper that have no table or figure of their own here. They are said
    together with what was not made."""


_REGISTRY: Registry[Paper] = Registry(
    "paper",
    {
        "bindsplit2026": "evaluator.papers.bindsplit2026.tables:PAPER",
        "hard-positives2024": "evaluator.papers.hard_positives2024.tables:PAPER",
        "crepe2023": "evaluator.papers.crepe2023.tables:PAPER",
        "compass2026": "evaluator.papers.compass2026.tables:PAPER",
        "pearson2025": "evaluator.papers.pearson2025.tables:PAPER",
    },
)
"""The papers. To add one, write a folder with a `PAPER` in tables.py, and enter it here."""
paper_names, find_paper = _REGISTRY.names, _REGISTRY.find


@dataclass(frozen=True)
class PaperOutputs:
    """The tables and figures of a paper that could be made."""

    tables: dict[str, Table]
    """The tables by file name without suffix."""
    figures: dict[str, bytes]
    """The figures by file name."""
    not_made: Sequence[str]
    """A sentence for each table or figure that was not made, and for each input that no table
    shows."""


def make_paper(paper: Paper, inputs: PaperInputs) -> PaperOutputs:
    """Make the tables and figures of a paper.

    Args:
        paper: The paper.
        inputs: Results of runs and of other commands.

    Returns:
        The tables in which a cell has a number, and the figures.
    """
    # Tables and figures note here which inputs they take. Each paper starts without any: what
    # another paper has taken from the same inputs may be missing from this one.
    inputs = replace(inputs, used_inputs=set())
    not_made: list[str] = []
    tables = _make_tables(paper, inputs, not_made)
    figures = _draw_figures(paper, inputs, not_made)
    # A path that the user gave in vain may be a mistake, such as the wrong PAPER.
    not_made += _unused_inputs(inputs)
    return PaperOutputs(tables, figures, [*not_made, *paper.notes])


def _make_tables(paper: Paper, inputs: PaperInputs, not_made: list[str]) -> dict[str, Table]:
    """The tables in which a cell has a number, by file name; adds a sentence on each other table to
    `not_made`."""
    tables: dict[str, Table] = {}
    for paper_table in paper.tables:
        unnamed = paper_table.make(inputs)
        table = replace(unnamed, name=f"Table {paper_table.number}", title=paper_table.title)
        if any(cell.numbers for line in table.lines for cell in line.cells):
            tables[f"table{paper_table.number}"] = table
        else:
            # Cells without a number give their reason as a letter that a note explains.
            reasons = "; ".join(table.letters()) or paper_table.if_empty
            not_made.append(f"{table.name} ({table.title}) has no number: {reasons}.")
    return tables


def _draw_figures(paper: Paper, inputs: PaperInputs, not_made: list[str]) -> dict[str, bytes]:
    """The files of the figures, by name; adds a sentence on each figure without files to
    `not_made`."""
    figures: dict[str, bytes] = {}
    for paper_figure in paper.figures:
        files = _files_of_figure(paper_figure, inputs)
        if not files:
            not_made.append(f"Figure {paper_figure.number} is not drawn: {paper_figure.if_empty}.")
        figures.update(files)
    return figures


def _unused_inputs(inputs: PaperInputs) -> list[str]:
    """A sentence for each input that no table or figure has taken."""
    sentences = []
    for audit in inputs.audits:
        if audit.command not in inputs.used_inputs:
            sentences.append(f"Nothing of this paper shows {audit.path} of `{audit.command}`.")
    has_changes = any(label.before_and_after for label in inputs.labels)
    if has_changes and AFTER not in inputs.used_inputs:
        sentences.append("Nothing of this paper shows runs of --before and --after.")
    return sentences


def _files_of_figure(paper_figure: PaperFigure, inputs: PaperInputs) -> dict[str, bytes]:
    """The files of a figure by name; empty if there is nothing to draw."""
    drawings = paper_figure.draw(inputs)
    contents: dict[str, bytes] = {}
    if isinstance(drawings, dict):
        contents = drawings
    else:
        for i, figure in enumerate(drawings):
            # A single drawing has the figure's own name, as in figure2.svg; several are numbered.
            position = str(i + 1) if len(drawings) > 1 else ""
            for suffix, data in figure.files().items():
                contents[f"{position}{suffix}"] = data
    files = {}
    for name, data in contents.items():
        is_suffix_alone = name.startswith(".")
        dash = "" if is_suffix_alone else "-"
        files[f"figure{paper_figure.number}{dash}{name}"] = data
    return files


def write_paper(outputs: PaperOutputs, out: Path) -> list[Path]:
    """Write all tables and figures.

    Args:
        outputs: The tables and figures.
        out: The folder; it is created if it is missing.

    Returns:
        The files.
    """
    out.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, table in outputs.tables.items():
        write_csv_rows(table, out / f"{name}.csv")
        write_text(out / f"{name}.md", markdown(table))
        write_text(out / f"{name}.tex", latex(table))
        paths += [out / f"{name}.{suffix}" for suffix in ("csv", "md", "tex")]
    for name, data in outputs.figures.items():
        write_bytes(out / name, data)
        paths.append(out / name)
    return paths


def table_of_changes(number: str = "F") -> PaperTable:
    """The table of what training changed on benchmarks that were not trained for.

    Args:
        number: The number of the table in the paper. Papers number their tables by digits, so the
            default F cannot be taken for one of theirs.

    Returns:
        A table with a line for each label and each benchmark, main metric and split.
    """

    def make(inputs: PaperInputs) -> Table:
        reason = (
            "it was not measured elsewhere before and after its training (--before and --after)"
        )
        inputs.used_inputs.add(AFTER)
        labels = []
        for label in inputs.labels:
            missing = label.missing or reason
            # Columns read the field `entries`. So the copy of a label has there its results before
            # and after training, in place of those of the paper's own benchmarks.
            labels.append(replace(label, entries=label.before_and_after, missing=missing))
        columns = [
            select("Before", when=BEFORE),
            select("After", when=AFTER),
            select("Change", _change),
            select("Chance", _chance_after),
        ]
        return by_label(labels, columns, _main_rows(labels), "measured")

    return PaperTable(
        number,
        "What training changed elsewhere",
        make,
        "no model was measured elsewhere (--before and --after)",
    )


def _main_rows(labels: Sequence[LabelledRuns]) -> list[Selection]:
    """A row for each benchmark, main metric, kind, skill, level and split of some results."""
    names = ("protocol", "metric", "kind", "skill", "level", "split")
    # A row occurs in the results before and in those after. As a key, its values list it once.
    row_of_values: dict[tuple[object, ...], Selection] = {}
    for label in labels:
        for entry in label.entries:
            for row in _reported_main_rows(entry):
                words = [str(row[name]) for name in names if row[name]]
                head = f"{row['benchmark']}: {' '.join(words)}"
                values = {name: row[name] for name in ("benchmark", *names)}
                row_of_values[tuple(values.values())] = Selection(head, values)
    return list(row_of_values.values())


def _reported_main_rows(entry: Results) -> list[Mapping[str, object]]:
    """The rows of an entry that are a main metric of a reported split. Rows of one number of atoms
    (`n`) are left out."""
    splits = reported_splits(row["split"] for row in entry["rows"])
    reported: list[Mapping[str, object]] = []
    for row in entry["rows"]:
        is_main = row["is_main"] and not row["is_gap"] and row["n"] is None
        if is_main and row["split"] in splits:
            reported.append(row)
    return reported


def _change(label: LabelledRuns, row_filter: RowFilter) -> Cell:
    """The difference of the values before and after, without an interval: the results have none."""
    after = result(label, {**row_filter, "when": AFTER})
    if after.reason:
        return after
    before = result(label, {**row_filter, "when": BEFORE})
    if before.reason:
        return before
    # An interval of the difference needs the items of both runs, which pooled results lack; `score
    # compare` reads them.
    change = after.numbers["value"] - before.numbers["value"]
    row = count_row(after.numbers["metric"], change, "difference")
    sizes = {name: after.numbers[name] for name in SIZES}
    return result_cell({**row, **sizes}, after.of)


def _chance_after(label: LabelledRuns, row_filter: RowFilter) -> Cell:
    """The chance of the selected row after training."""
    return chance_cell([row for row, _ in label.select({**row_filter, "when": AFTER})])


def figure_from_results(
    number: str,
    drawing: Callable[[Sequence[Results], str], list[Figure]],
    protocol: str,
    /,
    **columns: Any,
) -> PaperFigure:
    """Make a figure that is drawn from the rows of a protocol.

    Args:
        number: The number of the figure.
        drawing: A function of evaluator.report.figures.
        protocol: The protocol.
        columns: The values that rows and cells of the results must have, by name of the column.
            One is called `protocol`, hence the "/" above.
    """

    def draw(inputs: PaperInputs) -> list[Figure]:
        entries: list[Results] = []
        for label in inputs.labels:
            for entry in label.entries:
                if not any(row["protocol"] == protocol for row in entry["rows"]):
                    continue
                # A drawing shows all that it gets, so what the paper leaves out is left out here.
                selected = {}
                for name in ("rows", "cells"):
                    selected[name] = [row for row in entry[name] if has(row, columns)]
                # A figure has no notes: the model's name says that it was shown what is held out.
                model = marked(entry["model"], entry)
                entries.append({**entry, "model": model, **selected})
        return drawing(entries, protocol)

    return PaperFigure(number, draw, f"no run has results of `{protocol}`")


def figure_from_files(number: str, command: str, *files: str) -> PaperFigure:
    """Make a figure of files that another command has drawn.

    Args:
        number: The number of the figure.
        command: The command, such as "score generate".
        files: The names of the files to copy from each of its folders.
    """

    def draw(inputs: PaperInputs) -> dict[str, bytes]:
        contents = {}
        for audit in inputs.audits_of(command):
            for file in files:
                path = audit.path / file
                # No link, device or the like; whether it exists is checked next.
                check_file(path, None)
                if not path.exists():
                    raise UserError(
                        f"{audit.path} is unfinished: it has no {file}; run the same `{command}` "
                        f"again."
                    )
                # Several results of one command can be given; the label tells their files apart.
                contents[f"{folder_name(audit.name)}-{file}"] = path.read_bytes()
        return contents

    return PaperFigure(number, draw, f"no result of `{command}` was given")
