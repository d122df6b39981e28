"""The command `score compare` and the tables that it prints."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evaluator.cli.console import new_table, print_line, print_table
from evaluator.cli.options import JSON, NEW_FILE
from generator.base.commands import Bar, Command, Number, result, say
from generator.base.errors import UserError

if TYPE_CHECKING:
    from rich.table import Table

SHORT = 10
"""Maximum number of rows and flips without --full."""
_LABELS = ("protocol", "metric", "kind", "skill", "split")
"""Entries of a row that name its question."""
Row = dict[str, Any]
"""A row, flip, ranking or group of items of a comparison."""


@click.command(cls=Command, examples=["compare run-a run-b", "compare run-a run-b --detect 5"])
@click.argument("runs", nargs=-1, required=True)
@click.option(
    "--detect",
    type=Number(min=0, max=100, min_open=True),
    metavar="POINTS",
    help=(
        "Also print how many block seeds or items are needed to detect a difference of POINTS "
        "percentage points."
    ),
)
@click.option(
    "--metric",
    help="Compare this metric, such as 'brittleness'.  [default: each protocol's main metric]",
)
@click.option("--full", is_flag=True, help="Print every row, and the rankings of two models too.")
@click.option("--out", type=NEW_FILE, help="CSV file to write all rows to.")
@JSON
def compare(
    runs: tuple[str, ...],
    detect: float | None,
    metric: str | None,
    full: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Compare models on the same items and report which differences are significant.

    Each of RUNS is a folder written by `score run`, or a table (.csv, .tsv, .json, .jsonl or
    .parquet) with the columns item, correct and cluster, and split and model where there are
    several. NAME=RUN names the model; runs of the same name are training seeds of one model.
    Runs of `score ask --form describe` are compared on the images that all models described.
    """
    from evaluator.runs.answered_attributes import is_attributes
    from evaluator.runs.described import is_described

    # Facts one by one and descriptions are compared over images, by commands of their own.
    if any(map(is_attributes, runs)):
        if detect is not None or metric is not None:
            raise UserError("--detect and --metric are not for runs of attributes; leave them out.")
        from evaluator.cli.attributes import compare_forms

        compare_forms(runs, out=out, as_json=as_json)
        return
    if any(map(is_described, runs)):
        if detect is not None:
            raise UserError("--detect is not for runs of descriptions; leave it out.")
        from evaluator.cli.describe import compare_descriptions

        compare_descriptions(runs, metric=metric, full=full, out=out, as_json=as_json)
        return

    from evaluator.analysis.comparison import compare as compute
    from evaluator.analysis.comparison import write_rows

    comparison = compute(runs, None if detect is None else detect / 100, Bar(), metric)
    if out:
        write_rows(comparison, out)
        say(f"The rows are in {out}.")
    if as_json:
        result(comparison, True, "")
    else:
        print_comparison(comparison, full)


def print_comparison(comparison: dict[str, Any], full: bool = False) -> None:
    """Print a comparison to stdout: items, rows, flips, and rankings if there are more than two
    models.

    Args:
        comparison: The result of evaluator.analysis.comparison.compare.
        full: Whether to print every row and ranking, in place of the ten rows with the smallest q
            outside the split `val`.
    """
    from evaluator.report.table import population

    # Names of models are long, and each row names two.
    letters = {model: _letter(i) for i, model in enumerate(comparison["models"])}
    _print_models(comparison, letters)
    rows = comparison["rows"]
    printed_rows = rows
    if not full:
        # Validation data may have steered the training, so the short table leaves it out.
        test_rows = [row for row in rows if row["split"] != "val"]
        printed_rows = _most_certain(test_rows or rows)
    print_table(_rows_table(printed_rows, letters, comparison["detect"]))

    flips = [flip for flip in comparison["flips"] if flip["significant"]]
    published_flips = [flip for flip in comparison["flips"] if flip["significant_mcnemar"]]
    for flip in flips if full else flips[:SHORT]:
        print_line(_flip_sentence(flip, letters), "bold")
    if full:
        for flip in published_flips:
            print_line(_published_flip_sentence(flip, letters))
    # Two models are ranked by their difference already.
    if full or len(letters) > 2:
        printed_questions = {_question(row) for row in printed_rows}
        rankings = [
            ranking for ranking in comparison["rankings"] if _question(ranking) in printed_questions
        ]
        print_table(_rankings_table(rankings, letters))

    n_certain = sum(row["leader"] is not None for row in rows)
    more = ""
    if len(printed_rows) < len(rows):
        more = f" {len(printed_rows)} rows are shown; --full shows all."
    print_line(
        f"Significant differences: {n_certain} of {len(rows)}. Significant flips: {len(flips)} of "
        f"{len(comparison['flips'])}, by McNemar {len(published_flips)}.{more}",
    )
    for line in _cautions(printed_rows):
        print_line(line)
    print_line(
        f"Differences in points with 95% intervals, which cover {population(printed_rows)}. "
        f"p comes from the same model. "
        f"q: p after Benjamini and Hochberg over pairs of models, * q ≤ {comparison['q']:g}. "
        "McNemar and its q: as published by Peng et al. 2026, mid-p, items taken as independent. "
        "detectable: the smallest true difference that is shown in 80% of "
        "cases.",
        "dim",
    )


def _print_models(comparison: dict[str, Any], letters: dict[str, str]) -> None:
    """Print the letter of each model, its mark if it is contaminated, and which items are
    compared."""
    for model, sources in comparison["models"].items():
        seeds = f" ({len(sources)} runs)" if len(sources) > 1 else ""
        print_line(f"{letters[model]} = {model}{seeds}", "bold")
        mark = comparison["marks"].get(model)
        if mark:
            print_line(f"{letters[model]}: {mark}", "bold red")
    for item_group in comparison["items"]:
        for line in _exclusion_lines(item_group):
            print_line(line)


def _question(row: Row) -> tuple[str | None, ...]:
    """What a row, a flip or a ranking is about: protocol, metric, kind, skill and split."""
    return tuple(row[name] for name in _LABELS)


def _cautions(rows: Sequence[Row]) -> list[str]:
    """Warnings about rows that support no or only a weak conclusion, a sentence each."""
    cautions = []
    if any(row["clusters"] == 1 for row in rows):
        cautions.append("A single item or group says nothing about others; compare more of them.")

    undetectable = [row for row in rows if row["detectable"] is None and row["clusters"] > 1]
    # A difference of 0 or 1 is one that no item or every item shows, so it has no variance.
    if any(abs(row["difference"]) in (0, 1) for row in undetectable):
        cautions.append(
            "If no item tells the models apart, or all items do so equally, the difference does "
            "not vary: nothing is "
            "detectable, and the interval is combined from the intervals of both models."
        )
    if any(abs(row["difference"]) not in (0, 1) for row in undetectable):
        cautions.append(
            "Where nothing is detectable, there are too few groups to show any difference; compare "
            "more of them."
        )
    return cautions


def _exclusion_lines(items: Row) -> list[str]:
    """Sentences: how many items are compared, then each reason why items are excluded."""
    lines = [f"{items['compared']:,} of {items['items']:,} items are compared."]
    for source, missing in items["missing"].items():
        lines.append(f"{source} lacks {_name_items(missing)}.")
    for source, unscored in items["unscored"].items():
        lines.append(f"{source} has no score for {_name_items(unscored)}.")
    for label, mismatched in items["mismatched"].items():
        lines.append(f"The {label} differs between runs for {_name_items(mismatched)}.")
    return lines


def _name_items(item_group: Row) -> str:
    """The number of items and the first names, such as "12 items (a, b, …)"."""
    n = item_group["items"]
    noun = "items" if n > 1 else "item"
    more = ", …" if n > len(item_group["first"]) else ""
    return f"{n:,} {noun} ({', '.join(item_group['first'])}{more})"


def _most_certain(rows: Sequence[Row]) -> list[Row]:
    """The ten rows with the smallest q, in their order."""
    by_q = sorted(range(len(rows)), key=lambda i: rows[i]["q"])
    return [rows[i] for i in sorted(by_q[:SHORT])]


def _rows_table(rows: Sequence[Row], letters: dict[str, str], detect: float | None) -> "Table":
    """A row for each pair of models and question, with its difference, its tests, and, with
    `detect`, how much data that difference needs."""
    from evaluator.metrics.formats import number

    labels = [name for name in _LABELS if any(row[name] for row in rows)]
    needed = []
    if detect is not None:
        needed = [f"block seeds for {100 * detect:g}", f"items for {100 * detect:g}"]
    shares = ["first %", "second %", "difference", "95% interval", "items", "groups"]
    table = new_table(
        [*labels, "models"], [*shares, "p", "q", "McNemar", "its q", "detectable", *needed]
    )
    for row in rows:
        gap = number(row["difference"], "difference")
        low = number(row["low"], "difference")
        high = number(row["high"], "difference")
        numbers = []
        if needed:
            numbers = [_or_never(row["block_seeds_needed"]), _or_never(row["items_needed"])]
        table.add_row(
            *(row[name] or "" for name in labels),
            f"{letters[row['first']]} − {letters[row['second']]}",
            number(row["first_mean"], "share"),
            number(row["second_mean"], "share"),
            f"{gap}{'*' if row['leader'] else ' '}",
            "none" if row["low"] is None else f"{low}, {high}",
            f"{row['items']:,}",
            f"{row['clusters']:,}",
            _p(row["p"]),
            _p(row["q"]),
            "" if row["p_mcnemar"] is None else _p(row["p_mcnemar"]),
            "" if row["q_mcnemar"] is None else _p(row["q_mcnemar"]),
            "none" if row["detectable"] is None else number(row["detectable"], "share"),
            *numbers,
        )
    return table


def _rankings_table(rankings: Sequence[Row], letters: dict[str, str]) -> "Table":
    """A row for each question, with the rank of each model and its interval."""
    labels = [name for name in _LABELS if any(ranking[name] for ranking in rankings)]
    table = new_table(labels, list(letters.values()), "Ranks, with 95% intervals")
    for ranking in rankings:
        rank_of = {
            row["model"]: f"{row['rank']} ({row['low']} – {row['high']})"
            for row in ranking["models"]
        }
        table.add_row(
            *(ranking[name] or "" for name in labels), *(rank_of[model] for model in letters)
        )
    return table


def _flip_sentence(flip: Row, letters: dict[str, str]) -> str:
    """A sentence on a flip: two models that lead on different splits."""
    return f"Flip{_where_leads_change(flip, letters)}; p_flip {_p(flip['p_flip'])}."


def _published_flip_sentence(flip: Row, letters: dict[str, str]) -> str:
    """A sentence on a flip by McNemar's test."""
    leads = _where_leads_change(flip, letters)
    return f"Flip by McNemar{leads}; p_flip {_p(flip['p_flip_mcnemar'])}."


def _where_leads_change(flip: Row, letters: dict[str, str]) -> str:
    """The question of a flip, and who leads on which split."""
    leads = []
    for leader, split, points in zip(
        flip["ahead"], flip["splits"], flip["differences"], strict=True
    ):
        leads.append(f"{letters[leader]} leads on {split} by {100 * abs(points):.1f}")
    question = ", ".join(flip[name] for name in _LABELS[:-1] if flip[name])
    return f"{f' in {question}' if question else ''}: {', '.join(leads)}"


def _p(p: float) -> str:
    """A p value without its leading 0."""
    return "< .0001" if p < 0.0001 else f"{p:.4f}".removeprefix("0")


def _or_never(number: int | None) -> str:
    """How many are needed; None if no number suffices."""
    return "never" if number is None else f"{number:,}"


def _letter(i: int) -> str:
    """A, B, …, Z, A1, B1, …"""
    return chr(ord("A") + i % 26) + (str(i // 26) if i >= 26 else "")
