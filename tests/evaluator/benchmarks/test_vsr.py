"""VSR: true captions against the false ones of their image."""

from pathlib import Path

from evaluator.benchmarks.vsr import ALONE, read_vsr
from tests.evaluator.benchmarks.conftest import write_json


def test_each_true_caption_meets_the_false_ones_of_its_image(tmp_path: Path) -> None:
    told = (
        ("1", "a", 1),
        ("2", "e", 0),
        ("1", "b", 0),
        ("1", "c", 1),
        ("1", "d", 0),
        ("3", "f", 1),
    )
    rows = [
        {"image": f"{n}.jpg", "caption": text, "label": label, "relation": "on"}
        for n, text, label in told
    ]
    write_json(tmp_path / "dev.jsonl", rows)
    found = list(read_vsr(tmp_path))
    assert [each.texts for each in found if not each.excluded] == [("a", "b", "d"), ("c", "b", "d")]
    assert {each.group for each in found if not each.excluded} == {"1.jpg"}
    assert [each.excluded for each in found if each.excluded] == [ALONE, ALONE]
