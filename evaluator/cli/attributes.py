"""`score ask --form attributes`: asks for facts one by one, and prints how they were answered,
beside the same facts in descriptions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from evaluator.cli.console import new_table, print_line, print_table
from evaluator.cli.describe import interval_in_points, print_measures, print_notes
from evaluator.metrics.formats import number
from evaluator.provenance.contamination import describe_training, mark_of
from evaluator.report.table import p_value, population
from evaluator.runs.answered_attributes import ROWS_FILE, is_attributes, read_attributes
from evaluator.runs.attributes import ask_attributes
from evaluator.runs.described import is_described, read_described
from evaluator.runs.integration import integration_rows, integration_sentence
from evaluator.runs.request import AskRequest
from generator.base.commands import Bar, result, say
from generator.base.errors import UserError
from generator.base.files import read_json
from generator.base.tables import write_csv


def ask_for_attributes(
    request: AskRequest,
    out: Path,
    *,
    answers: Sequence[Path],
    full: bool,
    as_json: bool,
) -> None:
    """Ask for facts one by one and print the results.

    If a run of descriptions of the same model and images is beside the folder, its facts are
    compared with these.

    Args:
        request: What to ask, and how.
        out: The folder of the run.
        answers: Result files of a batch to read instead of asking.
        full: Whether to print every measure.
        as_json: Whether to print JSON.

    Raises:
        UserError: The request cannot be met.
    """
    results = ask_attributes(request, out, Bar(), answers)
    say(f"Answers and results are in {out}.")
    if as_json:
        result(results, True, "")
        return
    print_attributes(results, full)
    # Both forms side by side show the integration gap, so nobody has to ask for it.
    for folder in _described_beside(out, results):
        rows = integration_rows(read_described(str(folder)), read_attributes(str(out)))
        print_line("")
        print_integration(rows, str(folder))


def print_attributes(results: Mapping[str, Any], full: bool = False) -> None:
    """Print the results of facts that were asked one by one.

    Args:
        results: The contents of attributes.json.
        full: Whether to print every measure in place of the main ones.
    """
    print_line(
        f"{results['model']} on {results['benchmark_name']} (dataset {results['certificate']}), "
        f"facts one by one, {100 * results['level']:g}% intervals",
        "bold",
    )
    print_line(describe_training(dict(results)), "bold red" if mark_of(results) else None)
    n_hidden = print_measures(results["rows"], full)
    answers = results["answers"]
    print_line(
        f"{answers['answered']:,} of {answers['questions']:,} questions have an answer, of which "
        f"{answers['unread']:,} name no one value."
    )
    print_notes(results["rows"], n_hidden, ROWS_FILE, full)


def _described_beside(out: Path, results: Mapping[str, Any]) -> list[Path]:
    """Finished runs of descriptions beside a folder, of the same model and dataset."""
    folders = []
    for folder in sorted(out.resolve().parent.iterdir()):
        if not is_described(str(folder)):
            continue
        record = read_json(folder / "descriptions.json")
        # By name and digests: facts of other images or of another model are not the same facts.
        names = ("model", "world", "benchmark")
        if all(record.get(name) == results[name] for name in names):
            folders.append(folder)
    return folders


def print_integration(rows: Sequence[Mapping[str, Any]], title: str) -> None:
    """Print the integration gap.

    Args:
        rows: From `integration_rows`.
        title: What is compared.
    """
    print_line(f"{title}: {integration_sentence(rows)}", "bold")
    table = new_table(
        ["split", "measure"],
        ["composed %", "one by one %", "difference", "95% interval", "p", "facts", "images"],
        folds=True,
    )
    for row in rows:
        table.add_row(
            row["split"],
            row["measure"],
            number(row["composed"], "share"),
            number(row["decomposed"], "share"),
            number(row["difference"], "difference"),
            interval_in_points(row),
            p_value(row["p"]),
            f"{row['facts']:,}",
            f"{row['images']:,}",
        )
    print_table(table)
    print_line(
        "Mean over images; composed: in the description, one by one: when asked. Only facts whose "
        f"object can be named without ambiguity (docs/descriptions.md). The intervals cover "
        f"{population(rows)}.",
        "dim",
    )


def report_attributes(runs: Sequence[str], out: Path | None, *, full: bool, as_json: bool) -> None:
    """Write the page of runs of attributes without descriptions, and print their results.

    Args:
        runs: Each as [NAME=]FOLDER.
        out: The file of the page; None for report.html beside the first run.
        full: Whether to print every measure.
        as_json: Whether to print JSON.

    Raises:
        UserError: One is another kind of run, or the runs are of different worlds.
    """
    from evaluator.report.descriptions.facts_page import write_facts_page

    others = [run for run in runs if not is_attributes(run)]
    if others:
        raise UserError(
            f"{others[0]} is not a run of attributes; give such runs alone, or beside runs of "
            f"descriptions of the same images."
        )
    attributes = [read_attributes(run) for run in runs]
    path = out or attributes[0].folder.resolve().parent / "report.html"
    write_facts_page(attributes, path)
    results = [{**run.record, "model": run.name} for run in attributes]
    if not as_json:
        for record in results:
            print_attributes(record, full)
    result({"report": str(path), "results": results}, as_json, str(path))


def compare_forms(runs: Sequence[str], *, out: Path | None, as_json: bool) -> None:
    """Compare a run of descriptions with a run of attributes, and print the integration gap.

    Args:
        runs: Two folders, each as [NAME=]FOLDER.
        out: A CSV file to write the rows to; None to write none.
        as_json: Whether to print JSON.

    Raises:
        UserError: The runs are not one of each, or not of the same images.
    """
    described = [run for run in runs if is_described(run)]
    attributes = [run for run in runs if is_attributes(run)]
    if (len(described), len(attributes), len(runs)) != (1, 1, 2):
        raise UserError(
            "Expected one run of --form describe and one of --form attributes of the same images; "
            "give these two."
        )
    rows = integration_rows(read_described(described[0]), read_attributes(attributes[0]))
    if out:
        write_csv(out, pa.Table.from_pylist(rows))
        say(f"The rows are in {out}.")
    if as_json:
        result({"rows": rows}, True, "")
    else:
        print_integration(rows, f"{described[0]} and {attributes[0]}")
