"""Labels, buckets, rates and figures of an audit against the published counts; the files it
writes."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from evaluator.audits.familiarity.audit import (
    BUCKETS,
    CLOSE,
    NONE,
    PERFECT,
    Overlap,
    audit,
    label,
    rates,
)
from evaluator.audits.familiarity.counting import CorpusCounts, TextCounts
from evaluator.audits.familiarity.samples import Sample

COUNTS = CorpusCounts(
    {("red", "car"): (2, 0), ("old", "car"): (0, 1)}, bindings=3, function_words=1
)
SAMPLES = [
    Sample(item="a", positive=[("red", "car")], negative=[("blue", "car")], cluster="1.jpg"),
    Sample(item="b", positive=[("red", "car")], negative=[("red", "car"), ("old", "car")]),
    Sample(item="c", positive=[], negative=[], excluded="a caption has no binding"),
    Sample(item="d", positive=[("old", "car")], negative=[("old", "car")]),
    Sample(item="e", positive=[("red", "car")], negative=[("blue", "car")], cluster="1.jpg"),
    Sample(
        item="f",
        positive=[("red", "car")],
        negative=[("blue", "car")],
        cluster="1.jpg",
        is_duplicate=True,
    ),
]


PUBLISHED = {
    "definitely_seen": 4329,
    "amb_perfect_close": 2971,
    "amb_mixed": 5270,
    "amb_perfect_none": 13186,
    "amb_close_only": 5,
    "amb_close_none": 433,
    "definitely_unseen": 314,
}
"""Of ARO VG-A: table 19 of BindSplit."""


def summary(*samples: Sample) -> dict[str, Any]:
    return audit(samples, COUNTS, TextCounts(10, 20, 5)).summary()


def _overlap(labels: tuple[str, ...]) -> Overlap:
    half = len(labels) // 2
    return Overlap(
        Sample(item="", positive=[("a", "b")] * half, negative=[("a", "b")] * half),
        labels[:half],
        labels[half:],
    )


def test_a_binding_is_perfect_close_or_none() -> None:
    counts = {("red", "car"): (2, 5), ("old", "car"): (0, 1), ("new", "car"): (0, 0)}
    assert [label(binding, counts) for binding in (*counts, ("big", "car"))] == [
        PERFECT,
        CLOSE,
        NONE,
        NONE,
    ]


def test_the_seven_buckets_follow_their_published_rules() -> None:
    for labels in product((PERFECT, CLOSE, NONE), repeat=4):
        overlap = _overlap(labels)
        perfect, close, none = (labels.count(name) for name in (PERFECT, CLOSE, NONE))
        rules = {
            "definitely_seen": perfect == 4,
            "amb_perfect_close": perfect > 0 and close > 0 and none == 0,
            "amb_mixed": perfect > 0 and close > 0 and none > 0,
            "amb_perfect_none": perfect > 0 and close == 0 and none > 0,
            "amb_close_only": close == 4,
            "amb_close_none": perfect == 0 and close > 0 and none > 0,
            "definitely_unseen": none == 4,
        }
        assert [name for name, holds in rules.items() if holds] == [overlap.bucket]


def test_the_published_counts_fit_together() -> None:
    by_labels = {name: labels for labels, name in BUCKETS.items()}
    overlaps = [
        _overlap(tuple((sorted(by_labels[name]) * 4)[:4]))
        for name, n in PUBLISHED.items()
        for _ in range(n)
    ]
    assert len(overlaps) == 26_508
    shares_of = {
        name: [round(100 * share, 1) for share in shares.values()]
        for name, shares in rates(overlaps).items()
    }
    assert shares_of == {"strict": [16.3, 2.8], "loose": [27.6, 1.2]}


def test_the_summary_counts_everything_once() -> None:
    results = summary(*SAMPLES)
    assert (results["samples"], results["excluded"]) == (5, {"a caption has no binding": 1})
    assert sum(results["buckets"].values()) == 4
    assert results["partitions"] == {"seen": 0, "mixed": 3, "unseen": 0}  # close alone is kept out
    assert results["corpus"] == {
        "captions": 10,
        "phrases": 20,
        "bare": 5,
        "bindings": 3,
        "function_words": 1,
    }
    assert results["asymmetry"]["value"] == (1 + 0.5 + 0 + 1) / 4
    assert results["asymmetry_of"] == {}
    nothing = summary(SAMPLES[2])
    assert nothing["asymmetry"] == {"value": None, "low": None, "high": None}
    assert nothing["rates"]["strict"]["seen"] is None


def test_the_interval_is_over_clusters_of_samples() -> None:
    alike = [replace(SAMPLES[i % 2], item=str(i), cluster=f"{i % 8}.jpg") for i in range(40)]
    of_images = summary(*alike)["asymmetry"]
    of_samples = summary(*(replace(sample, cluster="") for sample in alike))["asymmetry"]
    assert of_images["value"] == of_samples["value"] == 0.75
    values = np.array([1, 0.5] * 4)  # of the eight images
    expected = stats.t.interval(0.95, 7, values.mean(), stats.sem(values))
    # The variances come from a fit that ends when no digit that is shown changes.
    assert (of_images["low"], of_images["high"]) == pytest.approx(expected, rel=2e-3)
    assert of_images["high"] - of_images["low"] > 1.5 * (of_samples["high"] - of_samples["low"])
    single = summary(SAMPLES[0])["asymmetry"]
    assert (single["low"], single["high"]) == (None, None)


def test_each_true_caption_of_a_question_has_an_asymmetry_of_its_own() -> None:
    results = summary(
        replace(SAMPLES[0], slot="c"),
        Sample(item="p", positive=[("old", "car")], negative=[("red", "car")], slot="p"),
    )
    assert {slot: asymmetry["value"] for slot, asymmetry in results["asymmetry_of"].items()} == {
        "c": 1,
        "p": -1,
    }


def test_captions_without_bindings_have_a_partition_and_no_asymmetry() -> None:
    results = summary(Sample(item="a", positive=[("red", "car")], negative=[]), SAMPLES[0])
    assert (results["partitions"], results["asymmetry"]["value"]) == (
        {"seen": 1, "mixed": 1, "unseen": 0},
        1,
    )


def test_a_duplicate_repeats_image_and_captions() -> None:
    texts = ("a red car", "a blue car")
    repeated = (
        ("1", texts),
        ("2", texts),
        ("1", texts),
        ("1", texts[::-1]),
        ("", texts),
        ("", texts),
    )
    assert (
        summary(*(replace(SAMPLES[0], cluster=image, texts=texts) for image, texts in repeated))[
            "duplicates"
        ]
        == 1
    )


def test_the_shares_of_mixed_samples_are_theirs_alone() -> None:
    results = summary(
        Sample(item="s", positive=[("red", "car")], negative=[("red", "car")]), SAMPLES[0]
    )
    assert results["bindings"]["negative"]["perfect"] == 0.5
    assert results["bindings_mixed"]["negative"] == {"perfect": 0, "close": 0, "none": 1}


def test_the_nine_lists_hold_rows_of_the_benchmark(tmp_path: Path) -> None:
    odd = Sample(
        item="a\tb\n",
        positive=[("red", "car"), ("old", "car")],
        negative=[("red", "car")],
        question="q",
        captions="d",
    )
    audit([*SAMPLES, odd], COUNTS, TextCounts()).write(tmp_path)
    lists = {path.stem: path.read_text().split() for path in (tmp_path / "splits").iterdir()}
    inside = {name: rows for name, rows in lists.items() if rows}
    assert {*lists} == {*BUCKETS.values(), "ambiguous", "any_overlap"}
    assert inside.pop("ambiguous") == inside.pop("any_overlap") == ["0", "1", "3", "4", "6"]
    assert inside == {
        "amb_perfect_none": ["0", "4"],
        "amb_perfect_close": ["1", "6"],
        "amb_close_only": ["3"],
    }
    rows = [
        line.split("\t") for line in (tmp_path / "per_sample_overlap.tsv").read_text().splitlines()
    ]
    assert rows[0] == [
        "row",
        "item",
        "positive",
        "negative",
        "bucket",
        "partition",
        "question",
        "captions",
    ]
    assert rows[1] == [
        "0",
        "a",
        "red car: perfect",
        "blue car: none",
        "amb_perfect_none",
        "mixed",
        "a",
        "",
    ]
    sides = ["red car: perfect; old car: close", "red car: perfect"]
    assert rows[-1] == ["6", "a b ", *sides, "amb_perfect_close", "mixed", "q", "d"]
    excluded = (tmp_path / "excluded.tsv").read_text().splitlines()
    assert excluded == [
        "row\titem\treason\tquestion\tcaptions",
        "2\tc\ta caption has no binding\tc\t",
    ]
