"""LaTeX tables: every protocol has one, whole and escaped, with the numbers of the results."""

import re
from pathlib import Path

import pytest

from evaluator.metrics.formats import number
from evaluator.report.files import latex_tables, write_latex
from evaluator.report.table import p_value
from evaluator.report.writers import escape
from tests.evaluator.report.conftest import compile_latex
from tests.evaluator.synthetic import Row, find

NAME = r"open_clip:a_b&c 50% #1 {x} $y$ \end{table} ~^ é <z>"


@pytest.fixture(scope="module")
def results(results: Row) -> Row:
    return {**results, "model": NAME}


@pytest.fixture(scope="module")
def folder(results: Row, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    write_latex(results, folder)
    return folder


def _rows(text: str) -> list[list[str]]:
    return [
        re.split(r"(?<!\\) & ", line.removesuffix(r" \\"))
        for line in text.splitlines()
        if line.endswith(r"\\")
    ]


def test_every_protocol_has_a_table_of_equal_rows(folder: Path, results: Row) -> None:
    names = {path.stem for path in (folder / "tables").glob("*.tex")}
    assert names == {row["protocol"] for row in results["rows"]}
    assert len(names) == 10
    for name, text in latex_tables(results).items():
        assert (folder / "tables" / f"{name}.tex").read_text(encoding="utf-8") == text
        assert text.isascii()
        tables = re.findall(r"\\begin\{tabular\}\{([lr]+)\}(.*?)\\end\{tabular\}", text, re.DOTALL)
        assert tables
        for columns, body in tables:
            assert {len(row) for row in _rows(body)} == {len(columns)}
            assert body.count(r"\toprule") == body.count(r"\bottomrule") == 1
        plain = re.sub(r"\\[{}]", "", text)
        assert plain.count("{") == plain.count("}")
        assert text.count(r"\end{table}") == text.count(r"\caption{") == 1


@pytest.mark.parametrize(
    ("protocol", "labels"),
    [
        ("binary", {"kind": "swap"}),
        ("hard_positives", {"kind": "converse", "metric": "brittleness"}),
        ("productivity", {"kind": "neg", "n": 5}),
        ("confusion", {"metric": "R@1"}),
    ],
)
def test_numbers_are_those_of_the_results(results: Row, protocol: str, labels: Row) -> None:
    text = latex_tables(results)[protocol]
    rows = [find(results, protocol, split, **labels) for split in ("seen", "partial", "unseen")]
    for row in rows:
        value, low, high = (number(row[name], "share") for name in ("value", "low", "high"))
        assert rf"{value} {{\scriptsize {{[}}{low}, {high}]}}" in text
    chances = [row["chance"] for row in rows]
    assert {number(end(chances), "share") for end in (min, max)} <= {*re.findall(r"[\d.]+", text)}


def test_integration_and_skill_loads_are_laid_out_as_in_compass(results: Row) -> None:
    tables = latex_tables(results)
    row = find(
        results,
        "integration",
        "seen",
        level="OA",
        metric="integration gap",
        average="macro (over n)",
    )
    gap = 100 * row["value"]
    assert (
        rf"${gap:+.1f}"[:2] + rf"${abs(gap):.1f} $\pm$ {number(row['sd'], 'share')}"
        in tables["integration"]
    )
    fit = next(fit for fit in results["fits"] if fit["coefficients"])
    for beta in fit["coefficients"].values():
        assert f"{abs(beta['beta']):.2f}" in tables["skill"]
        assert (
            rf" {{\scriptsize ({beta['error']:.2f}, {escape(p_value(beta['p']))})}}"
            in tables["skill"]
        )
    assert "after Holm (1979) over the table" in tables["skill"]
    assert r"\textbf{$" in tables["skill"]


def test_special_characters_of_latex_are_escaped(results: Row) -> None:
    assert escape(r"\a{b}") == r"\textbackslash{}a\{b\}"
    assert (
        escape("50% of a_b & c #1 ~ ^ $")
        == r"50\% of a\_b \& c \#1 \textasciitilde{} \textasciicircum{} \$"
    )
    assert escape("---") == "-{}-{}-"
    assert escape("naïve\n") == "na?ve?"
    assert escape("[x]*") == "{[}x]{*}"  # \\ would take them for its options
    assert all(escape(NAME) in text for text in latex_tables(results).values())


def test_tables_compile(folder: Path, results: Row, tmp_path: Path) -> None:
    tables = [
        path.read_text(encoding="utf-8") for path in sorted((folder / "tables").glob("*.tex"))
    ]
    compile_latex("\n".join(tables), tmp_path)


def test_a_caption_says_the_level_of_the_intervals(results: Row) -> None:
    text = latex_tables({**results, "rules": {**results["rules"], "level": 0.9}})["binary"]
    assert r"The 90\% intervals cover groups like these" in text
    assert r"95\%" not in text
    assert r"95\% intervals cover" in latex_tables(results)["binary"]
