"""Figures: every protocol is drawn, as whole specifications and files, the same each time, with the
numbers of the results."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import altair
import pytest

from evaluator.analysis.comparison import _flips
from evaluator.report.audit_figures import (
    by_frequency,
    by_overlap,
    differences,
    embedding_maps,
    grid,
    short_captions,
)
from evaluator.report.figure import Figure, number_names, write_figures
from evaluator.report.figures import by_complexity, by_count, by_edits, by_split, figures, gap, gaps
from tests.evaluator.report.conftest import ROW
from tests.evaluator.synthetic import Row, find


def words_of(figure: Figure) -> set[str]:
    """The texts of a figure's SVG."""
    return {text for text in ElementTree.fromstring(figure.svg()).itertext() if text.strip()}


def test_every_protocol_is_drawn_as_it_asks(results: Row) -> None:
    figure_of = {figure.name: figure for figure in figures([results])}
    protocols = {row["protocol"] for row in results["rows"]}
    assert {f"split-{name}" for name in protocols} <= set(figure_of)
    assert {
        "gap",
        "gaps",
        "complexity-integration",
        "complexity-productivity",
        "load-skill-1",
    } <= set(figure_of)
    assert {"errors-confusion", "errors-gzsl", "rewording-hard_positives"} <= set(figure_of)
    assert "OAR, unseen" in figure_of["complexity-integration"].panels
    assert "neg, unseen" in figure_of["complexity-productivity"].panels


@pytest.mark.full
def test_every_figure_is_a_specification_of_vega_lite_and_whole_svg(results: Row) -> None:
    for figure in figures([results]):
        altair.ConcatChart.from_dict(figure.spec(), validate=True)
        words = words_of(figure)
        assert all(
            line in words or any(line[:20] in word for word in words)
            for name in figure.panels
            for line in name.split("\n")
        )
        assert figure.svg() == figure.svg()


def test_points_are_the_rows_of_the_results(results: Row) -> None:
    (figure,) = by_split([results], "binary")
    for panel, records in figure.panels.items():
        for record in records:
            row = find(results, "binary", record["x"], kind=None if panel == "all" else panel)
            for name in ("value", "low", "high", "chance"):
                assert record[name] == (
                    None if row[name] is None else pytest.approx(100 * row[name], abs=1e-3)
                )
            assert (record["items"], record["speaks"]) == (row["items"], row["population"])
    assert {record["x"] for records in figure.panels.values() for record in records} == {
        "seen",
        "partial",
        "unseen",
    }


def test_a_gap_stands_under_its_splits(results: Row) -> None:
    (figure,) = gaps([results])
    assert list(figure.panels) == ["seen - partial", "seen - unseen", "partial - unseen"]
    values = [
        row["value"]
        for row in results["rows"]
        if row["is_main"] and (row["split"], row["minus"]) == ("seen", "unseen")
    ]
    percents = [record["value"] for record in figure.panels["seen - unseen"]]
    assert percents == pytest.approx([100 * value for value in values])


def test_panels_by_count_name_the_slopes_of_the_fits(results: Row) -> None:
    (figure,) = by_count([results], "skill")
    titles = " ".join(figure.panels)
    fitted = [
        fit
        for fit in results["fits"]
        if fit["split"] != "val" and "n_objects" in fit["coefficients"]
    ]
    assert fitted
    for fit in fitted:
        slope = fit["coefficients"]["n_objects"]
        assert f"{fit['split']} {slope['beta']:+.2f}{slope['stars_corrected']}" in titles


def test_atoms_are_drawn_by_how_often_training_and_splits_name_them() -> None:
    atoms = [
        {"atom": "color red", "captions": {"train": 9, "seen": 3}},
        {"atom": "shape cube", "captions": {"train": 4, "unseen": 1}},
    ]
    (figure,) = by_frequency("a dataset", atoms, ("seen", "unseen", "partial"))
    assert {
        split: [(record["x"], record["y"]) for record in of] for split, of in figure.panels.items()
    } == {
        "seen": [(9, 3)],
        "unseen": [(4, 1)],
    }
    assert {"seen", "unseen", "captions of train"} <= words_of(figure)


def test_each_model_has_a_figure_of_its_loads(results: Row) -> None:
    two = [{**results, "model": name} for name in ("first model", "second model")]
    assert [figure.title for figure in by_count(two, "skill")] == [
        "Skill loads of skill, first model",
        "Skill loads of skill, second model",
    ]


def test_contaminated_models_are_marked_in_every_figure(results: Row) -> None:
    training = {"status": "contaminated", "sentence": "CONTAMINATED: 1 of 9.", "overlaps": []}
    (figure,) = [
        figure for figure in figures([{**results, "training": training}]) if figure.name == "gap"
    ]
    assert {record["series"] for records in figure.panels.values() for record in records} == {
        "random (CONTAMINATED)"
    }


def test_names_are_written_as_they_are(results: Row, recwarn: pytest.WarningsRecorder) -> None:
    """But for control characters, which reach no warning."""
    names = ["$x$", "a_$b^2$ {c} 50%", "$\\\\frac", "[bold] \\\\alpha", "<script>&", "\x1b[2Jclean"]
    (figure,) = by_complexity([{**results, "model": model} for model in names], "integration")
    assert {*names[:-1], "\\x1b[2Jclean"} <= words_of(figure)
    assert not [warning for warning in recwarn if "\x1b" in str(warning.message)]


def test_long_names_of_models_stand_below_one_another(results: Row) -> None:
    """Side by side they would make a figure several times as wide as a column."""

    def width(length: int) -> float:
        entries = [{**results, "model": letter * length} for letter in "abc"]
        (figure,) = gap(entries)
        return float(ElementTree.fromstring(figure.svg()).attrib["width"])

    assert width(60) < 1.1 * width(5)


def test_splits_of_other_designs_are_drawn_in_the_order_of_the_tables(results: Row) -> None:
    """Of class lists, and of tables of others; `val` is not drawn."""
    named = {"seen": "ood_test", "partial": "b", "unseen": "id_test"}
    rows = [
        {**row, "split": named.get(row["split"], row["split"])}
        for row in results["rows"]
        if not row["is_gap"]
    ]
    (figure,) = by_split([{**results, "rows": rows}], "binary")
    assert list(dict.fromkeys(record["x"] for record in figure.panels["all"])) == [
        "b",
        "id_test",
        "ood_test",
    ]


def test_a_model_of_several_benchmarks_has_one_value_at_each_place(results: Row) -> None:
    """Two benchmarks were drawn as one line."""
    two = [
        {
            **results,
            "benchmark": name,
            "rows": [{**row, "benchmark": name} for row in results["rows"]],
        }
        for name in ("first", "second")
    ]
    drawings = figures(two)
    assert len({figure.title for figure in drawings}) == len(drawings)
    for figure in drawings:
        places = [
            (panel, *(record[name] for name in ("series", "group", "x")))
            for panel, records in figure.panels.items()
            for record in records
        ]
        assert len(set(places)) == len(places) or figure.kind == "points"
    (points,) = [figure for figure in drawings if figure.kind == "points"]
    assert points.panels["first"] == points.panels["second"] != []


def test_models_have_distinct_signs(results: Row) -> None:
    entries = [{**results, "model": f"model {i}"} for i in range(20)]
    (figure,) = by_complexity(entries, "integration")
    signs = re.findall(r'role-legend-symbol"[^>]*><path [^>]* d="(.*?)" fill="(.*?)"', figure.svg())
    assert len(set(signs)) == 20


def test_files_of_figures_are_distinct_and_in_their_folder(tmp_path: Path) -> None:
    """As SVG, PDF and PNG: two of one name, and a familiarity folder that is named after a
    benchmark with a path."""
    overlap = {"perfect": 0.5, "close": 0.25, "none": 0.25}
    drawings = [
        figure
        for name in ("b", "b", "sugarcrepe:sugarcrepe/data")
        for figure in by_overlap(name, {"full": dict.fromkeys(("positive", "negative"), overlap)})
    ]
    files = write_figures(number_names(drawings), tmp_path)
    assert len({path for path in files if path.parent == tmp_path}) == 9
    heads = {".svg": b"<svg", ".pdf": b"%PDF", ".png": b"\x89PNG"}
    assert all(path.read_bytes().startswith(heads[path.suffix]) for path in files)


def test_no_numbers_give_no_figure(results: Row) -> None:
    assert (
        by_split([results], "unheard-of")
        == by_complexity([results], "binary")
        == by_count([results], "binary")
        == []
    )


def _results(value: float | None) -> dict[str, Any]:
    row = {**ROW, "kind": "swap", "value": value, "low": None, "high": None}
    rows = [{**row, "split": split} for split in ("val", "seen", "partial", "unseen")]
    return {"model": "m", "benchmark": "b", "rows": rows}


def test_a_figure_is_whole_even_without_numbers() -> None:
    (figure,) = by_split([_results(None), _results(0.6)], "binary")
    words = words_of(figure)
    assert {"seen", "partial", "unseen", "accuracy"} <= words
    assert "val" not in words


def test_lines_are_means_of_cells_by_count_and_rows_by_number_of_atoms() -> None:
    """Of items with (objects, attributes) 1 1, 1 2, 2 1 (twice) and 2 2; `val` is left out."""
    of = {"protocol": "skill", "skill": "object", "level": "OA", "split": "seen", "n_relations": 0}
    cells = [
        {**of, "n_objects": a, "n_attributes": b, "value": value, "items": items}
        for a, b, value, items in (
            (1, 1, 0.2, 10),
            (1, 2, 0.4, 10),
            (2, 1, 0.5, 30),
            (2, 1, 0.9, 10),
            (2, 2, 1.0, 5),
        )
    ]
    cells.append({**cells[0], "split": "val", "value": 1.0})
    (figure,) = by_count([{"model": "m", "benchmark": "b", "cells": cells, "fits": []}], "skill")
    (records,) = [
        panel for name, panel in figure.panels.items() if "by objects (lines: attributes)" in name
    ]
    value_of = {(record["series"], record["x"]): record["value"] for record in records}
    assert value_of == {("1", 1): 20, ("1", 2): pytest.approx(60), ("2", 1): 40, ("2", 2): 100}
    row = {**_results(0.5)["rows"][1], "protocol": "productivity", "is_main": False}
    rows = [
        {**row, "n": n, "kind": kind, "value": n / 10} for kind in ("atom", "swap") for n in (4, 5)
    ]
    more = [{**rows[0], "split": "val"}, {**rows[0], "n": None}, {**rows[0], "unit": "difference"}]
    (figure,) = by_complexity([{**_results(0.5), "rows": [*rows, *more]}], "productivity")
    assert list(figure.panels) == ["atom, seen", "swap, seen"]
    assert [
        (record["group"], record["x"], record["value"]) for record in figure.panels["swap, seen"]
    ] == [
        ("accuracy", 4, 40),
        ("accuracy", 5, 50),
    ]


def test_the_held_out_block_is_framed() -> None:
    cells = [
        {
            "model": "m",
            "value": value,
            "object": object_,
            "share": 0.5,
            "items": 4,
            "held_out": value == "red",
        }
        for value in ("red", "blue")
        for object_ in ("cube", "cone")
    ]
    (figure,) = grid("binary", cells)
    root = ElementTree.fromstring(figure.svg())
    framed = [element for element in root.iter() if element.get("stroke") == "#d55e00"]
    assert len(framed) == 2
    assert {"red", "blue", "cube", "cone", "50"} <= words_of(figure)


def test_differences_are_drawn_first_minus_second() -> None:
    row = {
        "protocol": "binary",
        "kind": "swap",
        "split": "unseen",
        "first": "a",
        "second": "b",
        "difference": -0.1,
    }
    (figure,) = differences(
        {"rows": [{**row, "low": -0.2, "high": 0.05, "items": 9, "population": "x"}]}
    )
    ((record,),) = figure.panels.values()
    assert (record["series"], record["value"], record["low"], record["high"]) == (
        "a − b",
        -10,
        -20,
        5,
    )


def test_flips_are_drawn_over_the_splits_between_which_the_lead_changes() -> None:
    row = {
        "protocol": "binary",
        "metric": "accuracy",
        "kind": "swap",
        "skill": None,
        "first": "a",
        "second": "b",
    }
    row |= {"low": None, "high": None, "items": 9, "p": 0.5, "leader": "a"}
    row |= {"p_mcnemar": None, "q_mcnemar": None}
    rows = [
        {**row, "split": split, "difference": by}
        for split, by in (("val", 0.2), ("seen", 0.1), ("unseen", -0.1))
    ]
    rows += [
        {**row, "kind": "flip", "split": split, "difference": 0.1} for split in ("seen", "unseen")
    ]
    rows += [{**row, "kind": "chance", "leader": None} for row in rows[:3]]
    _, figure = differences({"rows": rows, "flips": _flips(rows)})
    assert figure.name == "differences-flips"
    assert {
        name: [(record["x"], record["value"]) for record in panel]
        for name, panel in figure.panels.items()
    } == {"a − b: binary, swap": [("seen", 10), ("unseen", -10)]}
    ElementTree.fromstring(figure.svg())


@pytest.mark.parametrize("over", ["blocks", "runs"])
def test_a_ribbon_shows_the_range_over_blocks_or_over_trainings(over: str, results: Row) -> None:
    """Three trainings of one block had no ribbon."""
    rows = [{**row, f"min_{over}": 0.25, f"max_{over}": 0.75} for row in results["rows"]]
    (figure,) = gap([{**results, "rows": rows}])
    assert all(
        (record["least"], record["most"]) == (25, 75)
        for panel in figure.panels.values()
        for record in panel
    )


def test_maps_name_captions_splits_and_models() -> None:
    texts = [
        {"caption": "a photo of a red cube", "split": "train"},
        {"caption": "a photo of a <blue> cone", "split": "unseen"},
    ]
    places = {"frozen": [[0, 1], [2, 3]], "tuned": [[1, 1], [0, 3]]}
    record = {"texts": texts, "images": [], "places": {"texts": places, "images": {}}}
    (figure,) = embedding_maps("b", record)
    assert {"red cube", "<blue> cone", "frozen", "tuned", "unseen"} <= words_of(figure)
    assert not any("photo" in word for word in words_of(figure))


def test_captions_that_differ_in_order_alone_are_written_whole() -> None:
    captions = ["a red cube and a blue cone", "a blue cone and a red cube"]
    assert short_captions(captions) == captions


def test_brittleness_of_a_ladder_is_drawn_by_edits(results: Row) -> None:
    rows = []
    for kind in ("1-edit", "2-edits", "10-edits"):
        for split in ("seen", "unseen"):
            of_kind = {**ROW, "protocol": "ladder", "metric": "brittleness", "kind": kind}
            rows.append({**of_kind, "split": split, "is_gap": False})
    (figure,) = by_edits([{**results, "rows": rows}], "ladder")
    assert list(figure.panels) == ["seen", "unseen"]
    assert [record["x"] for record in figure.panels["unseen"]] == [1, 2, 10]
    assert figure.svg().startswith("<svg")
    assert by_edits([results], "integration") == []
