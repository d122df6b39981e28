"""The figures of an audit, and the files that it writes."""

from pathlib import Path

from evaluator.familiarity.audit import audit
from evaluator.familiarity.overlap import BUCKETS, Sample
from evaluator.familiarity.part_counts import Counted

COUNTS = {("red", "car"): (2, 0), ("old", "car"): (0, 1), ("of", "car"): (1, 0)}
SAMPLES = [
    Sample("a", [("red", "car")], [("blue", "car")]),
    Sample("b", [("red", "car")], [("red", "car"), ("old", "car")]),
    Sample("c", [], [], "a caption has no binding"),
    Sample("d", [("old", "car")], [("old", "car")]),
    Sample("e", [("red", "car")], [("blue", "car")]),
]


def test_the_summary_counts_everything_once(tmp_path: Path) -> None:
    found = audit(SAMPLES, COUNTS, Counted(10, 20, 5))
    summary = found.summary()
    assert summary["excluded"] == {"a caption has no binding": 1}
    assert sum(summary["buckets"].values()) == 4
    assert summary["partitions"] == {"mixed": 3}  # close alone is kept out
    assert summary["corpus"] == {"captions": 10, "phrases": 20, "bare": 5, "bindings": 3, "function_words": 1}
    assert summary["asymmetry"]["value"] == (1 + 0.5 + 0 + 1) / 4
    assert summary["asymmetry"]["low"] <= summary["asymmetry"]["value"] <= summary["asymmetry"]["high"]
    assert summary["duplicates"] == 1


def test_the_nine_lists_hold_rows_of_the_benchmark(tmp_path: Path) -> None:
    found = audit(SAMPLES, COUNTS, Counted())
    found.write(tmp_path)
    lists = {path.stem: path.read_text().split() for path in (tmp_path / "splits").iterdir()}
    assert set(lists) == {*BUCKETS.values(), "ambiguous", "any_overlap"}
    assert (lists["amb_perfect_none"], lists["amb_perfect_close"], lists["amb_close_only"]) == (
        ["0", "4"],
        ["1"],
        ["3"],
    )
    assert sorted(lists["ambiguous"]) == sorted(lists["any_overlap"]) == ["0", "1", "3", "4"]
    rows = [line.split("\t") for line in (tmp_path / "per_sample_overlap.tsv").read_text().splitlines()]
    assert rows[0] == ["row", "item", "positive", "negative", "bucket", "partition", "question", "captions"]
    assert rows[1] == ["0", "a", "red car: perfect", "blue car: none", "amb_perfect_none", "mixed", "a", ""]
    excluded = (tmp_path / "excluded.tsv").read_text().splitlines()
    assert excluded == ["row\titem\treason\tquestion\tcaptions", "2\tc\ta caption has no binding\tc\t"]


def test_nothing_left_has_no_figures() -> None:
    summary = audit(SAMPLES[2:3], COUNTS, Counted()).summary()
    assert summary["asymmetry"] == {"value": None, "low": None, "high": None}
    assert summary["rates"]["strict"]["seen"] is None
