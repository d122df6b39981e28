"""Tables for papers: LaTeX beside the CSV, laid out as the papers lay theirs out. They need the package booktabs.

Each protocol names the functions of this module that make its tables: `by_split`, `pivot`, `errors`, `raw_retrieval`, `loads`.
"""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from evaluator.contamination import mark_of
from evaluator.pooling import differences, spread_notes
from evaluator.protocols.errors import METRICS as ERRORS
from evaluator.protocols.items import COUNTS, reported_splits
from evaluator.protocols.raw_retrieval import KIND as RAW
from evaluator.protocols.registry import find_protocol
from evaluator.protocols.results import Results, Row
from evaluator.report.cells import confidence, is_gap, p_value, percent, signed
from evaluator.report.overview import main_lines, shown_splits, varying_entries, varying_labels
from evaluator.run_folder import tables_folder
from generator.dataset.files import write_text

_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "[": "{[}", "*": "{*}",  # after the end of a line these would be read as its options
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}", "–": "--", "→": r"$\to$",
    "β": r"$\beta$", "Δ": r"$\Delta$", "±": r"$\pm$", "−": r"$-$",
}  # fmt: skip


def write_latex(results: Results, folder: Path) -> None:
    """Write tables/PROTOCOL.tex of a run, for each protocol that the results have rows of."""
    for name, text in latex_tables(results).items():
        write_text(tables_folder(folder) / f"{name}.tex", text)


def latex_tables(results: Results) -> dict[str, str]:
    """The text of a .tex file for each protocol that the results have rows of, by its name."""
    return {name: _document(results, name) for name in dict.fromkeys(row["protocol"] for row in results["rows"])}


def escape(text: object) -> str:
    """Text as LaTeX prints it; what its plain fonts lack becomes a question mark.

    >>> escape("open_clip:ViT-B-32@50% & more")
    'open\\\\_clip:ViT-B-32@50\\\\% \\\\& more'
    """
    return "".join(_ESCAPES.get(c, c if c.isascii() and c.isprintable() else "?") for c in str(text))


class Table:
    """Lines of cells that are LaTeX already, under one line of column heads, the first `labels` of them on the left.

    note: what the caption says of it.
    """

    def __init__(self, heads: Sequence[str], labels: int, note: str = ""):
        self._heads, self._labels, self.note = [escape(head) for head in heads], labels, note
        self._lines: list[str] = []

    def add(self, cells: Sequence[str]) -> None:
        """Add a line of cells."""
        self._lines.append(" & ".join(cells) + r" \\")

    def rule(self) -> None:
        """Draw a rule above the next line."""
        if self._lines:
            self._lines.append(r"\midrule")

    def __str__(self) -> str:
        columns = "l" * self._labels + "r" * (len(self._heads) - self._labels)
        lines = [
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            " & ".join(self._heads) + r" \\",
            r"\midrule",
            *self._lines,
            r"\bottomrule",
            r"\end{tabular}",
        ]
        return "\n".join(lines)


def side_by_side(entries: Sequence[Results]) -> str:
    """A table environment with a line for each protocol's main metric, group of items and entry of pooled results."""
    lines = [line for group in main_lines(entries) for line in group]
    labels, of_entry, splits = (
        ["protocol", "metric", *varying_labels(lines)],
        varying_entries(entries),
        shown_splits(lines),
    )
    table = Table([*labels, *of_entry, *splits, "chance", "blocks", "runs"], len(labels) + len(of_entry))
    for line in lines:
        cells = [*(escape(line.first[name] or "") for name in labels), *(escape(line.entry[name]) for name in of_entry)]
        cells += [_cell(line.rows.get(split)) for split in splits]
        table.add([*cells, _chance([row for row in line.rows.values() if not is_gap(row)]), str(line.entry["blocks"]), str(line.entry["runs"])])  # fmt: skip
    marks = [f"{entry['model']}: {mark_of(entry)}" for entry in entries if mark_of(entry)]
    notes = [*marks, *differences(entries), *spread_notes(entries)]
    caption = f"In %, gaps in points, {confidence(entries[0])} intervals of bindings like these. {' '.join(notes)}"
    return _environment([table], caption, " ".join(marks))


def by_split(results: Results, protocol: str) -> list[Table]:
    """A line for each metric and group, a column for each split and gap between splits (BindSplit, Winoground)."""
    rows = [row for row in _rows(results, protocol) if row["n"] is None and row["metric"] not in ERRORS]
    splits = reported_splits(row["split"] for row in rows)
    gaps = list(dict.fromkeys(row["split"] for row in rows if is_gap(row)))
    labels = ["metric", *(name for name in ("error", "kind", "skill", "level") if len({row[name] for row in rows}) > 1)]
    tested = any(row["p"] is not None for row in rows)  # those pooled over the runs of one block have no p
    note = "p, in the order of the columns: of a split against chance, of a gap against 0, two-sided." if tested else ""
    heads = [*labels, *splits, *gaps, "chance", *(["p"] if tested else []), "ties", "items/clusters"]
    table = Table(heads, len(labels), note)
    for group in _grouped(rows, labels):
        row_of = {row["split"]: row for row in group}
        scored = [row_of[split] for split in splits if split in row_of]
        p = ["/".join(_p(row_of.get(split)) for split in [*splits, *gaps])] if tested else []
        table.add([
            *(escape(group[0][name] or "") for name in labels), *(_cell(row_of.get(split)) for split in [*splits, *gaps]),
            _chance(group), *p, "/".join(str(row["ties"]) for row in scored), _sizes(scored),
        ])  # fmt: skip
    return [table]


def pivot(
    results: Results, protocol: str, lines: Sequence[str], columns: Sequence[str], chance: str = "", sizes: bool = True
) -> list[Table]:
    """A line for each value of the labels `lines`, a column for each value of the labels `columns`.

    Chance stands in a last line; with `chance`, in a column of that head, which gives the chance of the last cell. `sizes`
    adds the numbers of items and clusters, where they are the same for all columns. Gaps, val, raw retrieval and the directions
    of errors are left out.
    """
    rows = [
        row for row in _rows(results, protocol)
        if not is_gap(row) and row["split"] != "val" and row["kind"] != RAW and row["metric"] not in ERRORS
        and (row["n"] is None or "n" in columns)
    ]  # fmt: skip
    keys = [key for key in product(*(_values(rows, name) for name in columns)) if _select(rows, columns, key)]
    heads = [_head(_select(rows, columns, key)[0], columns) for key in keys]
    more = [*([chance] if chance else []), *(["items/clusters"] if sizes else [])]
    table = Table([*lines, *heads, *more], len(lines))
    for group in _grouped(rows, lines):
        cells = [_cell(next(iter(_select(group, columns, key)), None)) for key in keys]
        more = [*([_chance(group[-1:])] if chance else []), *([_sizes(group[:1])] if sizes else [])]
        table.add([*(escape(group[0][name] or "") for name in lines), *cells, *more])
    if not chance:
        table.rule()
        cells = [_chance(_select(rows, columns, key)) for key in keys]
        table.add(["chance", *[""] * (len(lines) - 1), *cells, *([""] if sizes else [])])
    return [table]


def errors(results: Results, protocol: str) -> list[Table]:
    """A line for each direction of wrong choices, two columns for each split: its share and its chance; no table without any."""
    rows = [row for row in _rows(results, protocol) if row["metric"] in ERRORS]
    splits = reported_splits(row["split"] for row in rows)
    labels = ["metric", "error", *(["kind"] if len({row["kind"] for row in rows}) > 1 else [])]
    heads = [head for split in splits for head in (split, "chance")]
    table = Table([*labels, *heads, "errors/clusters"], len(labels))
    for group in _grouped(rows, labels):
        row_of = {row["split"]: row for row in group}
        cells = [cell for s in splits for cell in (_cell(row_of.get(s)), _chance([row_of[s]] if s in row_of else []))]
        sizes = _sizes([row_of[split] for split in splits if split in row_of])
        table.add([*(escape(group[0][name] or "") for name in labels), *cells, sizes])
    return [table] if splits else []


def raw_retrieval(results: Results, protocol: str) -> list[Table]:
    """A line for each direction, split and complexity of raw retrieval; no table where the run has none."""
    rows = [row for row in _rows(results, protocol) if row["kind"] == RAW]
    heads = ["raw retrieval", "split", "n", "R@1, mean and sd over folds", "chance", "items/clusters"]
    table = Table(heads, 3)
    for row in rows:
        labels = [row["metric"], row["split"], "" if row["n"] is None else row["n"]]
        table.add([*map(escape, labels), _cell(row), _chance([row]), _sizes([row])])
    return [table] if rows else []


def loads(results: Results, protocol: str) -> list[Table]:
    """COMPASS: the load β of each count in points an atom, with its error and p, and corrected stars, a line for each fit."""
    fits = [fit for fit in results["fits"] if fit["protocol"] == protocol]
    labels = ["level", "skill", "split"]
    if not fits:
        return []
    note = (
        f"Loads: standard error and p in brackets, p without correction; * p < .005, ** p < .001 after {fits[0]['correction']} "
        "over the table."
    )
    table = Table([*labels, *(count.removeprefix("n_") for count in COUNTS), "items/clusters"], len(labels), note)
    for fit in fits:
        betas = [_beta(fit["coefficients"].get(count)) for count in COUNTS]
        table.add([*(escape(fit[name] or "") for name in labels), *betas, _sizes([fit])])
    return [table]


def _channels(results: Results) -> str:
    """The channel that was measured, and the one that compares images where it is another."""
    between = results.get("image_channel", results["channel"])
    return results["channel"] + (f" ({between} between images)" if between != results["channel"] else "")


def _document(results: Results, name: str) -> str:
    """The tables of a protocol under one caption."""
    protocol, rows = find_protocol(name), _rows(results, name)
    ties, unscored = (max((row[count] or 0 for row in rows), default=0) for count in ("ties", "unscored"))
    mark = mark_of(results)
    caption = (
        f"{mark} {name}: {results['model']} on {results['benchmark']} (dataset {results['certificate']}), channel {_channels(results)}. "
        f"In %, gaps in points, {confidence(results)} intervals of bindings like these; a mean ± has its standard deviation; scores that differ by no more than "
        f"{results['rules']['tie_tolerance']:g} (relative to scores above 1) tie, and a tie is never "
        f"correct: at most {ties} ties and {unscored} unscored items a row, all in summary.csv. {protocol.caption(results)}"
    )
    tables = [table for make in protocol.tables for table in make(results, name)]
    caption = " ".join([caption.strip(), *(table.note for table in tables if table.note)])
    return _environment(tables, caption, mark)


def _environment(tables: Sequence[Table], caption: str, mark: str) -> str:
    """Tables above their caption, each under the mark of contaminated results, if there is one."""
    above = f"\\textbf{{{escape(mark)}}}\\par\n" if mark else ""
    body = "\n\n\\medskip\n".join(f"{above}{table}" for table in tables)
    return (
        "% needs \\usepackage{booktabs}\n\\begin{table}\n\\centering\n\\footnotesize\n"
        f"{body}\n\\caption{{{escape(caption.strip())}}}\n\\end{{table}}\n"
    )


def _rows(results: Results, protocol: str) -> list[Row]:
    return [row for row in results["rows"] if row["protocol"] == protocol]


def _select(rows: Sequence[Row], names: Sequence[str], key: Sequence[Any]) -> list[Row]:
    """The rows with these labels."""
    return [row for row in rows if all(row[name] == value for name, value in zip(names, key, strict=True))]


def _values(rows: Sequence[Row], name: str) -> list[Any]:
    """The distinct labels in the order of the rows; numbers of atoms in ascending order, after the mean over all."""
    values = dict.fromkeys(row[name] for row in rows)
    return sorted(values, key=lambda n: n or 0) if name == "n" else list(values)


def _grouped(rows: Sequence[Row], names: Sequence[str]) -> list[list[Row]]:
    return [_select(rows, names, key) for key in dict.fromkeys(tuple(row[name] for name in names) for row in rows)]


def _head(row: Row, columns: Sequence[str]) -> str:
    """The head of a column, such as "atom: R@1" or "n = 4"; of a kind of errors its name alone."""
    if row["error"]:
        return str(row["error"])
    labels = [f"n = {row[name]}" if name == "n" else str(row[name]) for name in columns if row[name] is not None]
    return ": ".join(labels) or "all"


def _cell(row: Row | None) -> str:
    """A value with its interval; a mean over n with its standard deviation; a pooled value with that over blocks or runs and
    its interval."""
    if row is None or row["value"] is None:
        return "--"
    value = _number(row["value"], row["unit"])
    spread = row.get("sd_blocks") if row.get("sd_blocks") is not None else row.get("sd_runs")
    if spread is not None:
        value += rf" $\pm$ {percent(spread)}"
    if row["sd"] is not None:
        return rf"{value} $\pm$ {percent(row['sd'])}"
    if row["low"] is None:
        return value
    low, high = (_number(row[side], row["unit"]) for side in ("low", "high"))
    return rf"{value} {{\scriptsize [{low}, {high}]}}"


def _number(value: float, unit: str) -> str:
    if unit == "score":
        return f"${value:.3f}$"
    return f"${signed(value)}$" if unit == "difference" else percent(value)


def _chance(rows: Sequence[Row]) -> str:
    """The chance level of some rows, the least and the greatest where they differ."""
    known = sorted((row for row in rows if row["chance"] is not None), key=lambda row: row["chance"])
    levels = list(dict.fromkeys(_number(row["chance"], row["unit"]) for row in known))
    return "--".join(dict.fromkeys([*levels[:1], *levels[-1:]])) or "--"


def _p(row: Row | None) -> str:
    return "--" if row is None else escape(p_value(row["p"]))


def _sizes(rows: Sequence[Row]) -> str:
    """Numbers of items and clusters."""
    return ", ".join(f"{row['items']}/{row['clusters']}" for row in rows)


def _beta(coefficient: Row | None) -> str:
    if coefficient is None:
        return "--"
    stars = f"^{{{coefficient['stars_corrected']}}}" if coefficient["stars_corrected"] else ""
    value = f"${coefficient['beta']:+.2f}{stars}$ {{\\scriptsize ({coefficient['error']:.2f}, {escape(p_value(coefficient['p']))})}}"
    return rf"\textbf{{{value}}}" if coefficient["load"] == "self" else value
