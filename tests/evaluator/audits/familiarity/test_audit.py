"""The figures of an audit, and the files that it writes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from evaluator.audits.familiarity.audit import audit
from evaluator.audits.familiarity.counting import Counted
from evaluator.audits.familiarity.pair_counts import Shown
from evaluator.audits.familiarity.samples import BUCKETS, Sample

COUNTS = Shown({("red", "car"): (2, 0), ("old", "car"): (0, 1)}, bindings=3, function_words=1)
SAMPLES = [
    Sample("a", [("red", "car")], [("blue", "car")], cluster="1.jpg"),
    Sample("b", [("red", "car")], [("red", "car"), ("old", "car")]),
    Sample("c", [], [], "a caption has no binding"),
    Sample("d", [("old", "car")], [("old", "car")]),
    Sample("e", [("red", "car")], [("blue", "car")], cluster="1.jpg"),
    Sample("f", [("red", "car")], [("blue", "car")], cluster="1.jpg", again=True),
]


def test_the_summary_counts_everything_once(tmp_path: Path) -> None:
    found = audit(SAMPLES, COUNTS, Counted(10, 20, 5))
    summary = found.summary()
    assert summary["excluded"] == {"a caption has no binding": 1}
    assert sum(summary["buckets"].values()) == 4
    assert summary["partitions"] == {"seen": 0, "mixed": 3, "unseen": 0}  # close alone is kept out
    assert summary["corpus"] == {"captions": 10, "phrases": 20, "bare": 5, "bindings": 3, "function_words": 1}
    assert summary["asymmetry"]["value"] == (1 + 0.5 + 0 + 1) / 4
    assert summary["asymmetry"]["low"] <= summary["asymmetry"]["value"] <= summary["asymmetry"]["high"]
    assert summary["duplicates"] == 1


def test_the_interval_is_over_clusters_of_samples() -> None:
    alike = [replace(SAMPLES[i % 2], item=str(i), cluster=f"{i % 8}.jpg") for i in range(40)]
    apart = [replace(each, cluster="") for each in alike]
    of_images, of_samples = (audit(each, COUNTS, Counted()).summary()["asymmetry"] for each in (alike, apart))
    assert of_images["value"] == of_samples["value"] == 0.75
    values = np.array([1, 0.5] * 4)  # of the eight images
    expected = stats.t.interval(0.95, 7, values.mean(), stats.sem(values))
    assert (of_images["low"], of_images["high"]) == pytest.approx(expected)
    assert of_images["high"] - of_images["low"] > 1.5 * (of_samples["high"] - of_samples["low"])
    single = audit(SAMPLES[:1], COUNTS, Counted()).summary()["asymmetry"]
    assert (single["low"], single["high"]) == (None, None)


def test_each_true_caption_of_a_question_has_an_asymmetry_of_its_own() -> None:
    samples = [replace(SAMPLES[0], slot="c"), Sample("p", [("old", "car")], [("red", "car")], slot="p")]
    summary = audit(samples, COUNTS, Counted()).summary()
    assert {slot: each["value"] for slot, each in summary["asymmetry_of"].items()} == {"c": 1, "p": -1}
    assert audit(SAMPLES, COUNTS, Counted()).summary()["asymmetry_of"] == {}


def test_a_duplicate_repeats_image_and_captions() -> None:
    texts = ("a red car", "a blue car")
    samples = [
        replace(SAMPLES[0], cluster=image, texts=each)
        for image, each in (("1", texts), ("2", texts), ("1", texts), ("1", texts[::-1]))
    ]
    assert audit(samples, COUNTS, Counted()).summary()["duplicates"] == 1


def test_the_shares_of_mixed_samples_are_theirs_alone() -> None:
    seen = Sample("s", [("red", "car")], [("red", "car")])
    found = audit([seen, SAMPLES[0]], COUNTS, Counted()).summary()
    assert found["bindings"]["negative"]["perfect"] == 0.5
    assert found["bindings_mixed"]["negative"] == {"perfect": 0, "close": 0, "none": 1}


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
