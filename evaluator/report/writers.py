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
from evaluator.provenance.contamination import describe_marks
from evaluator.report.table import Cell, Column, Table, plain
from generator.base.errors import visible
from generator.base.tables import write_csv

_LOAD_NUMBERS = ("beta", "error", "stars", "p_corrected", "stars_corrected")
"""The numbers of a cell that shows a skill load."""
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~$])")
"""Characters that Markdown reads as marks."""
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
"""{character: its LaTeX}. A NUL stands between two hyphens, which side by side would be a dash."""
_OPTIONS = re.compile(r" \([^()]*--[a-z][^()]*\)")
"""A parenthesis that names an option."""
_ADVICE = re.compile(r" [A-Z][^.`]*`(?:gen|score) [^`]*`[^.]*\.")
"""A sentence that names a command."""
_BREAK = r" \\ "
"""Begins a new line in a LaTeX cell."""
_SIGN = re.compile(r"(?<![\w.])([+-])(?=[\d.])")
"""The sign of a number; a hyphen within a word or after a digit is not one."""
_SHRUNK = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
"""Shrinks what follows to the width of the text, and never widens it."""


def csv_rows(table: Table) -> list[dict[str, Any]]:
    """Make the rows of a table for CSV and JSON.

    Args:
        table: The table.

    Returns:
        A row for each cell: the labels of its line, `group`, `column`, the `text` of text cells,
        the unrounded numbers (evaluator.protocols.records.STATISTICS; shares in 0..1, loads in
        points) and `reason`. The first column is `mark`, the warning for contaminated models and
        stand-ins, if the table has one. Cells of chance levels and sizes are left out: the numbers
        include them.
    """
    cells = [cell for line in table.lines for cell in line.cells]
    names = []
    for name in ("text", *STATISTICS, *_LOAD_NUMBERS):
        # A column that is empty in all rows says nothing; most tables have a few of the statistics.
        if any(cell.numbers.get(name) is not None for cell in cells):
            names.append(name)
    has_marks = any(describe_marks(cell.of) for cell in cells)
    rows = []
    for line in table.lines:
        labels = dict(zip(table.labels, map(visible, line.labels), strict=True))
        for column, cell in zip(table.columns, line.cells, strict=True):
            if not cell.numbers and not cell.reason:
                continue
            row: dict[str, Any] = {"mark": describe_marks(cell.of)} if has_marks else {}
            row |= labels
            row |= {"group": column.group, "column": column.head}
            row |= {name: cell.numbers.get(name) for name in names}
            row["reason"] = cell.reason
            rows.append(row)
    return rows


def write_csv_rows(table: Table, path: Path) -> None:
    """Write `csv_rows` of a table.

    Args:
        table: The table.
        path: The file.
    """
    write_csv(path, pa.Table.from_pylist(csv_rows(table)))


def markdown(table: Table) -> str:
    """Write a table as Markdown, with title and notes.

    Args:
        table: The table.

    Returns:
        The text. The head of a grouped column is GROUP: HEAD.
    """
    letters = table.letters()
    heads = list(table.labels)
    for column in table.columns:
        heads.append(f"{column.group}: {column.head}" if column.group else column.head)
    # Labels at the left of their columns, numbers at the right.
    marks = ["---"] * len(table.labels) + ["---:"] * len(table.columns)
    lines = [_markdown_line(map(escape_markdown, heads)), _markdown_line(marks)]
    for line in table.lines:
        texts = [*line.labels]
        texts += [f"{plain(cell, letters)} {cell.interval}".strip() for cell in line.cells]
        lines.append(_markdown_line(map(escape_markdown, texts)))

    number = f"{escape_markdown(table.name)}. " if table.name else ""
    paragraphs = [f"**{number}{escape_markdown(table.title)}**"]
    if table.mark:
        paragraphs.append(f"**{escape_markdown(table.mark)}**")
    paragraphs.append("\n".join(lines))
    paragraphs += map(escape_markdown, table.all_notes())
    return "\n\n".join(paragraphs) + "\n"


def escape_markdown(text: str) -> str:
    """Escape text for Markdown.

    Args:
        text: Any text.

    Returns:
        One line; line breaks become <br>.

    Example:
        >>> escape_markdown("a_b | 5*")
        'a\\\\_b \\\\| 5\\\\*'
    """
    lines = re.split(r"\r\n|\r|\n", text)
    return "<br>".join(_SPECIAL.sub(r"\\\1", visible(line)) for line in lines)


def _markdown_line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escape(text: object) -> str:
    """Escape text for LaTeX.

    Args:
        text: Any text.

    Returns:
        LaTeX; characters that its plain fonts lack become a question mark.

    Example:
        >>> escape("open_clip:ViT-B-32@50% & `--seed`")
        'open\\\\_clip:ViT-B-32@50\\\\% \\\\& \\\\textasciigrave{}-{}-seed\\\\textasciigrave{}'
    """
    separated = re.sub("-(?=-)", "-\0", str(text))
    characters = []
    for character in separated:
        is_plain = character.isascii() and character.isprintable()
        characters.append(_ESCAPES.get(character, character if is_plain else "?"))
    return "".join(characters)


def tabular(table: Table) -> str:
    """Write the LaTeX `tabular` of a table, without title and notes.

    Args:
        table: The table.

    Returns:
        The text.
    """
    letters = table.letters()
    columns = "l" * len(table.labels) + "r" * len(table.columns)
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
    if any(column.group for column in table.columns):
        lines.append(_groups(table.columns, len(table.labels)))
    heads = [*table.labels, *(column.head for column in table.columns)]
    lines += [_latex_line(map(escape, heads)), r"\midrule"]
    for i, line in enumerate(table.lines):
        # The first line has a rule above it already.
        if line.rule and i:
            lines.append(r"\midrule")
        cells = [*map(_text, line.labels)]
        cells += [_latex_cell(cell, letters) for cell in line.cells]
        lines.append(_latex_line(cells))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def environment(tables: Sequence[Table], caption: str, mark: str) -> str:
    """Write a LaTeX `table`: tables above one caption.

    Args:
        tables: The tables.
        caption: The caption, as text.
        mark: The warning on contaminated results, which stands above each table; "" for none.

    Returns:
        The text of a .tex file.
    """
    above = f"\\textbf{{{escape(mark)}}}\\par\n" if mark else ""
    body = "\n\n\\medskip\n".join(f"{above}{_SHRUNK}\n{tabular(table)}}}" for table in tables)
    return (
        "% needs \\usepackage{booktabs,graphicx}\n\\begin{table}\n\\centering\n\\footnotesize\n"
        f"{body}\n\\caption{{{escape(caption.strip())}}}\n\\end{{table}}\n"
    )


def latex(table: Table) -> str:
    """Write a table as LaTeX, with its title and notes.

    Args:
        table: The table.

    Returns:
        The text of a .tex file.
    """
    name = f" ({table.name})" if table.name else ""
    caption = " ".join([table.mark, f"{table.title}{name}.", *table.all_notes()]).strip()
    return environment([table], without_advice(caption), table.mark)


def without_advice(text: str) -> str:
    """Remove what a text says about commands and options: a paper's caption tells results, not how
    to get others.

    Args:
        text: Sentences.

    Returns:
        The text without sentences that name a command and without brackets that name an option.

    Example:
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
    heads = [""] * labels
    rules = []
    start = labels + 1
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
    if cell.strong:
        return rf"\textbf{{{text}{stars}}}{small}"
    return f"{text}{stars}{small}"


def _text(text: str, escape_line: Callable[[str], str] = escape) -> str:
    """Text as LaTeX; several lines are stacked."""
    lines = [escape_line(line) for line in text.splitlines()]
    if len(lines) > 1:
        return rf"\shortstack[l]{{{_BREAK.join(lines)}}}"
    return "".join(lines)


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
