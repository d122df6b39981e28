"""Write tables as rows for CSV and JSON, as GitHub Markdown, and as LaTeX.

LaTeX needs the packages booktabs, and graphicx to shrink tables that are wider than the page.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa

from evaluator.protocols.records import STATISTICS
from evaluator.provenance.contamination import marks_said
from evaluator.report.table import Cell, Column, Table, plain
from generator.base.errors import visible
from generator.base.tables import write_csv

_OF_LOADS = ("beta", "error", "stars", "p_corrected", "stars_corrected")
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~$])")
_ESCAPES = {
    "\0": "{}",
    "`": r"\textasciigrave{}",
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "[": "{[}",
    "*": "{*}",  # after \\, [ and * would be read as its options
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "–": "--",
    "…": r"\ldots{}",
    "→": r"$\to$",
    "β": r"$\beta$",
    "Δ": r"$\Delta$",
    "±": r"$\pm$",
    "−": r"$-$",
}
_OPTIONS = re.compile(r" \([^()]*--[a-z][^()]*\)")
"""A parenthesis that names an option."""
_ADVICE = re.compile(r" [A-Z][^.`]*`(?:gen|score) [^`]*`[^.]*\.")
"""A sentence that names a command."""
_BREAK = r" \\ "
_SIGN = re.compile(r"(?<![\w.])([+-])(?=[\d.])")
_SHRUNK = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"


def csv_rows(table: Table) -> list[dict[str, Any]]:
    """A row for each cell of a table: the labels of its line, `group`, `column`, the `text` of text
    cells, the unrounded numbers (evaluator.protocols.records.STATISTICS; shares in 0..1, loads in
    points) and `reason`. The first column is `mark`, the warning for contaminated models and
    stand-ins, if the table has one.

    Skips cells of chance levels and sizes: the numbers include them.
    """
    cells = [cell for line in table.lines for cell in line.cells]
    names = ("text", *STATISTICS, *_OF_LOADS)
    known = [name for name in names if any(cell.numbers.get(name) is not None for cell in cells)]
    marked = any(marks_said(cell.of) for cell in cells)
    return [
        {
            **({"mark": marks_said(cell.of)} if marked else {}),
            **dict(zip(table.labels, map(visible, line.labels), strict=True)),
            "group": column.group,
            "column": column.head,
            **{name: cell.numbers.get(name) for name in known},
            "reason": cell.reason,
        }
        for line in table.lines
        for column, cell in zip(table.columns, line.cells, strict=True)
        if cell.numbers or cell.reason
    ]


def write_csv_rows(table: Table, path: Path) -> None:
    """Write `csv_rows` of a table to the file `path`."""
    write_csv(path, pa.Table.from_pylist(csv_rows(table)))


def markdown(table: Table) -> str:
    """A table as Markdown, with title and notes. The head of a grouped column is GROUP: HEAD."""
    letters = table.letters()
    heads = [
        *table.labels,
        *(
            f"{column.group}: {column.head}" if column.group else column.head
            for column in table.columns
        ),
    ]
    marks = ["---"] * len(table.labels) + ["---:"] * len(table.columns)
    rows = [
        [
            *map(escape_markdown, line.labels),
            *(
                escape_markdown(f"{plain(cell, letters)} {cell.interval}".strip())
                for cell in line.cells
            ),
        ]
        for line in table.lines
    ]
    lines = [
        _markdown_line(map(escape_markdown, heads)),
        _markdown_line(marks),
        *map(_markdown_line, rows),
    ]
    number = f"{escape_markdown(table.name)}. " if table.name else ""
    title = f"**{number}{escape_markdown(table.title)}**"
    above = [title, *([f"**{escape_markdown(table.mark)}**"] if table.mark else [])]
    return "\n\n".join([*above, "\n".join(lines), *map(escape_markdown, table.said())]) + "\n"


def escape_markdown(text: str) -> str:
    """Escape text for Markdown; line breaks become <br>.

    >>> escape_markdown("a_b | 5*")
    'a\\\\_b \\\\| 5\\\\*'
    """
    return "<br>".join(
        _SPECIAL.sub(r"\\\1", visible(line)) for line in re.split(r"\r\n|\r|\n", text)
    )


def _markdown_line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escape(text: object) -> str:
    """Escape text for LaTeX; characters that its plain fonts lack become a question mark.

    >>> escape("open_clip:ViT-B-32@50% & `--seed`")
    'open\\\\_clip:ViT-B-32@50\\\\% \\\\& \\\\textasciigrave{}-{}-seed\\\\textasciigrave{}'
    """
    parted = re.sub("-(?=-)", "-\0", str(text))  # two hyphens side by side would be a dash
    return "".join(_ESCAPES.get(c, c if c.isascii() and c.isprintable() else "?") for c in parted)


def tabular(table: Table) -> str:
    """The LaTeX `tabular` of a table, without title and notes."""
    letters = table.letters()
    grouped = any(column.group for column in table.columns)
    body = [
        *([_groups(table.columns, len(table.labels))] if grouped else []),
        _latex_line(
            [*map(escape, table.labels), *(escape(column.head) for column in table.columns)]
        ),
        r"\midrule",
    ]
    for i, line in enumerate(table.lines):
        rule = [r"\midrule"] if line.rule and i else []
        body += [
            *rule,
            _latex_line(
                [*map(_text, line.labels), *(_latex_cell(cell, letters) for cell in line.cells)]
            ),
        ]
    columns = "l" * len(table.labels) + "r" * len(table.columns)
    return "\n".join(
        [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", *body, r"\bottomrule", r"\end{tabular}"]
    )


def environment(tables: Sequence[Table], caption: str, mark: str) -> str:
    """A LaTeX `table`: tables above one caption, each under `mark`, the warning on contaminated
    results, if any."""
    above = f"\\textbf{{{escape(mark)}}}\\par\n" if mark else ""
    body = "\n\n\\medskip\n".join(f"{above}{_SHRUNK}\n{tabular(table)}}}" for table in tables)
    return (
        "% needs \\usepackage{booktabs,graphicx}\n\\begin{table}\n\\centering\n\\footnotesize\n"
        f"{body}\n\\caption{{{escape(caption.strip())}}}\n\\end{{table}}\n"
    )


def latex(table: Table) -> str:
    """A table as LaTeX, with its title and notes."""
    name = f" ({table.name})" if table.name else ""
    caption = " ".join([table.mark, f"{table.title}{name}.", *table.said()]).strip()
    return environment([table], without_advice(caption), table.mark)


def without_advice(text: str) -> str:
    """Remove what a text says about commands and options: a paper's caption tells results, not how
    to get others.

    >>> without_advice("One training. Train with other seeds, and give all to `score report`.")
    'One training.'
    >>> without_advice("(a) no world has asymmetric splits (--holdout asymmetric).")
    '(a) no world has asymmetric splits.'
    """
    return _OPTIONS.sub("", _ADVICE.sub("", text))


def _latex_line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _groups(columns: Sequence[Column], labels: int) -> str:
    """The line of heads above groups of columns, and the rules below them."""
    heads, rules, start = [""] * labels, [], labels + 1
    for group, members in groupby(columns, key=lambda column: column.group):
        size = len(list(members))
        heads.append(rf"\multicolumn{{{size}}}{{c}}{{{escape(group)}}}")
        if group:
            rules.append(rf"\cmidrule(lr){{{start}-{start + size - 1}}}")
        start += size
    return f"{_latex_line(heads)} {' '.join(rules)}"


def _latex_cell(cell: Cell, letters: Mapping[str, str]) -> str:
    if cell.reason:
        return rf"--\textsuperscript{{{letters[cell.reason]}}}"
    stars = f"$^{{{cell.stars}}}$" if cell.stars else ""
    small = rf" {{\scriptsize {_number(cell.interval)}}}" if cell.interval else ""
    text = _text(cell.text, _number)
    return rf"\textbf{{{text}{stars}}}{small}" if cell.strong else f"{text}{stars}{small}"


def _text(text: str, said: Callable[[str], str] = escape) -> str:
    """Text as LaTeX; several lines are stacked. said: escapes a line."""
    lines = [said(line) for line in text.splitlines()]
    return rf"\shortstack[l]{{{_BREAK.join(lines)}}}" if len(lines) > 1 else "".join(lines)


def _number(text: str) -> str:
    """Escape text, and set the signs of numbers in math mode.

    Signs are found before the dash of a range becomes two hyphens, of which the second would look
    like a sign.

    >>> _number("81.8–99.5"), _number("-1.5–+2")
    ('81.8--99.5', '$-$1.5--$+$2')
    """
    # The pattern has one group, so every second part is a sign.
    parts = _SIGN.split(text)
    return "".join(f"${part}$" if place % 2 else escape(part) for place, part in enumerate(parts))
