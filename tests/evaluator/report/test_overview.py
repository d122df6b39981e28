"""Lines that stand models side by side."""

from evaluator.report.overview import main_lines, read_lines, shown_splits, varying_entries, varying_labels
from tests.evaluator.report.tables.test_cells import ROW
from tests.evaluator.synthetic import Row


def _entry(*rows: Row, model: str = "a", benchmark: str = "b") -> Row:
    return {"model": model, "benchmark": benchmark, "rows": [{**ROW, **row} for row in rows]}


FIRST = _entry(
    {},
    {"split": "unseen"},
    {"metric": "hidden", "n": 3},
    {"metric": "second"},
    {"protocol": "pairs", "metric": "group", "kind": "swap"},
)
OTHER = _entry({"split": "seen - unseen"}, {"protocol": "pairs", "metric": "group", "kind": "flip"}, model="c")


def test_a_line_is_a_metric_and_group_of_items_of_an_entry() -> None:
    lines = read_lines([FIRST, OTHER])
    found = [
        [(line.entry["model"], line.first["metric"], line.first["kind"], *line.rows) for line in group]
        for group in lines
    ]
    assert found == [
        [("a", "accuracy", None, "seen", "unseen"), ("c", "accuracy", None, "seen - unseen")],
        [("a", "second", None, "seen")], [("a", "group", "swap", "seen")], [("c", "group", "flip", "seen")],
    ]  # fmt: skip


def test_the_main_metric_is_the_first_of_a_protocol() -> None:
    assert [group[0].first["metric"] for group in main_lines([FIRST, OTHER])] == ["accuracy", "group", "group"]


def test_what_differs_has_a_column() -> None:
    lines = [line for group in read_lines([FIRST, OTHER]) for line in group]
    assert shown_splits(lines) == ["seen", "unseen", "seen - unseen"]
    assert varying_labels(lines) == ["kind"]
    assert varying_entries([FIRST]) == []
    assert varying_entries([FIRST, OTHER]) == ["model"]
    assert varying_entries([FIRST, _entry(benchmark="x")]) == ["benchmark"]
    assert varying_entries([FIRST, _entry()]) == ["model"]


def test_a_benchmark_with_val_alone_shows_it() -> None:
    lines = [line for group in read_lines([_entry({"split": "val"})]) for line in group]
    assert shown_splits(lines) == ["val"]
