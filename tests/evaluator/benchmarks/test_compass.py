"""COMPASS's files: levels, slots, counts, and what is wrong with them."""

import json
from pathlib import Path
from typing import Any

import pytest

from evaluator.benchmarks.compass import NO_CAPTION, NO_COMPOSED, NO_DECOMPOSED, read_compass
from generator.base.errors import UserError
from tests.evaluator.benchmarks.conftest import write_compass

COMPOSED = "compositional-integration/l2-OA/composed/11.json"
DECOMPOSED = "compositional-integration/l2-OA/decomposed/11.json"


def test_a_caption_stands_with_its_negatives_and_its_parts(tmp_path: Path) -> None:
    question, incomplete = read_compass(write_compass(tmp_path))
    assert question.item == "l2-OA/11/2"
    assert (question.details.level, question.details.counts) == ("OA", (1, 1, 0))
    assert list(zip(question.slots, question.truth[0], question.texts, strict=True)) == [
        ("c", True, "a red cube"),
        ("n", False, "a green cube"),
        ("n", False, "a gray thing"),
        ("d1", True, "There is a red cube."),
        ("d1", False, "There is a green cube."),
        ("d2", True, "There is a red thing in the image."),
        ("d2", False, "There is a gray thing in the image."),
    ]
    assert question.labels.filterable == {"complete": "yes"}
    assert incomplete.labels.filterable == {"complete": "no"}


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("gt-caption/l2-OA/11.json", {"9": "other"}, NO_CAPTION),
        (COMPOSED, {"2": []}, NO_COMPOSED),
        (DECOMPOSED, {"9": []}, NO_DECOMPOSED),
    ],
)
def test_incomplete_entry_is_excluded_with_the_reason(
    tmp_path: Path, name: str, data: Any, reason: str
) -> None:
    write_compass(tmp_path)
    (tmp_path / name).write_text(json.dumps(data))
    assert next(iter(read_compass(tmp_path))).omissions.excluded == reason


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        (COMPOSED, {"2": "a green cube"}, "Expected a list of texts for 2 atoms"),
        (COMPOSED, {"two": []}, "Expected numbers of atoms as the keys"),
        (COMPOSED, [["a green cube"]], "Expected numbers of atoms as the keys"),
        (DECOMPOSED, {"2": 5}, "Expected a list of decomposed captions for 2 atoms"),
        ("gt-caption/l2-OA/11.json", {"2": 3}, "has the caption 3; expected a text"),
        (
            DECOMPOSED,
            {"2": [{"There is a red cube.": ["x"]}]},
            '"replaced": object|attribute|relation',
        ),
        (
            DECOMPOSED,
            {"2": [{"a": ["x"], "b": ["y"], "replaced": "object"}]},
            '"replaced": object|attribute|relation',
        ),
        (DECOMPOSED, {"2": [{"a": [3], "replaced": "object"}]}, "Expected a list of texts in"),
    ],
)
def test_files_of_another_form_are_refused(
    tmp_path: Path, name: str, data: Any, message: str
) -> None:
    write_compass(tmp_path)
    (tmp_path / name).write_text(json.dumps(data))
    with pytest.raises(UserError, match=message.replace("|", r"\|")):
        list(read_compass(tmp_path))


def test_another_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match="expected folders such as compositional-integration/l3/composed"
    ):
        list(read_compass(tmp_path))
