"""The table of an audit in a terminal."""

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from evaluator.audits.audit import CLEAN, HACKABLE, TOO_FEW
from evaluator.cli.console import print_line, print_table

WIDTH = 140  # where stdout is no terminal
_SHORT = {HACKABLE: HACKABLE, CLEAN: "–", TOO_FEW: "few groups"}


def print_audit(results: dict[str, Any]) -> None:
    """Print to stdout: a row for each kind, the give-aways of the hackable ones, and the closing sentence."""
    print_line(f"{results['benchmark']}: what a text-only model can tell", "bold")
    print_table(_table(results), WIDTH)
    if results["levels"]:
        print_line("By level, each caption with the hardest of all its negatives", "bold")
        print_table(_levels(results), WIDTH)
    for kind in results["kinds"]:
        if kind["name"] in results["hackable"]:
            _print_give_aways(kind)
    print_line(
        "r: rank-biserial correlation, above 0 where the truth is shorter, or has lower perplexity (ppl). Blind: a "
        "classifier "
        "chooses between a true and a false text; chance 50, intervals by group.",
        "dim",
    )
    print_line(results["sentence"])


def _table(results: dict[str, Any]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("kind", overflow="fold")
    filtered = results["sentence_encoder"] is not None
    numbers = ["items", "groups", "r words", "r ppl", "overlap %", *(["similar %"] if filtered else [])]
    for column in (*numbers, "blind %", "95% interval"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("verdict")
    for kind in results["kinds"]:
        similar = [_percent(kind["similarity"]["above"])] if filtered else []
        table.add_row(
            kind["name"],
            f"{kind['sampled']:,}",
            f"{kind['clusters']:,}",
            _r(kind["length"]["words"]["r"]),
            _r(kind["perplexity"]["r"]),
            _percent(kind["difference"]["jaccard"]),
            *similar,
            _percent(kind["blind"]["value"]),
            _interval(kind["blind"]),
            _SHORT[kind["blind"]["verdict"]],
        )
    return table


def _levels(results: dict[str, Any]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for column in ("kind", "skill", "level"):
        table.add_column(column, overflow="fold")
    for column in ("items", "groups", "negatives", "r words", "r ppl"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("effect")
    for row in results["levels"]:
        table.add_row(
            f"{row['protocol']}/{row['kind']}",
            row["skill"] or "",
            row["level"],
            f"{row['sampled']:,}",
            f"{row['clusters']:,}",
            f"{row['negatives_an_item']:.1f}",
            _r(row["length"]["words"]["r"]),
            _r(row["perplexity"]["r"]),
            row["perplexity"]["size"] or "–",
        )
    return table


def _print_give_aways(kind: dict[str, Any]) -> None:
    features = [
        f"'{found['feature']}' (more in the {'truth' if found['in_truth'] >= 0.5 else 'negative'} in "
        f"{max(found['in_truth'], 1 - found['in_truth']):.0%} of {found['pairs']:,} pairs)"
        for found in kind["blind"]["give_aways"][:3]
    ]
    line = f"{kind['name']} is given away by {'; '.join(features)}" if features else f"{kind['name']} is given away"
    print_line(line)
    for pair in kind["blind"]["examples"]:
        print_line(f"  true: {pair['true']}\n  false: {pair['false']}")


def _r(value: float | None) -> str:
    return "–" if value is None else f"{value:+.2f}"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


def _interval(row: dict[str, Any]) -> str:
    return "–" if row["low"] is None else f"{100 * row['low']:.1f} – {100 * row['high']:.1f}"
