"""Figures: every protocol is drawn, as whole SVG, the same each time, with the numbers of the results."""

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from evaluator.report import figures as module
from evaluator.report.figures import by_complexity, by_count, by_frequency, by_split, figures
from evaluator.runs.measure import measure
from tests.evaluator.synthetic import Builder, Row, one_of_each, planted, write_run


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Row:
    root = one_of_each(Builder(0, 240), 60).write(tmp_path_factory.mktemp("all") / "dataset")
    rng = np.random.default_rng(1)
    return measure(write_run(root, tmp_path_factory.mktemp("runs") / "run", lambda n: planted(rng, n)))


def test_every_protocol_is_drawn_as_it_asks(results: Row) -> None:
    drawn = figures([results])
    protocols = {row["protocol"] for row in results["rows"]}
    assert len(drawn) == len(protocols) + 3  # by split; and by number of atoms for two of them, by count for one
    for word in ("integration, OAR", "productivity, neg", "R@1 decomposed, unseen", "(lines: attributes)", "atoms n"):
        assert any(word in svg for svg in drawn), word
    assert all(ElementTree.fromstring(svg).tag.endswith("svg") for svg in drawn)


def test_panels_by_count_name_the_slopes_of_the_fits(results: Row) -> None:
    (svg,) = by_count([results], "skill")
    fitted = [fit for fit in results["fits"] if fit["split"] != "val" and "n_objects" in fit["coefficients"]]
    assert fitted
    for fit in fitted:
        slope = fit["coefficients"]["n_objects"]
        assert f"{fit['split']} {slope['beta']:+.2f}{slope['stars_corrected']}" in svg


def test_atoms_are_drawn_by_how_often_training_and_splits_name_them() -> None:
    atoms = [
        {"atom": "color red", "captions": {"train": 9, "seen": 3}},
        {"atom": "shape cube", "captions": {"train": 4, "unseen": 1}},
    ]
    svg = by_frequency("a dataset", atoms, ("seen", "unseen", "partial"))
    words = "".join(ElementTree.fromstring(svg).itertext())
    assert all(word in words for word in ("a dataset", "captions of train", "captions of seen", "captions of unseen"))
    assert "partial" not in words


def test_figures_of_several_runs_name_the_models(results: Row) -> None:
    two = [{**results, "model": name} for name in ("first model", "second model")]
    assert all(name in svg for svg in by_complexity(two, "integration") for name in ("first model", "second model"))
    first, second = by_count(two, "skill")
    assert ("first model" in first, "second model" in second) == (True, True)


@pytest.mark.parametrize("name", ["$x$", "a_$b^2$ {c} 50%", "$\\\\frac", "[bold] \\\\alpha"])
def test_a_dollar_in_a_name_begins_no_formula(name: str, results: Row) -> None:
    """Once half a formula ended the command."""
    two = [{**results, "model": each} for each in (name, "another")]
    for svg in by_complexity(two, "integration"):
        said = "".join(ElementTree.fromstring(svg).itertext())
        assert name in said


def test_splits_of_other_designs_are_drawn_in_the_order_of_the_tables(results: Row) -> None:
    """Of class lists, and of tables of others; `val` is not drawn."""
    named = {"seen": "ood_test", "partial": "b", "unseen": "id_test"}
    rows = [{**row, "split": named.get(row["split"], row["split"])} for row in results["rows"] if not row["is_gap"]]
    (svg,) = by_split([{**results, "rows": rows}], "binary")
    words = list(ElementTree.fromstring(svg).itertext())
    assert [word for word in words if word in (*named.values(), "val")] == ["b", "id_test", "ood_test"]


def test_no_numbers_give_no_figure(results: Row) -> None:
    assert (
        by_split([results], "unheard-of") == by_complexity([results], "binary") == by_count([results], "binary") == []
    )


def _results(value: float | None) -> dict[str, Any]:
    row = {
        "protocol": "binary",
        "metric": "accuracy",
        "error": None,
        "kind": "swap",
        "skill": None,
        "level": None,
        "n": None,
        "unit": "share",
        "value": value,
        "low": value and value - 0.1,
        "high": value and value + 0.05,
        "chance": 0.5,
    }
    return {
        "model": "m",
        "cells": [],
        "rows": [
            {**row, "split": s, "minus": None, "is_gap": False, "is_main": True}
            for s in ("val", "seen", "partial", "unseen")
        ],
    }


@pytest.mark.parametrize("value", [0.8, None])
def test_a_figure_is_whole_svg_even_without_numbers(value: float | None) -> None:
    (svg,) = by_split([_results(value), _results(0.6)], "binary")
    words = "".join(ElementTree.fromstring(svg).itertext())
    for word in ("seen", "partial", "unseen", "chance", "accuracy, %"):
        assert word in words
    assert "val" not in words
    assert [svg] == by_split([_results(value), _results(0.6)], "binary")


def test_lines_are_means_of_cells_by_count_and_rows_by_number_of_atoms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of items with (objects, attributes) 1 1, 1 2, 2 1 (twice) and 2 2; `val` is left out."""
    drawn: dict[str, Any] = {}
    monkeypatch.setattr(module, "_curves", lambda results, panels, *title, **options: drawn.update(panels) or [])
    of = {"protocol": "skill", "skill": "object", "level": "OA", "split": "seen", "n_relations": 0}
    cells = [
        {**of, "n_objects": a, "n_attributes": b, "value": value, "items": items}
        for a, b, value, items in ((1, 1, 0.2, 10), (1, 2, 0.4, 10), (2, 1, 0.5, 30), (2, 1, 0.9, 10), (2, 2, 1.0, 5))
    ]
    cells.append({**cells[0], "split": "val", "value": 1.0})
    by_count([{"model": "m", "cells": cells, "fits": []}], "skill")
    (lines,) = [panel for name, panel in drawn.items() if "by objects (lines: attributes)" in name]
    shown = {line.group: dict(zip(line.places, (row["value"] for row in line.rows), strict=True)) for line in lines}
    assert shown == {"1": {1: 0.2, 2: pytest.approx(0.6)}, "2": {1: 0.4, 2: 1.0}}
    drawn.clear()
    row = {**_results(0.5)["rows"][1], "protocol": "productivity", "is_main": False}
    rows = [{**row, "n": n, "kind": kind, "value": n / 10} for kind in ("atom", "swap") for n in (4, 5)]
    more = [{**rows[0], "split": "val"}, {**rows[0], "n": None}, {**rows[0], "unit": "difference"}]
    by_complexity([{"model": "m", "rows": [*rows, *more]}], "productivity")
    assert list(drawn) == ["productivity, atom", "productivity, swap"]
    (line,) = drawn["productivity, swap"]
    assert (line.group, line.places, [row["value"] for row in line.rows]) == ("accuracy, seen", [4, 5], [0.4, 0.5])
