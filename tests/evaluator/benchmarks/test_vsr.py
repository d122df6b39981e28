"""VSR: true captions against the false ones of their image."""

from pathlib import Path

from evaluator.benchmarks.vsr import ALONE, read_vsr
from tests.evaluator.benchmarks.conftest import write_json


def test_each_true_caption_meets_the_false_ones_of_its_image(tmp_path: Path) -> None:
    labelled_captions = (
        ("1", "a", 1),
        ("2", "e", 0),
        ("1", "b", 0),
        ("1", "c", 1),
        ("1", "d", 0),
        ("3", "f", 1),
    )
    rows = [
        {"image": f"{n}.jpg", "caption": text, "label": label, "relation": "on"}
        for n, text, label in labelled_captions
    ]
    write_json(tmp_path / "dev.jsonl", rows)
    questions = list(read_vsr(tmp_path))
    reasons = [question.omissions.excluded for question in questions]
    usable = [question for question in questions if not question.omissions.excluded]
    assert [question.texts for question in usable] == [("a", "b", "d"), ("c", "b", "d")]
    assert {question.cluster for question in usable} == {"1.jpg"}
    assert [reason for reason in reasons if reason] == [ALONE, ALONE]
