"""Negatives that are true of their own row are named."""

from pathlib import Path

import pytest

from tests.generator.judge.foreign.label_files import judged, rows, said


@pytest.mark.parametrize(
    ("label", "negative", "true"),
    [
        ("cube left sphere", "sphere right cube", True),
        ("cube left sphere", "sphere left cube", False),
        ("cube left sphere", "a cube and a sphere", True),
        ("red cube and blue sphere", "blue sphere and red cube", True),
        ("red cube and blue sphere", "a photo of a blue sphere", True),
        ("red cube and blue sphere", "blue cube and red sphere", False),
        ("red cube and blue sphere", "cube", True),
        ("red cube and blue sphere", "red cube and red cube", False),
        ("cube near sphere", "sphere close to cube", True),
        ("cube inside sphere", "sphere inside cube", False),
    ],
)
def test_negatives_that_are_true(tmp_path: Path, label: str, negative: str, true: bool) -> None:
    found = judged(tmp_path / "a.csv", rows("caption,negative_caption,split", f"{label},{negative},test"))
    expected = [f'"{negative}" is a negative of "{label}" (test, line 2), and true of it']
    assert said(found, "true negative") == (expected if true else [])
