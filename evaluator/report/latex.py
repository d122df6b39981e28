"""Tables for papers: LaTeX beside the CSV, laid out as the papers lay theirs out. They need the package booktabs."""

from collections.abc import Callable, Sequence
from typing import Any

from evaluator.report.terminal import is_gap, percent, signed

Row = dict[str, Any]
_SPLITS = ("seen", "partial", "unseen")
_COUNTS = {"n_objects": "objects", "n_attributes": "attributes", "n_relations": "relations"}
_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}", "–": "--", "→": r"$\to$",
    "β": r"$\beta$", "Δ": r"$\Delta$", "±": r"$\pm$", "−": r"$-$",
}  # fmt: skip


def latex_tables(results: Row) -> dict[str, str]:
    """A table for each protocol that the results have rows of, by its name: the text of a .tex file."""
    made = {}
    for protocol in dict.fromkeys(row["protocol"] for row in results["rows"]):
        rows = [row for row in results["rows"] if row["protocol"] == protocol]
        layout = _LAYOUTS.get(protocol, _by_split)
        made[protocol] = _document(results, protocol, layout(rows, results))
    return made


def escape(text: object) -> str:
    """Text as LaTeX prints it; what its plain fonts lack becomes a question mark.

    >>> escape("open_clip:ViT-B-32@50% & more")
    'open\\\\_clip:ViT-B-32@50\\\\% \\\\& more'
    """
    return "".join(_ESCAPES.get(c, c if c.isascii() and c.isprintable() else "?") for c in str(text))


class _Table:
    """Rows of cells that are LaTeX already, under one row of heads."""

    def __init__(self, heads: Sequence[str], labels: int):
        self.heads, self._labels = [escape(head) for head in heads], labels
        self._lines: list[str] = []

    def add(self, cells: Sequence[str]) -> None:
        """Add a row."""
        self._lines.append(" & ".join(cells) + r" \\")

    def rule(self) -> None:
        """Draw a line before what follows."""
        if self._lines:
            self._lines.append(r"\midrule")

    def __str__(self) -> str:
        columns = "l" * self._labels + "r" * (len(self.heads) - self._labels)
        head = " & ".join(self.heads) + r" \\"
        lines = [
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            head,
            r"\midrule",
            *self._lines,
            r"\bottomrule",
            r"\end{tabular}",
        ]
        return "\n".join(lines)


def _document(results: Row, protocol: str, tables: Sequence[_Table]) -> str:
    rows = [row for row in results["rows"] if row["protocol"] == protocol]
    ties, unscored = (max((row[name] or 0 for row in rows), default=0) for name in ("ties", "unscored"))
    caption = (
        f"{protocol}: {results['model']} on {results['benchmark']} (dataset {results['certificate']}), channel {results['channel']}. "
        "In %, gaps in points, 95% intervals by cluster; n is items/clusters; a tie is never correct: at most "
        f"{ties} ties and {unscored} unscored items a row, all in summary.csv."
    )
    if protocol == "retrieval":
        pools = results["sampled_pools"].items()
        caption += "".join(f" Pool {pool} is sampled: the true texts and {n} false ones an image." for pool, n in pools)
    body = "\n\n\\medskip\n".join(map(str, tables))
    return (
        "% needs \\usepackage{booktabs}\n\\begin{table}\n\\centering\n\\footnotesize\n"
        f"{body}\n\\caption{{{escape(caption)}}}\n\\end{{table}}\n"
    )


def _by_split(rows: Sequence[Row], results: Row) -> list[_Table]:
    """A line a metric and group, a column a split, then the gaps, chance and numbers (BindSplit, Winoground)."""
    kept = [row for row in rows if row["n"] is None]
    splits = _splits(kept)
    gaps = list(dict.fromkeys(row["split"] for row in kept if is_gap(row)))
    labels = [name for name in ("error", "kind", "skill", "level") if len({row[name] for row in kept}) > 1]
    table = _Table(["metric", *labels, *splits, *gaps, "chance", "ties", "n"], 1 + len(labels))
    for group in _grouped(kept, ["metric", *labels]):
        of = {row["split"]: row for row in group}
        table.add([
            escape(group[0]["metric"]), *(escape(group[0][name] or "") for name in labels),
            *(_cell(of.get(split)) for split in [*splits, *gaps]), _chance(group),
            "/".join(str(of[s]["ties"]) for s in splits if s in of), _numbers([of[s] for s in splits if s in of]),
        ])  # fmt: skip
    return [table]


def _crepe(rows: Sequence[Row], results: Row) -> list[_Table]:
    """CREPE, tables 3 and 4: a line a split, columns R@1, R@3 and their mean under each kind; raw retrieval apart."""
    kept = [
        row for row in rows if row["n"] is None and not is_gap(row) and row["kind"] != "raw" and row["split"] != "val"
    ]
    metrics = list(dict.fromkeys(row["metric"] for row in kept))
    kinds = list(dict.fromkeys(row["kind"] for row in kept))
    table = _Table(["split", *(f"{kind}: {metric}" for kind in kinds for metric in metrics)], 1)
    for split in _splits(kept):
        of = {(row["kind"], row["metric"]): row for row in kept if row["split"] == split}
        table.add([escape(split), *(_cell(of.get((kind, metric))) for kind in kinds for metric in metrics)])
    table.rule()
    table.add(
        ["chance", *(_chance([r for r in kept if (r["kind"], r["metric"]) == (k, m)]) for k in kinds for m in metrics)]
    )
    return [table, *_raw(rows)]


def _productivity(rows: Sequence[Row], results: Row) -> list[_Table]:
    """CREPE: a line a kind and split, a column a complexity n; raw retrieval apart."""
    kept = [row for row in rows if not is_gap(row) and row["kind"] != "raw" and row["split"] != "val"]
    sizes = sorted({row["n"] for row in kept if row["n"] is not None})
    table = _Table(["kind", "split", "all", *(f"n = {n}" for n in sizes), "chance"], 2)
    for group in _grouped(kept, ["kind", "split"]):
        of = {row["n"]: row for row in group}
        table.add(
            [
                escape(group[0]["kind"]),
                escape(group[0]["split"]),
                *(_cell(of.get(n)) for n in [None, *sizes]),
                _chance(group),
            ]
        )
    return [table, *_raw(rows)]


def _raw(rows: Sequence[Row]) -> list[_Table]:
    found = [row for row in rows if row["kind"] == "raw"]
    if not found:
        return []
    table = _Table(["raw retrieval", "split", "n", "R@1, mean and sd over folds", "chance", "items/clusters"], 3)
    for row in found:
        table.add(
            [
                escape(row["metric"]),
                escape(row["split"]),
                escape("" if row["n"] is None else row["n"]),
                _spread(row),
                _chance([row]),
                _numbers([row]),
            ]
        )
    return [table]


def _integration(rows: Sequence[Row], results: Row) -> list[_Table]:
    """COMPASS: a line a level and split; composed, decomposed and the gap as mean and standard deviation over n."""
    kept = [row for row in rows if row["n"] is None and not is_gap(row) and row["split"] != "val"]
    metrics = list(dict.fromkeys(row["metric"] for row in kept))
    table = _Table(["level", "split", *metrics, "chance of the gap", "n"], 2)
    for group in _grouped(kept, ["level", "split"]):
        of = {row["metric"]: row for row in group}
        table.add([
            escape(group[0]["level"] or ""), escape(group[0]["split"]), *(_spread(of[metric]) for metric in metrics),
            _chance([of[metrics[-1]]]), _numbers(group[:1]),
        ])  # fmt: skip
    return [table]


def _skill(rows: Sequence[Row], results: Row) -> list[_Table]:
    """COMPASS: R@1 by skill, level and split; then the skill loads β in points an atom, with errors and stars."""
    tables = _by_split(rows, results)
    if results["fits"]:
        load = _Table(["level", "skill", "split", *_COUNTS.values(), "n"], 3)
        for fit in results["fits"]:
            cells = [_beta(fit["coefficients"].get(count)) for count in _COUNTS]
            load.add(
                [
                    *(escape(fit[name] or "") for name in ("level", "skill", "split")),
                    *cells,
                    f"{fit['items']}/{fit['clusters']}",
                ]
            )
        tables.append(load)
    return tables


def _hard_positives(rows: Sequence[Row], results: Row) -> list[_Table]:
    """Kamath et al.: a line a kind and split; original, augmented, brittleness and the mean scores."""
    kept = [row for row in rows if not is_gap(row) and row["split"] != "val"]
    metrics = list(dict.fromkeys(row["metric"] for row in kept))
    table = _Table(["kind", "skill", "split", *metrics, "n"], 3)
    for group in _grouped(kept, ["kind", "skill", "split"]):
        of = {row["metric"]: row for row in group}
        table.add(
            [
                *(escape(group[0][name] or "") for name in ("kind", "skill", "split")),
                *(_cell(of.get(m)) for m in metrics),
                _numbers(group[:1]),
            ]
        )
    table.rule()
    table.add(["chance", "", "", *(_chance([r for r in kept if r["metric"] == m]) for m in metrics), ""])
    return [table]


def _gzsl(rows: Sequence[Row], results: Row) -> list[_Table]:
    """Pearson et al.: ZSL and GZSL by split, then the kinds of errors in % of predictions."""
    kept = [row for row in rows if not is_gap(row)]
    columns = list(dict.fromkeys((row["metric"], row["error"]) for row in kept))
    table = _Table(["kind", "split", *(error or metric for metric, error in columns), "n"], 2)
    for group in _grouped(kept, ["kind", "split"]):
        of = {(row["metric"], row["error"]): row for row in group}
        table.add(
            [
                *(escape(group[0][name] or "") for name in ("kind", "split")),
                *(_cell(of.get(c)) for c in columns),
                _numbers(group[:1]),
            ]
        )
    table.rule()
    table.add(["chance", "", *(_chance([r for r in kept if (r["metric"], r["error"]) == c]) for c in columns), ""])
    return [table]


_LAYOUTS: dict[str, Callable[[Sequence[Row], Row], list[_Table]]] = {
    "systematicity": _crepe, "productivity": _productivity, "integration": _integration, "skill": _skill,
    "hard_positives": _hard_positives, "gzsl": _gzsl,
}  # fmt: skip


def _splits(rows: Sequence[Row]) -> list[str]:
    found = dict.fromkeys(row["split"] for row in rows if not is_gap(row) and row["split"] != "val")
    return [*(s for s in _SPLITS if s in found), *(s for s in found if s not in _SPLITS)]


def _grouped(rows: Sequence[Row], by: Sequence[str]) -> list[list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    return list(groups.values())


def _cell(row: Row | None) -> str:
    """A value and its interval."""
    if row is None or row["value"] is None:
        return "--"
    if row["low"] is None:
        return _number(row["value"], row["unit"])
    low, high = (_number(row[side], row["unit"]) for side in ("low", "high"))
    return rf"{_number(row['value'], row['unit'])} {{\scriptsize [{low}, {high}]}}"


def _spread(row: Row) -> str:
    """A value and its standard deviation; the interval where it has none."""
    if row["value"] is None or row["sd"] is None:
        return _cell(row)
    return rf"{_number(row['value'], row['unit'])} $\pm$ {percent(row['sd'])}"


def _number(value: float, unit: str) -> str:
    if unit == "score":
        return f"${value:.3f}$"
    return f"${signed(value)}$" if unit == "difference" else percent(value)


def _chance(rows: Sequence[Row]) -> str:
    """The chance level of some rows, two where they differ."""
    levels = sorted({_number(row["chance"], row["unit"]) for row in rows if row["chance"] is not None})
    return "--" if not levels else levels[0] if len(levels) == 1 else f"{levels[0]}--{levels[-1]}"


def _numbers(rows: Sequence[Row]) -> str:
    return ", ".join(f"{row['items']}/{row['clusters']}" for row in rows)


def _beta(coefficient: Row | None) -> str:
    if coefficient is None:
        return "--"
    stars = f"^{{{coefficient['stars']}}}" if coefficient["stars"] else ""
    value = f"${coefficient['beta']:+.2f}{stars}$ {{\\scriptsize ({coefficient['error']:.2f})}}"
    return rf"\textbf{{{value}}}" if coefficient["load"] == "self" else value
