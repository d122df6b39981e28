"""The files of the Hard Positives sets, which belong together row by row."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluator.benchmarks.hard_positives import read_hard_positives
from generator.base.errors import UserError
from tests.evaluator.benchmarks.conftest import write_hard_positives, write_json


def test_rows_of_two_files_are_one_question(tmp_path: Path) -> None:
    questions = list(read_hard_positives(write_hard_positives(tmp_path)))
    labels = [question.labels for question in questions]
    assert [question.item for question in questions][3:] == [
        "vl_checklist_attributes/3",
        "vl_checklist_relations/0",
    ]
    assert [(label.kind, label.skill) for label in labels][3:] == [
        ("replace", "attribute"),
        ("replace", "relation"),
    ]
    first = questions[0]
    assert list(zip(first.slots, first.truth[0], first.texts, strict=True)) == [
        ("c", True, "red car"),
        ("n", False, "gray car"),
        ("p", True, "a red car"),
    ]


def test_one_file_finds_its_hard_positives(tmp_path: Path) -> None:
    write_hard_positives(tmp_path)
    (question,) = read_hard_positives(tmp_path / "data" / "vl_checklist_relations.json")
    assert question.texts[2] == "green or red car"
    row = {
        "image_path": "1.jpg",
        "true_caption": "red cup and blue hat",
        "false_caption": "blue cup and red hat",
    }
    row |= dict.fromkeys(("bbox_x", "bbox_y"), 1) | dict.fromkeys(("bbox_w", "bbox_h"), 2)
    swapped = {**row, "true_caption": "blue hat and red cup"}
    for name, record in (
        ("visual_genome_attribution", row),
        ("visual_genome_attribution.swapped", swapped),
    ):
        write_json(tmp_path / "beside" / f"{name}.json", [record])
    (question,) = read_hard_positives(tmp_path / "beside")
    assert (question.labels.kind, question.labels.skill) == ("swap", "attribute")
    assert question.images[0].box == (1, 1, 3, 3)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda rows: rows[:-1], "has 4 rows and .* 3; give two files of one version"),
        (
            lambda rows: [{**rows[0], "false_caption": "x"}, *rows[1:]],
            "Row 0 of .* has the false_caption 'gray car', row 0 of .* 'x'",
        ),
        (
            lambda rows: rows[::-1],
            "has the image_path 'data/VG_100K/0.jpg', .* 'data/VG_100K/3.jpg'",
        ),
    ],
)
def test_files_of_two_versions_are_refused(
    tmp_path: Path, spoil: Callable[[list[object]], object], message: str
) -> None:
    file = write_hard_positives(tmp_path) / "swapped_data" / "vl_checklist_attributes.json"
    file.write_text(json.dumps(spoil(json.loads(file.read_text()))))
    with pytest.raises(UserError, match=message):
        list(read_hard_positives(tmp_path))


def test_a_file_without_hard_positives_is_refused(tmp_path: Path) -> None:
    write_json(
        tmp_path / "a.json", [{"image_path": "1.jpg", "true_caption": "x", "false_caption": "y"}]
    )
    place = re.escape(str(tmp_path.parent / "swapped_data" / "a.json"))
    with pytest.raises(
        UserError, match=rf"has no hard positives: expected them in {place} or .*a\.swapped\.json"
    ):
        list(read_hard_positives(tmp_path))
