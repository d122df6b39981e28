"""Writes tables as LaTeX. They need the packages booktabs and graphicx, which shrinks what is wider than the page."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

from evaluator.report.tables.table import Cell, Column, Table

_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "[": "{[}", "*": "{*}",  # after the end of a line these would be read as its options
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}", "–": "--", "→": r"$\to$",
    "β": r"$\beta$", "Δ": r"$\Delta$", "±": r"$\pm$", "−": r"$-$",
}  # fmt: skip
_BREAK = r" \\ "
_SIGN = re.compile(r"(?<![\w.])[+-](?=[\d.])")
_SHRUNK = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"


def escape(text: object) -> str:
    """Text as LaTeX prints it; what its plain fonts lack becomes a question mark.

    >>> escape("open_clip:ViT-B-32@50% & more")
    'open\\\\_clip:ViT-B-32@50\\\\% \\\\& more'
    """
    return "".join(_ESCAPES.get(c, c if c.isascii() and c.isprintable() else "?") for c in str(text))


def tabular(table: Table) -> str:
    """The lines of a table, without title and notes."""
    letters = table.letters()
    grouped = any(column.group for column in table.columns)
    body = [
        *([_groups(table.columns, len(table.labels))] if grouped else []),
        _line([*map(escape, table.labels), *(escape(column.head) for column in table.columns)]),
        r"\midrule",
    ]
    for i, line in enumerate(table.lines):
        rule = [r"\midrule"] if line.rule and i else []
        body += [*rule, _line([*map(_text, line.labels), *(_cell(cell, letters) for cell in line.cells)])]
    columns = "l" * len(table.labels) + "r" * len(table.columns)
    return "\n".join([rf"\begin{{tabular}}{{{columns}}}", r"\toprule", *body, r"\bottomrule", r"\end{tabular}"])


def environment(tables: Sequence[Table], caption: str, mark: str) -> str:
    """Tables above their caption, each under the mark of contaminated results, if there is one."""
    above = f"\\textbf{{{escape(mark)}}}\\par\n" if mark else ""
    body = "\n\n\\medskip\n".join(f"{above}{_SHRUNK}\n{tabular(table)}}}" for table in tables)
    return (
        "% needs \\usepackage{booktabs,graphicx}\n\\begin{table}\n\\centering\n\\footnotesize\n"
        f"{body}\n\\caption{{{escape(caption.strip())}}}\n\\end{{table}}\n"
    )


def latex(table: Table) -> str:
    """A table with its title and notes."""
    name = f"{table.name}: " if table.name else ""
    return environment([table], " ".join([f"{name}{table.title}.", *table.said()]), table.mark)


def _line(cells: Iterable[str]) -> str:
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
    return f"{_line(heads)} {' '.join(rules)}"


def _cell(cell: Cell, letters: Mapping[str, str]) -> str:
    if cell.reason:
        return rf"--\textsuperscript{{{letters[cell.reason]}}}"
    stars = f"$^{{{cell.stars}}}$" if cell.stars else ""
    small = rf" {{\scriptsize {_number(cell.interval)}}}" if cell.interval else ""
    text = _text(cell.text, _number)
    return rf"\textbf{{{text}{stars}}}{small}" if cell.strong else f"{text}{stars}{small}"


def _text(text: str, said: Callable[[str], str] = escape) -> str:
    """A text; one of several lines as lines below one another."""
    lines = [said(line) for line in text.splitlines()]
    return rf"\shortstack[l]{{{_BREAK.join(lines)}}}" if len(lines) > 1 else "".join(lines)


def _number(text: str) -> str:
    """Escaped text whose signs are those of numbers."""
    return _SIGN.sub(r"$\g<0>$", escape(text))
