"""Tables as LaTeX."""

import shutil
import subprocess
from pathlib import Path

import pytest

from evaluator.report.tables.latex import latex
from evaluator.report.tables.sources import Source
from evaluator.report.tables.table import Cell, Column, Line, Table
from tests.evaluator.report.tables.conftest import tables_of

COMPILER = next((name for name in ("tectonic", "pdflatex", "lualatex", "xelatex") if shutil.which(name)), None)


def test_groups_span_their_columns() -> None:
    columns = [Column("x", "G"), Column("y", "G"), Column("z"), Column("x", "H & I")]
    cells = [Cell("-1.5", "[-2.0, 1.0]", "*", strong=True), Cell(reason="no run"), Cell("3"), Cell("4")]
    text = latex(Table(["model"], columns, [Line(["a"], cells)], "Table 2", "T", ["In %."]))
    assert r" & \multicolumn{2}{c}{G} & \multicolumn{1}{c}{} & \multicolumn{1}{c}{H \& I} \\ \cmidrule(lr){2-3} \cmidrule(lr){5-5}" in text  # fmt: skip
    assert r"\textbf{$-$1.5$^{*}$} {\scriptsize {[}$-$2.0, 1.0]} & --\textsuperscript{a} & 3 & 4 \\" in text
    assert r"\caption{Table 2: T. In \%. (a) no run.}" in text


@pytest.mark.skipif(COMPILER is None, reason="no LaTeX compiler is installed")
@pytest.mark.full
def test_tables_of_papers_compile(sources: list[Source], tmp_path: Path) -> None:
    papers = ("bindsplit2026", "hard-positives2024", "crepe2023", "compass2026", "pearson2025")
    texts = "\n\\clearpage\n".join(latex(table) for paper in papers for table in tables_of(paper, sources).values())
    document = f"\\documentclass{{article}}\n\\usepackage{{booktabs,graphicx}}\n\\begin{{document}}\n{texts}\n\\end{{document}}\n"
    (tmp_path / "all.tex").write_text(document, encoding="utf-8")
    more = [] if COMPILER == "tectonic" else ["-interaction=nonstopmode", "-halt-on-error"]
    done = subprocess.run([str(COMPILER), *more, "all.tex"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
