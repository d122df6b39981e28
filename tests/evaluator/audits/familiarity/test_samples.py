"""Samples from the texts of benchmarks, without images."""

import json
from pathlib import Path

import pytest

from evaluator.audits.familiarity.samples import (
    ALIKE,
    DIFFERING,
    NO_BINDINGS,
    NOT_STRICT,
    ONE_SIDED,
    read_samples,
)
from evaluator.benchmarks.registry import BenchmarkSource
from generator.base.errors import UserError
from generator.dataset.reader import Dataset
from tests.evaluator.benchmarks.conftest import (
    write_crepe,
    write_crepe_systematicity,
    write_hard_positives,
)
from tests.paths import SHARED

SUGARCREPE = SHARED / "data" / "sugarcrepe"


def _sugarcrepe(path: Path, *pairs: tuple[str, str]) -> BenchmarkSource:
    rows = {
        str(i): {"filename": f"{i}.jpg", "caption": a, "negative_caption": b}
        for i, (a, b) in enumerate(pairs)
    }
    path.write_text(json.dumps(rows))
    return BenchmarkSource(path, "sugarcrepe")


def _table(path: Path, *rows: str) -> BenchmarkSource:
    path.write_text("\n".join(rows))
    return BenchmarkSource(path, "table")


def test_free_captions_are_read_by_their_phrases(tmp_path: Path) -> None:
    source = _sugarcrepe(
        tmp_path / "swap_att.json",
        ("A red car and a blue bus.", "A blue car and a red bus."),
        ("A red car.", "The red car!"),
        ("They wait.", "A red bus."),
        ("They wait.", "They sit."),
    )
    samples, form, _ = read_samples(source)
    assert form == "free"
    assert [sample.excluded for sample in samples] == ["", "", "", NO_BINDINGS]
    assert [sample.excluded for sample in read_samples(source, DIFFERING)[0]] == [
        "",
        ALIKE,
        ONE_SIDED,
        NO_BINDINGS,
    ]
    assert samples[0].item == "swap_att/0"
    assert (samples[0].positive, samples[0].negative) == (
        [("red", "car"), ("blue", "bus")],
        [("blue", "car"), ("red", "bus")],
    )


@pytest.mark.skipif(
    not SUGARCREPE.exists(), reason="SugarCrepe lies beside the project, and is not there"
)
def test_free_captions_leave_out_as_many_as_the_paper() -> None:
    """Table 1 leaves out 20.2% of BiVLC, whose captions are SugarCrepe's; leaving out equal
    bindings too, 65%."""
    samples, *_ = read_samples(BenchmarkSource(SUGARCREPE, "sugarcrepe"))
    assert 0.18 < sum(bool(sample.excluded) for sample in samples) / len(samples) < 0.24


def test_aro_is_read_strictly(tmp_path: Path) -> None:
    captions = [
        ("the open door and the crouched man", "the crouched door and the open man"),
        ("the dining table and the red cup", "the red table and the cup"),
    ]
    rows = [
        {"image_path": "a.jpg", "true_caption": true, "false_caption": false}
        for true, false in captions
    ]
    (tmp_path / "a.json").write_text(json.dumps(rows))
    samples, form, _ = read_samples(BenchmarkSource(tmp_path / "a.json", "aro"))
    assert form == "strict"
    assert [sample.excluded for sample in samples] == ["", NOT_STRICT]
    assert samples[0].negative == [("crouched", "door"), ("open", "man")]
    free, *_ = read_samples(BenchmarkSource(tmp_path / "a.json", "aro"), "free")
    assert free[1].excluded == ""


def test_each_false_text_of_a_table_makes_a_sample(tmp_path: Path) -> None:
    first = ("1,7.jpg,a red car,true", "1,7.jpg,a blue car,false", "1,7.jpg,a green car,false")
    # What an item has said counts once.
    repeated = ("1,7.jpg,a red car,true", "1,8.jpg,a blue car,true")
    second = ("2,,an old dog,true", "2,,a new dog,false")
    samples, *_ = read_samples(
        _table(tmp_path / "t.csv", "item,image,text,truth", *first, *repeated, *second)
    )
    assert [(sample.item, sample.question, sample.cluster) for sample in samples] == [
        ("1/0", "1", "7.jpg"),
        ("1/1", "1", "7.jpg"),
        ("2", "2", ""),
    ]
    assert [sample.negative for sample in samples] == [
        [("blue", "car")],
        [("green", "car")],
        [("new", "dog")],
    ]
    assert samples[0].texts == ("a red car", "a blue car")
    assert samples[0].captions == samples[1].captions != samples[2].captions
    slots = _table(
        tmp_path / "s.csv", "item,text,slot", "1,a red car,c", "1,a blue car,n", "1,a car,d1"
    )
    assert [(sample.texts, sample.slot) for sample in read_samples(slots)[0]] == [
        (("a red car", "a blue car"), "c")
    ]


def test_the_binary_questions_of_a_dataset_are_samples(drawn: Path) -> None:
    items = Dataset.open(drawn).benchmark().items_of("binary")
    samples, *_ = read_samples(BenchmarkSource(drawn))
    clusters = dict(zip(items["item_id"].to_pylist(), items["cluster_id"].to_pylist(), strict=True))
    assert {sample.item: sample.cluster for sample in samples} == clusters
    assert not [sample for sample in samples if sample.excluded]
    for sample in samples[:20]:  # a negative exchanges the values of two objects
        assert len(sample.positive) == 2
        assert {noun for _, noun in sample.positive} == {noun for _, noun in sample.negative}
        assert set(sample.positive).isdisjoint(sample.negative)


def test_questions_that_ask_others_once_more_count_there(tmp_path: Path) -> None:
    for folder in (write_crepe(tmp_path / "a"), write_crepe_systematicity(tmp_path / "b")):
        samples, *_ = read_samples(BenchmarkSource(folder, "crepe"))
        distinct = [(sample.cluster, sample.texts) for sample in samples if not sample.is_duplicate]
        assert {(sample.cluster, sample.texts) for sample in samples if sample.is_duplicate} <= set(
            distinct
        )
        assert [sample.is_duplicate for sample in samples] == sorted(
            sample.is_duplicate for sample in samples
        )
        assert {sample.question for sample in samples if sample.is_duplicate} == {
            sample.question
            for sample in samples
            if sample.question.rsplit("/", 1)[1] in ("all", "both")
        }


def test_samples_know_the_slot_of_their_true_caption(tmp_path: Path) -> None:
    samples, *_ = read_samples(BenchmarkSource(write_hard_positives(tmp_path), "hard_positives"))
    assert {sample.slot for sample in samples} == {"c", "p"}
    assert all(sample.cluster.endswith(".jpg") for sample in samples)


def test_benchmarks_that_cannot_be_audited_are_refused(tmp_path: Path, drawn: Path) -> None:
    table = _table(tmp_path / "t.csv", "item,text,truth", "1,a red car,true")
    for source, message in (
        (table, "no question with a true and a false caption"),
        (BenchmarkSource(tmp_path / "gone", "aro"), "There is no"),
        (BenchmarkSource(table.path, "mine"), "cannot be audited: write its captions as a table"),
        (BenchmarkSource(table.path, "table", filters=("first=3",)), r"has no filters \(first=3\)"),
        (BenchmarkSource(drawn, filters=("first=3",)), r"has no filters \(first=3\)"),
        (
            _sugarcrepe(tmp_path / "swap_att.json", ("A \ud800 car.", "A car.")),
            r"Row 0 of .* has '\\ud800' in a text",
        ),
    ):
        with pytest.raises(UserError, match=message):
            read_samples(source)
