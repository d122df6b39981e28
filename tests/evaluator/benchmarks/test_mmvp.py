"""MMVP-VLM: two rows are a pair of images."""

from pathlib import Path

import pytest

from evaluator.benchmarks.mmvp import read_mmvp
from generator.base.errors import UserError
from tests.evaluator.benchmarks.conftest import write_mmvp_vlm


def test_rows_of_one_pattern_are_pairs(tmp_path: Path) -> None:
    first, second = read_mmvp(write_mmvp_vlm(tmp_path))
    assert first.texts == ("a photo of a red sign", "a photo of a blue sign")
    assert first.images[1].names[1] == "Color and Appearance/2.jpg"
    assert (second.item, second.labels.kind) == ("3", "Texts")


def test_a_statement_without_its_partner_is_refused(tmp_path: Path) -> None:
    file = write_mmvp_vlm(tmp_path) / "Questions.csv"
    file.write_text(file.read_text().replace("2,Color and Appearance", "2,Texts"))
    with pytest.raises(
        UserError, match=r"Row 0 of .* is not followed by a row with the same 'Type'"
    ):
        list(read_mmvp(file))
