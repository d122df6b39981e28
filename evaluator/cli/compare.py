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
_LABELS = ("protocol", "metric", "kind", "skill", "split")
Row = dict[str, Any]


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
    from evaluator.runs.attributes import is_attributes
    from evaluator.runs.described import is_described

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

    Prints the ten rows with the smallest q, without the split `val`; with `full` every row and
    ranking.
    """
    from evaluator.report.table import population

    letters = {model: _letter(i) for i, model in enumerate(comparison["models"])}
    for model, sources in comparison["models"].items():
        seeds = f" ({len(sources)} runs)" if len(sources) > 1 else ""
        print_line(f"{letters[model]} = {model}{seeds}", "bold")
        if mark := comparison["marks"].get(model):
            print_line(f"{letters[model]}: {mark}", "bold red")
    for line in (line for block in comparison["items"] for line in _left_out(block)):
        print_line(line)
    rows = comparison["rows"]
    printed_rows = (
        rows if full else _shortest([row for row in rows if row["split"] != "val"] or rows)
    )
    print_table(_rows_table(printed_rows, letters, comparison["detect"]))
    flips = [flip for flip in comparison["flips"] if flip["significant"]]
    for flip in flips if full else flips[:SHORT]:
        print_line(_flip(flip, letters), "bold")
    if full:
        for flip in comparison["flips"]:
            if flip["significant_mcnemar"]:
                print_line(_flip_as_published(flip, letters))
    if full or len(letters) > 2:
        printed_questions = [tuple(row[name] for name in _LABELS) for row in printed_rows]
        rankings = [
            ranking
            for ranking in comparison["rankings"]
            if tuple(ranking[name] for name in _LABELS) in printed_questions
        ]
        print_table(_rankings_table(rankings, letters))
    certain = sum(row["leader"] is not None for row in rows)
    published = sum(bool(flip["significant_mcnemar"]) for flip in comparison["flips"])
    more = (
        ""
        if len(printed_rows) == len(rows)
        else f" {len(printed_rows)} rows are shown; --full shows all."
    )
    print_line(
        f"Significant differences: {certain} of {len(rows)}. Significant flips: {len(flips)} of "
        f"{len(comparison['flips'])}, by McNemar {published}.{more}",
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


def _cautions(rows: Sequence[Row]) -> list[str]:
    """Warnings about rows that support no or only a weak conclusion, a sentence each."""
    alone = any(row["clusters"] == 1 for row in rows)
    unknown = [row for row in rows if row["detectable"] is None and row["clusters"] > 1]
    constant = any(abs(row["difference"]) in (0, 1) for row in unknown)
    few = any(abs(row["difference"]) not in (0, 1) for row in unknown)
    return [
        *["A single item or group says nothing about others; compare more of them."] * alone,
        *[
            "If no item tells the models apart, or all items do so equally, the difference does "
            "not vary: nothing is "
            "detectable, and the interval is combined from the intervals of both models."
        ]
        * constant,
        *[
            "Where nothing is detectable, there are too few groups to show any difference; compare "
            "more of them."
        ]
        * few,
    ]


def _left_out(items: Row) -> list[str]:
    """Sentences: how many items are compared, then each reason why items are excluded."""
    lines = [f"{items['compared']:,} of {items['items']:,} items are compared."]
    for source, missing in items["missing"].items():
        lines.append(f"{source} lacks {_some(missing)}.")
    for source, unscored in items["unscored"].items():
        lines.append(f"{source} has no score for {_some(unscored)}.")
    for label, mismatched in items["mismatched"].items():
        lines.append(f"The {label} differs between runs for {_some(mismatched)}.")
    return lines


def _some(item_group: Row) -> str:
    """The number of items and the first names, such as "12 items (a, b, …)"."""
    more = ", …" if item_group["items"] > len(item_group["first"]) else ""
    return (
        f"{item_group['items']:,} item{'s' if item_group['items'] > 1 else ''} "
        f"({', '.join(item_group['first'])}{more})"
    )


def _shortest(rows: Sequence[Row]) -> list[Row]:
    """The ten rows with the smallest q, in their order."""
    most_certain = sorted(range(len(rows)), key=lambda i: rows[i]["q"])[:SHORT]
    return [rows[i] for i in sorted(most_certain)]


def _rows_table(rows: Sequence[Row], letters: dict[str, str], detect: float | None) -> "Table":
    from evaluator.report.table import number

    labels = [name for name in _LABELS if any(row[name] for row in rows)]
    needed = (
        []
        if detect is None
        else [f"block seeds for {100 * detect:g}", f"items for {100 * detect:g}"]
    )
    shares = ["first %", "second %", "difference", "95% interval", "items", "groups"]
    table = new_table(
        [*labels, "models"], [*shares, "p", "q", "McNemar", "its q", "detectable", *needed]
    )
    for row in rows:
        gap, low, high = (number(row[name], "difference") for name in ("difference", "low", "high"))
        numbers = (
            [_or_never(row["block_seeds_needed"]), _or_never(row["items_needed"])] if needed else []
        )
        table.add_row(
            *(row[name] or "" for name in labels),
            f"{letters[row['first']]} − {letters[row['second']]}",
            f"{100 * row['first_mean']:.1f}",
            f"{100 * row['second_mean']:.1f}",
            f"{gap}{'*' if row['leader'] else ' '}",
            "none" if row["low"] is None else f"{low}, {high}",
            f"{row['items']:,}",
            f"{row['clusters']:,}",
            _p(row["p"]),
            _p(row["q"]),
            "" if row["p_mcnemar"] is None else _p(row["p_mcnemar"]),
            "" if row["q_mcnemar"] is None else _p(row["q_mcnemar"]),
            "none" if row["detectable"] is None else f"{100 * row['detectable']:.1f}",
            *numbers,
        )
    return table


def _rankings_table(rankings: Sequence[Row], letters: dict[str, str]) -> "Table":
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


def _flip(flip: Row, letters: dict[str, str]) -> str:
    """A sentence on a flip."""
    return f"Flip{_where_leads_change(flip, letters)}; p_flip {_p(flip['p_flip'])}."


def _flip_as_published(flip: Row, letters: dict[str, str]) -> str:
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
    return "< .0001" if p < 0.0001 else f"{p:.4f}".removeprefix("0")


def _or_never(number: int | None) -> str:
    return "never" if number is None else f"{number:,}"


def _letter(i: int) -> str:
    """A, B, …, Z, A1, B1, …"""
    return chr(ord("A") + i % 26) + (str(i // 26) if i >= 26 else "")
