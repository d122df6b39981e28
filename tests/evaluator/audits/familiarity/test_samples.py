"""Samples from the texts of benchmarks, without images."""

import json
from pathlib import Path

import pytest

from evaluator.audits.familiarity.samples import ALIKE, NOT_STRICT, NOTHING, read_samples
from evaluator.benchmarks.registry import Source
from generator.base.errors import UserError
from generator.dataset.reader import Dataset
from tests.evaluator.benchmarks.conftest import write_crepe, write_crepe_systematicity, write_hard_positives


def _sugarcrepe(path: Path, *pairs: tuple[str, str]) -> Source:
    rows = {str(i): {"filename": f"{i}.jpg", "caption": a, "negative_caption": b} for i, (a, b) in enumerate(pairs)}
    path.write_text(json.dumps(rows))
    return Source(path, "sugarcrepe")


def test_free_captions_are_read_by_their_phrases(tmp_path: Path) -> None:
    source = _sugarcrepe(
        tmp_path / "swap_att.json",
        ("A red car and a blue bus.", "A blue car and a red bus."),
        ("A red car.", "The red car!"),
        ("They wait.", "A red bus."),
    )
    samples, form, _ = read_samples(source)
    assert form == "free"
    assert [sample.excluded for sample in samples] == ["", ALIKE, NOTHING]
    assert samples[0].item == "swap_att/0"
    assert (samples[0].positive, samples[0].negative) == (
        [("red", "car"), ("blue", "bus")],
        [("blue", "car"), ("red", "bus")],
    )


def test_aro_is_read_strictly(tmp_path: Path) -> None:
    rows = [
        {
            "image_path": "a.jpg",
            "true_caption": "the open door and the crouched man",
            "false_caption": "the crouched door and the open man",
        },
        {
            "image_path": "a.jpg",
            "true_caption": "the dining table and the red cup",
            "false_caption": "the red table and the cup",
        },
    ]
    (tmp_path / "a.json").write_text(json.dumps(rows))
    samples, form, _ = read_samples(Source(tmp_path / "a.json", "aro"))
    assert form == "strict"
    assert [sample.excluded for sample in samples] == ["", NOT_STRICT]
    assert samples[0].negative == [("crouched", "door"), ("open", "man")]
    free, *_ = read_samples(Source(tmp_path / "a.json", "aro"), "free")
    assert free[1].excluded == ""


def test_each_false_text_of_a_table_makes_a_sample(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "item,text,truth\n1,a red car,true\n1,a blue car,false\n1,a green car,false\n2,an old dog,true\n2,a new "
        "dog,false\n"
    )
    samples, *_ = read_samples(Source(path, "table"))
    assert [sample.item for sample in samples] == ["1/0", "1/1", "2"]
    assert [sample.question for sample in samples] == ["1", "1", "2"]
    assert [sample.negative for sample in samples] == [[("blue", "car")], [("green", "car")], [("new", "dog")]]


def test_the_binary_questions_of_a_dataset_are_samples(drawn: Path) -> None:
    benchmark = Dataset.open(drawn).benchmark()
    samples, *_ = read_samples(Source(drawn))
    assert {sample.item for sample in samples} == set(benchmark.items_of("binary")["item_id"].to_pylist())
    assert not [sample for sample in samples if sample.excluded]
    for sample in samples[:20]:  # a negative exchanges the values of two objects
        assert len(sample.positive) == 2
        assert {noun for _, noun in sample.positive} == {noun for _, noun in sample.negative}
        assert set(sample.positive).isdisjoint(sample.negative)


def test_what_has_no_pair_of_captions_is_said(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("item,text,truth\n1,a red car,true\n")
    with pytest.raises(UserError, match="no question with a true and a false caption"):
        read_samples(Source(path, "table"))
    with pytest.raises(UserError, match="There is no"):
        read_samples(Source(tmp_path / "gone", "aro"))


def test_questions_that_ask_others_once_more_count_there(tmp_path: Path) -> None:
    for folder in (write_crepe(tmp_path / "a"), write_crepe_systematicity(tmp_path / "b")):
        samples, *_ = read_samples(Source(folder, "crepe"))
        told = [(each.cluster, each.texts) for each in samples if not each.again]
        assert {(each.cluster, each.texts) for each in samples if each.again} <= set(told)
        assert [each.again for each in samples] == sorted(each.again for each in samples)
        assert {each.question for each in samples if each.again} == {
            each.question for each in samples if each.question.rsplit("/", 1)[1] in ("all", "both")
        }


def test_samples_know_their_image_and_the_slot_of_their_true_caption(tmp_path: Path) -> None:
    samples, *_ = read_samples(Source(write_hard_positives(tmp_path), "hard_positives"))
    assert {each.slot for each in samples} == {"c", "p"}
    assert all(each.cluster.endswith(".jpg") for each in samples)
    table = tmp_path / "t.csv"
    table.write_text("item,image,text,truth\n1,7.jpg,a red car,true\n1,7.jpg,a blue car,false\n")
    (sample,) = read_samples(Source(table, "table"))[0]
    assert (sample.cluster, sample.texts) == ("7.jpg", ("a red car", "a blue car"))


def test_filters_of_what_has_none_are_refused(tmp_path: Path, drawn: Path) -> None:
    for source in (Source(tmp_path / "t.csv", "table", filters=("first=3",)), Source(drawn, filters=("first=3",))):
        with pytest.raises(UserError, match=r"has no filters \(first=3\)"):
            read_samples(source)


def test_half_a_character_is_refused(tmp_path: Path) -> None:
    source = _sugarcrepe(tmp_path / "swap_att.json", ("A red \ud800 car.", "A blue car."))
    with pytest.raises(UserError, match=r"Row 0 of .*swap_att.json has '\\ud800' in a text, half of a character"):
        read_samples(source)
