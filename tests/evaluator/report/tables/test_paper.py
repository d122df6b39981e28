"""What a paper's table selects, and what stands in its cells."""

import numpy as np

from evaluator.report.figures import by_split
from evaluator.report.tables.paper import BY_SPLIT, Figure, PaperTable, grouped, load, minus, over_n, part
from evaluator.report.tables.sources import EACH, Source
from tests.evaluator.report.tables.conftest import cell, shows
from tests.evaluator.synthetic import find

_BINARY = {"protocol": "binary", "metric": "accuracy"}


def test_lines_are_rows_and_labels_and_columns_stand_in_groups(sources: list[Source]) -> None:
    columns = grouped([part("S", kind="swap"), part("F", kind="flip")], [part("acc", **_BINARY), part("{}", **_BINARY)])
    table = PaperTable("1", "Title", columns, BY_SPLIT, "split").make(sources)
    results = sources[0].entries[0]
    assert table.labels == ["split", "model", "variant"]
    assert [(column.group, column.head) for column in table.columns] == [
        ("S", "acc"), ("S", ""), ("F", "acc"), ("F", ""),
    ]  # fmt: skip
    for split in ("seen", "partial", "unseen"):
        for group, kind in (("S", "swap"), ("F", "flip")):
            row = find(results, "binary", split, kind=kind)
            assert shows(cell(table, [split, "dual", "scratch"], "acc", group), row)
        assert cell(table, [split, "dual", "labclip"], "acc", "S").reason == "no weights"
    seen = [find(results, "binary", split, kind="swap")["items"] for split in ("seen", "partial", "unseen")]
    assert cell(table, ["items"], "acc", "S").text == f"{min(seen):,}–{max(seen):,}"
    assert [line.labels[0] for line in table.lines[-4:]] == ["chance", "items", "clusters", "unscored"]
    assert cell(table, ["chance"], "acc", "S").text == "50.0"


def test_each_stands_for_all_values_together(sources: list[Source]) -> None:
    rows = (part("{}", level=EACH, split=EACH),)
    of = {"protocol": "skill", "metric": "R@1", "skill": "object"}
    table = PaperTable("1", "", (part("R@1"),), rows, "level", of).make(sources[:1])
    heads = [line.labels[0] for line in table.lines[:-4]]
    assert heads[:3] == ["L1, seen", "L1, partial", "L1, unseen"] or set(heads) >= {"OA, seen", "OAR, unseen"}
    for level, split in (head.split(", ") for head in heads):
        row = find(sources[0].entries[0], "skill", split, level=level, skill="object")
        assert shows(cell(table, [f"{level}, {split}"], "R@1"), row)


def test_a_split_that_is_alone_is_not_named(sources: list[Source]) -> None:
    entry = sources[0].entries[0]
    one = {**entry, "rows": [row for row in entry["rows"] if row["split"] == "seen"]}
    table = PaperTable("1", "", (part("x", kind="swap", **_BINARY),), BY_SPLIT, "split").make([Source(("m",), [one])])
    assert table.labels == ["model"]


def test_labels_beside_one_another_have_chance_and_sizes_to_the_right(sources: list[Source]) -> None:
    of = {"protocol": "integration", "level": "OA", "split": "seen"}
    columns = (part("C", over_n, metric="R@1 composed"), part("Δ", over_n, metric="integration gap"))
    table = PaperTable("6", "", columns, (part("{}", n=EACH), part("mean")), "n", of, across=True).make(sources)
    assert [column.group for column in table.columns] == ["dual / scratch"] * 2 + ["dual / labclip"] * 2 + ["chance"] * 2 + [""] * 3  # fmt: skip
    entry = sources[0].entries[0]
    gaps = []
    for line in table.lines[:-1]:
        row = find(entry, "integration", "seen", level="OA", n=int(line.labels[0]), metric="integration gap")
        assert shows(cell(table, line.labels, "Δ", "dual / scratch"), row)
        gaps.append(row["value"])
    mean = cell(table, ["mean"], "Δ", "dual / scratch").numbers
    assert np.isclose(mean["value"], np.mean(gaps), atol=1e-5)
    assert np.isclose(mean["sd"], np.std(gaps, ddof=1), atol=1e-5)


def test_a_difference_is_that_of_two_rows_and_has_no_interval(sources: list[Source]) -> None:
    one, other = {"metric": "augmented accuracy"}, {"metric": "original accuracy"}
    of = {"protocol": "hard_positives", "kind": "replace", "split": "seen"}
    found = minus(one, other)(sources[0], of)
    rows = [find(sources[0].entries[0], "hard_positives", "seen", kind="replace", skill=None, **each) for each in (one, other)]  # fmt: skip
    assert found.numbers["value"] == rows[0]["value"] - rows[1]["value"]
    assert found.interval == ""
    assert not [
        name for name in ("p", "low", "sd_blocks", "min_blocks", "max_runs") if found.numbers.get(name) is not None
    ]
    assert minus(one, other)(sources[1], of).reason == "no weights"


def test_loads_are_those_of_the_fit(sources: list[Source]) -> None:
    entry = sources[0].entries[0]
    fit = next(fit for fit in entry["fits"] if "n_objects" in fit["coefficients"])
    of = {"protocol": "skill", "metric": "R@1", **{name: fit[name] for name in ("split", "level", "skill")}}
    assert load("n_objects")(sources[0], of).numbers["beta"] == fit["coefficients"]["n_objects"]["beta"]
    assert load("n_objects")(sources[1], of).reason == "no weights"


def test_a_figure_shows_the_rows_that_it_selects(sources: list[Source]) -> None:
    (svg,) = Figure("2", by_split, "binary", {"kind": "flip"}).make(sources)
    assert "flip" in svg or "accuracy" in svg
    assert Figure("2", by_split, "retrieval").make(sources) == []
